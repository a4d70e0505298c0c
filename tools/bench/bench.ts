/**
 * `npm run bench`: compares chipboard with servers that do the same work, and measures how it scales.
 * Prints Markdown, with the targets that are met at the end, and its progress on standard error.
 * Absolute numbers vary on shared machines, so everything that is compared runs in turns of a
 * fraction of a second, and the ratios count.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { benchBehindTls } from "./behind-tls.ts";
import { benchBasket } from "./bench-basket.ts";
import { benchConditional, benchHistory } from "./conditional.ts";
import { benchKeys } from "./bench-keys.ts";
import { benchMemory } from "./memory.ts";
import { readOptions, type Options, type Part } from "./options.ts";
import { benchPublish } from "./bench-publish.ts";
import {
  markdown,
  NO_FIGURES,
  type BenchOptions,
  type Figures,
  type Section,
  type Target,
} from "./section.ts";
import { benchLog } from "./bench-log.ts";
import { benchSelection } from "./bench-selection.ts";
import { benchStart } from "./start.ts";
import { benchSigning } from "./bench-signing.ts";
import { benchServing } from "./serving.ts";
import { benchSwitch } from "./switching.ts";
import { benchVintages } from "./bench-vintages.ts";
import { benchYears } from "./bench-years.ts";
import { requireLoad } from "./wrk.ts";

const BENCHES: { readonly [P in Part]: (options: BenchOptions) => Promise<Section> } = {
  serving: benchServing,
  conditional: benchConditional,
  basket: benchBasket,
  history: benchHistory,
  selection: benchSelection,
  keys: benchKeys,
  memory: benchMemory,
  switch: benchSwitch,
  "behind-tls": benchBehindTls,
  start: benchStart,
  publish: benchPublish,
  vintages: benchVintages,
  signing: benchSigning,
  log: benchLog,
  years: benchYears,
};

/** Those that load no server, or with a load of their own. */
const WITHOUT_WRK: readonly Part[] = ["start", "publish", "vintages", "signing", "log", "years"];

// The handlers of "exit" end the servers and remove the folders.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const options = readOptions(process.argv.slice(2));
if (options !== null) await runBenches(options);

async function runBenches(chosen: Options): Promise<void> {
  if (chosen.only.some((part) => !WITHOUT_WRK.includes(part))) requireLoad();
  const startedAt = performance.now();
  const say = (text: string): void => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    process.stderr.write(`[${String(seconds).padStart(4)} s] ${text}\n`);
  };
  let figures: Figures = NO_FIGURES;
  const targets: Target[] = [];
  for (const part of chosen.only) {
    const folder = mkdtempSync(join(tmpdir(), "chipboard-bench-"));
    const remove = (): void => rmSync(folder, { recursive: true, force: true });
    process.once("exit", remove);
    const section = await BENCHES[part]({ ...chosen, folder, say });
    process.off("exit", remove);
    remove();
    console.log(`${markdown(section)}\n`);
    figures = { ...figures, ...section.figures };
    targets.push(...section.targets);
    // After each part, so that an error in a later one does not lose them.
    if (chosen.json !== null) writeFileSync(chosen.json, `${JSON.stringify(figures, null, 2)}\n`);
  }
  console.log("## Targets\n\n| target | measured | met |\n| --- | --- | --- |");
  for (const { text, met, figure } of targets) {
    console.log(`| ${text} | ${figure} | ${met ? "yes" : "NO"} |`);
  }
}

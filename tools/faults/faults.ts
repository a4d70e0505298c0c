/**
 * `npm run faults`: injects every fault as often as docs/explain/guarantees.md says, and prints the results. Exits
 * with 1 if anything was lost. Takes about an hour on two cores. The tests inject fewer.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { callerFaults } from "./hostile-callers.ts";
import { crashFaults } from "./crashes.ts";
import { diskFaults } from "./disks.ts";
import type { FaultRow, Faults } from "./fault.ts";
import { feedFaults } from "./feeds.ts";
import { importFaults } from "./imports.ts";
import { quotaFaults } from "./quota.ts";
import { slowClientFaults } from "./slow-clients.ts";

const PARTS: Readonly<Record<string, Faults>> = {
  crashes: crashFaults,
  quota: quotaFaults,
  imports: importFaults,
  callers: callerFaults,
  "slow-clients": slowClientFaults,
  feeds: feedFaults,
  disks: diskFaults,
};

const USAGE = `Usage: npm run faults -- [options]

  --only <parts>   some of ${Object.keys(PARTS).join(",")} (default: all)
  --short          inject as few as the tests do
  --seed <number>  seed of all random choices (default: a new one, which is printed)
  --json <file>    also write the rows to this file
  --help

Needs what the tests need (test/services/install). Exits with 1 if anything was lost.`;

// The programs that faults start share what Node has compiled, as in the tests.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "../../node_modules/.cache/node");
// The handlers of "exit" remove folders and end child processes.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: Object.keys(PARTS).join(",") },
      short: { type: "boolean", default: false },
      seed: { type: "string" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const parts = values.only.split(",");
  const unknown = parts.find((part) => PARTS[part] === undefined);
  if (unknown !== undefined) {
    console.error(`--only ${JSON.stringify(unknown)}: expected ${Object.keys(PARTS).join(", ")}`);
    process.exitCode = 2;
    return;
  }
  const seed =
    values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
  const rows: FaultRow[] = [];
  const startedAt = performance.now();
  const say = (text: string): void => {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    process.stderr.write(`[${String(seconds).padStart(4)} s] ${text}\n`);
  };
  say(`seed ${seed}`);
  for (const part of parts) {
    say(part);
    const folder = mkdtempSync(join(tmpdir(), "chipboard-faults-"));
    const remove = (): void => rmSync(folder, { recursive: true, force: true });
    process.once("exit", remove);
    const scale = values.short ? "short" : "full";
    rows.push(...(await (PARTS[part] as Faults)({ scale, folder, seed, say })));
    process.off("exit", remove);
    remove();
    if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`);
  }
  console.log("| fault | injected | survived | lost |\n| --- | --: | --: | --: |");
  for (const { fault, injected, survived, lost } of rows) {
    console.log(`| ${fault} | ${injected} | ${survived} | ${lost} |`);
  }
  process.exitCode = rows.some(({ lost }) => lost > 0) ? 1 : 0;
}

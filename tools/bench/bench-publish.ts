/**
 * Measures the time and the peak memory of a publish for markets of several sizes: five years of daily closes
 * and a session's quotes into an empty folder, then the next session on top. Each figure covers a whole
 * process with its start, on all cores. The smaller markets are published once per round, markets of more
 * than 1,000 contracts once.
 */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { sessionKey } from "../../src/market/session.ts";
import { CLOSES, instantIn, writeMarket, type MarketFiles } from "./bench-market.ts";
import { runMeasured, type Usage } from "./measured.ts";
import { environment } from "../../test/program/program.ts";
import { median, type BenchOptions, type Section, type Target } from "./section.ts";
import { DEPLOYED } from "./server-process.ts";

const LARGE_CONTRACTS = 1_000;
/** The targets for markets of these sizes: the first publish, and the publish of the next session. */
const LIMITS = [
  { contracts: 110, seconds: 2.5, nextSeconds: 2, rssMb: 250 },
  { contracts: 1_200, seconds: 25, nextSeconds: null, rssMb: 600 },
] as const;
const GROWTH_MAX = 1.1;

type Run = Pick<Usage, "seconds" | "rssMb">;

/** The runs of a market, and the ledger parts that the next session wrote. */
interface Published {
  readonly contracts: number;
  readonly first: Run;
  readonly next: Run;
  readonly rounds: number;
  readonly ledger: { readonly parts: number; readonly written: readonly string[] };
}

/** Publishes a market of each size. Throws if a publish fails. */
export async function benchPublish(options: BenchOptions): Promise<Section> {
  const all: Published[] = [];
  for (const contracts of options.contracts) all.push(await publishMarket(contracts, options));
  const perContractMs = ({ first, contracts }: Published): string =>
    ((first.seconds * 1_000) / contracts).toFixed(1);
  return {
    title: "Publishing",
    columns: [
      "contracts",
      "seconds",
      "ms a contract",
      "peak MB",
      "next session: seconds",
      "peak MB",
      "ledger parts written",
      "rounds",
    ],
    rows: all.map((published) => [
      String(published.contracts),
      published.first.seconds.toFixed(2),
      perContractMs(published),
      published.first.rssMb.toFixed(0),
      published.next.seconds.toFixed(2),
      published.next.rssMb.toFixed(0),
      `${published.ledger.written.length} of ${published.ledger.parts}`,
      String(published.rounds),
    ]),
    notes: [
      `${CLOSES} daily closes of each contract; whole processes as deploy/ starts them, medians.`,
    ],
    targets: targetsOf(all),
    figures: {
      publish: Object.fromEntries(
        all.map(({ contracts, first }) => [
          String(contracts),
          { seconds: first.seconds, rss_mb: first.rssMb },
        ]),
      ),
    },
  };
}

function targetsOf(all: readonly Published[]): Target[] {
  const targets: Target[] = [];
  for (const limit of LIMITS) {
    const found = all.find(({ contracts }) => contracts === limit.contracts);
    if (found === undefined) continue;
    const { first, next } = found;
    const what = `${limit.contracts} contracts`;
    targets.push(
      {
        text: `${what} are published in less than ${limit.seconds} s`,
        met: first.seconds < limit.seconds,
        figure: `${first.seconds.toFixed(2)} s`,
      },
      {
        text: `${what} are published with less than ${limit.rssMb} MB`,
        met: first.rssMb < limit.rssMb,
        figure: `${first.rssMb.toFixed(0)} MB`,
      },
    );
    if (limit.nextSeconds !== null) {
      targets.push({
        text: `the next session of ${what} is published in less than ${limit.nextSeconds} s`,
        met: next.seconds < limit.nextSeconds,
        figure: `${next.seconds.toFixed(2)} s`,
      });
    }
  }
  const [small, large] = LIMITS.map((limit) =>
    all.find(({ contracts }) => contracts === limit.contracts),
  );
  if (small !== undefined && large !== undefined) {
    const perContract = ({ first, contracts }: Published): number => first.seconds / contracts;
    const growth = perContract(large) / perContract(small);
    targets.push({
      text: `a contract takes at most ${GROWTH_MAX} times as long among 1,200 as among 110`,
      met: growth <= GROWTH_MAX,
      figure: growth.toFixed(2),
    });
  }
  for (const { contracts, ledger } of all) {
    targets.push({
      text: `${contracts} contracts: the next session writes one part of the ledger, its month's`,
      met: ledger.written.length === 1 && ledger.written[0]?.startsWith("2026-11-") === true,
      figure: `${ledger.written.length} of ${ledger.parts}`,
    });
  }
  return targets;
}

async function publishMarket(contracts: number, options: BenchOptions): Promise<Published> {
  const folder = join(options.folder, `publish-${contracts}`);
  mkdirSync(folder);
  options.say(`publish: writing ${contracts} contracts x ${CLOSES} closes`);
  const market = writeMarket(folder, contracts, 2);
  const rounds = contracts > LARGE_CONTRACTS ? 1 : options.rounds;
  const first: Run[] = [];
  const next: Run[] = [];
  let ledger: Published["ledger"] = { parts: 0, written: [] };
  for (let round = 1; round <= rounds; round += 1) {
    options.say(`publish: ${contracts} contracts, round ${round} of ${rounds}`);
    const store = join(folder, "store");
    first.push(await publishSession(market, 0, store));
    const before = new Set(ledgerParts(store));
    const storedAt = lastWrite(store, before);
    next.push(await publishSession(market, 1, store));
    if (lastWrite(store, before) !== storedAt) throw new Error("A ledger part was written again");
    const after = ledgerParts(store);
    ledger = { parts: before.size, written: after.filter((part) => !before.has(part)) };
    rmSync(store, { recursive: true });
  }
  rmSync(folder, { recursive: true });
  return { contracts, first: medianOf(first), next: medianOf(next), rounds, ledger };
}

/** Publishes a session of the market, the first one with catalog and closes. Throws if it fails. */
export async function publishSession(
  market: MarketFiles,
  index: number,
  store: string,
): Promise<Run> {
  const quotes = market.quotes[index];
  if (quotes === undefined) throw new Error(`The market has no session ${index}`);
  const { session, file } = quotes;
  const inputs = ["--quotes", file];
  if (index === 0) inputs.push("--catalog", market.catalog, "--closes", ...market.closes);
  const args = ["publish", "--session", sessionKey(session), "--store", store, ...inputs];
  const env = { ...environment(instantIn(session)), ...DEPLOYED.env };
  return runMeasured(args, env, DEPLOYED.flags);
}

const ledgerParts = (store: string): string[] => readdirSync(join(store, "ledger"));

/** When the last of the parts was written (epoch milliseconds). */
const lastWrite = (store: string, parts: ReadonlySet<string>): number =>
  Math.max(...[...parts].map((part) => statSync(join(store, "ledger", part)).mtimeMs));

const medianOf = (runs: readonly Run[]): Run => ({
  seconds: median(runs.map(({ seconds }) => seconds)),
  rssMb: median(runs.map(({ rssMb }) => rssMb)),
});

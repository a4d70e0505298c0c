/**
 * Real daily series of other markets, from a folder beside the repository: with holes, late starts and
 * ends, and prices of zero and below. Without that folder, this suite says so and runs nothing.
 */
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { ANY_TIME } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { plainBytes } from "../store/stored-file.ts";
import { FILES, ledgerMonthContent } from "../../src/store/paths.ts";
import { expectNaive, expectWorkbook } from "../property/against-naive.ts";
import type { RawContract, RawLevel, RawMarket } from "../property/naive-levels.ts";
import { catalogCsv, publishRaw, PublishedFiles, withoutEntries } from "../property/published.ts";
import { inProcess } from "../cli/run.ts";
import { hasSeries, isPriced, readSeries, type PriceRow } from "./real-prices.ts";

/** Files that tell how their run came to its levels and series. */
const OF_THE_RUN: readonly string[] = [
  FILES.report,
  FILES.series,
  FILES.levelsCsv("pro"),
  FILES.sums("pro"),
];

/** The parts of a ledger without the runs that named them. */
const contentOf = (parts: readonly { readonly key: string }[]): object[] =>
  parts.map((part) => ({ ...part, key: ledgerMonthContent(part.key) }));

const FIRST_DATE = "2021-04-14";
const LAST_SESSION = "2026-04-13T12:00:00.000Z";
/**
 * Five years of single sessions take a quarter of an hour, so the test replays only the last weeks. 1825 in the
 * environment replays all of them.
 */
const REPLAYED_DAYS = Number(process.env["CHIPBOARD_TEST_REPLAYED_DAYS"] ?? 28);
const MAX_CARRY_DAYS = 45;

/** Power on the second board, so that both are filled; some with a capacity and a limit. */
const contractOf = (id: string, at: number): RawContract => ({
  id,
  ticker: id.toUpperCase(),
  name: `Series ${id}`,
  board: id.startsWith("power-") ? "semiconductor" : "memory",
  segment: id.slice(0, id.indexOf("-")),
  unit: "price as the series has it",
  ai_exposure_pct: "0",
  source: "Public series",
  source_url: "https://example.com/series",
  capacity_gb: at % 5 === 0 ? "0.75" : null,
  max_carry_days: id === "fx-eurhrk" ? 7 : null,
  free: at < 10,
  price_type: null,
  delisted_on: null,
});

const levelOf = ({ id, date, close }: PriceRow): RawLevel => ({
  id,
  session_utc: `${date}T12:00:00.000Z`,
  spot_usd: close,
  as_of: date,
  basis: "reported",
  source: null,
  source_url: null,
  break: null,
  low_usd: null,
  high_usd: null,
  inputs: null,
  rationale: null,
});

describe.runIf(hasSeries("real-series.test.ts"))("real series", () => {
  let rows: PriceRow[];
  let contracts: RawContract[];
  let levels: RawLevel[];
  let folder: string;

  beforeAll(async () => {
    rows = readSeries();
    contracts = [...new Set(rows.map(({ id }) => id))].sort().map(contractOf);
    levels = rows.filter((row) => isPriced(row) && row.date >= FIRST_DATE).map(levelOf);
    folder = await mkdtemp(join(tmpdir(), "chipboard-series-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const upTo = (sessionUtc: string): RawMarket => ({
    contracts,
    levels: levels.filter(({ session_utc: at }) => at <= sessionUtc),
    max_carry_days: MAX_CARRY_DAYS,
  });

  const publishOnce = (store: MemoryStore, sessionUtc: string) =>
    publishRaw(
      store,
      { contracts, quotes: [], closes: upTo(sessionUtc).levels, maxCarryDays: MAX_CARRY_DAYS },
      sessionUtc,
    );

  it("are 66; prices of zero and below are refused as one error with its first lines", async () => {
    expect(contracts).toHaveLength(66);
    // The series go below zero and never stop there; a few rows more do.
    const zeros = ["0", "0.00"].map((close, at) => ({
      line: rows.length + 2 + at,
      id: "power-swe",
      date: `2026-04-${16 + at}`,
      close,
    }));
    const faulty = [...rows, ...zeros];
    const catalog = join(folder, "catalog.csv");
    const closes = join(folder, "closes.csv");
    const store = join(folder, "store");
    await writeFile(catalog, catalogCsv(contracts));
    const text = faulty.map(({ id, date, close }) => `${id},${date},${close}\n`).join("");
    await writeFile(closes, `id,date,close_usd\n${text}`);
    const files = ["--catalog", catalog, "--closes", closes, "--store", store];
    const { code, stderr } = await inProcess(["publish", ...files, "--session", "2026-11-21T00Z"]);

    const refused = faulty.filter((row) => !isPriced(row));
    expect(refused.length).toBeGreaterThan(zeros.length + 100);
    expect(code).toBe(2);
    expect(stderr).toContain("1 error in the input; nothing was written");
    const complaints = stderr.split("\n").filter((line) => line.includes("closes.csv:"));
    const [first, ...next] = refused
      .slice(0, 3)
      .map(({ line, close }) => `closes.csv:${line} close_usd "${close}"`);
    expect(complaints.map((line) => line.trim().replaceAll(`${folder}/`, ""))).toEqual([
      `${first}: expected a number above 0, at most 1000000000, with at most 6 decimals; ` +
        `${refused.length} rows have such an error, the next are ${next.join(" and ")}`,
    ]);
    expect(await readdir(folder)).toEqual(["catalog.csv", "closes.csv"]);
  });

  it(`of five years are the same in one call and with the last ${REPLAYED_DAYS} days session by session`, async () => {
    const whole = new MemoryStore();
    const once = await publishOnce(whole, LAST_SESSION);

    const store = new MemoryStore();
    const first = Date.parse(LAST_SESSION) - REPLAYED_DAYS * 86_400_000;
    let last = await publishOnce(store, new Date(first).toISOString());
    const entries = new Map<string, number>();
    for (let day = 1; day <= REPLAYED_DAYS; day += 1) {
      const sessionUtc = new Date(first + day * 86_400_000).toISOString();
      const closes = levels.filter(({ session_utc: at }) => at === sessionUtc);
      // Sessions without a price are also published, with all levels carried.
      const given = { contracts, quotes: [], closes, maxCarryDays: MAX_CARRY_DAYS };
      last = await publishRaw(store, given, sessionUtc);
      expect(last.outcome).toBe("published");
      entries.set(sessionUtc, last.publication as number);
      // All snapshots of five years do not fit into memory.
      if (day % 20 === 0) {
        const clock = { now: () => Date.parse(sessionUtc) + 120_000 };
        await prune(store, 1, false, clock, NO_KEYS, ANY_TIME);
      }
    }

    expect(last.manifest.session_utc).toBe(LAST_SESSION);
    const shared = once.manifest.files.filter(({ path }) => !OF_THE_RUN.includes(path));
    const files = last.manifest.files.filter(({ path }) => !OF_THE_RUN.includes(path));
    expect(files).toEqual(shared);
    expect(contentOf(last.manifest.ledger)).toEqual(contentOf(once.manifest.ledger));
    for (const { path } of shared) {
      const key = `sessions/2026-04-13T12Z/r1/${path}`;
      const bytes = await plainBytes(store, key);
      expect(bytes.equals(await plainBytes(whole, key)), path).toBe(true);
    }
    const [stepped, atOnce] = [new PublishedFiles(store, last), new PublishedFiles(whole, once)];
    const path = FILES.levelsCsv("pro");
    const [rows, rowsAtOnce] = [await stepped.csv(path), await atOnce.csv(path)];
    expect(withoutEntries(rows)).toEqual(withoutEntries(rowsAtOnce));
    expect(rows.map((row) => Number(row["known_from"]))).toEqual(
      rows.map((row) => entries.get(row["session_utc"] ?? "") ?? 1),
    );
  }, 36_000_000);

  it.each([
    // The last session in which a series is carried, and the next one.
    "2023-01-06T12:00:00.000Z",
    "2023-01-07T00:00:00.000Z",
    "2024-02-29T12:00:00.000Z",
    LAST_SESSION,
    // Most series have ended before, on different days.
    "2026-05-29T12:00:00.000Z",
  ])("equal the naive calculation at %s", async (sessionUtc) => {
    const store = new MemoryStore();
    const result = await publishOnce(store, sessionUtc);
    await expectNaive(store, result, upTo(sessionUtc), sessionUtc, new Map());
    await expectWorkbook(store, result, upTo(sessionUtc), sessionUtc);
  });
});

/** Compares every file of a snapshot that has numbers with the naive calculation. */
import { expect } from "vitest";
import type { PublishResult } from "../../src/publish/release.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import {
  naiveCarried,
  naiveOff,
  isWithinDepth,
  naiveHistoryFrom,
  naiveLimits,
  naiveTier,
  type NaiveIndex,
  type NaiveRecord,
} from "./naive-market.ts";
import { naiveHistory, naiveLevels } from "./naive-history.ts";
import { naiveIndices, type NaivePoint, type NaiveSegmentIndex } from "./naive-indices.ts";
import type { RawMarket, RawTier } from "./naive-levels.ts";
import { isNear } from "./naive-series.ts";
import { naiveBasketFile } from "./naive-quantities.ts";
import { ATTRIBUTION, PublishedFiles, withoutEntries } from "./published.ts";

const TIERS = { free: "#1", starter: "#1", pro: "#0" } as const;

/** Compares every JSON file of all tiers, to the digit and the order of fields, and the files of rows. */
export async function expectNaive(
  store: ObjectStore,
  result: PublishResult,
  raw: RawMarket,
  sessionUtc: string,
  corrections: ReadonlyMap<string, readonly CorrectionRow[]> = new Map(),
): Promise<void> {
  const files = new PublishedFiles(store, result);
  const ids = (items: readonly { id: string }[]): string[] => items.map(({ id }) => id).sort();
  expect(ids(result.manifest.carried)).toEqual(naiveCarried(raw, sessionUtc).sort());
  for (const place of ["dropped", "delisted"] as const) {
    expect(ids(result.manifest[place])).toEqual(naiveOff(raw, sessionUtc, place).sort());
  }

  for (const tier of ["free", "starter", "pro"] as const) {
    const expected = naiveTier(raw, sessionUtc, tier);
    const records = [...expected.memory, ...expected.semiconductor];
    const board = await files.json(`${tier}/board.json`);
    expect(board["license"]).toMatch(/internal use/i);
    const envelope = {
      session_utc: expected.session_utc,
      delayed_sessions: TIERS[tier],
      license: board["license"],
      attribution: ATTRIBUTION,
    };
    expectSame(board, {
      ...envelope,
      counts: {
        memory: `#${expected.memory.length}`,
        semiconductor: `#${expected.semiconductor.length}`,
      },
      memory: expected.memory,
      semiconductor: expected.semiconductor,
      next_session_utc: new Date(Date.parse(sessionUtc) + 12 * 3_600_000).toISOString(),
    });

    const history_from = naiveHistoryFrom(expected.session_utc, tier);
    const known = [...records, ...expected.discontinued];
    const paths = known.map(({ id }) => `${tier}/contracts/${id}.json`);
    expect(files.under(`${tier}/contracts/`).sort()).toEqual(paths.sort());
    for (const record of known) {
      expectSame(await files.json(`${tier}/contracts/${record.id}.json`), {
        ...envelope,
        ...record,
        references: expected.references.get(record.id),
        history_from,
        history: expected.history.get(record.id),
        breaks: expected.breaks.get(record.id),
        rationale: expected.rationale.get(record.id),
        ...naiveLimits(raw, record.id),
        corrections: seenBy(tier, corrections.get(record.id) ?? [], expected.session_utc),
      });
    }

    if (tier !== "free") {
      const index = await files.json(`${tier}/index.json`);
      const kind = { name: "composite", weighting: "equal" };
      expectSame(index, { ...envelope, ...kind, ...expected.index });
      expectSumsUp(expected.index);
      const indices = naiveIndices(raw, sessionUtc, tier);
      await expectIndices(files, indices, tier, envelope);
      expect(await files.csv(`${tier}/export.csv`)).toEqual(csvRows(records, expected));
      expect(await files.csv(`${tier}/history.csv`)).toEqual(naiveHistory(raw, sessionUtc, tier));
      // Since when a row has been known is compared in known-when.test.ts.
      const levels = withoutEntries(await files.csv(`${tier}/levels.csv`));
      expect(levels).toEqual(naiveLevels(raw, sessionUtc, tier));
      await expectSparklines(files, raw, sessionUtc, tier, envelope, records, indices);
      if (tier === "pro") {
        const rows = await files.parquet("pro/history.parquet");
        expect(rows).toEqual(naiveHistory(raw, sessionUtc, tier));
        const basket = await files.json("pro/basket.json");
        expectSame(basket, { ...envelope, contracts: naiveBasketFile(raw, sessionUtc) });
      }
      const listed = raw.contracts.flatMap(({ id }) =>
        seenBy(tier, corrections.get(id) ?? [], expected.session_utc).map((item) => ({
          contract_id: id,
          ...item,
        })),
      );
      const found = await files.json(`${tier}/corrections.json`);
      const rows = found["corrections"] as typeof listed;
      expectSame(
        { ...found, corrections: sorted(rows) },
        { ...envelope, corrections: sorted(listed) },
      );
    }
  }
}

/** Compares the last closes of contracts with the history, and the closes of indices with their series. */
async function expectSparklines(
  files: PublishedFiles,
  raw: RawMarket,
  sessionUtc: string,
  tier: RawTier,
  envelope: Readonly<Record<string, unknown>>,
  records: readonly { readonly id: string }[],
  series: readonly NaiveSegmentIndex[],
): Promise<void> {
  const rows = naiveHistory(raw, sessionUtc, tier);
  const today = Date.parse(String(envelope["session_utc"]).slice(0, 10));
  const lines = records.map(({ id }) => {
    const closes = rows.filter(({ contract_id }) => contract_id === id).slice(-90);
    const days = closes.map(({ date }) => `#${(today - Date.parse(date)) / 86_400_000}`);
    const breaks = [...closes.keys()].filter((at) => closes[at]?.break_reason !== "");
    const daily = [...closes.keys()].reverse().map((ago) => `#${ago}`);
    const isPlain = days.join() === daily.join() && breaks.length === 0;
    return {
      line: { id, closes: closes.map(({ close_usd }) => `#${close_usd}`) },
      days: isPlain ? [] : [{ id, days_ago: days, breaks: breaks.map((at) => `#${at}`) }],
    };
  });
  const { indices, ...found } = await files.json(`${tier}/sparklines.json`);
  expectSame(found, {
    ...envelope,
    sparklines: lines.map(({ line }) => line),
    days: lines.flatMap(({ days }) => days),
  });
  const expected = series.map(async ({ id }) => {
    const index = await files.json(`${tier}/indices/${id}.json`);
    const { history } = index["series"] as { history: FoundPoint[] };
    const closes = history.slice(id === "composite" ? -366 : -90).map(({ close }) => close);
    return { id, closes };
  });
  expect(indices).toEqual(await Promise.all(expected));
}

/** Compares the list of indices, and each with its series. */
async function expectIndices(
  files: PublishedFiles,
  expected: readonly NaiveSegmentIndex[],
  tier: RawTier,
  envelope: Readonly<Record<string, unknown>>,
): Promise<void> {
  const paths = expected.map(({ id }) => `${tier}/indices/${id}.json`);
  expect(files.under(`${tier}/indices/`).sort()).toEqual(paths.sort());
  const items: unknown[] = [];
  const rows: unknown[] = [];
  for (const { id, name, index, base, history } of expected) {
    const { series, ...rest } = await files.json(`${tier}/indices/${id}.json`);
    expectSame(rest, { ...envelope, name: id, weighting: "equal", ...index });
    // What Pro has for the next close is compared in series-history.test.ts.
    const { history: closes, ...about } = series as { history: FoundPoint[] } & ForNextClose;
    const { value, last_used: used, changes: _changes, ...others } = about;
    expect([value === undefined, used === undefined]).toEqual([tier !== "pro", tier !== "pro"]);
    const begun = base === null ? null : { date: base, level: "#100" };
    const history_from = naiveHistoryFrom(String(envelope["session_utc"]), tier);
    expectSame(others, {
      method: "jevons-chained",
      base: begun,
      link: null,
      restatements: [],
      adjustments: [],
      history_from,
    });
    expectCloses(closes, history);
    rows.push(
      ...closes.map(({ date, close }) => ({ index_id: id, date, close: close.slice("#".length) })),
    );
    items.push({
      id,
      name,
      constituents: index.constituents,
      level: index.level,
      chg_24h_pct: index.chg_24h_pct,
      chg_30d_pct: index.chg_30d_pct,
      series_close: closes.at(-1)?.close ?? null,
      series_date: closes.at(-1)?.date ?? null,
      // No segment is renamed in these markets.
      formerly: [],
    });
  }
  expectSame(await files.json(`${tier}/indices.json`), { ...envelope, indices: items });
  expect(withoutEntries(await files.csv(`${tier}/indices.csv`))).toEqual(rows);
}

/** What a payload of Pro has for the next close, and the changes of all that have a series. */
interface ForNextClose {
  readonly changes?: unknown;
  readonly value?: unknown;
  readonly last_used?: unknown;
}

/** A point of a published series; the close is `#` and its text. */
interface FoundPoint {
  readonly date: string;
  readonly close: string;
}

/** The same days, and the closes of the series, rounded half up to four decimals. */
export function expectCloses(found: readonly FoundPoint[], expected: readonly NaivePoint[]): void {
  expect(found.map(({ date }) => date)).toEqual(expected.map(({ date }) => date));
  found.forEach(({ date, close: text }, at) => {
    const { value } = expected[at] as NaivePoint;
    const isShortest = /^#(?:0|[1-9]\d*)(?:\.\d{0,3}[1-9])?$/.test(text);
    // A series has thousands of points, and `expect` takes its time.
    if (isShortest && isNear(text.slice("#".length), value)) return;
    expect.fail(`${date}: ${text}, expected ${value}`);
  });
}

const sorted = (rows: readonly unknown[]): string[] =>
  rows.map((row) => JSON.stringify(row)).sort();

/** A correction as contract files show it. */
export interface CorrectionRow {
  readonly session_utc: string;
  readonly old_usd: string | null;
  readonly new_usd: string | null;
  readonly reason: string;
  readonly corrected_in: string;
  /** `#` and the number of the entry that brought it. */
  readonly publication: string;
}

/** Compares the workbook's sheets with the records. */
export async function expectWorkbook(
  store: ObjectStore,
  result: PublishResult,
  raw: RawMarket,
  sessionUtc: string,
): Promise<void> {
  const files = new PublishedFiles(store, result);
  const expected = naiveTier(raw, sessionUtc, "pro");
  for (const [sheet, records] of [
    ["Memory", expected.memory],
    ["Semiconductor", expected.semiconductor],
  ] as const) {
    const rows = records.map((record) =>
      Object.fromEntries(
        Object.entries(row(record)).map(([column, value]) => [column, cell(column, value)]),
      ),
    );
    expect(await files.sheet("pro/export.xlsx", sheet)).toEqual(rows);
  }
}

/** Contributions sum to level − 100, and 24-hour contributions to the change, except for rounding. */
export function expectSumsUp(index: NaiveIndex): void {
  if (index.level === null || index.chg_24h_pct === null) return;
  const n = BigInt(index.contributions.length);
  const sum = (field: string): bigint =>
    index.contributions.reduce((total, item) => total + tenThousandths(item[field] ?? ""), 0n);
  const above = tenThousandths(index.level) - 1_000_000n;
  expect(2n * distance(sum("contribution"), above)).toBeLessThanOrEqual(n + 1n);
  // The change has two decimals, so it may be off by half of 0.01.
  const change = tenThousandths(index.chg_24h_pct);
  expect(2n * distance(sum("contribution_24h_pct"), change)).toBeLessThanOrEqual(n + 100n);
}

/** Equal as JSON text: values, and the order of the fields. */
export function expectSame(found: unknown, expected: unknown): void {
  expect(JSON.stringify(found, null, 1)).toBe(JSON.stringify(expected, null, 1));
}

/** In whole units of 0.0001. */
function tenThousandths(number: string): bigint {
  const [, sign, whole = "", decimals = ""] = /^#(-?)(\d+)(?:\.(\d{1,4}))?$/.exec(number) ?? [];
  return BigInt(`${sign}${whole}${decimals.padEnd(4, "0")}`);
}

const distance = (a: bigint, b: bigint): bigint => (a < b ? b - a : a - b);

const seenBy = (
  tier: RawTier,
  corrections: readonly CorrectionRow[],
  session: string,
): CorrectionRow[] =>
  corrections.filter(
    ({ session_utc: at }) => at <= session && isWithinDepth(at.slice(0, 10), session, tier),
  );

const TEXT = ["ticker", "name", "segment", "unit", "break_reason", "source_url", "source"];

/** A record under the columns' names; a missing value is null. */
function row(record: NaiveRecord): Record<string, string | null> {
  const { id, break: broken, basis, as_of, source, source_url, ...fields } = record;
  const { capacity_gb, usd_per_gb, ...first } = fields as Record<string, string | null>;
  const latest = broken as { session_utc: string; reason: string } | null;
  return {
    contract_id: id,
    ...first,
    capacity_gb: capacity_gb ?? null,
    usd_per_gb: usd_per_gb ?? null,
    break_session_utc: latest?.session_utc ?? null,
    break_reason: latest?.reason ?? null,
    basis: basis as string,
    as_of: as_of as string,
    source_url: source_url as string,
    source: source as string,
  };
}

function csvRows(
  records: readonly NaiveRecord[],
  { session_utc, memory }: { session_utc: string; memory: readonly NaiveRecord[] },
): Record<string, string>[] {
  return records.map((record) => {
    const values = Object.entries({
      session_utc,
      board: memory.includes(record) ? "memory" : "semiconductor",
      ...row(record),
    });
    return Object.fromEntries(
      values.map(([column, value]) => {
        if (value === null) return [column, ""];
        if (TEXT.includes(column))
          return [column, value.replace(/^(?=\s*[=+\-@＝＋－＠]|[\t\r])/, "'")];
        return [column, value.replace(/^#/, "")];
      }),
    );
  });
}

function cell(column: string, value: string | null): unknown {
  if (value === null) return null;
  if (value.startsWith("#")) return Number(value.slice(1));
  if (/(?:^|_)as_of$|_utc$/.test(column)) return new Date(value);
  return column === "source_url" ? { text: value, hyperlink: value } : value;
}

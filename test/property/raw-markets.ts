/** Small markets around the times at which the rules change: ends of months, carry limits. */
import { fc } from "@fast-check/vitest";
import { naiveYearsBefore } from "./naive-market.ts";
import type { RawContract, RawLevel, RawMarket, RawTerms } from "./naive-levels.ts";

export interface RawCase {
  readonly raw: RawMarket;
  /** The session to publish. */
  readonly sessionUtc: string;
}

const SESSION_MS = 12 * 3_600_000;

const HEADS = [
  "2024-02-29T00:00:00.000Z",
  "2024-02-29T12:00:00.000Z",
  "2024-03-01T00:00:00.000Z",
  "2025-02-28T12:00:00.000Z",
  "2025-03-01T00:00:00.000Z",
  "2024-12-31T12:00:00.000Z",
  "2025-01-01T00:00:00.000Z",
  "2026-11-21T00:00:00.000Z",
  "2026-03-31T12:00:00.000Z",
  "2029-02-28T12:00:00.000Z",
  "2000-02-29T12:00:00.000Z",
  "2104-02-29T00:00:00.000Z",
] as const;

/** The sessions at which a rule changes, for a head and a carry limit in days. */
function decisive(headUtc: string, limitDays: number): number[] {
  const head = indexOf(headUtc);
  const places: number[] = [];
  for (const view of [head, head - 1]) {
    const midnight = utcOf(view).slice(0, 10);
    const starts = [view, view - 2, view - 60, indexOf(naiveYearsBefore(utcOf(view), 1))];
    for (const days of [7, 60, 90, 180]) places.push(view - 2 * days, view - 2 * days + 1);
    for (const start of starts) {
      places.push(start - 1, start, start + 1);
      places.push(start - 2 * limitDays - 1, start - 2 * limitDays, start - 2 * limitDays + 1);
    }
    const depths = [indexOf(midnight) - 180, indexOf(naiveYearsBefore(midnight, 5))];
    for (const depth of depths) places.push(depth - 1, depth, depth + 1, depth + 2, depth + 3);
  }
  return [...new Set(places)].filter((place) => place <= head && place >= 0);
}

const priceText = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom("0.000001", "1000000000", "999999999.999999", "12.50") },
  { weight: 2, arbitrary: fc.bigInt(1n, 10n ** 15n).map(microsText) },
  { weight: 4, arbitrary: fc.bigInt(1_000_000n, 9_000_000n).map(microsText) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 40 }).map(String) },
);

/** A level with the range around it, in millionths below and above; null: none. */
const price = fc
  .tuple(priceText, fc.option(fc.tuple(fc.nat(2_000_000), fc.nat(2_000_000)), { freq: 2 }))
  .map(([spot_usd, range]) => {
    if (range === null) return { spot_usd, low_usd: null, high_usd: null };
    const [below, above] = range.map(BigInt) as [bigint, bigint];
    const [whole = "", decimals = ""] = spot_usd.split(".");
    const spot = BigInt(whole + decimals.padEnd(6, "0"));
    const low = spot > below ? spot - below : 1n;
    const high = spot + above < 10n ** 15n ? spot + above : 10n ** 15n;
    return { spot_usd, low_usd: microsText(low), high_usd: microsText(high) };
  });

const detail = fc.record({
  price,
  inputs: fc.constantFrom(null, null, null, 1, 17, 1_000_000),
  rationale: fc.constantFrom(null, null, null, "=Thin trade", 'Bids, "firm"\nand offers'),
  lagDays: fc.constantFrom(0, 0, 0, 1, 2, 7),
  basis: fc.constantFrom("reported", "reported", "assessed", "estimated"),
  source: fc.constantFrom(null, null, null, "Another source"),
  source_url: fc.constantFrom(null, null, null, "https://example.org/a?b=1,2"),
  break: fc.constantFrom(null, null, null, null, null, null, "New unit", 'Lot of "10", not 12'),
});

const listing = fc.record({
  board: fc.constantFrom("memory" as const, "memory" as const, "semiconductor" as const),
  name: fc.constantFrom("Plain", '=1+1, "quoted"', "Two\nlines", "Two\rparts", "µ-chip 16 Gbit"),
  ai_exposure_pct: fc.constantFrom("0", "100", "12.50", "33.333333"),
  capacity_gb: fc.constantFrom(null, "2", "0.001", "1000000", "0.333333", "3"),
  max_carry_days: fc.constantFrom(null, null, 0, 1, 30, 45, 366, 2_000),
  price_type: fc.constantFrom(null, "spot", "contract"),
  /** Days from the head's date to the delisting; null: it stays listed. */
  delistedAfter: fc.constantFrom(null, null, null, null, null, 1, 0, 0, -1, -40),
  marked: fc.boolean(),
  /** The decisive sessions with a level, as fractions of their number. */
  picks: fc.array(fc.nat(1_000_000), { maxLength: 16 }),
  others: fc.array(fc.nat(4_000), { maxLength: 6 }),
  steady: fc.boolean(),
  details: fc.array(detail, { minLength: 8, maxLength: 8 }),
});
type Listing = typeof listing extends fc.Arbitrary<infer T> ? T : never;

const shape = fc.record({
  head: fc.constantFrom(...HEADS),
  shift: fc.integer({ min: -2, max: 2 }),
  maxCarryDays: fc.constantFrom(45, 45, 0, 1, 400),
  listings: fc.oneof(
    { weight: 6, arbitrary: fc.array(listing, { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.array(listing, { minLength: 12, maxLength: 12 }) },
  ),
});

export const rawCases: fc.Arbitrary<RawCase> = shape
  .map(({ head, shift, maxCarryDays, listings }) => {
    const sessionUtc = utcOf(indexOf(head) + shift);
    const contracts = withFreeTen(
      listings.map((item, at) => contractOf(item, at, sessionUtc)),
      listings,
    );
    const levels = listings.flatMap((item, at) => {
      const { id, max_carry_days: own, delisted_on } = contracts[at] as RawContract;
      const levels = levelsOf(item, id, sessionUtc, own ?? maxCarryDays);
      return levels.filter(({ session_utc }) => delisted_on === null || session_utc < delisted_on);
    });
    return { raw: { contracts, levels, max_carry_days: maxCarryDays }, sessionUtc };
  })
  .filter(({ raw }) => raw.levels.length > 0);

/** The terms of a contract before its break; null: they never changed. */
export const earlierTerms = fc.option(
  fc.record({
    unit: fc.constantFrom("USD per piece", "USD per tray", "USD per module"),
    capacity_gb: fc.constantFrom(null, "2", "0.5", "24"),
    price_type: fc.constantFrom(null, "spot", "retail"),
  }),
  { freq: 4 },
);

/**
 * The market with other terms until a break: the last level of each chosen contract that has levels up
 * to `firstUtc` and after it.
 */
export function withEarlierTerms(
  raw: RawMarket,
  firstUtc: string,
  terms: readonly (Omit<RawTerms, "until"> | null)[],
): RawMarket & { readonly earlier: ReadonlyMap<string, RawTerms> } {
  const earlier = new Map<string, RawTerms>();
  raw.contracts.forEach(({ id }, at) => {
    const before = terms[at] ?? null;
    const sessions = raw.levels
      .filter((level) => level.id === id)
      .map((level) => level.session_utc);
    const until = sessions.at(-1) ?? "";
    if (before === null || until <= firstUtc || (sessions[0] as string) > firstUtc) return;
    earlier.set(id, { until, ...before });
  });
  const levels = raw.levels.map((level) =>
    earlier.get(level.id)?.until === level.session_utc
      ? { ...level, break: level.break ?? "New terms" }
      : level,
  );
  return { ...raw, levels, earlier };
}

/** The catalog before the breaks. A contract without a break may get capacity and price type later. */
export const contractsBefore = ({
  contracts,
  earlier,
}: ReturnType<typeof withEarlierTerms>): RawContract[] =>
  contracts.map((contract) => {
    const empty = { until: "", capacity_gb: null, price_type: null };
    const { until: _until, ...terms } = earlier.get(contract.id) ?? empty;
    return { ...contract, ...terms };
  });

export const utcOf = (session: number): string => new Date(session * SESSION_MS).toISOString();

export const indexOf = (utc: string): number => Date.parse(utc) / SESSION_MS;

const contractOf = (item: Listing, at: number, headUtc: string): RawContract => ({
  id: `contract-${at}`,
  ticker: `C${at}`,
  name: item.name,
  board: item.board,
  segment: at % 2 === 0 ? "DRAM" : "NAND",
  unit: "USD per piece",
  ai_exposure_pct: item.ai_exposure_pct,
  source: "A source",
  source_url: "https://example.com/prices",
  capacity_gb: item.capacity_gb,
  max_carry_days: item.max_carry_days,
  free: item.marked,
  price_type: item.price_type,
  delisted_on:
    item.delistedAfter === null
      ? null
      : utcOf(indexOf(headUtc.slice(0, 10)) + 2 * item.delistedAfter).slice(0, 10),
});

/** All if there are fewer than ten; else the ten marked ones, or the first ten. */
function withFreeTen(
  contracts: readonly RawContract[],
  listings: readonly Listing[],
): RawContract[] {
  const marked = contracts.flatMap(({ free }, at) => (free ? [at] : []));
  const rest = listings.map((_, at) => at).filter((at) => !marked.includes(at));
  const chosen = new Set([...marked, ...rest].slice(0, 10));
  return contracts.map((contract, at) => ({
    ...contract,
    free: contracts.length < 10 || chosen.has(at),
  }));
}

function levelsOf(item: Listing, id: string, headUtc: string, limitDays: number): RawLevel[] {
  const places = decisive(headUtc, limitDays);
  const steady = item.steady ? [0, 61, 750].map((back) => indexOf(headUtc) - back) : [];
  const sessions = new Set([
    ...item.picks.map((pick) => places[pick % places.length] as number),
    ...item.others.map((back) => indexOf(headUtc) - back),
    ...steady,
  ]);
  let asOf = "";
  return [...sessions]
    .sort((a, b) => a - b)
    .map((session, at) => {
      const {
        lagDays,
        price: prices,
        ...given
      } = item.details[at % item.details.length] as Listing["details"][0];
      const lagged = utcOf(session - 2 * lagDays).slice(0, 10);
      asOf = lagged > asOf ? lagged : asOf;
      return { id, session_utc: utcOf(session), as_of: asOf, ...prices, ...given };
    });
}

function microsText(micros: bigint): string {
  const digits = micros.toString().padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

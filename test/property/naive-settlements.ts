/**
 * Settlements from the words of the contract and without any shortcut: which months a publication settles, with which
 * figures, and the figures as known now. A row of /settlements.csv is a settlement.
 */
import { fractionOf, isLess, over, plus, rounded, ZERO, type Fraction } from "./naive-fraction.ts";
import {
  indicesOf,
  measured,
  membersOn,
  type SeriesByIndex,
  type SeriesLevel,
  type SeriesRun,
} from "./naive-series.ts";

const FIGURES = ["average", "last", "high", "low"] as const;

/** The figures of a month; an index as known now has numbers, which are nearly right, and all else exact texts. */
export interface NaiveFigures {
  readonly days: number;
  /** Null: no day, or a break. */
  readonly figures: Readonly<Record<(typeof FIGURES)[number], string | number>> | null;
}

/** A settled month. */
export interface NaiveSettlement {
  readonly kind: "index" | "contract";
  readonly id: string;
  readonly month: string;
  readonly settled: NaiveFigures;
  readonly now: NaiveFigures;
  readonly settledBy: number;
  /** Unit and capacity; empty for an index. */
  readonly terms: readonly [unit: string, capacity: string];
}

/** By kind, id and month. */
export type NaiveSettlements = ReadonlyMap<string, NaiveSettlement>;

const dateOf = (day: number): string => new Date(day * 86_400_000).toISOString().slice(0, 10);
const monthOf = (day: number): string => dateOf(day).slice(0, 7);
const keyOf = (kind: string, id: string, month: string): string => `${kind} ${id} ${month}`;

/** The days of a month. */
function daysOf(month: string): number[] {
  const days: number[] = [];
  const first = Date.parse(`${month}-01`) / 86_400_000;
  for (let day = first; monthOf(day) === month; day += 1) days.push(day);
  return days;
}

/** The months whose last noon is before the session, and whose last day is in the five years before its day. */
function monthsDue(session: number, years = 5): string[] {
  const today = dateOf(Math.floor(session / 2));
  const floor = `${Number(today.slice(0, 4)) - years}${today.slice(4)}`;
  const months: string[] = [];
  for (let day = Date.parse(floor) / 86_400_000 + 1; 2 * day + 1 < session; day += 1) {
    if (monthOf(day) !== monthOf(day + 1)) months.push(monthOf(day));
  }
  return months;
}

const NONE: NaiveFigures = { days: 0, figures: null };

function exactFigures(closes: readonly string[], decimals: number): NaiveFigures {
  if (closes.length === 0) return NONE;
  const all = closes.map(fractionOf);
  const sum = all.reduce(plus, ZERO);
  const text = (figure: Fraction): string => rounded(figure, decimals).slice(1);
  const most = all.reduce((a, b) => (isLess(a, b) ? b : a));
  const least = all.reduce((a, b) => (isLess(b, a) ? b : a));
  return {
    days: closes.length,
    figures: {
      average: text(over(sum, { over: BigInt(closes.length), under: 1n })),
      last: text(all.at(-1) as Fraction),
      high: text(most),
      low: text(least),
    },
  };
}

function nearFigures(values: readonly number[]): NaiveFigures {
  if (values.length === 0) return NONE;
  return {
    days: values.length,
    figures: {
      average: values.reduce((sum, value) => sum + value, 0) / values.length,
      last: values.at(-1) as number,
      high: Math.max(...values),
      low: Math.min(...values),
    },
  };
}

/** A contract's month by its levels in force at noon of these days, as the ledger has them now. */
function contractMonth(levels: readonly SeriesLevel[], days: readonly number[]): NaiveFigures {
  const closes = days.map(
    (day) => levels.findLast(({ session }) => session <= 2 * day + 1)?.usd as string,
  );
  const [first, last] = [2 * (days[0] ?? 0) + 1, 2 * (days.at(-1) ?? 0) + 1];
  const isBroken = levels.some(
    ({ session, isBreak }) => isBreak && session > first && session <= last,
  );
  return isBroken ? { days: days.length, figures: null } : exactFigures(closes, 6);
}

/** The settlements after a run. `parent` are the settlements before it, under the ids of now. */
export function settledAfter(
  parent: NaiveSettlements,
  { number, session, contracts, ledger }: SeriesRun,
  series: SeriesByIndex,
  termsOf: (id: string, lastNoon: number) => NaiveSettlement["terms"],
): NaiveSettlements {
  const after = new Map(parent);
  const months = monthsDue(session);
  const add = (
    kind: NaiveSettlement["kind"],
    id: string,
    month: string,
    settled: NaiveFigures,
    now: NaiveFigures,
    lastNoon = 0,
  ): void => {
    const key = keyOf(kind, id, month);
    const stands = after.get(key);
    if (stands !== undefined) after.set(key, { ...stands, now });
    else if (settled.days > 0) {
      const terms = kind === "index" ? (["", ""] as const) : termsOf(id, lastNoon);
      after.set(key, { kind, id, month, settled, now, settledBy: number, terms });
    }
  };
  for (const contract of contracts) {
    for (const month of months) {
      const days = daysOf(month).filter((day) => membersOn([contract], ledger, day).size > 0);
      const figures = contractMonth(ledger.get(contract.id) ?? [], days);
      add("contract", contract.id, month, figures, figures, 2 * (days.at(-1) ?? 0) + 1);
    }
  }
  for (const id of indicesOf(contracts).keys()) {
    const own = series.get(id);
    const values = own === undefined ? new Map<number, number>() : measured(own, ledger).values;
    for (const month of months) {
      const days = daysOf(month).filter((day) => own?.closes.has(day));
      const texts = days.map((day) => own?.closes.get(day)?.text as string);
      const known = days.map((day, at) => values.get(day) ?? Number(texts[at]));
      add("index", id, month, exactFigures(texts, 4), nearFigures(known));
    }
  }
  return after;
}

/** The settlements of renamed contracts under their new ids. */
export function withSettledIds(
  settlements: NaiveSettlements,
  renamed: ReadonlyMap<string, string>,
  movedIndices: ReadonlyMap<string, string>,
): NaiveSettlements {
  const after = new Map<string, NaiveSettlement>();
  const taken = new Set(movedIndices.values());
  const all = [...settlements.values()]
    .filter(({ kind, id }) => kind === "contract" || movedIndices.has(id) || !taken.has(id))
    .map((each) =>
      each.kind === "index" ? { ...each, id: movedIndices.get(each.id) ?? each.id } : each,
    );
  const isMoved = ({ kind, id }: NaiveSettlement): boolean =>
    kind === "contract" && renamed.has(id);
  // A contract that had the new id before, and has no level any more, gives way.
  for (const each of [...all.filter((item) => !isMoved(item)), ...all.filter(isMoved)]) {
    const id = isMoved(each) ? (renamed.get(each.id) as string) : each.id;
    after.set(keyOf(each.kind, id, each.month), { ...each, id });
  }
  return after;
}

/** In the order of the file: of the indices, of the boards, then of those that left, by id; months ascending. */
export function inFileOrder(
  settlements: NaiveSettlements,
  { contracts, session }: Pick<SeriesRun, "contracts" | "session">,
): NaiveSettlement[] {
  const listed = [
    ...[...indicesOf(contracts).keys()].map((id) => `index ${id}`),
    ...contracts.map(({ id }) => `contract ${id}`),
  ];
  const months = monthsDue(session);
  const rank = ({ kind, id }: NaiveSettlement): number => {
    const place = listed.indexOf(`${kind} ${id}`);
    return place < 0 ? listed.length : place;
  };
  const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return [...settlements.values()]
    .filter(({ month }) => months.includes(month))
    .toSorted(
      (a, b) =>
        rank(a) - rank(b) ||
        (rank(a) === listed.length ? compare(a.id, b.id) || compare(b.kind, a.kind) : 0) ||
        compare(a.month, b.month),
    );
}

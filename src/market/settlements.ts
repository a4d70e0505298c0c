/**
 * Settlements: the figures of a calendar month over the closes at 12:00 UTC of all its days, carried levels included.
 * The first publication of a session after the month's last noon settles it. Settled figures never change. Beside
 * them stand the same figures as known now, with every correction.
 */
import {
  CLOSE_DECIMALS,
  closeOn,
  closeText,
  firstKeptDay,
  formatUnits,
  roundedUnits,
} from "./chained.ts";
import type { Contract } from "./contract.ts";
import { formatMicros, MICROS_PER_UNIT, ratio, roundRatio, type Decimal } from "./decimal.ts";
import { indicesOf } from "./indices.ts";
import { termsOf } from "./members.ts";
import type { IndexSeries, SeriesByIndex } from "./published-series.ts";
import { countUntil, Levels, Series, type Level } from "./series.ts";
import {
  closeSessionOf,
  firstDayOf,
  lastDayOf,
  monthOf,
  type Day,
  type Month,
  type Session,
} from "./session.ts";
import type { Market } from "./view.ts";

/** The figures of a month, in US dollars or in index points. */
export interface Figures {
  readonly average: Decimal;
  readonly last: Decimal;
  readonly high: Decimal;
  readonly low: Decimal;
}

/** A month as it is known at some time. */
export interface MonthFigures {
  /** The days with a close. */
  readonly days: number;
  /** Null: no day, or a break between the first and the last of them. */
  readonly figures: Figures | null;
}

/** The terms of a contract on the last of the days; of an index null. */
interface MonthTerms {
  readonly unit: string | null;
  readonly capacityGb: Decimal | null;
}

/** A settled month. */
export interface Settlement extends MonthTerms {
  readonly month: Month;
  /** It has a day. */
  readonly settled: MonthFigures;
  readonly now: MonthFigures;
  /** The number of the entry that settled it. */
  readonly settledBy: number;
}

/** The settlements of contracts, or of indices, by id; months ascending. */
export type SettlementsById = ReadonlyMap<string, readonly Settlement[]>;

/** The kinds of settlements, in the order of files. */
export const SETTLED_KINDS = ["index", "contract"] as const;
export type SettledKind = (typeof SETTLED_KINDS)[number];

/** Of the months that the tier with the longest history shows. An id without any is left out. */
export type Settlements = { readonly [K in SettledKind]: SettlementsById };

export const NO_SETTLEMENTS: Settlements = { index: new Map(), contract: new Map() };

/** A month as a run knows it. Null: its closes are known no more. */
interface Measured extends MonthTerms {
  readonly toSettle: MonthFigures | null;
  readonly now: MonthFigures | null;
}

const LEVEL_DECIMALS = 6;
const NO_SERIES = new Series(new Levels());
const NO_DAY: MonthFigures = { days: 0, figures: null };

/**
 * The settlements at a session, which the entry `publication` publishes: the head's stay, and months are
 * added that are due and have a day by now. Contracts and indices that left the catalog keep theirs.
 */
export function settle(
  market: Market,
  session: Session,
  series: SeriesByIndex,
  before: Settlements,
  publication: number,
): Settlements {
  const months = dueMonths(session);
  const [first = ""] = months;
  const settled = { index: new Map(before.index), contract: new Map(before.contract) };
  for (const byId of [settled.index, settled.contract]) {
    for (const [id, all] of byId) {
      byId.set(
        id,
        all.filter(({ month }) => month >= first),
      );
    }
  }
  const add = (kind: SettledKind, id: string, measured: readonly Measured[]): void => {
    const stored = new Map(settled[kind].get(id)?.map((each) => [each.month, each]));
    const all = months.flatMap((month, at): Settlement | readonly [] => {
      const { toSettle, now, ...terms } = measured[at] as Measured;
      const stands = stored.get(month);
      if (stands !== undefined) return { ...stands, now: now ?? stands.now };
      if (toSettle === null || now === null || toSettle.days === 0) return [];
      return { month, ...terms, settled: toSettle, now, settledBy: publication };
    });
    settled[kind].set(id, all);
  };
  for (const contract of market.catalog) {
    add("contract", contract.id, monthsOfContract(contract, market, months));
  }
  for (const { id } of indicesOf(market.catalog)) {
    add("index", id, monthsOfIndex(series.get(id), months));
  }
  for (const byId of [settled.index, settled.contract]) {
    for (const [id, all] of byId) if (all.length === 0) byId.delete(id);
  }
  return settled;
}

/** The months whose last noon is before the session, from the first one that ends within the longest history. */
function dueMonths(session: Session): Month[] {
  const months: Month[] = [];
  let month = monthOf(firstKeptDay(session) + 1);
  for (; closeSessionOf(lastDayOf(month)) < session; month = monthOf(lastDayOf(month) + 1)) {
    months.push(month);
  }
  return months;
}

/** The months of a contract, by its levels in force at noon. */
function monthsOfContract(
  contract: Contract,
  { maxCarryDays, seriesOf }: Market,
  months: readonly Month[],
): Measured[] {
  // All levels of a contract may have been withdrawn.
  const series = seriesOf(contract.id) ?? NO_SERIES;
  const closes = months.length === 0 ? [] : noonLevels(contract, series, maxCarryDays, months);
  let at = 0;
  return months.map((month): Measured => {
    const end = lastDayOf(month);
    const from = at;
    while ((closes[at]?.day ?? Infinity) <= end) at += 1;
    const own = closes.slice(from, at);
    const [first, last] = [own[0]?.day ?? end, own.at(-1)?.day ?? end].map(closeSessionOf);
    const isBroken = series.hasBreakBetween(first as Session, last as Session);
    const now = isBroken
      ? { days: own.length, figures: null }
      : exactFigures(
          own.map(({ usd }) => usd),
          MICROS_PER_UNIT,
          LEVEL_DECIMALS,
          formatMicros,
        );
    const { unit, capacityGb } = { ...contract, ...series.termsAt(last as Session) };
    return { unit, capacityGb, toSettle: now, now };
  });
}

/** The level in force at noon of each day of the months on which the contract has one. */
function noonLevels(
  contract: Contract,
  series: Series,
  publicationDays: number,
  months: readonly Month[],
): { readonly day: Day; readonly usd: number }[] {
  const { levels } = series;
  const begin = firstDayOf(months[0] as Month);
  const end = lastDayOf(months.at(-1) as Month);
  const found: { day: Day; usd: number }[] = [];
  for (const { from, to } of termsOf(contract, series, publicationDays, begin, end)) {
    let next = countUntil(levels, closeSessionOf(from));
    let { usd } = levels.at(next - 1) as Level;
    for (let day = from; day <= to; day += 1) {
      for (
        let level = levels.at(next);
        level !== undefined && level.session <= closeSessionOf(day);
        level = levels.at((next += 1))
      ) {
        ({ usd } = level);
      }
      found.push({ day, usd });
    }
  }
  return found;
}

/** The months of an index; `series` undefined: it has no close. */
function monthsOfIndex(series: IndexSeries | undefined, months: readonly Month[]): Measured[] {
  const { chained = null, values = null } = series ?? {};
  const terms = { unit: null, capacityGb: null };
  return months.map((month): Measured => {
    if (chained === null || values === null) return { ...terms, toSettle: NO_DAY, now: NO_DAY };
    const published: number[] = [];
    const known: number[] = [];
    const end = Math.min(chained.last, lastDayOf(month));
    for (let day = Math.max(chained.base, firstDayOf(month)); day <= end; day += 1) {
      const value = day >= values.from ? values.at(day) : closeOn(chained, day)?.value;
      // The closes up to a link are known for as long as they are kept.
      if (value === undefined) return { ...terms, toSettle: null, now: null };
      known.push(value);
      published.push(roundedUnits(closeOn(chained, day)?.value ?? value));
    }
    const toSettle = exactFigures(published, 10 ** CLOSE_DECIMALS, CLOSE_DECIMALS, formatUnits);
    return { ...terms, toSettle, now: valueFigures(known) };
  });
}

/** The figures of closes in whole units, of which `perUnit` are one dollar or point. */
function exactFigures(
  closes: readonly number[],
  perUnit: number,
  decimals: number,
  format: (units: number) => Decimal,
): MonthFigures {
  const days = closes.length;
  if (days === 0) return NO_DAY;
  const quick = closes.reduce((sum, close) => sum + close, 0);
  const sum = Number.isSafeInteger(quick)
    ? BigInt(quick)
    : closes.reduce((before, close) => before + BigInt(close), 0n);
  const average = roundRatio(ratio(sum, BigInt(days) * BigInt(perUnit)), decimals);
  const [last, high, low] = [closes.at(-1) as number, Math.max(...closes), Math.min(...closes)];
  return {
    days,
    figures: { average, last: format(last), high: format(high), low: format(low) },
  };
}

/** The figures of an index's values, each rounded once. */
function valueFigures(values: readonly number[]): MonthFigures {
  const days = values.length;
  if (days === 0) return NO_DAY;
  return {
    days,
    figures: {
      average: closeText(values.reduce((sum, value) => sum + value, 0) / days),
      last: closeText(values.at(-1) as number),
      high: closeText(Math.max(...values)),
      low: closeText(Math.min(...values)),
    },
  };
}

/** The settlements of renamed contracts under their new ids. */
export function withRenamedSettlements(
  { index, contract }: Settlements,
  idOf: (id: string) => string,
): Settlements {
  const renamed = new Map<string, readonly Settlement[]>();
  // Of a month that two ids have, the renamed contract's stands: the new id had another contract before.
  const isRenamed = ([id]: readonly [string, unknown]): boolean => idOf(id) !== id;
  const [moved, others] = [
    [...contract].filter(isRenamed),
    [...contract].filter((each) => !isRenamed(each)),
  ];
  for (const [id, all] of [...moved, ...others]) {
    const stands = renamed.get(idOf(id)) ?? [];
    const has = new Set(stands.map(({ month }) => month));
    const both = [...stands, ...all.filter(({ month }) => !has.has(month))];
    renamed.set(
      idOf(id),
      both.sort((a, b) => (a.month < b.month ? -1 : 1)),
    );
  }
  return { index, contract: renamed };
}

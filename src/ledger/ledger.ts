/** Every level given, by contract and session. Carried levels are derived from it, never stored. */
import type { LevelSeries } from "../market/level-series.ts";
import { DAY_MS, dayOf, dateText, SESSIONS_PER_DAY, type Session } from "../market/session.ts";

/** By contract id; contracts that left the catalog keep their levels. No series is empty. */
export type Ledger = ReadonlyMap<string, LevelSeries>;

/** The ledger of an empty store. */
export const EMPTY_LEDGER: Ledger = new Map();

/** The calendar month of a session, `2026-11`: the unit in which the ledger is stored. */
export const monthOf = (session: Session): string => dateText(dayOf(session)).slice(0, 7);

/** The first session of a month, 00:00 UTC of its first day. */
export const monthStart = (month: string): Session =>
  (Date.parse(`${month}-01T00:00:00.000Z`) / DAY_MS) * SESSIONS_PER_DAY;

const monthEnds = new Map<string, Session>();

/** The first session of the month after. Kept once made: all contracts ask for the same months. */
export function monthEnd(month: string): Session {
  let end = monthEnds.get(month);
  if (end === undefined) {
    const first = new Date(`${month}-01T00:00:00.000Z`);
    const next = Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1);
    monthEnds.set(month, (end = (next / DAY_MS) * SESSIONS_PER_DAY));
  }
  return end;
}

/** The months that hold levels, ascending. */
export function monthsOf(ledger: Ledger): string[] {
  const months = new Set<string>();
  for (const series of ledger.values()) addMonths(series, months);
  return [...months].sort();
}

/** Adds the months that hold levels of the series. */
export function addMonths(series: LevelSeries, months: Set<string>): void {
  for (let index = 0; index < series.length;) {
    const month = monthOf(series.sessions[index] as number);
    months.add(month);
    index = series.indexAt(monthEnd(month) - 1) + 1;
  }
}

/** The levels of all contracts together. */
export const countLevels = (ledger: Ledger): number =>
  ledger.values().reduce((sum, { length }) => sum + length, 0);

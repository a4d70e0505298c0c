/** Every level given, by contract and session. Carried levels are derived from it, never stored. */
import type { LevelSeries } from "../market/level-series.ts";
import { dayOf, dateText, SESSIONS_PER_DAY, type Session } from "../market/session.ts";

/** By contract id; contracts that left the catalog keep their levels. No series is empty. */
export type Ledger = ReadonlyMap<string, LevelSeries>;

export const EMPTY_LEDGER: Ledger = new Map();

/** The calendar month of a session, `2026-11`: the unit in which the ledger is stored. */
export const monthOf = (session: Session): string => dateText(dayOf(session)).slice(0, 7);

/** The first session of a month, 00:00 UTC of its first day. */
export const monthStart = (month: string): Session =>
  (Date.parse(`${month}-01T00:00:00.000Z`) / 86_400_000) * SESSIONS_PER_DAY;

/** The first session of the month after. */
export const monthEnd = (month: string): Session => {
  const first = new Date(`${month}-01T00:00:00.000Z`);
  return (
    (Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1) / 86_400_000) * SESSIONS_PER_DAY
  );
};

/** The months that hold levels, ascending. */
export function monthsOf(ledger: Ledger): string[] {
  const months = new Set<string>();
  for (const { sessions } of ledger.values()) {
    let end = -1;
    for (const session of sessions) {
      if (session < end) continue;
      const month = monthOf(session);
      months.add(month);
      end = monthEnd(month);
    }
  }
  return [...months].sort();
}

export const countLevels = (ledger: Ledger): number =>
  ledger.values().reduce((sum, { length }) => sum + length, 0);

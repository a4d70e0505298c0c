/**
 * Applies a run's rows to the ledger. A row patches a level. Fields that it does not name stay, and levels
 * that no row names stay.
 */
import type { Complaints } from "../feed/complaints.ts";
import type { GivenLevel, GivenLevels } from "../feed/given-levels.ts";
import { dateOf, FIGURES, Levels, NOTES, Series, type Level } from "../market/series.ts";
import { formatMicros } from "../market/decimal.ts";
import { dateText, sessionKey, type Session } from "../market/session.ts";
import type { Ledger } from "./ledger.ts";

/** The head's ledger, and the levels that were published before. */
interface AmendmentBase {
  readonly ledger: Ledger;
  /** The newest published session; null for an empty store. */
  readonly head: Session | null;
  /** Whether an earlier correction withdrew this level. */
  wasWithdrawn(contract: string, session: Session): boolean;
}

/** A published level that a row changes, withdraws (`now` null) or adds late (`old` null). */
interface Restatement {
  readonly contract: string;
  readonly session: Session;
  readonly old: Level | null;
  readonly now: Level | null;
  /** The place of the row. */
  readonly where: string;
}

/** A ledger with a run's rows applied, and how it differs from the one before. */
export interface Amendment {
  readonly ledger: Ledger;
  /** Sorted by contract and session. */
  readonly restatements: readonly Restatement[];
  /** The contracts whose series changed. */
  readonly touched: readonly string[];
}

/**
 * Applies the rows to a copy of the ledger.
 *
 * Adds a complaint for each row that contradicts another row or the ledger. With complaints the
 * result must not be used.
 */
export function amend(base: AmendmentBase, given: GivenLevels, complaints: Complaints): Amendment {
  const ledger = new Map(base.ledger);
  const restatements: Restatement[] = [];
  const touched: string[] = [];
  for (const id of [...given.byContract.keys()].sort()) {
    const merged = merge(id, base, given, complaints);
    if (!merged.isChanged) continue;
    touched.push(id);
    restatements.push(...merged.restatements);
    if (merged.levels.length > 0) ledger.set(id, new Series(merged.levels));
    else ledger.delete(id);
  }
  return { ledger, restatements, touched };
}

/** Merges one contract's old levels and its rows in the order of their sessions. */
function merge(
  id: string,
  base: AmendmentBase,
  given: GivenLevels,
  complaints: Complaints,
): { levels: Levels; isChanged: boolean; restatements: Restatement[] } {
  const before = base.ledger.get(id)?.levels ?? new Levels();
  const levels = new Levels();
  const restatements: Restatement[] = [];
  let isChanged = false;
  let last: Level | null = null;
  /** The row of the last level; null for an old level. */
  let lastRow: GivenLevel | null = null;
  const keep = (level: Level, row: GivenLevel | null): void => {
    // Dates must not decrease. The complaint names the row of one of the two levels.
    if (last !== null && dateOf(level) < dateOf(last)) {
      const previous = dateText(dateOf(last));
      const next = dateText(dateOf(level));
      if (row !== null) {
        const expected = `a date not before ${previous}, the date of the previous level`;
        complaints.cell(given.whereOf(row), "as_of", next, expected, "early");
      } else if (lastRow !== null) {
        const expected = `a date not after ${next}, the date of the next level`;
        complaints.cell(given.whereOf(lastRow), "as_of", previous, expected, "late");
      }
    }
    levels.push(level);
    last = level;
    lastRow = row;
  };

  let place = 0;
  let next = before.at(0);
  const keepUntil = (session: Session): void => {
    for (; next !== undefined && next.session < session; next = before.at((place += 1))) {
      keep(next, null);
    }
  };
  for (const row of given.rowsOf(id, complaints)) {
    const { session } = row;
    keepUntil(session);
    const old = next?.session === session ? next : null;
    if (old !== null) next = before.at((place += 1));
    const now = applyRow(old, row);
    if (now !== null) {
      requireInRange(id, now, given.whereOf(row), complaints);
      keep(now, row);
    }
    if (now === null && old === null && !base.wasWithdrawn(id, session)) {
      const finding = `${id} has no level for ${sessionKey(session)} that could be withdrawn`;
      complaints.at(given.whereOf(row), finding, "no level that could be withdrawn");
    }
    if (isSame(old, now)) continue;
    isChanged = true;
    if (old !== null || isLate(session, before, base)) {
      restatements.push({ contract: id, session, old, now, where: given.whereOf(row) });
    }
  }
  keepUntil(Number.POSITIVE_INFINITY);
  return { levels, isChanged, restatements };
}

/** Whether a new level is of a published session. Before the contract's first level it is backfill. */
function isLate(session: Session, before: Levels, { head }: AmendmentBase): boolean {
  const first = before.at(0);
  return head !== null && session <= head && first !== undefined && session > first.session;
}

/** The level with the row applied. Without an old level, the row is the level. */
function applyRow(old: Level | null, { place: _place, usd, ...others }: GivenLevel): Level | null {
  return usd === null ? null : { ...old, ...others, usd };
}

/** Complains of a row that moves a level out of the range that the ledger holds. */
function requireInRange(
  id: string,
  { session, usd, lowUsd = usd, highUsd = usd }: Level,
  where: string,
  complaints: Complaints,
): void {
  if (lowUsd <= usd && usd <= highUsd) return;
  const finding =
    `${id} would have the level ${formatMicros(usd)} for ${sessionKey(session)}, outside its published ` +
    `range of ${formatMicros(lowUsd)} to ${formatMicros(highUsd)}; also give low_usd and high_usd`;
  complaints.at(where, finding, "outside its published range");
}

function isSame(a: Level | null, b: Level | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.usd === b.usd &&
    (a.basis ?? "reported") === (b.basis ?? "reported") &&
    dateOf(a) === dateOf(b) &&
    OPTIONAL.every((field) => a[field] === b[field])
  );
}

const OPTIONAL = Object.keys({ ...FIGURES, ...NOTES }) as (
  | keyof typeof FIGURES
  | keyof typeof NOTES
)[];

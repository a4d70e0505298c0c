/**
 * Lays the levels a run was given over the ledger. A revision patches: fields that a row does not
 * name stay as they were, levels that no row names stay altogether.
 */
import type { Complaints } from "../feed/complaints.ts";
import { whereOf, type GivenLevel, type GivenLevels } from "../feed/given-levels.ts";
import { dateOf, Series, type Level } from "../market/series.ts";
import { dateText, sessionKey, type Session } from "../market/session.ts";
import { onePerSession } from "./given-rows.ts";
import { NOTES, type Ledger } from "./ledger.ts";

/** What is amended: the ledger as the head has it, and what was published. */
interface AmendmentBase {
  readonly ledger: Ledger;
  /** The newest published session; null for an empty store. */
  readonly head: Session | null;
  /** Whether corrections already say that this level was taken back. */
  wasWithdrawn(contract: string, session: Session): boolean;
}

/** A published level that a row changes, takes back (`now` null) or adds late (`old` null). */
interface Restatement {
  readonly contract: string;
  readonly session: Session;
  readonly old: Level | null;
  readonly now: Level | null;
  /** The row that asks for it. */
  readonly where: string;
}

/** A ledger with a run's levels laid over it, and how it differs from the one before. */
export interface Amendment {
  readonly ledger: Ledger;
  /** Sorted by contract and session. */
  readonly restatements: readonly Restatement[];
  /** The contracts whose series are not those of the ledger before. */
  readonly touched: readonly string[];
}

/**
 * Lays the given levels over the ledger, which stays as it is.
 *
 * Rows that contradict each other or the ledger are added to `complaints`; the result counts only
 * when there are none.
 */
export function amend(base: AmendmentBase, given: GivenLevels, complaints: Complaints): Amendment {
  const ledger = new Map(base.ledger);
  const restatements: Restatement[] = [];
  const touched: string[] = [];
  for (const [id, rows] of [...given.byContract].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const before = base.ledger.get(id)?.levels ?? [];
    const merged = merge(id, before, onePerSession(id, rows, complaints), base, complaints);
    if (!merged.isChanged) continue;
    touched.push(id);
    restatements.push(...merged.restatements);
    if (merged.levels.length > 0) ledger.set(id, new Series(merged.levels));
    else ledger.delete(id);
  }
  return { ledger, restatements, touched };
}

/** One contract's old levels and given ones in the order of their sessions. */
function merge(
  id: string,
  before: readonly Level[],
  rows: readonly GivenLevel[],
  base: AmendmentBase,
  complaints: Complaints,
): { levels: Level[]; isChanged: boolean; restatements: Restatement[] } {
  const levels: Level[] = [];
  const restatements: Restatement[] = [];
  let isChanged = false;
  /** The row that gave the last of the levels; null where it was there before. */
  let lastRow: GivenLevel | null = null;
  const keep = (level: Level, row: GivenLevel | null): void => {
    const previous = levels.at(-1);
    if (previous !== undefined && dateOf(level) < dateOf(previous)) {
      complainOfOrder(previous, lastRow, level, row, complaints);
    }
    levels.push(level);
    lastRow = row;
  };

  let next = 0;
  const keepUntil = (session: Session): void => {
    for (; next < before.length && (before[next] as Level).session < session; next += 1) {
      keep(before[next] as Level, null);
    }
  };
  for (const row of rows) {
    const { session } = row;
    keepUntil(session);
    const old = before[next]?.session === session ? (before[next] as Level) : null;
    if (old !== null) next += 1;
    const now = patched(old, row);
    if (now !== null) keep(now, row);
    if (now === null && old === null && !base.wasWithdrawn(id, session)) {
      const finding = `${id} has no level for ${sessionKey(session)} that could be withdrawn`;
      complaints.at(whereOf(row), finding);
    }
    if (isSame(old, now)) continue;
    isChanged = true;
    if (old !== null || isLate(session, before, base)) {
      restatements.push({ contract: id, session, old, now, where: whereOf(row) });
    }
  }
  keepUntil(Number.POSITIVE_INFINITY);
  return { levels, isChanged, restatements };
}

/** Of a published session after the contract's first level; before it, levels are backfill. */
function isLate(session: Session, before: readonly Level[], { head }: AmendmentBase): boolean {
  const [first] = before;
  return head !== null && session <= head && first !== undefined && session > first.session;
}

/** Dates never decrease. The row that is complained of is the one that gave one of the two levels. */
function complainOfOrder(
  previous: Level,
  previousRow: GivenLevel | null,
  level: Level,
  row: GivenLevel | null,
  complaints: Complaints,
): void {
  if (row !== null) {
    const expected = `a date not before that of the previous level, ${dateText(dateOf(previous))}`;
    complaints.cell(whereOf(row), "as_of", dateText(dateOf(level)), expected);
  } else if (previousRow !== null) {
    const expected = `a date not after that of the next level, ${dateText(dateOf(level))}`;
    complaints.cell(whereOf(previousRow), "as_of", dateText(dateOf(previous)), expected);
  }
}

/** The level after the row, which is one itself where there was none before. */
function patched(old: Level | null, row: GivenLevel): Level | null {
  if (row.usd === null) return null;
  const level = row as Level;
  return old === null ? level : { ...old, ...level };
}

function isSame(a: Level | null, b: Level | null): boolean {
  if (a === null || b === null) return a === b;
  return (
    a.usd === b.usd &&
    (a.basis ?? "reported") === (b.basis ?? "reported") &&
    dateOf(a) === dateOf(b) &&
    NOTED.every((field) => a[field] === b[field])
  );
}

const NOTED = Object.keys(NOTES) as (keyof typeof NOTES)[];

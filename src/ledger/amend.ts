/**
 * Lays the levels a run was given over the ledger. A revision patches: fields that a row does not
 * name stay as they were, levels that no row names stay altogether.
 */
import type { Complaints } from "../feed/complaints.ts";
import type { GivenLevel } from "../feed/given-levels.ts";
import type { LevelTable } from "../feed/levels.ts";
import { formatMicros, type Micros } from "../market/decimal.ts";
import { LevelSeriesBuilder, type Level, type LevelSeries } from "../market/level-series.ts";
import { dateText, dayOf, sessionKey, type Session } from "../market/session.ts";
import { mergedBySession } from "./given.ts";
import { monthOf, type Ledger } from "./ledger.ts";

/** A published level that a row changes, takes back (`now` null) or adds late (`old` null). */
export interface Restatement {
  readonly contract: string;
  readonly session: Session;
  readonly old: Level | null;
  readonly now: Level | null;
  /** The row that asks for it. */
  readonly where: string;
}

export interface Amendment {
  readonly ledger: Ledger;
  /** Sorted by contract and session. */
  readonly restatements: readonly Restatement[];
  /** The contracts whose series are not those of the ledger before. */
  readonly touched: readonly string[];
  readonly touchedMonths: ReadonlySet<string>;
  /** Levels added that nobody could have seen before. */
  readonly added: number;
}

export interface AmendmentBase {
  readonly ledger: Ledger;
  /** The newest published session; null for an empty store. */
  readonly head: Session | null;
  /** Whether corrections already say that this level was taken back. */
  wasWithdrawn(contract: string, session: Session): boolean;
}

/**
 * Rows that contradict each other or the ledger are added to `complaints`; the result counts only
 * when there are none.
 */
export function amend(
  base: AmendmentBase,
  tables: readonly LevelTable[],
  complaints: Complaints,
): Amendment {
  const ledger = new Map(base.ledger);
  const restatements: Restatement[] = [];
  const touched: string[] = [];
  const touchedMonths = new Set<string>();
  let added = 0;
  const ids = [...new Set(tables.flatMap(({ byContract }) => [...byContract.keys()]))].sort();
  for (const id of ids) {
    const before = base.ledger.get(id);
    const run = new SeriesRun(id, before, base, complaints);
    for (const given of mergedBySession(tables, id, complaints)) run.take(given);
    const after = run.finish();
    if (!run.changed) continue;
    touched.push(id);
    run.months.forEach((month) => touchedMonths.add(month));
    restatements.push(...run.restatements);
    added += run.added;
    if (after.length > 0) ledger.set(id, after);
    else ledger.delete(id);
  }
  return { ledger, restatements, touched, touchedMonths, added };
}

/** One contract's old levels and given ones, merged in the order of their sessions. */
class SeriesRun {
  changed = false;
  added = 0;
  readonly months = new Set<string>();
  readonly restatements: Restatement[] = [];
  readonly #id: string;
  readonly #before: LevelSeries | undefined;
  readonly #base: AmendmentBase;
  readonly #complaints: Complaints;
  readonly #builder = new LevelSeriesBuilder();
  #next = 0;
  #last: { level: Pick<Level, "asOf" | "session">; where: string | null } | null = null;

  constructor(
    id: string,
    before: LevelSeries | undefined,
    base: AmendmentBase,
    complaints: Complaints,
  ) {
    this.#id = id;
    this.#before = before;
    this.#base = base;
    this.#complaints = complaints;
  }

  take(given: GivenLevel): void {
    this.#keepUntil(given.session);
    const old = this.#oldAt(given.session);
    if (old !== null) this.#next += 1;
    const now = given.usd === null ? null : patched(old, given, given.usd);
    if (now === null && old === null) {
      if (!this.#base.wasWithdrawn(this.#id, given.session)) {
        this.#complaints.at(
          given.where,
          `${this.#id} has no level for ${sessionKey(given.session)} that could be withdrawn`,
        );
      }
      return;
    }
    if (now !== null) this.#keep(now, given.where);
    if (old !== null && now !== null && sameLevel(old, now)) return;
    this.#changedAt(given.session);
    if (old !== null || this.#isLate(given.session)) {
      this.restatements.push({
        contract: this.#id,
        session: given.session,
        old,
        now,
        where: given.where,
      });
    } else {
      this.added += 1;
    }
  }

  finish(): LevelSeries {
    this.#keepUntil(Number.POSITIVE_INFINITY);
    return this.#builder.build();
  }

  /** Published sessions after the contract's first level; before it, levels are backfill. */
  #isLate(session: Session): boolean {
    const { head } = this.#base;
    const first = this.#before?.sessions[0];
    return head !== null && session <= head && first !== undefined && session > first;
  }

  #oldAt(session: Session): Level | null {
    const before = this.#before;
    if (before === undefined || before.sessions[this.#next] !== session) return null;
    return before.level(this.#next);
  }

  #keepUntil(session: Session): void {
    const before = this.#before;
    if (before === undefined) return;
    while (this.#next < before.length && (before.sessions[this.#next] as number) < session) {
      this.#keep(before.level(this.#next), null);
      this.#next += 1;
    }
  }

  /** `where` is null for a level that was there before. */
  #keep(level: Level, where: string | null): void {
    const last = this.#last;
    if (last !== null && level.asOf < last.level.asOf) {
      if (where !== null) {
        const expected = `a date not before that of the previous level, ${dateText(last.level.asOf)}`;
        this.#complaints.cell(where, "as_of", dateText(level.asOf), expected);
      } else if (last.where !== null) {
        const expected = `a date not after that of the next level, ${dateText(level.asOf)}`;
        this.#complaints.cell(last.where, "as_of", dateText(last.level.asOf), expected);
      }
    }
    this.#last = { level, where };
    this.#builder.pushLevel(level);
  }

  #changedAt(session: Session): void {
    this.changed = true;
    this.months.add(monthOf(session));
  }
}

function patched(old: Level | null, given: GivenLevel, usd: Micros): Level {
  const { basis, asOf, source, sourceUrl, breakReason } = given.extras;
  return {
    session: given.session,
    usd,
    basis: basis ?? old?.basis ?? "reported",
    asOf: asOf ?? old?.asOf ?? dayOf(given.session),
    source: source ?? old?.source ?? null,
    sourceUrl: sourceUrl ?? old?.sourceUrl ?? null,
    breakReason: breakReason ?? old?.breakReason ?? null,
  };
}

const sameLevel = (a: Level, b: Level): boolean =>
  a.usd === b.usd &&
  a.basis === b.basis &&
  a.asOf === b.asOf &&
  a.source === b.source &&
  a.sourceUrl === b.sourceUrl &&
  a.breakReason === b.breakReason;

/** `12.5`, or `none`. */
export const levelText = (level: Level | null): string =>
  level === null ? "none" : formatMicros(level.usd);

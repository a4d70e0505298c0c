/**
 * One contract's old levels and given ones, merged in the order of their sessions. A revision
 * patches: fields that a row does not name stay as they were, and so do levels that no row names.
 */
import type { Complaints } from "../feed/complaints.ts";
import type { GivenLevel, GivenLevels } from "../feed/given-levels.ts";
import type { Micros } from "../market/decimal.ts";
import { LevelSeriesBuilder } from "../market/level-series-builder.ts";
import type { Level, LevelSeries } from "../market/level-series.ts";
import { dateText, dayOf, sessionKey, type Day, type Session } from "../market/session.ts";
import { requireNotBefore } from "./given-rows.ts";

/** A published level that a row changes, takes back (`now` null) or adds late (`old` null). */
export interface Restatement {
  readonly contract: string;
  readonly session: Session;
  readonly old: Level | null;
  readonly now: Level | null;
  /** The row that asks for it. */
  readonly where: string;
}

/** What is amended: the ledger as the head has it, and what was published. */
export interface AmendmentBase {
  readonly ledger: ReadonlyMap<string, LevelSeries>;
  /** The newest published session; null for an empty store. */
  readonly head: Session | null;
  /** Whether corrections already say that this level was taken back. */
  wasWithdrawn(contract: string, session: Session): boolean;
}

/** Takes the given levels, ascending; what it complains of makes the result worthless. */
export class SeriesAmendment {
  /** The sessions whose level is another now. */
  readonly changed: Session[] = [];
  /** Of sessions that readers have seen, ascending. */
  readonly restatements: Restatement[] = [];
  readonly #id: string;
  readonly #before: LevelSeries | undefined;
  readonly #given: GivenLevels;
  readonly #base: AmendmentBase;
  readonly #complaints: Complaints;
  readonly #builder: LevelSeriesBuilder;
  #next = 0;
  /** The level kept last, and the row that gave it; null where it was there before. */
  #last: { asOf: Day; place: number | null } = {
    asOf: Number.NEGATIVE_INFINITY,
    place: null,
  };

  constructor(
    id: string,
    before: LevelSeries | undefined,
    given: GivenLevels,
    base: AmendmentBase,
    complaints: Complaints,
  ) {
    this.#id = id;
    this.#before = before;
    this.#given = given;
    this.#base = base;
    this.#complaints = complaints;
    this.#builder = new LevelSeriesBuilder((before?.length ?? 0) + given.length);
  }

  /** The next session's level. */
  take(given: GivenLevel): void {
    this.#keepUntil(given.session);
    const old = this.#oldAt(given.session);
    if (old !== null) this.#next += 1;
    const now = given.usd === null ? null : patched(old, given, given.usd);
    if (now === null && old === null) {
      if (!this.#base.wasWithdrawn(this.#id, given.session)) {
        this.#complaints.at(
          this.#given.where(given.place),
          `${this.#id} has no level for ${sessionKey(given.session)} that could be withdrawn`,
        );
      }
      return;
    }
    if (now !== null) this.#keep(now, given.place);
    if (old !== null && now !== null && sameLevel(old, now)) return;
    this.changed.push(given.session);
    if (old !== null || this.#isLate(given.session)) {
      this.restatements.push({
        contract: this.#id,
        session: given.session,
        old,
        now,
        where: this.#given.where(given.place),
      });
    }
  }

  /** The series as it is now. Nothing can be taken after it. */
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
    const [from, to] = [this.#next, before.indexAt(session - 1) + 1];
    if (from >= to) return;
    // Among themselves they are in order.
    this.#requireOrder(before.asOfAt(from), null);
    this.#last = { asOf: before.asOfAt(to - 1), place: null };
    this.#builder.pushRange(before, from, to);
    this.#next = to;
  }

  #keep(level: Level, place: number): void {
    this.#requireOrder(level.asOf, place);
    this.#last = { asOf: level.asOf, place };
    this.#builder.pushLevel(level);
  }

  /** `asOf` never decreases; `place` is null for a level that was there before. */
  #requireOrder(asOf: Day, place: number | null): void {
    const last = this.#last;
    if (place !== null) {
      requireNotBefore(asOf, last.asOf, this.#given, place, this.#complaints);
    } else if (last.place !== null && asOf < last.asOf) {
      const expected = `a date not after that of the next level, ${dateText(asOf)}`;
      this.#complaints.cell(this.#given.where(last.place), "as_of", dateText(last.asOf), expected);
    }
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

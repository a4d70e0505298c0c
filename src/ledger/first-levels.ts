import type { Complaints } from "../feed/complaints.ts";
import type { GivenLevels } from "../feed/given-levels.ts";
import { BASES, isNoted, LevelSeries, type LevelNotes } from "../market/level-series.ts";
import { dayOf, type Session } from "../market/session.ts";
import { requireNotBefore } from "./given-rows.ts";

/**
 * The levels of a contract that had none before: those that were given, each for a session of its
 * own. The series shares their columns: a history of years is held once.
 */
export function firstLevels(given: GivenLevels, complaints: Complaints): LevelSeries {
  const { sessions, usd } = given;
  let asOf: Int32Array | null = null;
  let basis: Uint8Array | null = null;
  const notes = new Map<Session, LevelNotes>();
  for (const [place, named] of given.extras) {
    const session = sessions[place] as number;
    const date = named.asOf ?? dayOf(session);
    if (date !== dayOf(session)) (asOf ??= sessions.map(dayOf))[place] = date;
    if (named.basis !== undefined && named.basis !== "reported") {
      (basis ??= new Uint8Array(sessions.length))[place] = BASES.indexOf(named.basis);
    }
    const { source = null, sourceUrl = null, breakReason = null } = named;
    const noted = { source, sourceUrl, breakReason };
    if (isNoted(noted)) notes.set(session, noted);
  }
  if (asOf !== null) requireOrder(asOf, given, complaints);
  return new LevelSeries({ sessions, usd, asOf, basis }, notes);
}

/** Dates never decrease; none is after its session's, so only one that is earlier can be wrong. */
function requireOrder(asOf: Int32Array, given: GivenLevels, complaints: Complaints): void {
  for (let place = 1; place < asOf.length; place += 1) {
    const [date, previous] = [asOf[place] as number, asOf[place - 1] as number];
    requireNotBefore(date, previous, given, place, complaints);
  }
}

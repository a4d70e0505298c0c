/**
 * Vintages: data as it was published then. `publication=N` names an entry of the log. `as_of` names an
 * instant, and means the entry that made the head of that instant. `session` names the session of a payload,
 * and means the newest entry whose snapshot has this session for the caller's tier.
 */
import { z } from "zod";
import { instantText } from "../../lib/clock.ts";
import {
  DAY_MS,
  parseSession,
  sessionKey,
  sessionUtc,
  type Session,
} from "../../market/session.ts";
import {
  historyFrom,
  oldestVintage,
  TIERS,
  tiersAbove,
  tierSession,
  type Tier,
} from "../../market/tier.ts";
import { isPublication, type Entry, type Publication } from "../../snapshot/log/entry.ts";
import { AS_OF, PUBLICATION, SESSION, VINTAGE } from "../../public/parameters.ts";
import { deny, isDenial, notYetPublished, type Denial } from "../../public/problems.ts";
import { invalid, readWhole, valueOf, type Fault, type Query } from "../../public/query.ts";
import type { LogView } from "../world.ts";
import { AFTER_MAX } from "../../public/uncounted-routes.ts";

/** Whether all that the query names is the entry with this number. */
export const namesEntry = (query: Query, number: number | undefined): boolean =>
  query.length === 1 && query[0]?.[0] === "publication" && query[0][1] === String(number);

/** The number of an entry, an instant (epoch milliseconds), or the session of a payload. */
export type VintageQuery =
  | { readonly kind: "publication"; readonly number: number }
  | {
      readonly kind: "instant";
      readonly asOfMs: number;
      /** Whether the same text means this instant for ever. */
      readonly isFixed: boolean;
    }
  | { readonly kind: "session"; readonly session: Session };

export interface Vintage {
  readonly publication: Publication;
  /** Whether the same request means this publication for ever. */
  readonly isSettled: boolean;
}

/** Reads the vintage that the query names and adds the faults to `faults`. Null: none, or a fault. */
export function readVintage(query: Query, nowMs: number, faults: Fault[]): VintageQuery | null {
  const [first, ...others] = VINTAGE.flatMap(({ name }) => {
    const text = valueOf(query, name);
    return text === undefined ? [] : [{ name, text }];
  });
  if (first === undefined) return null;
  for (const { name, text } of others) {
    faults.push(invalid(name, text, `expected ${first.name} or ${name}, not both`));
  }
  if (first.name === AS_OF.name) return readInstant(first.text, nowMs, faults);
  if (first.name === SESSION.name) return readSession(first.text, faults);
  const number = readWhole(query, PUBLICATION.name, 1, AFTER_MAX, faults);
  return number === null ? null : { kind: "publication", number };
}

function readSession(text: string, faults: Fault[]): VintageQuery | null {
  const session = parseSession(text);
  if (session !== null) return { kind: "session", session };
  const detail = "expected a session, 00 or 12 hours UTC of a day, such as 2026-11-21T12Z";
  faults.push(invalid(SESSION.name, text, detail));
  return null;
}

/** ISO 8601 with Z or an offset; seconds and their fraction are optional. */
const INSTANT = z.union([
  z.iso.datetime({ offset: true }),
  z.iso.datetime({ offset: true, precision: -1 }),
]);

/** A date means its last millisecond; today's date means now. */
const END_OF_DAY = "T23:59:59.999Z";

function readInstant(text: string, nowMs: number, faults: Fault[]): VintageQuery | null {
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  // In a query an unescaped + means a space.
  const found = INSTANT.safeParse(isDate ? text + END_OF_DAY : text.replace(" ", "+"));
  const asOfMs = found.success ? Date.parse(found.data) : Number.NaN;
  if (asOfMs <= nowMs) return { kind: "instant", asOfMs, isFixed: true };
  if (isDate && asOfMs - DAY_MS < nowMs) return { kind: "instant", asOfMs: nowMs, isFixed: false };
  const detail =
    asOfMs > nowMs
      ? `expected an instant that is not in the future; it is ${instantText(nowMs)}`
      : "expected a date, or an instant with Z or an offset, such as 2026-11-21T00:05:00Z";
  faults.push(invalid(AS_OF.name, text, detail));
  return null;
}

/** The vintage in the log for the tier. Throws DamageError if an entry that decides it is damaged. */
export function findVintage(wanted: VintageQuery, log: LogView, tier: Tier): Vintage | Denial {
  if (wanted.kind === "publication") return vintageNumbered(wanted.number, log);
  if (wanted.kind === "session") return vintageOf(wanted.session, log, tier);
  const vintage = vintageAt(wanted.asOfMs, log);
  return isDenial(vintage) || wanted.isFixed ? vintage : { ...vintage, isSettled: false };
}

function vintageNumbered(number: number, log: LogView): Vintage | Denial {
  const newest = log.newestNumber;
  if (number > newest) return notYetPublished(number, newest);
  const { entry } = log.get(number);
  if (isPublication(entry)) return { publication: entry, isSettled: true };
  return deny("not_published", `Number ${number} is a prune: it published nothing.`);
}

/** The newest publish or rollback whose payload has this session. A later one may have it again. */
function vintageOf(session: Session, log: LogView, tier: Tier): Vintage | Denial {
  for (let number = log.newestNumber; number > 0; number -= 1) {
    const { entry } = log.get(number);
    if (isPublication(entry) && tierSession(tier, entry.session) === session) {
      return { publication: entry, isSettled: false };
    }
  }
  const newest = log.head === null ? "none" : sessionKey(tierSession(tier, log.head.session));
  return deny(
    "not_published",
    `No publication has session ${sessionKey(session)} for the tier ${tier.name}, whose newest is ${newest}; /publications lists all.`,
  );
}

/** Whether the entry is not later than the instant. `at` never decreases along the log. */
export const wasThere = ({ at }: Entry, asOfMs: number): boolean => Date.parse(at) <= asOfMs;

/** How many of the entries were there at the instant. It reads few of them: logs grow for years. */
function countUntil(asOfMs: number, entries: readonly Entry[]): number {
  let [from, to] = [0, entries.length];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (wasThere(entries[middle] as Entry, asOfMs)) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The number of the newest entry that was there at the instant; 0: none. */
export const newestNumberAt = (asOfMs: number, entries: readonly Entry[]): number =>
  entries[countUntil(asOfMs, entries) - 1]?.number ?? 0;

function vintageAt(asOfMs: number, log: LogView): Vintage | Denial {
  const { entries, newestNumber: newest } = log;
  const later = entries[countUntil(asOfMs, entries)]?.number ?? newest + 1;
  // The entry before the later one decides; if it is damaged, nobody knows whether it was there.
  for (let number = later - 1; number > 0; number -= 1) {
    const { entry } = log.get(number);
    if (isPublication(entry)) return { publication: entry, isSettled: later <= newest };
  }
  return deny("not_published", `Nothing was published by ${instantText(asOfMs)}.`);
}

/** The denial if the vintage is too old for the tier while `head` is the newest session; else null. */
export function depthDenial({ publication }: Vintage, tier: Tier, head: Session): Denial | null {
  const oldestOf = (of: Tier): Session | null => oldestVintage(of, tierSession(of, head));
  const reaches = (of: Tier): boolean =>
    tierSession(of, publication.session) >= (oldestOf(of) ?? Infinity);
  if (reaches(tier)) return null;
  const oldest = oldestOf(tier);
  const session = sessionUtc(tierSession(tier, publication.session));
  const what = `Publication ${publication.number} is of session ${session} for the tier ${tier.name}`;
  const reach = oldest === null ? "no earlier one" : `sessions from ${sessionUtc(oldest)} on`;
  const detail = `${what}; the tier has ${reach}.`;
  const history_from = historyFrom(tier, tierSession(tier, head));
  const from = history_from === null ? {} : { history_from };
  const above = tiersAbove(tier);
  const deeper = above.find((name) => reaches(TIERS[name])) ?? above.at(-1);
  return deeper === undefined
    ? deny("not_published", detail, from)
    : deny("tier_required", detail, { required_tier: deeper, ...from });
}

/**
 * The denial if the dates asked for end before the tier's history begins, and a fuller tier has some of them;
 * else null. `publication` made the snapshot the head that is asked, `to` is the last date; null: no limit.
 */
export function historyDenial(
  to: string | null,
  tier: Tier,
  { session, roots }: Publication,
): Denial | null {
  if (to === null) return null;
  const beginningOf = (of: Tier): string | null => historyFrom(of, tierSession(of, session));
  const from = beginningOf(tier);
  if (from === null || to >= from) return null;
  const fuller = tiersAbove(tier).find((name) => {
    const begins = beginningOf(TIERS[name]);
    // The snapshot may lack a tier that is newer.
    return roots[name] != null && begins !== null && begins <= to;
  });
  if (fuller === undefined) return null;
  const detail = `The dates asked for end on ${to}, and histories of the tier ${tier.name} begin on ${from}.`;
  return deny("tier_required", detail, { required_tier: fuller, history_from: from });
}

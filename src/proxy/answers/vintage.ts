/**
 * Vintages: data as it was published then. `publication=N` names an entry of the log; `as_of` names
 * an instant, and means the entry that made the head of that instant.
 */
import { z } from "zod";
import { instantText } from "../../lib/clock.ts";
import { dateText, dayOf, sessionUtc, type Session } from "../../market/session.ts";
import { KEY_TIER_NAMES, oldestVintage, TIERS, tierSession, type Tier } from "../../market/tier.ts";
import { isPublication, type Entry, type Publication } from "../../snapshot/log/entry.ts";
import { deny, type Denial } from "../../api/problems.ts";
import { invalid, readWhole, valueOf, type Fault, type Query } from "../../api/query.ts";
import type { LogReader } from "../serve/log-reader.ts";
import { AFTER_MAX } from "../../api/uncounted-routes.ts";

/** Whether all that the query names is the entry with this number. */
export const namesEntry = (query: Query, number: number | undefined): boolean =>
  query.length === 1 && query[0]?.[0] === "publication" && query[0][1] === String(number);

/** The number of an entry, or an instant (epoch milliseconds). */
export type VintageQuery = { readonly number: number } | { readonly asOfMs: number };

export interface Vintage {
  readonly publication: Publication;
  /** Whether the same request means this publication for ever. */
  readonly isSettled: boolean;
}

/** Reads the vintage that the query names and adds the faults to `faults`. Null: none, or a fault. */
export function readVintage(query: Query, nowMs: number, faults: Fault[]): VintageQuery | null {
  const asOf = valueOf(query, "as_of");
  if (valueOf(query, "publication") === undefined) {
    return asOf === undefined ? null : readInstant(asOf, nowMs, faults);
  }
  if (asOf !== undefined) {
    faults.push(invalid("as_of", asOf, "expected publication or as_of, not both"));
  }
  const number = readWhole(query, "publication", 1, AFTER_MAX, faults);
  return number === null ? null : { number };
}

/** ISO 8601 with Z or an offset; seconds and their fraction are optional. */
const INSTANT = z.union([
  z.iso.datetime({ offset: true }),
  z.iso.datetime({ offset: true, precision: -1 }),
]);

/** A date means its last millisecond. */
const END_OF_DAY = "T23:59:59.999Z";

function readInstant(text: string, nowMs: number, faults: Fault[]): VintageQuery | null {
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  // In a query an unescaped + means a space.
  const found = INSTANT.safeParse(isDate ? text + END_OF_DAY : text.replace(" ", "+"));
  const asOfMs = found.success ? Date.parse(found.data) : Number.NaN;
  if (asOfMs <= nowMs) return { asOfMs };
  const detail =
    asOfMs > nowMs
      ? `expected an instant that is not in the future; it is ${instantText(nowMs)}`
      : "expected a date, or an instant with Z or an offset, such as 2026-11-21T00:05:00Z";
  faults.push(invalid("as_of", text, detail));
  return null;
}

/** The vintage in the log. Throws DamageError if an entry that decides it is damaged. */
export const findVintage = (wanted: VintageQuery, log: LogReader): Vintage | Denial =>
  "number" in wanted ? vintageNumbered(wanted.number, log) : vintageAt(wanted.asOfMs, log);

function vintageNumbered(number: number, log: LogReader): Vintage | Denial {
  const newest = log.newestNumber;
  if (number > newest) {
    return deny("not_published", `The log ends with entry ${newest}; there is no entry ${number}.`);
  }
  const { entry } = log.get(number);
  if (isPublication(entry)) return { publication: entry, isSettled: true };
  return deny("not_published", `Entry ${number} is a prune: it published nothing.`);
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

function vintageAt(asOfMs: number, log: LogReader): Vintage | Denial {
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
  const what = `Entry ${publication.number} is of session ${session} for the tier ${tier.name}`;
  const reach = oldest === null ? "no earlier one" : `sessions from ${sessionUtc(oldest)} on`;
  const detail = `${what}; the tier has ${reach}.`;
  const from = oldest === null ? {} : { history_from: dateText(dayOf(oldest)) };
  const above = KEY_TIER_NAMES.slice(KEY_TIER_NAMES.findIndex((name) => name === tier.name) + 1);
  const deeper = above.find((name) => reaches(TIERS[name])) ?? above.at(-1);
  return deeper === undefined
    ? deny("not_published", detail, from)
    : deny("tier_required", detail, { required_tier: deeper, ...from });
}

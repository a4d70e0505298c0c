import type { Complaints } from "../feed/complaints.ts";
import type { GivenExtras, GivenLevel, GivenLevels, Stretch } from "../feed/given-levels.ts";
import { formatMicros, type Micros } from "../market/decimal.ts";
import { dateText, sessionKey, type Day } from "../market/session.ts";

/**
 * What these rows name for one contract, one entry a session, ascending; its place is that of the
 * first row for the session. Rows for the same session that name different values are complained
 * of; otherwise what they name is put together.
 */
export function* mergedBySession(
  levels: GivenLevels,
  stretches: readonly Stretch[],
  id: string,
  complaints: Complaints,
): Generator<GivenLevel> {
  let current: GivenLevel | null = null;
  for (const { from, to } of stretches) {
    for (let place = from; place < to; place += 1) {
      const next = levels.at(place);
      if (current !== null && current.session === next.session) {
        current = combined(levels, current, next, id, complaints);
      } else {
        if (current !== null) yield current;
        current = next;
      }
    }
  }
  if (current !== null) yield current;
}

/** Complains of a date (`as_of`) before that of the contract's level before. */
export function requireNotBefore(
  asOf: Day,
  previous: Day,
  levels: GivenLevels,
  place: number,
  complaints: Complaints,
): void {
  if (asOf >= previous) return;
  const expected = `a date not before that of the previous level, ${dateText(previous)}`;
  complaints.cell(levels.where(place), "as_of", dateText(asOf), expected);
}

function combined(
  levels: GivenLevels,
  first: GivenLevel,
  second: GivenLevel,
  id: string,
  complaints: Complaints,
): GivenLevel {
  const conflicts = [
    ...(first.usd === second.usd ? [] : [["level", usdText(second.usd), usdText(first.usd)]]),
    ...EXTRA_NAMES.flatMap(([field, name]) => {
      const [a, b] = [first.extras[field], second.extras[field]];
      const show = (value: string | number): string =>
        field === "asOf" ? dateText(value as number) : String(value);
      return a === undefined || b === undefined || a === b ? [] : [[name, show(b), show(a)]];
    }),
  ];
  for (const [name, value, earlier] of conflicts) {
    const expected =
      `${earlier} as in ${levels.where(first.place)}: ` +
      `${id} has one level for ${sessionKey(first.session)}`;
    complaints.cell(levels.where(second.place), name as string, value as string, expected);
  }
  return { ...first, extras: { ...second.extras, ...first.extras } };
}

const EXTRA_NAMES: readonly (readonly [keyof GivenExtras, string])[] = [
  ["basis", "basis"],
  ["asOf", "as_of"],
  ["source", "source"],
  ["sourceUrl", "source_url"],
  ["breakReason", "break"],
];

const usdText = (usd: Micros | null): string => (usd === null ? "withdrawn" : formatMicros(usd));

import type { Complaints } from "../feed/complaints.ts";
import type { GivenExtras, GivenLevel, GivenLevels } from "../feed/given-levels.ts";
import type { LevelTable } from "../feed/levels.ts";
import { formatMicros, type Micros } from "../market/decimal.ts";
import { dateText, sessionKey } from "../market/session.ts";

/**
 * What all tables name for one contract, one entry a session, ascending. Rows for the same session
 * that name different values are complained of; otherwise what they name is put together.
 */
export function* mergedBySession(
  tables: readonly LevelTable[],
  id: string,
  complaints: Complaints,
): Generator<GivenLevel> {
  const queues = tables
    .flatMap(({ byContract }) => byContract.get(id) ?? [])
    .map((levels) => ({ levels, place: 0 }));
  let current: GivenLevel | null = null;
  for (let next = takeEarliest(queues); next !== null; next = takeEarliest(queues)) {
    if (current !== null && current.session === next.session) {
      current = combined(current, next, id, complaints);
    } else {
      if (current !== null) yield current;
      current = next;
    }
  }
  if (current !== null) yield current;
}

function takeEarliest(
  queues: readonly { levels: GivenLevels; place: number }[],
): GivenLevel | null {
  let earliest: { levels: GivenLevels; place: number } | null = null;
  let result: GivenLevel | null = null;
  for (const queue of queues) {
    if (queue.place === queue.levels.length) continue;
    const level = queue.levels.at(queue.place);
    if (result === null || level.session < result.session) [earliest, result] = [queue, level];
  }
  if (earliest !== null) earliest.place += 1;
  return result;
}

function combined(
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
    complaints.cell(
      second.where,
      name as string,
      value as string,
      `${earlier} as in ${first.where}: ${id} has one level for ${sessionKey(first.session)}`,
    );
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

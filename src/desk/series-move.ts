/** Compares the series of indices of two snapshots, by the files that they store. */
import { dateText, type Day } from "../market/session.ts";
import type { Closes } from "../snapshot/series-states.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import type { StoredRestatement } from "./stored-payloads.ts";

type DifferingRow = NonNullable<Manifest["differing_closes"]>[number];

/** The series of a snapshot. */
export interface StoredSeries {
  readonly closes: ReadonlyMap<string, Closes>;
  /** As the manifest has them; null: an older program published it. */
  readonly differing: readonly DifferingRow[] | null;
  /** Of all indices, by the number of the publication. */
  readonly restatements: ReadonlyMap<number, StoredRestatement>;
}

/** The differences; a list is null if a snapshot lacks the file. */
export interface SeriesMove {
  /** The series with closes that were added, changed or removed, each with its last closes. */
  readonly indices: ReturnType<typeof indexRow>[] | null;
  /** The indices of the newer snapshot with closes that differ from the values as known there. */
  readonly differing: readonly DifferingRow[] | null;
  /** The restatements that only the newer snapshot lists. */
  readonly restated: readonly StoredRestatement[] | null;
}

export function seriesMove(before: StoredSeries | null, after: StoredSeries | null): SeriesMove {
  if (before === null || after === null) return { indices: null, differing: null, restated: null };
  const ids = new Set([...before.closes.keys(), ...after.closes.keys()]);
  const rows = [...ids].map((id) => indexRow(id, before.closes.get(id), after.closes.get(id)));
  const known = before.restatements;
  return {
    indices: rows.filter(({ added, changed, removed }) => added + changed + removed > 0),
    differing: after.differing,
    restated: [...after.restatements.values()].filter(({ publication }) => !known.has(publication)),
  };
}

function indexRow(id: string, before: Closes | undefined, after: Closes | undefined) {
  const [old, now] = [closesByDay(before), closesByDay(after)];
  const changed = [...now].filter(([day, close]) => old.has(day) && old.get(day) !== close);
  // The depth of the tier cuts off the first ones.
  const first = Math.min(Infinity, ...now.keys());
  return {
    id,
    old_close: before?.closes.at(-1) ?? null,
    new_close: after?.closes.at(-1) ?? null,
    added: [...now.keys()].filter((day) => !old.has(day)).length,
    changed: changed.length,
    removed: [...old.keys()].filter((day) => day >= first && !now.has(day)).length,
    first_changed: changed[0] === undefined ? null : dateText(changed[0][0]),
  };
}

function closesByDay(series: Closes | undefined): ReadonlyMap<Day, number> {
  if (series === undefined) return new Map();
  const first = series.last + 1 - series.closes.length;
  return new Map(series.closes.map((close, at) => [first + at, close]));
}

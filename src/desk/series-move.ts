/** What became of the series of indices from one snapshot to another, from the files that they store. */
import { changePct } from "../market/change.ts";
import { decimalOf, type UsedLevels } from "../market/chained.ts";
import { carryLimitSessions, type Contract } from "../market/contract.ts";
import { unitsOf } from "../market/decimal.ts";
import { COMPOSITE } from "../market/indices.ts";
import type { SeriesByIndex, SeriesRestatement } from "../market/published-series.ts";
import { closeSessionOf, dateText, sessionUtc } from "../market/session.ts";
import type { Closes } from "../snapshot/series-states.ts";

/** The series of a snapshot. */
export interface StoredSeries {
  readonly closes: ReadonlyMap<string, Closes>;
  /** Null: an older program kept none. */
  readonly states: SeriesByIndex | null;
}

/** What differs; a list is null if a snapshot lacks the file. */
export interface SeriesMove {
  /** The series with closes that were added, changed or removed, each with its last closes. */
  readonly indices: ReturnType<typeof indexRow>[] | null;
  /** The restatements that only the newer snapshot lists. */
  readonly restated: readonly SeriesRestatement[] | null;
  /** The contracts that were over their carry limit at the older close, and moved the newer one. */
  readonly returned: ReturnType<typeof returnedRows> | null;
}

/**
 * Compares the series. `catalog` is the newer one, `maxCarryDays` its limit; `isBroken` says that a break lies
 * between two levels of a contract.
 */
export function seriesMove(
  before: StoredSeries | null,
  after: StoredSeries | null,
  catalog: Iterable<Contract>,
  maxCarryDays: number,
  isBroken: (id: string) => boolean,
): SeriesMove {
  if (before === null || after === null) return { indices: null, restated: null, returned: null };
  const ids = new Set([...before.closes.keys(), ...after.closes.keys()]);
  const rows = [...ids].map((id) => indexRow(id, before.closes.get(id), after.closes.get(id)));
  const [old, now] = [before.states?.get(COMPOSITE), after.states?.get(COMPOSITE)];
  const known = new Set(old?.restatements.map(({ publication }) => publication));
  const limits = { catalog, maxCarryDays, isBroken };
  return {
    indices: rows.filter(({ added, changed, removed }) => added + changed + removed > 0),
    restated: now?.restatements.filter(({ publication }) => !known.has(publication)) ?? null,
    returned:
      old?.chained && now?.chained
        ? returnedRows(old.chained.used, now.chained.used, closeSessionOf(old.chained.last), limits)
        : null,
  };
}

function indexRow(id: string, before: Closes | undefined, after: Closes | undefined) {
  const closesOf = (series: Closes | undefined): Map<number, number> =>
    new Map(
      Array.from(series?.closes ?? [], (close, at) => [
        (series as Closes).last + 1 - (series as Closes).closes.length + at,
        close,
      ]),
    );
  const [old, now] = [closesOf(before), closesOf(after)];
  const last = (closes: Map<number, number>): number | null => {
    const close = [...closes.values()].at(-1);
    return close === undefined ? null : Number(decimalOf(close));
  };
  const changed = [...now].filter(([day, close]) => old.has(day) && old.get(day) !== close);
  // The depth of the tier cuts off the first ones.
  const first = Math.min(Infinity, ...now.keys());
  return {
    id,
    old_close: last(old),
    new_close: last(now),
    added: [...now.keys()].filter((day) => !old.has(day)).length,
    changed: changed.length,
    removed: [...old.keys()].filter((day) => day >= first && !now.has(day)).length,
    first_changed: changed[0] === undefined ? null : dateText(changed[0][0]),
  };
}

function returnedRows(
  old: UsedLevels,
  now: UsedLevels,
  noon: number,
  limits: {
    readonly catalog: Iterable<Contract>;
    readonly maxCarryDays: number;
    readonly isBroken: (id: string) => boolean;
  },
) {
  return [...limits.catalog].flatMap((contract) => {
    const { id } = contract;
    const [from, to] = [old.get(id), now.get(id)];
    if (from === undefined || to === undefined || from.session === to.session) return [];
    const limit = carryLimitSessions(contract, limits.maxCarryDays);
    if (noon - from.session <= limit || limits.isBroken(id)) return [];
    return [
      {
        id,
        used_last_utc: sessionUtc(from.session),
        old_usd: unitsOf(from.usd),
        new_usd: unitsOf(to.usd),
        change_pct: Number(changePct(to.usd, from.usd)),
      },
    ];
  });
}

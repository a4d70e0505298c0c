/** Renamed segments: their indices go on under new ids, with series, members, settlements and restatements. */
import type { Contract } from "../market/contract.ts";
import { indexIdsOf, segmentFormerlyOf } from "../market/indices.ts";
import type { StoredSeriesByIndex } from "../market/published-series.ts";
import type { Settlements } from "../market/settlements.ts";

/** A segment with another name than in the head. */
export interface RenamedSegment {
  /** The id of its index in the head, which can be the same. */
  readonly from: string;
  /** The id of its index now. */
  readonly to: string;
  readonly name: string;
  readonly formerName: string;
}

/**
 * The segments whose name is gone, and whose contracts that are still in the catalog all stand in one segment that
 * the catalog before did not have. If several come to one segment, none of them is renamed.
 */
export function renamedSegmentsOf(
  catalog: readonly Contract[],
  before: readonly Contract[],
): RenamedSegment[] {
  const segmentOf = new Map(
    catalog.flatMap(({ id, formerly, segment }) =>
      [id, ...formerly].map((each) => [each, segment]),
    ),
  );
  const present = new Set(catalog.map(({ segment }) => segment));
  const old = Map.groupBy(before, ({ segment }) => segment);
  const renamed = [...old].flatMap(([formerName, contracts]) => {
    if (present.has(formerName)) return [];
    const [name, ...others] = new Set(contracts.flatMap(({ id }) => segmentOf.get(id) ?? []));
    if (name === undefined || others.length > 0 || old.has(name)) return [];
    const from = indexIdsOf(before).get(formerName) as string;
    const to = indexIdsOf(catalog).get(name) as string;
    return [{ from, to, name, formerName }];
  });
  const sources = Map.groupBy(renamed, ({ name }) => name);
  return renamed.filter(({ name }) => sources.get(name)?.length === 1);
}

/** The catalog whose contracts have the former ids of their segments, by the catalog before and by `renamed`. */
export function withFormerSegments(
  catalog: readonly Contract[],
  before: readonly Contract[],
  renamed: readonly RenamedSegment[],
): readonly Contract[] {
  const old = Map.groupBy(before, ({ segment }) => segment);
  const now = Map.groupBy(catalog, ({ segment }) => segment);
  // An id goes with the last rename.
  const moved = new Set(renamed.map(({ from }) => from));
  const formerIds = new Map(
    [...now].map(([name, contracts]): [string, readonly string[]] => {
      const source = renamed.find((each) => each.name === name);
      const kept = segmentFormerlyOf([
        ...contracts,
        ...(old.get(source?.formerName ?? name) ?? []),
      ]);
      const stays = kept.filter((id) => !moved.has(id));
      // A name that differs in its case alone has the same id.
      const isMoved = source !== undefined && source.from !== source.to;
      return [name, isMoved ? [...stays, source.from] : stays];
    }),
  );
  return catalog.map((contract) => {
    const ids = formerIds.get(contract.segment) ?? [];
    return ids.length === 0 ? contract : { ...contract, segmentFormerly: ids };
  });
}

/** The history of the indices of renamed segments under their new ids. */
export function withNewIndexIds<
  H extends { readonly series: StoredSeriesByIndex; readonly settlements: Settlements },
>(history: H, renamed: readonly RenamedSegment[]): H {
  if (renamed.length === 0) return history;
  const newIds = new Map(renamed.map(({ from, to }) => [from, to]));
  const taken = new Set(newIds.values());
  const move = <T>(byId: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
    new Map(
      [...byId]
        // An index that had the new id long ago gives way.
        .filter(([id]) => newIds.has(id) || !taken.has(id))
        .map(([id, item]) => [newIds.get(id) ?? id, item]),
    );
  const { series, settlements } = history;
  return {
    ...history,
    series: move(series),
    settlements: { ...settlements, index: move(settlements.index) },
  };
}

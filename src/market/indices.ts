/** The indices of a market: one of the whole market, and one of each segment of the catalog. */
import { inBoardOrder, type Contract } from "./contract.ts";

/** The id and the name of the index of the whole market. */
export const COMPOSITE = "composite";

/** A file has the id in its name, and names have an end. */
const MAX_INDEX_ID_CHARACTERS = 200;

/** An index, and the contracts of the catalog that it is made of. */
export interface MarketIndex {
  /** Lowercase ASCII letters, digits and `-`; names it in paths and addresses. */
  readonly id: string;
  /** The segment; `composite` for the whole market. */
  readonly name: string;
  /** The ids that it had before, the oldest first, but for those that another index has. */
  readonly formerly: readonly string[];
  /** In board order, those off the boards at their place. */
  readonly contracts: readonly Contract[];
}

/** A segment in lower case, with `-` for every character but ASCII letters and digits. */
export const slugOf = (segment: string): string =>
  segment.toLowerCase().replace(/[^a-z0-9]/gu, "-");

/** The composite first, then the segments as they first appear in board order. Each has an id of its own. */
export function indicesOf(catalog: readonly Contract[]): MarketIndex[] {
  const ids = indexIdsOf(catalog);
  const inUse = new Set([COMPOSITE, ...ids.values()]);
  const bySegment = Map.groupBy(inBoardOrder(catalog), ({ segment }) => segment);
  return [
    { id: COMPOSITE, name: COMPOSITE, formerly: [], contracts: inBoardOrder(catalog) },
    ...[...bySegment].map(([name, contracts]) => ({
      id: ids.get(name) as string,
      name,
      formerly: segmentFormerlyOf(contracts).filter((old) => !inUse.has(old)),
      contracts,
    })),
  ];
}

/** The former ids of a segment with these contracts: each of them has all. */
export const segmentFormerlyOf = (contracts: readonly Contract[]): readonly string[] => [
  ...new Set(contracts.flatMap(({ segmentFormerly = [] }) => segmentFormerly)),
];

const idsKnown = new WeakMap<readonly Contract[], ReadonlyMap<string, string>>();

/**
 * The ids of the segments' indices, by segment: the slug, or its first 200 characters. Where an earlier segment
 * has this id, its end is a digest of the slug. Made once for a catalog.
 */
export function indexIdsOf(catalog: readonly Contract[]): ReadonlyMap<string, string> {
  let ids = idsKnown.get(catalog);
  if (ids === undefined) {
    const segments = [...new Set(inBoardOrder(catalog).map(({ segment }) => segment))];
    const taken = new Set(segments.map(slugOf).filter((slug) => slug === startOf(slug)));
    const idOf = (slug: string): string => {
      const id = startOf(slug);
      if (id === slug) return slug;
      if (taken.has(id)) return withDigest(slug);
      taken.add(id);
      return id;
    };
    ids = new Map(segments.map((segment) => [segment, idOf(slugOf(segment))]));
    idsKnown.set(catalog, ids);
  }
  return ids;
}

const startOf = (slug: string): string => slug.slice(0, MAX_INDEX_ID_CHARACTERS);

function withDigest(slug: string): string {
  const digest = fnv(slug);
  return `${slug.slice(0, MAX_INDEX_ID_CHARACTERS - digest.length - 1)}-${digest}`;
}

/** FNV-1a of 64 bits, in hex, of ASCII text. Pages import this file, so it cannot use Node's digests. */
function fnv(text: string): string {
  let value = 0xcbf29ce484222325n;
  for (let at = 0; at < text.length; at += 1) {
    value = BigInt.asUintN(64, (value ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n);
  }
  return value.toString(16).padStart(16, "0");
}

/** The indices of a market: one of the whole market, and one of each segment of the catalog. */
import { BOARDS, type Contract } from "./contract.ts";

/** The id and the name of the index of the whole market. */
export const COMPOSITE = "composite";

/** A file has the id in its name, and names have an end. */
export const MAX_INDEX_ID_CHARACTERS = 200;

/** An index, and the contracts of the catalog that it is made of. */
export interface MarketIndex {
  /** Lowercase ASCII letters, digits and `-`; names it in paths and addresses. */
  readonly id: string;
  /** The segment; `composite` for the whole market. */
  readonly name: string;
  /** In board order, those off the boards at their place. */
  readonly contracts: readonly Contract[];
}

/**
 * The id of a segment's index: the segment in lower case, with `-` for every character but ASCII letters
 * and digits; its first 200 characters.
 */
export const indexIdOf = (segment: string): string =>
  segment
    .toLowerCase()
    .replace(/[^a-z0-9]/gu, "-")
    .slice(0, MAX_INDEX_ID_CHARACTERS);

/** The composite first, then the segments as they first appear in board order. Each has an id of its own. */
export function indicesOf(catalog: readonly Contract[]): MarketIndex[] {
  const contracts = BOARDS.flatMap((board) => catalog.filter((item) => item.board === board));
  const bySegment = Map.groupBy(contracts, ({ segment }) => indexIdOf(segment));
  return [
    { id: COMPOSITE, name: COMPOSITE, contracts },
    ...[...bySegment].map(([id, members]) => ({
      id,
      name: (members[0] as Contract).segment,
      contracts: members,
    })),
  ];
}

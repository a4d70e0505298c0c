/** The ids that somebody may have meant with an unknown one. Ids and tickers are public. */
import { distance } from "../../lib/text.ts";
import type { Contract } from "../../market/contract.ts";
import { fault, type Fault } from "../query.ts";

/** How many unknown ids of a request get suggestions. */
const SUGGESTED_FOR = 3;
const SUGGESTIONS_MAX = 3;
const CHARACTERS_MAX = 64;
/** Changes of one character that turn one id into the other. */
const DISTANCE_MAX = 2;

/**
 * At most three ids: of contracts with this ticker or this id in another case, then with this former id,
 * then those at a Levenshtein distance of 2 or less, the nearest first; ties in the catalog's order.
 * Undefined: there is none, as for a text of more than 64 characters.
 */
export function didYouMean(text: string, catalog: readonly Contract[]): string[] | undefined {
  if (text.length > CHARACTERS_MAX) return undefined;
  const lower = text.toLowerCase();
  const ranked = catalog.flatMap(({ id, ticker, formerly }) => {
    // It is in the catalog, and not where it is asked for.
    if (id === text) return [];
    if (ticker.toLowerCase() === lower || id.toLowerCase() === lower) return [{ id, rank: -2 }];
    if (formerly === text) return [{ id, rank: -1 }];
    const rank = distance(text, id, DISTANCE_MAX);
    return rank <= DISTANCE_MAX ? [{ id, rank }] : [];
  });
  const near = ranked.sort((a, b) => a.rank - b.rank).slice(0, SUGGESTIONS_MAX);
  return near.length === 0 ? undefined : near.map(({ id }) => id);
}

/** The faults of ids that no contract of the catalog has. */
export const unknownFaults = (
  unknown: readonly string[],
  catalog: readonly Contract[],
  where: string,
): Fault[] =>
  unknown.map((id, place) => ({
    ...fault("unknown_contract", "ids", id, `expected the id of a contract ${where}`),
    did_you_mean: place < SUGGESTED_FOR ? didYouMean(id, catalog) : undefined,
  }));

/**
 * The ids that somebody may have meant with an unknown one. Ids and tickers are public. A request may spend so
 * many steps on comparing, however many contracts there are.
 */
import { distance, type Budget } from "../../lib/text.ts";
import type { Contract } from "../../market/contract.ts";
import { fault, type Fault } from "../../api/query.ts";

/** How many unknown ids of a request get suggestions. */
const SUGGESTED_FOR = 3;
const SUGGESTIONS_MAX = 3;
const CHARACTERS_MAX = 64;
/** Changes of one character that turn one id into the other. */
const DISTANCE_MAX = 2;
const STEPS_MAX = 100_000;

/** The ids of a catalog by what else they are called. */
interface Names {
  /** By ticker or id in lower case. */
  readonly byLower: ReadonlyMap<string, readonly string[]>;
  readonly byFormer: ReadonlyMap<string, readonly string[]>;
}

/** Made once for a catalog. */
const namesKnown = new WeakMap<readonly Contract[], Names>();

function namesOf(catalog: readonly Contract[]): Names {
  const known = namesKnown.get(catalog);
  if (known !== undefined) return known;
  const byLower = new Map<string, string[]>();
  const byFormer = new Map<string, string[]>();
  const note = (names: Map<string, string[]>, name: string, id: string): void => {
    const ids = names.get(name);
    if (ids === undefined) names.set(name, [id]);
    else if (ids.at(-1) !== id) ids.push(id);
  };
  for (const { id, ticker, formerly } of catalog) {
    note(byLower, ticker.toLowerCase(), id);
    note(byLower, id.toLowerCase(), id);
    for (const old of formerly) note(byFormer, old, id);
  }
  const names = { byLower, byFormer };
  namesKnown.set(catalog, names);
  return names;
}

/**
 * At most three ids: of contracts with this ticker or this id in another case, then with this former id,
 * then those at a Levenshtein distance of 2 or less, the nearest first; ties in the catalog's order.
 * Undefined: there is none, as for a text of more than 64 characters. Comparing ends with the budget.
 */
export function didYouMean(
  text: string,
  catalog: readonly Contract[],
  budget: Budget = { steps: STEPS_MAX },
): string[] | undefined {
  if (text.length > CHARACTERS_MAX) return undefined;
  const { byLower, byFormer } = namesOf(catalog);
  const named = [...(byLower.get(text.toLowerCase()) ?? []), ...(byFormer.get(text) ?? [])];
  const near: { readonly id: string; readonly far: number }[] = [];
  for (const { id } of catalog) {
    if (budget.steps <= 0) break;
    const far = distance(text, id, DISTANCE_MAX, budget);
    if (far <= DISTANCE_MAX) near.push({ id, far });
  }
  near.sort((a, b) => a.far - b.far);
  const ids = new Set([...named, ...near.map(({ id }) => id)]);
  // It is in the catalog, and not where it is asked for.
  ids.delete(text);
  return ids.size === 0 ? undefined : [...ids].slice(0, SUGGESTIONS_MAX);
}

/** The faults of ids that no contract of the catalog has. */
export function unknownFaults(
  unknown: readonly string[],
  catalog: readonly Contract[],
  where: string,
): Fault[] {
  const budget = { steps: STEPS_MAX };
  return unknown.map((id, place) => ({
    ...fault("unknown_contract", "ids", id, `expected the id of a contract ${where}`),
    did_you_mean: place < SUGGESTED_FOR ? didYouMean(id, catalog, budget) : undefined,
  }));
}

/**
 * The ids that somebody may have meant with an unknown one. Ids, tickers and names are public. A request may spend
 * so many steps on comparing, however many contracts there are.
 */
import { distance, type Budget } from "../../lib/text.ts";
import type { Contract } from "../../market/contract.ts";
import { COMPOSITE, slugOf } from "../../market/indices.ts";
import { fault, type Fault } from "../../public/query.ts";
import { indicesIn } from "./known-ids.ts";

/** How many unknown ids of a request get suggestions. */
const SUGGESTED_FOR = 3;
const SUGGESTIONS_MAX = 3;
const CHARACTERS_MAX = 64;
/** Changes of one character that turn one id into the other. */
const DISTANCE_MAX = 2;
const STEPS_MAX = 100_000;

/** The ids that may be meant. */
interface Names {
  /** In the order in which they are suggested. */
  readonly ids: readonly string[];
  /** By what else the same thing is called, in lower case; the best names first. */
  readonly byName: ReadonlyMap<string, readonly string[]>;
  /** The text as ids are written. */
  readonly written: (text: string) => string;
}

/** Contracts, by ticker or id in another case, then by former id. */
const contractNames = madeOnceFor((catalog) => ({
  ids: catalog.map(({ id }) => id),
  byName: grouped([
    ...catalog.flatMap(({ id, ticker }) => [
      [ticker, id],
      [id, id],
    ]),
    ...catalog.flatMap(({ id, formerly }) => formerly.map((old) => [old, id])),
  ]),
  written: (text) => text,
}));

/** Indices, by id or name in another case. */
const indexNames = madeOnceFor((catalog) => namesOfIndices(catalog, () => true));

/** The same without the composite. */
const segmentNames = madeOnceFor((catalog) => namesOfIndices(catalog, (id) => id !== COMPOSITE));

function namesOfIndices(catalog: readonly Contract[], takes: (id: string) => boolean): Names {
  const indices = [...indicesIn(catalog).byId.values()].filter(({ id }) => takes(id));
  return {
    ids: indices.map(({ id }) => id),
    byName: grouped(
      indices.flatMap(({ id, name }) => [
        [name, id],
        [id, id],
      ]),
    ),
    written: slugOf,
  };
}

function madeOnceFor(
  make: (catalog: readonly Contract[]) => Names,
): (catalog: readonly Contract[]) => Names {
  const known = new WeakMap<readonly Contract[], Names>();
  return (catalog) => {
    const names = known.get(catalog) ?? make(catalog);
    known.set(catalog, names);
    return names;
  };
}

/** The ids by name in lower case. */
function grouped(pairs: readonly (readonly string[])[]): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  for (const [name = "", id = ""] of pairs) {
    const key = name.toLowerCase();
    const known = ids.get(key);
    if (known === undefined) ids.set(key, [id]);
    else known.push(id);
  }
  return ids;
}

/**
 * At most three ids: those that are called so, then those at a Levenshtein distance of 2 or less, the nearest
 * first; ties in the catalog's order. Undefined: there is none, as for a text of more than 64 characters.
 * Comparing ends with the budget.
 */
function didYouMean(
  text: string,
  { ids, byName, written }: Names,
  budget: Budget = { steps: STEPS_MAX },
): string[] | undefined {
  if (text.length > CHARACTERS_MAX) return undefined;
  const near: { readonly id: string; readonly far: number }[] = [];
  const sent = written(text);
  for (const id of ids) {
    if (budget.steps <= 0) break;
    const far = distance(sent, id, DISTANCE_MAX, budget);
    if (far <= DISTANCE_MAX) near.push({ id, far });
  }
  near.sort((a, b) => a.far - b.far);
  const meant = new Set([...(byName.get(text.toLowerCase()) ?? []), ...near.map(({ id }) => id)]);
  return meant.size === 0 ? undefined : [...meant].slice(0, SUGGESTIONS_MAX);
}

/** Ids of contracts that may be meant with this one. */
export const nearContracts = (text: string, catalog: readonly Contract[]): string[] | undefined =>
  didYouMean(text, contractNames(catalog));

/** Ids of indices that may be meant with this one. */
export const nearIndices = (text: string, catalog: readonly Contract[]): string[] | undefined =>
  didYouMean(text, indexNames(catalog));

/** The faults of ids that no contract of the catalog has. */
export const unknownContracts = (
  unknown: readonly string[],
  catalog: readonly Contract[],
  expected: string,
): Fault[] => {
  const faultOf = (id: string): Fault => fault("unknown_contract", "ids", id, expected);
  return withSuggestions(unknown, faultOf, contractNames(catalog));
};

/** The faults of ids that no index has, or no segment's if the parameter is `segment`. */
export const unknownIndices = (
  unknown: readonly string[],
  catalog: readonly Contract[],
  parameter: "ids" | "segment",
): Fault[] => {
  const [names, what] =
    parameter === "ids"
      ? [indexNames(catalog), "an index; /indices lists all ids"]
      : [segmentNames(catalog), "a segment's index; /contracts lists all ids"];
  const expected = `expected the id of ${what}`;
  return withSuggestions(unknown, (id) => fault("unknown_index", parameter, id, expected), names);
};

function withSuggestions(
  unknown: readonly string[],
  faultOf: (id: string) => Fault,
  names: Names,
): Fault[] {
  const budget = { steps: STEPS_MAX };
  return unknown.map((id, place) => ({
    ...faultOf(id),
    did_you_mean: place < SUGGESTED_FOR ? didYouMean(id, names, budget) : undefined,
  }));
}

/** Query parameters: reads them, detects keys in them and reports their faults. */
import { KEY_PREFIX, LINK_PREFIX } from "../lib/secrets.ts";
import { MAX_ITEMS } from "../lib/limits.ts";
import { LISTS, type Parameter } from "./parameters.ts";
import { deny, type Denial, type ParameterFault, type ProblemCode } from "./problems.ts";

/** Decoded names and values in the order sent. */
export type Query = readonly (readonly [name: string, value: string])[];

const NO_QUERY: Query = [];

const MAX_FAULTS_TOLD = 100;
const SHOWN_CHARACTERS = 120;

const KEY_NAMES = ["key", "api_key", "apikey", "token", "access_token", "x-api-key"];
const NAMES_A_KEY = new RegExp(`&(?:${KEY_NAMES.join("|")})(?:[=&]|$)`, "i");

/** Twice as many as any route takes, so that a query with more is refused for those that were read. */
const PAIRS_MAX = 5 * MAX_ITEMS;

/**
 * Parses application/x-www-form-urlencoded (URL Standard, 5.1). Lists that programs write as `ids=a&ids=b` or
 * `ids[]=a&ids[]=b` are joined. Of a query with more than PAIRS_MAX pairs it reads these, and of the others only
 * whether they hold a key.
 */
export function parseQuery(text: string): Query {
  if (text === "") return NO_QUERY;
  const read = text
    .split("&", PAIRS_MAX + 1)
    .slice(0, PAIRS_MAX)
    .join("&");
  const pairs = withJoinedLists([...new URLSearchParams(read)]);
  const rest = text.slice(read.length);
  return rest !== "" && holdsKeyAsSent(rest) ? [...pairs, ["", KEY_PREFIX]] : pairs;
}

/**
 * The query with each list as one value, in the order sent and in its first place. A list in both forms stays as it
 * was sent, and is refused as any other unknown name.
 */
function withJoinedLists(pairs: readonly (readonly [string, string])[]): Query {
  let joinedPairs = pairs;
  for (const name of LISTS) {
    for (const form of [name, `${name}[]`]) {
      const values = joinedPairs.filter(([each]) => each === form).map(([, value]) => value);
      const isInOtherForm = joinedPairs.some(([each]) => each === name) && form !== name;
      if (values.length === 0 || isInOtherForm || (values.length === 1 && form === name)) continue;
      const first = joinedPairs.findIndex(([each]) => each === form);
      joinedPairs = joinedPairs.flatMap((pair, at) => {
        if (at === first) return [[name, values.join(",")] as const];
        return pair[0] === form ? [] : [pair];
      });
    }
  }
  return joinedPairs;
}

/** The same as holdsKey, of a text that is not parsed. */
function holdsKeyAsSent(text: string): boolean {
  const plain = text.replaceAll(/%[0-9a-f]{2}/gi, (escape) =>
    String.fromCharCode(Number.parseInt(escape.slice(1), 16)),
  );
  return plain.includes(KEY_PREFIX) || NAMES_A_KEY.test(plain);
}

/** Whether the query has any of the parameters, valid or not. */
export const namesAny = (query: Query, parameters: readonly Parameter[]): boolean =>
  query.some(([name]) => parameters.some((each) => each.name === name));

/** Whether a name or a value of the query looks like an API key. */
export const holdsKey = (query: Query): boolean =>
  query.some(
    ([name, value]) =>
      name.startsWith(KEY_PREFIX) ||
      // An item of a list may be one as well.
      `,${value}`.includes(`,${KEY_PREFIX}`) ||
      KEY_NAMES.includes(name.toLowerCase()),
  );

/** The value of a parameter; undefined: the query does not have it. */
export const valueOf = (query: Query, name: string): string | undefined =>
  query.find(([each]) => each === name)?.[1];

/** The codes of faults of parameters: the denial has the first one of this list that any fault has. */
const FAULT_ORDER = [
  "unknown_parameter",
  "invalid_parameter",
  "unknown_contract",
  "unknown_index",
  "no_base_level",
  "not_on_board",
] as const satisfies readonly ProblemCode[];
type FaultCode = (typeof FAULT_ORDER)[number];

/** A fault of a parameter, with the problem code that it causes. */
export type Fault = ParameterFault & { readonly code: FaultCode };

/** Finds unknown and repeated parameters; `known` names the ones that the address takes. */
export function nameFaults(query: Query, known: readonly string[]): Fault[] {
  const seen = new Set<string>();
  const faults: Fault[] = [];
  for (const [name, value] of query) {
    if (!known.includes(name)) {
      const takes = known.length === 0 ? "no parameter" : known.join(", ");
      faults.push(fault("unknown_parameter", name, value, `expected ${takes} at this address`));
    } else if (seen.has(name)) {
      faults.push(fault("invalid_parameter", name, value, "expected once"));
    }
    seen.add(name);
  }
  return faults;
}

/**
 * The items of a list, separated by commas, and as faults those that are empty or were there before. Null:
 * the query has no such parameter.
 */
export function readItems(
  query: Query,
  name: string,
  faults: Fault[],
  itemsMax = MAX_ITEMS,
): string[] | null {
  const text = valueOf(query, name);
  if (text === undefined) return null;
  const items = text.split(",");
  if (items.length > itemsMax) {
    faults.push(invalid(name, text, `expected 1 to ${itemsMax} ids, got ${items.length}`));
    return [];
  }
  const seen = new Set<string>();
  for (const item of items) {
    if (item === "") faults.push(invalid(name, item, "expected no empty item"));
    else if (seen.has(item)) faults.push(invalid(name, item, "expected each id once"));
    else seen.add(item);
  }
  return [...seen];
}

/** A whole number without leading zeros, at most 9,999,999,999; null: it is not sent, or is a fault. */
export function readWhole(
  query: Query,
  name: string,
  min: number,
  max: number,
  faults: Fault[],
): number | null {
  const text = valueOf(query, name);
  if (text === undefined) return null;
  const number = /^(?:0|[1-9]\d{0,9})$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  faults.push(invalid(name, text, `expected a whole number from ${min} to ${max}`));
  return null;
}

/** Makes a fault. Shortens the caller's text and never repeats a key. */
export const fault = (code: FaultCode, name: string, value: string, detail: string): Fault => ({
  code,
  parameter: shownText(name),
  value: shownText(value),
  detail,
});

export const invalid = (name: string, value: string, detail: string): Fault =>
  fault("invalid_parameter", name, value, detail);

/** A text of a request as answers may show it: shortened, and never a key or a link. */
export const shownText = (text: string): string => {
  if (text.includes(KEY_PREFIX) || text.includes(LINK_PREFIX)) return "(not shown)";
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
};

/** The denial that reports the faults, beginning with the faults of its own code; null: no faults. */
export function faultsDenial(faults: readonly Fault[]): Denial | null {
  if (faults.length === 0) return null;
  const ordered = FAULT_ORDER.flatMap((code) => faults.filter((item) => item.code === code));
  const [first] = ordered as [Fault];
  const errors = ordered.slice(0, MAX_FAULTS_TOLD).map(({ code: _code, ...error }) => error);
  const where = `Parameter ${JSON.stringify(first.parameter)} ${JSON.stringify(first.value)}`;
  const detail = `${where}: ${first.detail}${moreText(faults.length)}.`;
  const { as_of, delisted_on } = first;
  const last = {
    ...(as_of !== undefined && { as_of }),
    ...(delisted_on !== undefined && { delisted_on }),
  };
  return deny(first.code, detail, { status: 400, ...last, errors });
}

function moreText(count: number): string {
  if (count === 1) return "";
  if (count <= MAX_FAULTS_TOLD) return ` (and ${count - 1} more, see errors)`;
  return ` (errors names ${MAX_FAULTS_TOLD} faults, and ${count - MAX_FAULTS_TOLD} more are not named)`;
}

/** Query parameters: which there are, what they may hold, and keys that must not be there. */
import { KEY_PREFIX } from "../state/keys.ts";
import { EQUAL_WEIGHT, type Constituent } from "../market/composite.ts";
import type { BasketFile } from "../payload/basket-file.ts";
import type { Weighting } from "../payload/index-body.ts";
import type { ParameterFault, ProblemCode } from "./problems.ts";
import { problemReply, type Reply } from "./reply.ts";

/** Names and values as sent, decoded, in order. */
export type Query = readonly (readonly [name: string, value: string])[];

const BASKET_PARAMETERS = ["ids", "weights"] as const;
const MAX_IDS = 100;
const WEIGHT = /^(\d{1,9})(?:\.(\d{1,9}))?$/;
const WEIGHT_DECIMALS = 9;
const SHOWN_CHARACTERS = 60;

const KEY_NAMES: ReadonlySet<string> = new Set([
  "key",
  "api_key",
  "apikey",
  "token",
  "access_token",
  "x-api-key",
]);

const NONE: Query = [];
const NOTHING_ENCODED = /^[\w.,~=&-]*$/;

/** As application/x-www-form-urlencoded (URL Standard, 5.1). */
export function parseQuery(text: string): Query {
  if (text === "") return NONE;
  // The usual query needs no decoding, and is read for a tenth of the cost.
  if (!NOTHING_ENCODED.test(text)) return [...new URLSearchParams(text)];
  const query: [string, string][] = [];
  for (const piece of text.split("&")) {
    if (piece === "") continue;
    const mark = piece.indexOf("=");
    query.push(mark < 0 ? [piece, ""] : [piece.slice(0, mark), piece.slice(mark + 1)]);
  }
  return query;
}

/** Whether the query holds what looks like an API key, by name or by value. */
export const holdsKey = (query: Query): boolean =>
  query.some(
    ([name, value]) =>
      KEY_NAMES.has(name.toLowerCase()) ||
      name.startsWith(KEY_PREFIX) ||
      value.startsWith(KEY_PREFIX),
  );

/** Whether a basket of one's own is asked for, rightly or not. */
export const namesBasket = (query: Query): boolean =>
  query.some(([name]) => (BASKET_PARAMETERS as readonly string[]).includes(name));

/** What a custom basket is made of. */
interface Basket {
  readonly constituents: readonly Constituent[];
  readonly weights: readonly bigint[];
  readonly weighting: Weighting;
}

type FaultCode = Extract<
  ProblemCode,
  "unknown_parameter" | "invalid_parameter" | "unknown_contract" | "no_base_level"
>;
type Fault = ParameterFault & { readonly code: FaultCode };

/** Faults are reported under the code that stands first here. */
const FAULT_ORDER: readonly FaultCode[] = [
  "unknown_parameter",
  "invalid_parameter",
  "unknown_contract",
  "no_base_level",
];

/** Null where there are no parameters, or their refusal: by name, none of them is taken. */
export function refuseParameters(query: Query, takesBasket: boolean): Reply | null {
  if (query.length === 0) return null;
  return faultsReply(nameFaults(query, takesBasket ? BASKET_PARAMETERS : []));
}

/** Reads `ids` and `weights` against the contracts on the board; all faults at once. */
export function readBasket(query: Query, file: BasketFile): Basket | Reply {
  const faults = nameFaults(query, BASKET_PARAMETERS);
  const ids = query.find(([name]) => name === "ids")?.[1];
  const weightsText = query.find(([name]) => name === "weights")?.[1];
  if (ids === undefined) {
    faults.push(invalid("ids", "", "weights need ids to belong to"));
  }
  const items = ids?.split(",") ?? [];
  const constituents = readIds(items, file, faults);
  const weights =
    weightsText === undefined
      ? items.map(() => EQUAL_WEIGHT)
      : readWeights(weightsText, ids === undefined ? null : items.length, faults);
  if (faults.length > 0) return faultsReply(faults);
  return { constituents, weights, weighting: weightsText === undefined ? "equal" : "custom" };
}

function nameFaults(query: Query, known: readonly string[]): Fault[] {
  const seen = new Set<string>();
  const faults: Fault[] = [];
  for (const [name, value] of query) {
    if (!known.includes(name)) {
      const takes = known.length === 0 ? "no parameter" : known.join(" and ");
      const detail = `expected ${takes} at this address`;
      faults.push({ code: "unknown_parameter", ...shown(name, value), detail });
    } else if (seen.has(name)) {
      faults.push(invalid(name, value, "expected once"));
    }
    seen.add(name);
  }
  return faults;
}

function readIds(items: readonly string[], file: BasketFile, faults: Fault[]): Constituent[] {
  if (items.length > MAX_IDS) {
    const detail = `expected 1 to ${MAX_IDS} ids, got ${items.length}`;
    faults.push(invalid("ids", items.join(","), detail));
    return [];
  }
  const seen = new Set<string>();
  const constituents: Constituent[] = [];
  for (const id of items) {
    const entry = file.contracts.get(id);
    if (id === "") {
      faults.push(invalid("ids", id, "expected no empty item"));
    } else if (seen.has(id)) {
      faults.push(invalid("ids", id, "expected each id once"));
    } else if (entry === undefined) {
      const detail = "expected the id of a contract on the board";
      faults.push({ code: "unknown_contract", ...shown("ids", id), detail });
    } else if ("excluded" in entry) {
      faults.push({ code: "no_base_level", ...shown("ids", id), detail: WHY[entry.excluded] });
    } else {
      constituents.push(entry);
    }
    seen.add(id);
  }
  return constituents;
}

const WHY = {
  no_base_level: "has no level a year before this session",
  break: "has a break since a year before this session: its levels do not compare",
} as const;

function readWeights(text: string, count: number | null, faults: Fault[]): bigint[] {
  const items = text.split(",");
  if (count !== null && items.length !== count) {
    const detail = `expected as many weights as ids (${count}), got ${items.length}`;
    faults.push(invalid("weights", text, detail));
  }
  // So many cannot be right one by one either; the count says it all.
  if (items.length > MAX_IDS) return [];
  return items.map((item) => {
    const weight = parseWeight(item);
    if (weight > 0n) return weight;
    const detail = "expected a decimal above 0 with up to 9 digits before and after the point";
    faults.push(invalid("weights", item, detail));
    return 0n;
  });
}

/** In units of 10⁻⁹; 0 for what is no weight. */
function parseWeight(item: string): bigint {
  const parts = WEIGHT.exec(item);
  if (parts === null) return 0n;
  return BigInt(`${parts[1]}${(parts[2] ?? "").padEnd(WEIGHT_DECIMALS, "0")}`);
}

const invalid = (parameter: string, value: string, detail: string): Fault => ({
  code: "invalid_parameter",
  ...shown(parameter, value),
  detail,
});

/** What is repeated to the caller: cut short, and never a key. */
const shown = (parameter: string, value: string): { parameter: string; value: string } => ({
  parameter: shownText(parameter),
  value: shownText(value),
});

const shownText = (text: string): string => {
  if (text.includes(KEY_PREFIX)) return "(not shown)";
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
};

function faultsReply(faults: readonly Fault[]): Reply {
  const code = FAULT_ORDER.find((candidate) => faults.some((fault) => fault.code === candidate));
  const errors = faults.map(({ parameter, value, detail }) => ({ parameter, value, detail }));
  const first = faults.find((fault) => fault.code === code) as Fault;
  const more = faults.length === 1 ? "" : ` (and ${faults.length - 1} more, see errors)`;
  const detail = `Parameter ${JSON.stringify(first.parameter)} ${JSON.stringify(first.value)}: ${first.detail}${more}.`;
  return problemReply(code as FaultCode, detail, { status: 400, errors });
}

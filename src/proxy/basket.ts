/** Custom baskets: reads `ids` and `weights` and prices the basket for the session. */
import { EQUAL_WEIGHT, type Constituent } from "../market/composite.ts";
import { basketBody, type BasketFile } from "../render/basket.ts";
import type { Weighting } from "../render/index-body.ts";
import { notInSnapshot, type Denial } from "./problems.ts";
import { tagOf } from "./coding.ts";
import {
  BASKET_PARAMETERS,
  fault,
  faultsDenial,
  nameFaults,
  type Fault,
  type Query,
} from "./query.ts";
import type { LoadedSnapshot } from "./snapshot/load.ts";
import { representation, type Representation } from "./snapshot/representation.ts";
import { overdueSessions } from "./snapshot/freshness.ts";

const MAX_IDS = 100;
const WEIGHT = /^(\d{1,9})(?:\.(\d{1,9}))?$/;
const WEIGHT_DECIMALS = 9;

/**
 * The price of the basket that the query names, or the faults of the query. Callers repeat the same
 * few baskets, so the snapshot caches recent ones.
 */
export function basketAnswer(
  snapshot: LoadedSnapshot,
  query: Query,
  nowMs: number,
): Representation | Denial {
  const { baskets, stamp } = snapshot;
  if (baskets === null) return notInSnapshot(stamp.text);
  const basket = readBasket(query, baskets);
  if ("status" in basket) return basket;
  const overdue = overdueSessions(stamp, nowMs);
  const name = `${nameOf(basket)}~${overdue}`;
  const known = snapshot.basketAnswers.get(name);
  if (known !== undefined) return known;
  const { constituents, weights, weighting } = basket;
  const made = representation({
    stamp,
    position: baskets.envelope,
    overdue,
    etag: tagOf(stamp.manifestSha256, name),
    plain: Buffer.from(basketBody(baskets, constituents, weights, weighting, overdue)),
    content: { "content-type": "application/json" },
  });
  snapshot.basketAnswers.set(name, made);
  return made;
}

interface Basket {
  readonly constituents: readonly Constituent[];
  readonly weights: readonly bigint[];
  readonly weighting: Weighting;
}

/** The same name for each query that means the same basket. */
const nameOf = ({ constituents, weights, weighting }: Basket): string =>
  `index?${constituents.map(({ id }) => id).join()}&${weighting === "equal" ? "" : weights.join()}`;

/** Checks `ids` and `weights` against the contracts on the board and reports all faults at once. */
function readBasket(query: Query, file: BasketFile): Basket | Denial {
  const faults = nameFaults(query, BASKET_PARAMETERS);
  const ids = query.find(([name]) => name === "ids")?.[1];
  const weightsText = query.find(([name]) => name === "weights")?.[1];
  if (ids === undefined) faults.push(invalid("ids", "", "weights need ids to belong to"));
  const items = ids?.split(",") ?? [];
  const constituents = readIds(items, file, faults);
  const weights =
    weightsText === undefined
      ? items.map(() => EQUAL_WEIGHT)
      : readWeights(weightsText, ids === undefined ? null : items.length, faults);
  const weighting = weightsText === undefined ? "equal" : "custom";
  return faultsDenial(faults) ?? { constituents, weights, weighting };
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
      faults.push(fault("unknown_contract", "ids", id, detail));
    } else if ("excluded" in entry) {
      faults.push(fault("no_base_level", "ids", id, WHY[entry.excluded]));
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
  // The number of weights is wrong in any case, so the single weights are not checked.
  if (items.length > MAX_IDS) return [];
  return items.map((item) => {
    const weight = parseWeight(item);
    if (weight > 0n) return weight;
    const detail = "expected a decimal above 0 with up to 9 digits before and after the point";
    faults.push(invalid("weights", item, detail));
    return 0n;
  });
}

/** The weight in units of 10⁻⁹; 0 if the item is not a weight. */
function parseWeight(item: string): bigint {
  const parts = WEIGHT.exec(item);
  if (parts === null) return 0n;
  return BigInt(`${parts[1]}${(parts[2] ?? "").padEnd(WEIGHT_DECIMALS, "0")}`);
}

const invalid = (name: string, value: string, detail: string): Fault =>
  fault("invalid_parameter", name, value, detail);

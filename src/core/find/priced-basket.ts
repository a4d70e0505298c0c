/** Custom baskets: reads `ids`, `weights` and `quantities`, and prices the basket for the session. */
import {
  EQUAL_WEIGHT,
  QUANTITY_DECIMALS,
  type BasketItem,
  type Weighting,
} from "../../market/composite.ts";
import type { Place } from "../../lib/turns.ts";
import type { Tier } from "../../market/tier.ts";
import { basketBody } from "../../render/basket-file.ts";
import { withAsked } from "../../render/envelope.ts";
import { utf8 } from "../../lib/bytes.ts";
import type { Platform } from "../../ports/platform.ts";
import { JSON_TYPE } from "../../store/media-types.ts";
import type { Content } from "../outcome.ts";
import { MAX_ITEMS } from "../../lib/limits.ts";
import { BASKET } from "../../public/parameters.ts";
import { BUSY, isDenial, type Denial } from "../../public/problems.ts";
import {
  fault,
  faultsDenial,
  invalid,
  namesAny,
  readItems,
  valueOf,
  type Fault,
  type Query,
} from "../../public/query.ts";
import type { Keep, ServedSnapshot } from "../world.ts";
import { askedOf, knownContracts, lookUp, offBoardFaults } from "./known-ids.ts";
import { unknownContracts } from "./near-ids.ts";
import { entityOf, tagOf, validatorsOf, type Forms, type Validators } from "../serve/entity.ts";
import { ofSnapshot, positionOf, type TierPosition } from "../serve/served-file.ts";
import { overdueSessions, type SnapshotStamp } from "../serve/freshness.ts";

/** To price so many takes a fraction of a millisecond. */
const QUICK_PARTS_MAX = 50;
/** A weight or a quantity. */
const AMOUNT = /^(\d{1,9})(?:\.(\d{1,9}))?$/;
/** The parameters that say how much of each id, and their weightings. */
const AMOUNTS = [
  ["weights", "custom"],
  ["quantities", "quantities"],
] as const;
type AmountsName = (typeof AMOUNTS)[number][0];

/** A basket as a query names it; the ids are not looked up yet. */
export interface BasketQuery {
  readonly ids: readonly string[];
  /** For each id its weight or quantity in units of 10⁻⁹; if `weighting` is `equal`, 1. */
  readonly amounts: readonly bigint[];
  readonly weighting: Weighting;
}

/**
 * Reads the basket that the query names and adds the faults that need no snapshot to `faults`. Null:
 * the query names none.
 */
export function readBasket(query: Query, faults: Fault[]): BasketQuery | null {
  if (!namesAny(query, BASKET)) return null;
  const idsText = valueOf(query, "ids");
  const given = AMOUNTS.flatMap(([name, weighting]) => {
    const text = valueOf(query, name);
    return text === undefined ? [] : [{ name, weighting, text }];
  });
  const [first, second] = given;
  if (idsText === undefined) {
    faults.push(invalid("ids", "", `${first?.name} need ids to belong to`));
  }
  if (first !== undefined && second !== undefined) {
    faults.push(
      invalid(second.name, second.text, `expected ${first.name} or ${second.name}, not both`),
    );
  }
  const ids = readItems(query, "ids", faults) ?? [];
  const count = idsText?.split(",").length ?? null;
  const [amounts] = given.map(({ name, text }) => readAmounts(name, text, count, faults));
  return {
    ids,
    amounts: amounts ?? ids.map(() => EQUAL_WEIGHT),
    weighting: first?.weighting ?? "equal",
  };
}

/**
 * The basket in the snapshot, or all its faults: `faults`, and the faults of its ids. It is priced later, and then
 * kept.
 */
export async function pricedBasket(
  snapshot: ServedSnapshot,
  head: ServedSnapshot,
  tier: Tier,
  { ids: items, amounts, weighting }: BasketQuery,
  faults: readonly Fault[],
  nowMs: number,
  place: Place,
  platform: Platform,
  keep: Keep | null,
): Promise<Content | Denial> {
  const { stamp } = snapshot;
  const file = await snapshot.baskets(tier, place);
  if (isDenial(file)) return faultsDenial(faults) ?? file;
  const known = await knownContracts(snapshot, head, place);
  if (isDenial(known)) return faultsDenial(faults) ?? known;
  const { found, unknown, faults: repeated } = lookUp("ids", items, known.find);
  const ids = [...found.values()].map(({ id }) => id);
  const parts = ids.flatMap((id) => file.contracts.get(id) ?? []);
  const offBoard = new Map([...found].filter(([, { id }]) => !file.contracts.has(id)));
  const withoutBase = weighting === "quantities" ? [] : parts.flatMap(faultOf);
  const all = [
    ...faults,
    ...repeated,
    ...unknownContracts(unknown, known.catalog, ON_BOARD),
    ...offBoardFaults(offBoard, tier, snapshot).map(basketFault),
    ...withoutBase,
  ];
  const denial = faultsDenial(all);
  if (denial !== null) return denial;
  const overdue = overdueSessions(stamp, nowMs);
  const tagged = taggedBasket(
    { ids: items, amounts, weighting },
    stamp,
    tier,
    file.envelope,
    overdue,
    platform,
  );
  const make = async (): Promise<Forms | Denial> => {
    const priced = basketBody(file, parts, amounts, weighting, overdue);
    const body = utf8(withAsked(priced, askedOf(found)));
    const content = { "content-type": JSON_TYPE };
    const forms = {
      identity: entityOf({ ...tagged, body, sha256: platform.sha256(body), content }),
    };
    keep?.(forms);
    return keep !== null || place.hold(body.length) ? forms : BUSY;
  };
  const isLaborious = parts.length > QUICK_PARTS_MAX;
  return {
    kind: "deferred",
    tags: { identity: validatorsOf(tagged) },
    isLaborious,
    make: () => (isLaborious ? place.run(make) : make()),
  };
}

function taggedBasket(
  { ids, amounts, weighting }: BasketQuery,
  stamp: SnapshotStamp,
  tier: Tier,
  position: TierPosition,
  overdue: number,
  platform: Platform,
): ReturnType<typeof ofSnapshot> {
  const name = JSON.stringify([tier.name, ids, weighting, amounts.join(), overdue]);
  return ofSnapshot(stamp, position, overdue, tagOf(platform, stamp.manifestSha256, name));
}

/** The tag that the basket has in a snapshot that is never overdue, if its contracts are there. */
export const basketTags = (
  basket: BasketQuery,
  stamp: SnapshotStamp,
  tier: Tier,
  platform: Platform,
): Forms<Validators> => ({
  identity: validatorsOf(taggedBasket(basket, stamp, tier, positionOf(tier, stamp), 0, platform)),
});

const ON_BOARD = "expected the id of a contract on the board; /prices lists all of them";

/** Of a contract that is not delisted, only that the basket cannot have it. */
const basketFault = (off: Fault): Fault =>
  off.delisted_on === undefined
    ? fault("unknown_contract", off.parameter, off.value, ON_BOARD)
    : off;

/** A weight is of a relative, which needs a base. */
const faultOf = ({ id, reason }: BasketItem): Fault[] =>
  reason === null ? [] : [fault("no_base_level", "ids", id, WHY[reason])];

const WHY = {
  no_base_level: "has no level a year before this session",
  break: "has a break since a year before this session: its levels do not compare",
} as const;

function readAmounts(
  name: AmountsName,
  text: string,
  count: number | null,
  faults: Fault[],
): bigint[] {
  const items = text.split(",");
  if (count !== null && items.length !== count) {
    const detail = `expected as many ${name} as ids (${count}), got ${items.length}`;
    faults.push(invalid(name, text, detail));
  }
  // The number of items is wrong in any case, so the single ones are not checked.
  if (items.length > MAX_ITEMS) return [];
  return items.map((item) => {
    const amount = parseAmount(item);
    if (amount > 0n) return amount;
    const detail = "expected a decimal above 0 with up to 9 digits before and after the point";
    faults.push(invalid(name, item, detail));
    return 0n;
  });
}

/** The amount in units of 10⁻⁹; 0 if the item is none. */
function parseAmount(item: string): bigint {
  const parts = AMOUNT.exec(item);
  if (parts === null) return 0n;
  return BigInt(`${parts[1]}${(parts[2] ?? "").padEnd(QUANTITY_DECIMALS, "0")}`);
}

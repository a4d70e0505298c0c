/**
 * What the ids of a request mean in a snapshot: contracts by their present and former ids, indices by their ids
 * and names. Ids and names are public.
 */
import { NO_QUEUE, type Place } from "../../lib/turns.ts";
import { isDelisted, type Contract } from "../../market/contract.ts";
import { indicesOf, slugOf } from "../../market/indices.ts";
import { dateText, parseSession } from "../../market/session.ts";
import type { Tier } from "../../market/tier.ts";
import type { AskedId } from "../../render/envelope.ts";
import { deny, isDenial, type Denial } from "../../public/problems.ts";
import { fault, invalid, shownText, type Fault } from "../../public/query.ts";
import type { ServedSnapshot } from "../world.ts";

/** The contracts of a snapshot. */
export interface KnownContracts {
  readonly catalog: readonly Contract[];
  /**
   * The contract that has this id in the snapshot, or had it before; else the one that has it in the head, or had
   * it before. Undefined: there is none, or the snapshot does not have it.
   */
  readonly find: (id: string) => Contract | undefined;
}

/** The contracts of the snapshot, or `busy`. `head` is the snapshot served. */
export async function knownContracts(
  snapshot: ServedSnapshot,
  head: ServedSnapshot,
  place: Place,
): Promise<KnownContracts | Denial> {
  const catalog = await snapshot.catalog(place);
  if (isDenial(catalog)) return catalog;
  const present = await head.catalog(NO_QUEUE);
  if (isDenial(present)) return present;
  const own = byEveryId(catalog);
  const namedSince = (id: string): Contract | undefined => {
    const contract = byEveryId(present).get(id);
    if (contract === undefined) return undefined;
    const ids = [contract.id, ...contract.formerly.toReversed()];
    return own.get(ids.find((each) => own.has(each)) ?? "");
  };
  return { catalog, find: (id) => own.get(id) ?? namedSince(id) };
}

const contractsKnown = new WeakMap<readonly Contract[], ReadonlyMap<string, Contract>>();

/** Made once for a catalog, whose present and former ids all differ. */
function byEveryId(catalog: readonly Contract[]): ReadonlyMap<string, Contract> {
  let contracts = contractsKnown.get(catalog);
  if (contracts === undefined) {
    contracts = new Map(
      catalog.flatMap((contract) =>
        [contract.id, ...contract.formerly].map((id) => [id, contract]),
      ),
    );
    contractsKnown.set(catalog, contracts);
  }
  return contracts;
}

/** An index of a snapshot. */
export interface KnownIndex {
  readonly id: string;
  /** The ids that it had before, the oldest first. */
  readonly formerly: readonly string[];
  readonly name: string;
  /** The ids of its contracts. */
  readonly members: ReadonlySet<string>;
}

interface KnownIndices {
  readonly byId: ReadonlyMap<string, KnownIndex>;
  /** By the name in lower case. Segments whose names differ in case alone cannot be: their ids would be the same. */
  readonly byName: ReadonlyMap<string, KnownIndex>;
  /** By the ids that they had before. */
  readonly byFormerId: ReadonlyMap<string, KnownIndex>;
}

const indicesKnown = new WeakMap<readonly Contract[], KnownIndices>();

/** The indices of the catalog, in the order of `/indices`; made once for a catalog. */
export function indicesIn(catalog: readonly Contract[]): KnownIndices {
  let indices = indicesKnown.get(catalog);
  if (indices === undefined) {
    const all = indicesOf(catalog).map(({ id, name, formerly, contracts }): KnownIndex => ({
      id,
      name,
      formerly,
      members: new Set(contracts.map((contract) => contract.id)),
    }));
    indices = {
      byId: new Map(all.map((index) => [index.id, index])),
      byName: new Map(all.map((index) => [index.name.toLowerCase(), index])),
      byFormerId: new Map(all.flatMap((index) => index.formerly.map((id) => [id, index]))),
    };
    indicesKnown.set(catalog, indices);
  }
  return indices;
}

/** The index with this id, or with this name in any case. */
export function findIndex(catalog: readonly Contract[], text: string): KnownIndex | undefined {
  const { byId, byName } = indicesIn(catalog);
  return byId.get(text) ?? byName.get(text.toLowerCase());
}

/** The index that had this id, or a name with this id, in an earlier snapshot. */
export function findFormerIndex(
  catalog: readonly Contract[],
  text: string,
): KnownIndex | undefined {
  const { byFormerId } = indicesIn(catalog);
  return byFormerId.get(text) ?? byFormerId.get(slugOf(text));
}

/** What the items of a list name. */
interface LookedUp<T> {
  /** By item, in the list's order. */
  readonly found: ReadonlyMap<string, T>;
  readonly unknown: readonly string[];
  /** The faults of items that name the same as one before. */
  readonly faults: readonly Fault[];
}

/** Looks up the items of a parameter, each of which names another thing. */
export function lookUp<T extends { readonly id: string }>(
  parameter: string,
  items: readonly string[],
  find: (item: string) => T | undefined,
): LookedUp<T> {
  const found = new Map<string, T>();
  const itemOf = new Map<string, string>();
  const unknown: string[] = [];
  const faults: Fault[] = [];
  for (const item of items) {
    const named = find(item);
    const first = named && itemOf.get(named.id);
    if (named === undefined) unknown.push(item);
    else if (first === undefined) {
      found.set(item, named);
      itemOf.set(named.id, item);
    } else {
      const expected = `expected each once, but ${JSON.stringify(shownText(first))} names the same`;
      faults.push(invalid(parameter, item, expected));
    }
  }
  return { found, unknown, faults };
}

/** Of the looked up items those that the snapshot's contracts or indices have no longer as their ids, or not yet. */
export const askedOf = (found: ReadonlyMap<string, { readonly id: string }>): AskedId[] =>
  [...found].flatMap(([asked, { id }]) => (asked === id ? [] : { asked, id }));

/** The same in a header field, for answers that are no JSON. */
export const askedField = (ids: readonly AskedId[]): string =>
  ids.map(({ asked, id }) => `${asked}=${id}`).join(", ");

/** The refusal of a contract that is not in the tier's slice; null: it is. */
export function sliceDenial({ id, free }: Contract, tier: Tier): Denial | null {
  if (tier.coverage === "all" || free) return null;
  return deny("key_required", `Contract "${id}" is not part of the free slice; it needs a key.`);
}

/** When the contract was delisted, as the tier sees it: a member of problems. */
export function delisting(
  contract: Contract,
  tier: Tier,
  { tiers }: Pick<ServedSnapshot, "tiers">,
): { readonly delisted_on?: string } {
  const session = parseSession(tiers[tier.name]?.session_utc ?? "");
  if (session === null || contract.delistedOn === null || !isDelisted(contract, session)) return {};
  return { delisted_on: dateText(contract.delistedOn) };
}

/** The faults of ids whose contracts are on no board of the tier: delisted, without a new level, or never priced. */
export function offBoardFaults(
  found: ReadonlyMap<string, Contract>,
  tier: Tier,
  snapshot: Pick<ServedSnapshot, "tiers">,
): Fault[] {
  const ids = new Set([...found.values()].map(({ id }) => id));
  const offBoard = snapshot.tiers[tier.name]?.off_board.filter(({ id }) => ids.has(id)) ?? [];
  const dateOf = new Map(offBoard.map(({ id, as_of }) => [id, as_of]));
  return [...found].flatMap(([item, contract]) => {
    const as_of = dateOf.get(contract.id);
    if (as_of === undefined) return [];
    const delisted = delisting(contract, tier, snapshot);
    const why =
      delisted.delisted_on === undefined
        ? "has no current level"
        : `was delisted on ${delisted.delisted_on}`;
    const detail = as_of === null ? why : `${why}; /prices/${contract.id} has its last level`;
    return { ...fault("not_on_board", "ids", item, detail), as_of, ...delisted };
  });
}

/**
 * The answers of the data routes: boards, contracts, indices, exports, baskets, and the sums of a tier's
 * files. All checks after the caller's, in their order, for the live snapshot and for old ones.
 */
import { DamageError, UnreachableError } from "../../lib/errors.ts";
import type { Place } from "../../lib/turns.ts";
import type { Tier } from "../../market/tier.ts";
import type { Publication } from "../../snapshot/log/entry.ts";
import {
  isSendable,
  movedReply,
  type Asked,
  type Content,
  type Outcome,
  type ReadOutcome,
  type Reader,
  type Reply,
} from "../outcome.ts";
import { basketTags, pricedBasket, readBasket, type BasketQuery } from "./priced-basket.ts";
import {
  delisting,
  findFormerIndex,
  findIndex,
  knownContracts,
  sliceDenial,
  type KnownContracts,
} from "./known-ids.ts";
import { nearContracts, nearIndices } from "./near-ids.ts";
import { VINTAGE } from "../../public/parameters.ts";
import { busy, deny, isDenial, notInSnapshot, pruned, type Denial } from "../../public/problems.ts";
import {
  faultsDenial,
  nameFaults,
  namesAny,
  shownText,
  type Fault,
  type Query,
} from "../../public/query.ts";
import {
  idIn,
  isOfIndex,
  parametersOf,
  prefixOf,
  requiredTier,
  SUMS_ROUTE,
  type DataRoute,
} from "../../public/routes.ts";
import type { Forms } from "../serve/entity.ts";
import { cacheControl, overdueSessions, makeStamp } from "../serve/freshness.ts";
import { PreparedFile, tagsUnread } from "../serve/served-file.ts";
import type { DataSources, Head, Keep, LiveSnapshot, ServedSnapshot } from "../world.ts";
import { limitsOf, readSelection, selectLines, type Selection } from "./selection.ts";
import {
  depthDenial,
  findVintage,
  historyDenial,
  namesEntry,
  readVintage,
  type Vintage,
  type VintageQuery,
} from "./vintage.ts";

/** A request with its parameters read. */
interface Wanted {
  readonly route: DataRoute;
  /** The id in the address; empty where the route has none. */
  readonly id: string;
  readonly basket: BasketQuery | null;
  readonly selection: Selection | null;
  /** The faults of the basket; other faults are refused at once. */
  readonly faults: readonly Fault[];
}

/** How ids of indices look; names may look otherwise. */
const INDEX_ID = /^[a-z0-9-]+$/;

/** An answer for ever (RFC 8246). */
const SETTLED = "private, max-age=31536000, immutable";

/** A function that answers a request of a data route, or of SUMS_ROUTE. */
export function dataAnswers(sources: DataSources) {
  const { live, log, archive, observer, pollMs, publicUrl, platform } = sources;
  // Only its path: a redirect leaves the caller at the host that it asked, to which it may send its key.
  const prefix = publicUrl ? new URL(publicUrl).pathname.replace(/\/$/, "") : "";
  return (
    route: DataRoute,
    asked: Asked,
    reader: Reader,
    place: Place,
  ): Outcome | Promise<Outcome> => {
    const { query, nowMs } = asked;
    const { tier } = reader;
    const snapshot = live.current;
    // Also without a key, one may name the entry that an answer came from while it is the head.
    const isHeads = route === SUMS_ROUTE && namesEntry(query, snapshot?.publication.number);
    const isOld = namesAny(query, VINTAGE) && !(isHeads && tier.history === null);
    if (!route.isOffered(tier, query) || (tier.history === null && isOld)) {
      if (reader.account === null) return keyRequired(route, tier);
      const required = requiredTier(route, query);
      const detail = `This needs the tier ${required}; the key's tier is ${tier.name}.`;
      return deny("tier_required", detail, { required_tier: required });
    }
    if (snapshot === null) return noSession(live, pollMs);
    const fault = asked.bodyFault();
    if (fault !== null) return fault;
    const fresh = cacheControl("private", snapshot.stamp, nowMs);
    const name = isOld ? null : keptName(asked, tier, snapshot);
    const forms = name === null ? undefined : snapshot.computed.get(name);
    if (forms !== undefined) return { kind: "found", forms, cacheControl: fresh };
    const faults = nameFaults(query, parametersOf(route));
    const vintage = isOld ? readVintage(query, nowMs, faults) : null;
    const basket = route.computedBy ? readBasket(query, faults) : null;
    const selection = readSelection(route, query, faults);
    if (basket === null || vintage !== null) {
      const denial = faultsDenial(faults);
      if (denial !== null) return denial;
    }
    const wanted = { route, id: idIn(asked.path, route.path), basket, selection, faults };
    if (vintage !== null) return old(vintage, wanted, asked, reader, place, snapshot);
    const tooEarly = historyDenial(selection?.lastDate ?? null, tier, snapshot.publication);
    if (tooEarly !== null) return tooEarly;
    const keep: Keep | null = name === null ? null : (forms) => snapshot.computed.set(name, forms);
    return find(wanted, asked, reader, place, snapshot, snapshot, fresh, keep);
  };

  /**
   * Answers with the data as it was published then. Nothing is read of it for a caller without a call left, or who names
   * tags that decide.
   */
  function old(
    query: VintageQuery,
    wanted: Wanted,
    asked: Asked,
    reader: Reader,
    place: Place,
    head: LiveSnapshot,
  ): Outcome | Promise<Outcome> {
    const { tier } = reader;
    let vintage: Vintage | Denial;
    try {
      vintage = findVintage(query, log, tier);
    } catch (error) {
      return denialOf(error, null, asked);
    }
    if (isDenial(vintage)) return vintage;
    const { publication, isSettled } = vintage;
    const { route, id, basket, selection } = wanted;
    const denial =
      depthDenial(vintage, tier, head.stamp.head) ??
      historyDenial(selection?.lastDate ?? null, tier, publication);
    if (denial !== null) return denial;
    if (log.isPruned(publication)) return pruned(publication.number);
    const fresh = isSettled ? SETTLED : cacheControl("private", head.stamp, asked.nowMs);
    const stamp = makeStamp(publication, Infinity);
    const path = route.file(tier.name, id);
    // An index may also be asked by its name.
    const isNamed = isOfIndex(route) && !INDEX_ID.test(id);
    const tags = isNamed
      ? null
      : basket === null
        ? tagsUnread(platform, stamp, tier, path, selection?.name ?? "")
        : basketTags(basket, stamp, tier, platform);
    const unopened = (error: unknown): Promise<Denial> => denialOf(error, publication, asked);
    const read = async () => {
      try {
        const snapshot = await archive.open(publication, place);
        if (isDenial(snapshot)) return snapshot;
        const found = await find(wanted, asked, reader, place, snapshot, head, fresh, null);
        // Files are opened later, and may be gone by then.
        return isSendable(found) ? { ...found, unopened, isPrivate: true } : found;
      } catch (error) {
        return unopened(error);
      }
    };
    return { kind: "unread", tags, cacheControl: fresh, read };
  }

  /** What to answer where an old snapshot cannot be read. Throws the error if it is no refusal. */
  async function denialOf(
    error: unknown,
    publication: Publication | null,
    { route, requestId }: Asked,
  ): Promise<Denial> {
    try {
      if (!(error instanceof DamageError) || publication === null) throw error;
      // A prune that this process has not read yet is no damage; a reading may have begun before it.
      const isGone = (): boolean => log.isPruned(publication);
      for (let tries = 0; tries < 2 && !isGone(); tries += 1) await log.follow();
      if (isGone()) return pruned(publication.number);
      throw error;
    } catch (cause) {
      if (!(cause instanceof UnreachableError)) throw cause;
      observer.failed(cause, route, requestId, "old snapshot cannot be read");
      return busy("Old snapshots cannot be read at the moment.");
    }
  }

  /**
   * Finds what the request asks for in the snapshot: at once where no file must be read for it. `head` is the one
   * served; `keep` takes an answer that is made for these parameters; null: none is kept.
   */
  function find(
    { route, id, basket, selection, faults }: Wanted,
    asked: Asked,
    reader: Reader,
    place: Place,
    snapshot: ServedSnapshot,
    head: ServedSnapshot,
    fresh: string,
    keep: Keep | null,
  ): ReadOutcome | Promise<ReadOutcome> {
    const { stamp } = snapshot;
    const { tier } = reader;
    const { nowMs } = asked;
    if (basket !== null) {
      return withCacheControl(
        fresh,
        pricedBasket(snapshot, head, tier, basket, faults, nowMs, place, platform, keep),
      );
    }
    if (selection !== null) {
      const lines = async (): Promise<Content | Reply | Denial> => {
        const limits = await limitsOf(selection, route, tier, snapshot, head, log, place);
        if (isDenial(limits)) return limits;
        const file = await resolveFile(route, id, asked.query, tier, place, snapshot, head);
        if (!(file instanceof PreparedFile)) return file;
        return selectLines(selection, limits, route, file, snapshot, asked, place, platform, keep);
      };
      return withCacheControl(fresh, lines());
    }
    const send = (file: PreparedFile): ReadOutcome | Promise<ReadOutcome> => {
      const overdue = overdueSessions(stamp, nowMs);
      const forms = file.ready(overdue);
      if (forms !== null) return { kind: "found", forms, cacheControl: fresh };
      // Made once for all callers, and for each number of overdue sessions.
      const make = (): Promise<Forms> => file.make(overdue, place);
      const tags = file.tags(overdue);
      return { kind: "deferred", tags, isLaborious: false, make, cacheControl: fresh };
    };
    const file = snapshot.files?.get(route.file(tier.name, id));
    if (file !== undefined) return send(file);
    return resolveFile(route, id, asked.query, tier, place, snapshot, head).then((found) =>
      found instanceof PreparedFile ? send(found) : found,
    );
  }

  /**
   * The file of what the id names, the way to it, or why the tier has none. The files of an old snapshot are not looked
   * at for a name that it does not have.
   */
  async function resolveFile(
    route: DataRoute,
    id: string,
    query: Query,
    tier: Tier,
    place: Place,
    snapshot: ServedSnapshot,
    head: ServedSnapshot,
  ): Promise<PreparedFile | Reply | Denial> {
    const atHand = snapshot.files?.get(route.file(tier.name, id));
    if (atHand !== undefined) return atHand;
    let present = id;
    if (route.id !== undefined) {
      const contracts = await knownContracts(snapshot, head, place);
      if (isDenial(contracts)) return contracts;
      const base = prefix + prefixOf(route.path);
      const named = isOfIndex(route)
        ? resolveIndex(snapshot, tier, id, base, query, contracts)
        : (resolveContract(snapshot, tier, id, base, query, contracts) ?? id);
      if (typeof named !== "string") return named;
      present = named;
    }
    const files = snapshot.files ?? (await snapshot.openFiles());
    if (isDenial(files)) return files;
    return files.get(route.file(tier.name, present)) ?? notInSnapshot(snapshot.stamp.text);
  }
}

/**
 * The name under which a live snapshot keeps the answer to these parameters, as they were sent: callers repeat the same
 * few baskets and selections, which are not even read again. Null: without parameters the answer is a file.
 */
const keptName = ({ path, query, nowMs }: Asked, tier: Tier, { stamp }: ServedSnapshot) =>
  query.length === 0
    ? null
    : JSON.stringify([tier.name, path, query, overdueSessions(stamp, nowMs)]);

/** The address alone may need no key. */
const keyRequired = (route: DataRoute, tier: Tier): Denial =>
  deny(
    "key_required",
    route.isOffered(tier, [])
      ? "These parameters need an API key."
      : "This address needs an API key.",
  );

/** The found file, with this cache-control. */
async function withCacheControl(
  cacheControl: string,
  finding: Promise<Content | Reply | Denial>,
): Promise<ReadOutcome> {
  const found = await finding;
  return found.kind === "deferred" || found.kind === "found" ? { ...found, cacheControl } : found;
}

export function noSession({ trouble }: Pick<Head, "trouble">, pollMs: number): Denial {
  const detail =
    trouble === null
      ? "No session is published yet."
      : "The published snapshot cannot be loaded at the moment.";
  return deny("no_session", detail, { retryAfterMs: pollMs });
}

/**
 * Says where the contract is, below `prefix`, or why the tier has no file of it; null: it has one, if the snapshot has
 * files of the tier.
 */
export function resolveContract(
  snapshot: Pick<ServedSnapshot, "tiers">,
  tier: Tier,
  id: string,
  prefix: string,
  query: Query,
  { catalog, find }: KnownContracts,
): Reply | Denial | null {
  const contract = find(id);
  if (contract === undefined) {
    const detail = `No contract has the id ${quoted(id)}; /contracts lists all ids.`;
    return deny("unknown_contract", detail, { did_you_mean: nearContracts(id, catalog) });
  }
  if (contract.id !== id) return movedTo(`${prefix}${contract.id}`, query);
  const offBoard = snapshot.tiers[tier.name]?.off_board ?? [];
  if (offBoard.some((each) => each.id === id && each.as_of === null)) {
    const delisted = delisting(contract, tier, snapshot);
    const detail = `Contract "${id}" has no level so far.`;
    return deny("not_on_board", detail, { as_of: null, ...delisted });
  }
  return sliceDenial(contract, tier);
}

/** Leads to the same with the present id. */
function movedTo(address: string, query: Query): Reply {
  const sent = new URLSearchParams(query as [string, string][]).toString();
  return movedReply(`${address}${sent === "" ? "" : `?${sent}`}`);
}

const quoted = (sent: string): string => JSON.stringify(shownText(sent));

/** The id of the index with this name, or the way to it below `prefix`; or why the tier has none. */
function resolveIndex(
  { stamp, hasIndices }: ServedSnapshot,
  tier: Tier,
  name: string,
  prefix: string,
  query: Query,
  { catalog }: KnownContracts,
): string | Reply | Denial {
  if (!hasIndices(tier)) return notInSnapshot(stamp.text);
  const index = findIndex(catalog, name);
  if (index !== undefined) return index.id;
  const renamed = findFormerIndex(catalog, name);
  if (renamed !== undefined) return movedTo(`${prefix}${renamed.id}`, query);
  const detail = `No index has the id or name ${quoted(name)}; /indices lists all ids.`;
  return deny("unknown_index", detail, { did_you_mean: nearIndices(name, catalog) });
}

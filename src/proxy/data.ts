/**
 * The answers of the data routes: boards, contracts, indices, exports, baskets, and the sums of a tier's
 * files. All checks after the caller's, in their order, for the live snapshot and for old ones.
 */
import { DamageError, UnreachableError } from "../lib/errors.ts";
import type { Tier } from "../market/tier.ts";
import type { Gatekeeper, MaybePromise } from "../state/gatekeeper.ts";
import type { Publication } from "../snapshot/publication-log.ts";
import { FILES } from "../store/paths.ts";
import { movedReply, type Reply } from "./answer.ts";
import { basketAnswer, readBasket, type BasketQuery } from "./basket.ts";
import type { AdmittedCaller } from "./caller.ts";
import { chain } from "./chain.ts";
import { deliver, type Found } from "./deliver.ts";
import type { Exchange } from "./exchange.ts";
import type { Logger } from "./ops/log.ts";
import { deny, notInSnapshot, pruned, type Denial } from "./problems.ts";
import { faultsDenial, nameFaults, namesVintage, type Fault } from "./query.ts";
import {
  DATA_ROUTES,
  idIn,
  parametersOf,
  prefixOf,
  requiredTier,
  SUMS_ROUTE,
  type DataRoute,
} from "./routes.ts";
import type { Archive } from "./snapshot/archive.ts";
import { cacheControl, overdueSessions } from "./snapshot/freshness.ts";
import type { LiveSnapshot } from "./snapshot/live.ts";
import type { FreeIds, LoadedSnapshot, ServedSnapshot } from "./snapshot/load.ts";
import type { LogIndex } from "./snapshot/log-index.ts";
import { depthDenial, findVintage, namesEntry, readVintage, type VintageQuery } from "./vintage.ts";

/** What the data routes are answered from. */
export interface DataSources {
  readonly live: LiveSnapshot;
  readonly log: LogIndex;
  readonly archive: Archive;
}

interface DataOptions extends DataSources {
  readonly gatekeeper: Gatekeeper;
  readonly logger: Logger;
  /** How often the proxy looks for a new publication; the retry-after while there is none. */
  readonly pollMs: number;
}

/** A request with its parameters read. */
interface Wanted {
  readonly route: DataRoute;
  /** The id in the address; empty where the route has none. */
  readonly id: string;
  readonly basket: BasketQuery | null;
  /** Those of the basket; others are refused at once. */
  readonly faults: readonly Fault[];
}

/** An answer for ever (RFC 8246). */
const SETTLED = "private, max-age=31536000, immutable";
const BUSY_RETRY_MS = 1_000;

/** A function that answers a request of a data route, or of SUMS_ROUTE. */
export function dataAnswers(
  options: DataOptions,
): (route: DataRoute, exchange: Exchange, caller: AdmittedCaller) => MaybePromise<Reply | Denial> {
  const { live, log, archive, gatekeeper, logger, pollMs } = options;

  return (route, exchange, caller) => {
    const { query, nowMs } = exchange;
    const { tier } = caller;
    const snapshot = live.current;
    // Without a key, too, one may name the entry that an answer came from while it is the head.
    const isHeads = route === SUMS_ROUTE && namesEntry(query, snapshot?.publication.number);
    const isOld = namesVintage(query) && !(isHeads && tier.history === null);
    if (!route.isOffered(tier, query) || (tier.history === null && isOld)) {
      if (caller.account === null) return deny("key_required", "This address needs an API key.");
      const required = requiredTier(route, query);
      const detail = `This needs the tier ${required}; the key's tier is ${tier.name}.`;
      return deny("tier_required", detail, { required_tier: required });
    }
    if (snapshot === null) return noSession(live, pollMs);
    const fault = exchange.bodyFault();
    if (fault !== null) return fault;
    const faults = nameFaults(query, parametersOf(route));
    const vintage = isOld ? readVintage(query, nowMs, faults) : null;
    const basket = route.takesBasket ? readBasket(query, faults) : null;
    if (basket === null || vintage !== null) {
      const denial = faultsDenial(faults);
      if (denial !== null) return denial;
    }
    const wanted = { route, id: idIn(exchange.path, route.path), basket, faults };
    if (vintage !== null) return old(vintage, wanted, exchange, caller, snapshot);
    const fresh = cacheControl(snapshot.stamp, nowMs);
    const delivery = { gatekeeper, exchange, caller, fresh };
    return chain(find(wanted, exchange, tier, snapshot), (found) => deliver(delivery, found));
  };

  /** Answers with the data as it was published then. */
  async function old(
    query: VintageQuery,
    wanted: Wanted,
    exchange: Exchange,
    caller: AdmittedCaller,
    { stamp }: LoadedSnapshot,
  ): Promise<Reply | Denial> {
    try {
      const vintage = await findVintage(query, log, live.newestNumber);
      if ("code" in vintage) return vintage;
      const denial = depthDenial(vintage, caller.tier, stamp.head);
      if (denial !== null) return denial;
      const fresh = vintage.isSettled ? SETTLED : cacheControl(stamp, exchange.nowMs);
      return await unlessPruned(vintage.publication, async () => {
        const snapshot = await archive.open(vintage.publication, caller.subject);
        if ("code" in snapshot) return snapshot;
        const found = await find(wanted, exchange, caller.tier, snapshot);
        // A stream is opened here, and its file may be gone by now.
        return deliver({ gatekeeper, exchange, caller, fresh }, found);
      });
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      logger.error({ err: error, route: exchange.route }, "old snapshot cannot be read");
      const detail = "Old snapshots cannot be read at the moment.";
      return deny("busy", detail, { retryAfterMs: BUSY_RETRY_MS });
    }
  }

  /** What `answer` gives, or `pruned` if a prune took the publication's snapshot. */
  async function unlessPruned(
    publication: Publication,
    answer: () => Promise<Reply | Denial>,
  ): Promise<Reply | Denial> {
    const isGone = (): boolean => log.isPruned(publication);
    if (isGone()) return pruned(publication.number);
    try {
      return await answer();
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      // A prune that this process has not read yet is no damage.
      await log.fill(live.newestNumber);
      await log.refresh();
      if (isGone()) return pruned(publication.number);
      throw error;
    }
  }
}

/** The denial while nothing is served. */
export function noSession({ trouble }: LiveSnapshot, pollMs: number): Denial {
  const detail =
    trouble === null
      ? "No session is published yet."
      : "What is published cannot be loaded at the moment.";
  return deny("no_session", detail, { retryAfterMs: pollMs });
}

/** Finds what the request asks for in the snapshot. */
function find(
  { route, id, basket, faults }: Wanted,
  { nowMs, request }: Exchange,
  tier: Tier,
  snapshot: ServedSnapshot,
): MaybePromise<Found> {
  if (basket !== null) {
    return chain(snapshot.baskets(), (file): Found => {
      if (file === null) return faultsDenial(faults) ?? notInSnapshot(snapshot.stamp.text);
      return "code" in file ? file : basketAnswer(snapshot, file, basket, faults, nowMs);
    });
  }
  return chain(snapshot.file(route.file(tier, id)), (file) => {
    if (file === undefined) {
      if (route === DATA_ROUTES.contract) {
        return withoutContract(snapshot, tier, id, prefixOf(route.path));
      }
      if (route === DATA_ROUTES.indexOf) return withoutIndex(snapshot, tier);
      return notInSnapshot(snapshot.stamp.text);
    }
    if ("code" in file) return file;
    return file.answer(overdueSessions(snapshot.stamp, nowMs), request);
  });
}

/** Says where the contract went, below `prefix`, or why the tier has no file of it. */
export function withoutContract(
  snapshot: ServedSnapshot,
  tier: Tier,
  id: string,
  prefix: string,
): MaybePromise<Reply | Denial> {
  const newId = snapshot.newIds.get(id);
  if (newId !== undefined) return movedReply(`${prefix}${newId}`);
  if (snapshot.withoutLevel[tier.name].has(id)) {
    return deny("not_on_board", `Contract "${id}" has no level so far.`, { as_of: null });
  }
  return chain(snapshot.catalog(), (catalog) =>
    catalog !== null && "code" in catalog ? catalog : noContract(snapshot, catalog, tier, id),
  );
}

function noContract(
  { stamp }: ServedSnapshot,
  catalog: FreeIds | null,
  tier: Tier,
  id: string,
): Denial {
  const isFree = catalog?.get(id);
  if (catalog !== null && isFree === undefined) {
    return deny("unknown_contract", "No contract has this id; /prices lists all ids.");
  }
  if (tier.coverage === "free-slice" && isFree === false) {
    const detail = `Contract "${id}" is not part of the free slice; it needs a key.`;
    return deny("key_required", detail);
  }
  return notInSnapshot(stamp.text);
}

/** Says why the tier has no file of the index: a snapshot with a list of indices has a file of each. */
const withoutIndex = (snapshot: ServedSnapshot, tier: Tier): MaybePromise<Found> =>
  chain(snapshot.file(FILES.indices(tier.name)), (list): Found => {
    if (list === undefined) return notInSnapshot(snapshot.stamp.text);
    if ("code" in list) return list;
    return deny("unknown_index", "No index has this id; /indices lists all ids.");
  });

/** What a data route answers with for a caller: a prepared file, or a basket priced on the spot. */
import type { MaybePromise } from "../state/gatekeeper.ts";
import type { Tier } from "../market/tier.ts";
import { basketBody } from "../payload/basket-file.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import { chain } from "./chain.ts";
import { chooseCoding, etagOf } from "./content-coding.ts";
import { overdueSessions } from "./snapshot/freshness.ts";
import type { LoadedSnapshot } from "./snapshot/load.ts";
import { namesBasket, readBasket, refuseParameters, type Query } from "./parameters.ts";
import type { Representation, Variant } from "./snapshot/file.ts";
import { headerText, type HeaderText } from "./header-text.ts";
import { problemReply, quickBody, type Reply } from "./reply.ts";
import { DATA_ROUTES, type DataRoute } from "./routes.ts";
import { modifiedMs, snapshotHeaders } from "./snapshot/stamp.ts";

interface ResourceRequest {
  readonly snapshot: LoadedSnapshot;
  readonly tier: Tier;
  readonly route: DataRoute;
  readonly id: string;
  readonly query: Query;
  readonly acceptEncoding: string | undefined;
  readonly nowMs: number;
}

/** The resource, or why there is none. A promise only where something must be made first. */
export function findResource(request: ResourceRequest): MaybePromise<Representation | Reply> {
  const { snapshot, tier, route, id, query, acceptEncoding, nowMs } = request;
  const overdue = overdueSessions(snapshot.stamp, nowMs);
  if (route.takesBasket && namesBasket(query)) return basketResource(request, overdue);
  const refused = refuseParameters(query, route.takesBasket);
  if (refused !== null) return refused;
  const file = snapshot.files.get(route.file(tier, id));
  if (file === undefined) return missing(request);
  return chain(file.variant(overdue), (variant) => inCoding(variant, acceptEncoding));
}

/** Whether there is no resource, but an answer that says why. */
export const isReply = (found: Representation | Reply): found is Reply => "status" in found;

function inCoding({ plain, coded }: Variant, acceptEncoding: string | undefined): Representation {
  return coded.get(chooseCoding(acceptEncoding, coded)) ?? plain;
}

function missing({ snapshot, tier, route, id }: ResourceRequest): Reply {
  if (route !== DATA_ROUTES.contract) {
    throw new Error(`Snapshot ${snapshot.stamp.text} lacks ${route.file(tier, id)}`);
  }
  const lastAsOf = snapshot.offBoard[tier.name].get(id);
  if (lastAsOf !== undefined) {
    const last = lastAsOf === null ? "it never had one" : `its last one is of ${lastAsOf}`;
    const detail = `Contract "${id}" has no current level; ${last}.`;
    return problemReply("not_on_board", detail, { as_of: lastAsOf });
  }
  if (snapshot.catalog.has(id)) {
    const detail = `Contract "${id}" is not part of the free slice; it needs a key.`;
    return problemReply("key_required", detail);
  }
  return problemReply(
    "unknown_contract",
    "No contract has this id; /prices lists those there are.",
  );
}

function basketResource(request: ResourceRequest, overdue: number): Representation | Reply {
  const { basketAnswers } = request.snapshot;
  const asked = JSON.stringify([overdue, request.query]);
  const known = basketAnswers.get(asked);
  if (known !== undefined) return known;
  const made = pricedBasket(request, overdue);
  if (!isReply(made)) basketAnswers.set(asked, made);
  return made;
}

function pricedBasket(
  { snapshot, query }: ResourceRequest,
  overdue: number,
): Representation | Reply {
  const { stamp, baskets } = snapshot;
  const basket = readBasket(query, baskets);
  if ("status" in basket) return basket;
  const { constituents, weights, weighting } = basket;
  const bytes = Buffer.from(basketBody(baskets, constituents, weights, weighting, overdue));
  const etag = etagOf(sha256Hex(bytes).slice(0, 32), "identity");
  const notModifiedHeaders = `${sharedHeaders(snapshot, overdue)}etag: ${etag}\r\n`;
  const headers = `${notModifiedHeaders}content-type: application/json\r\ncontent-length: ${bytes.length}\r\n`;
  const body = quickBody(bytes);
  return { etag, modifiedMs: modifiedMs(stamp, overdue), headers, notModifiedHeaders, body };
}

/** What all baskets of a snapshot say while `overdue` sessions are missing. */
function sharedHeaders(
  { stamp, baskets, basketHeaders }: LoadedSnapshot,
  overdue: number,
): HeaderText {
  const known = basketHeaders.get(overdue);
  if (known !== undefined) return known;
  const made = headerText(snapshotHeaders(stamp, baskets.envelope, overdue));
  basketHeaders.set(overdue, made);
  return made;
}

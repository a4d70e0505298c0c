/**
 * The answer to a request. The order of the checks is the contract's: the first that applies is
 * the answer. Denials are values; what is thrown is a defect.
 */
import type { IncomingMessage } from "node:http";
import type { Gatekeeper, MaybePromise } from "../state/gatekeeper.ts";
import { isAdmitted, type AdmittedCaller, type Caller, type Refusal } from "./caller.ts";
import { chain } from "./chain.ts";
import { dataReply } from "./data-reply.ts";
import type { LiveSnapshot } from "./snapshot/live.ts";
import type { LoadedSnapshot } from "./snapshot/load.ts";
import { usageReply } from "./quota.ts";
import type { Pages } from "./docs/pages.ts";
import { holdsKey, refuseParameters, type Query } from "./parameters.ts";
import type { Representation } from "./snapshot/file.ts";
import { healthReply, readinessReply } from "./ops/readiness.ts";
import { methodNotAllowed, OPTIONS_REPLY, problemReply, type Reply } from "./reply.ts";
import { findResource, isReply } from "./resource.ts";
import { requiredTier, type DataRoute, type Match, type OpenRoute } from "./routes.ts";

const STATE_RETRY_MS = 5_000;

/** What answers are made from. */
export interface Sources {
  readonly live: LiveSnapshot;
  readonly gatekeeper: Gatekeeper;
  readonly pages: Pages;
  /** How often a new publication is looked for: when to come back where there is none. */
  readonly pollMs: number;
}

/** A request, read as far as every check needs it. */
export interface Exchange {
  readonly request: IncomingMessage;
  /** Null where the path is none of this service. */
  readonly match: Match | null;
  readonly query: Query;
  readonly caller: Caller;
  readonly nowMs: number;
}

/** `remaining` where a call was counted for the reply. */
export interface Outcome {
  readonly reply: Reply;
  readonly remaining?: number;
}

/** Waits only where the state must be asked or a body must be made first. */
export function decide(sources: Sources, exchange: Exchange): MaybePromise<Outcome> {
  const { request, match, query, caller, nowMs } = exchange;
  if (request.headers.host === undefined && request.httpVersion === "1.1") {
    // RFC 9112, 3.2.
    return { reply: problemReply("bad_request", "An HTTP/1.1 request must have a Host field.") };
  }
  if (match === null) {
    return { reply: problemReply("not_found", "There is nothing at this path.") };
  }
  if (request.method === "OPTIONS") return { reply: OPTIONS_REPLY };
  if (request.method !== "GET" && request.method !== "HEAD") {
    return { reply: methodNotAllowed(request.method) };
  }
  if (holdsKey(query)) {
    const detail = "The query holds what looks like an API key; send it in a header field.";
    return { reply: problemReply("key_in_query", detail) };
  }
  const { route, id } = match;
  if (route.kind !== "data" && route.kind !== "usage") {
    return chain(openReply(sources, route, exchange), (reply) => ({ reply }));
  }
  if (!isAdmitted(caller)) return { reply: refusalReply(caller.refusal) };
  if (route.kind === "usage") {
    const refused = refuseBody(request) ?? refuseParameters(query, false);
    if (refused !== null) return { reply: refused };
    return chain(sources.gatekeeper.used(caller.subject, nowMs), (used) => ({
      reply: usageReply(caller, used, nowMs),
    }));
  }
  if (!route.isOffered(caller.tier, query)) return { reply: notOffered(route, query, caller) };
  const snapshot = sources.live.current;
  if (snapshot === null) {
    const detail =
      sources.live.trouble === null
        ? "No session is published yet."
        : "What is published cannot be loaded at the moment.";
    return { reply: problemReply("no_session", detail, { retryAfterMs: sources.pollMs }) };
  }
  const refused = refuseBody(request);
  if (refused !== null) return { reply: refused };
  const { tier } = caller;
  const acceptEncoding = request.headers["accept-encoding"];
  const found = findResource({ snapshot, tier, route, id, query, acceptEncoding, nowMs });
  const { gatekeeper } = sources;
  return found instanceof Promise
    ? found.then((made) => foundReply(gatekeeper, exchange, caller, snapshot, made))
    : foundReply(gatekeeper, exchange, caller, snapshot, found);
}

function foundReply(
  gatekeeper: Gatekeeper,
  { request, nowMs }: Exchange,
  caller: AdmittedCaller,
  snapshot: LoadedSnapshot,
  found: Representation | Reply,
): MaybePromise<Outcome> {
  if (isReply(found)) return { reply: found };
  return dataReply({ gatekeeper, caller, snapshot, found, request, nowMs });
}

function openReply(
  { live, gatekeeper, pages, pollMs }: Sources,
  route: OpenRoute,
  { request, nowMs }: Exchange,
): MaybePromise<Reply> {
  if (route.kind === "healthz") return healthReply();
  if (route.kind === "page") return pages.reply(route.path, request.headers);
  return readinessReply(live, gatekeeper, nowMs, pollMs);
}

const REFUSALS: { readonly [R in Refusal]: string } = {
  invalid_key: "The key sent is not valid.",
  key_suspended: "The key, or its account, is suspended.",
  trial_lapsed: "The trial of the key's account has ended.",
  state_unavailable: "Keys cannot be checked at the moment.",
};

function refusalReply(refusal: Refusal | null): Reply {
  if (refusal === null) throw new Error("A caller without refusal is let in");
  return refusal === "state_unavailable"
    ? problemReply(refusal, REFUSALS[refusal], { retryAfterMs: STATE_RETRY_MS })
    : problemReply(refusal, REFUSALS[refusal]);
}

function notOffered(route: DataRoute, query: Query, caller: AdmittedCaller): Reply {
  if (caller.account === null) {
    return problemReply("key_required", "This address needs an API key.");
  }
  const required = requiredTier(route, query);
  const detail = `This needs the tier ${required}; the key's tier is ${caller.tier.name}.`;
  return problemReply("tier_required", detail, { required_tier: required });
}

/** A body on GET has no meaning (RFC 9110, 9.3.1), and may be an attempt to smuggle a request. */
function refuseBody(request: IncomingMessage): Reply | null {
  const { "content-length": length, "transfer-encoding": coding } = request.headers;
  if (coding === undefined && (length === undefined || Number(length) === 0)) return null;
  return problemReply("bad_request", `A ${request.method} request must have no body here.`);
}

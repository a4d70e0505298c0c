/**
 * The service's HTTP interface as one h3 app: all routes, and all checks in their order. The first
 * check that fails decides the answer. Denials are return values; an exception is a defect.
 *
 * Handlers return a value if they can answer at once. They return a promise only if they must ask
 * the state or make a body first.
 */
import { H3, type H3Event } from "h3";
import type { IncomingMessage } from "node:http";
import type { Gatekeeper, MaybePromise } from "../state/gatekeeper.ts";
import type { Clock } from "../lib/clock.ts";
import type { Tier } from "../market/tier.ts";
import {
  ALLOWED_METHODS,
  movedReply,
  OPTIONS_REPLY,
  problemReply,
  responseOf,
  type Reply,
} from "./answer.ts";
import { basketAnswer } from "./basket.ts";
import {
  addressOf,
  identify,
  identifyAtOnce,
  isAdmitted,
  type AdmittedCaller,
  type Caller,
} from "./caller.ts";
import { chain } from "./chain.ts";
import { shortened } from "./client-address.ts";
import { asksForAny, isNotModified } from "./conditional.ts";
import type { Pages } from "./docs/pages.ts";
import { Exchange } from "./exchange.ts";
import type { Logger } from "./ops/log.ts";
import type { ProxyMetrics } from "./ops/metrics.ts";
import { healthReply, readiness } from "./ops/readiness.ts";
import { deny, notInSnapshot, type Denial } from "./problems.ts";
import { BASKET_PARAMETERS, faultsDenial, holdsKey, namesBasket, nameFaults } from "./query.ts";
import { knownRemaining, quotaExceeded, remaining, remainingAfter, usageReply } from "./quota.ts";
import { DATA_ROUTES, PAGE_PATHS, requiredTier, USAGE_PATH, type DataRoute } from "./routes.ts";
import { cacheControl, overdueSessions } from "./snapshot/freshness.ts";
import type { LiveSnapshot } from "./snapshot/live.ts";
import type { LoadedSnapshot } from "./snapshot/load.ts";
import type { Representation } from "./snapshot/representation.ts";

/** What the app needs to answer. */
export interface AppOptions {
  readonly live: LiveSnapshot;
  readonly gatekeeper: Gatekeeper;
  readonly pages: Pages;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ProxyMetrics;
  /** How often the proxy looks for a new publication; the retry-after while there is none. */
  readonly pollMs: number;
  readonly trustedHops: number;
}

type Outcome = Reply | Denial;
type DeliveredStatus = Representation["status"] | 304;
type Handler = (exchange: Exchange) => MaybePromise<Outcome>;
type KeyedHandler = (exchange: Exchange, caller: AdmittedCaller) => MaybePromise<Outcome>;

const exchangeOf = ({ context }: H3Event): Exchange => context["exchange"] as Exchange;

const NOT_FOUND = deny("not_found", "There is nothing at this path.");
const STATE_RETRY_MS = 5_000;

/** Makes the app. It takes requests of Node's HTTP server (see node-listener.ts). */
export function createApp(options: AppOptions): H3 {
  const { live, gatekeeper, pages, clock, log, pollMs } = options;
  const app = new H3({
    // A path with malformed escapes reaches the routes and gets a 404.
    allowMalformedURL: true,
    silent: true,
    onError: (error, event) => {
      const exchange = exchangeOf(event);
      log.error({ err: error.cause ?? error, route: exchange.route }, "request failed");
      exchange.asksState = false;
      return finish(exchange, deny("internal", "The service failed to answer; this is logged."));
    },
  });

  // Wraps every request: sends the response, counts it in the metrics and logs it.
  app.use((event, next) => {
    const exchange = new Exchange(event.runtime?.node?.req as IncomingMessage, clock.now());
    event.context["exchange"] = exchange;
    const outcome = exchange.hostFault() ?? (next() as MaybePromise<Outcome>);
    return chain(outcome, (found) => finish(exchange, found));
  });

  // These routes need no key and never wait for the state.
  route("/healthz", () => healthReply());
  route("/readyz", ({ nowMs }) => readiness(live, gatekeeper, nowMs, pollMs));
  for (const path of PAGE_PATHS) route(path, ({ request }) => pages.reply(path, request.headers));

  // These routes take a key; callers without one get the free slice.
  keyed(USAGE_PATH, (exchange, caller) => {
    const { query, nowMs } = exchange;
    const fault = exchange.bodyFault() ?? faultsDenial(nameFaults(query, []));
    if (fault !== null) return fault;
    return chain(gatekeeper.used(caller.subject, nowMs), (used) => usageReply(caller, used, nowMs));
  });
  for (const dataRoute of Object.values(DATA_ROUTES)) {
    keyed(dataRoute.path, (exchange, caller) => data(dataRoute, exchange, caller));
  }

  app.all("/**", () => NOT_FOUND);
  return app;

  /** Matches the exact path only; h3's router also matches `/a/`, escapes and dot segments. */
  function route(path: string, handler: Handler, asksState = false): void {
    app.all(path.replace("{id}", ":id"), (event) => {
      const exchange = exchangeOf(event);
      if (!isExact(exchange.path, path)) return NOT_FOUND;
      exchange.route = path;
      const { method } = exchange.request;
      if (method === "OPTIONS") return OPTIONS_REPLY;
      exchange.asksState = asksState;
      if (method !== "GET" && method !== "HEAD") {
        return deny("method_not_allowed", `Method ${method}: expected ${ALLOWED_METHODS}.`);
      }
      if (holdsKey(exchange.query)) {
        const detail = "The query holds what looks like an API key; send it in a header field.";
        return deny("key_in_query", detail);
      }
      return handler(exchange);
    });
  }

  function keyed(path: string, handler: KeyedHandler): void {
    const checked: Handler = (exchange) =>
      chain(callerOf(exchange), (caller) =>
        isAdmitted(caller) ? handler(exchange, caller) : refused(caller),
      );
    route(path, checked, true);
  }

  /** Answers a request for a board, a contract, an index, an export or a basket. */
  function data(
    dataRoute: DataRoute,
    exchange: Exchange,
    caller: AdmittedCaller,
  ): MaybePromise<Outcome> {
    const { query } = exchange;
    if (!dataRoute.isOffered(caller.tier, query)) {
      if (caller.account === null) return deny("key_required", "This address needs an API key.");
      const required = requiredTier(dataRoute, query);
      const detail = `This needs the tier ${required}; the key's tier is ${caller.tier.name}.`;
      return deny("tier_required", detail, { required_tier: required });
    }
    const snapshot = live.current;
    if (snapshot === null) {
      const detail =
        live.trouble === null
          ? "No session is published yet."
          : "What is published cannot be loaded at the moment.";
      return deny("no_session", detail, { retryAfterMs: pollMs });
    }
    const fault = exchange.bodyFault();
    if (fault !== null) return fault;
    return chain(find(dataRoute, exchange, caller, snapshot), (found) =>
      "etag" in found ? deliver(exchange, caller, snapshot, found) : found,
    );
  }

  /** Checks the parameters and finds what the request asks for. */
  function find(
    { takesBasket, file }: DataRoute,
    { query, path, nowMs, request }: Exchange,
    { tier }: AdmittedCaller,
    snapshot: LoadedSnapshot,
  ): MaybePromise<Representation | Outcome> {
    if (takesBasket && namesBasket(query)) return basketAnswer(snapshot, query, nowMs);
    const fault = faultsDenial(nameFaults(query, takesBasket ? BASKET_PARAMETERS : []));
    if (fault !== null) return fault;
    const id = contractIdOf(path);
    const found = snapshot.files.get(file(tier, id));
    if (found !== undefined) {
      const overdue = overdueSessions(snapshot.stamp, nowMs);
      const { headers, method } = request;
      if (headers.range !== undefined && method === "GET") {
        const part = found.part(overdue, headers);
        if (part !== null) return part;
      }
      return found.answer(overdue, headers["accept-encoding"]);
    }
    if (!path.startsWith(CONTRACT_PREFIX)) return notInSnapshot(snapshot.stamp.text);
    const newId = snapshot.newIds.get(id);
    return newId === undefined
      ? noContract(snapshot, tier, id)
      : movedReply(`${CONTRACT_PREFIX}${newId}`);
  }

  /** Checks preconditions, then counts the call. It counts last, so that an error costs no call. */
  function deliver(
    { request, isHead, nowMs }: Exchange,
    caller: AdmittedCaller,
    { stamp }: LoadedSnapshot,
    found: Representation,
  ): MaybePromise<Outcome> {
    const limit = caller.tier.callsPerMonth;
    const fresh = cacheControl(stamp, nowMs);
    if (isNotModified(request.headers, found.etag, found.modifiedMs)) {
      // A 304 to `*` costs a call: it tells a caller without a copy something. Any other is free.
      return asksForAny(request.headers) ? charged(304, null) : uncharged(null);
    }
    if (found.refusal !== undefined) return uncharged(found.refusal);
    if (isHead) return charged(200, null);
    if (typeof found.body !== "function") return charged(found.status, found.body);
    // Opens the stream before the call is counted: an open that fails costs no call.
    return found.body().then((body) => charged(found.status, body));

    /** The refusal (null: a 304) if the caller has calls left. */
    function uncharged(refusal: Denial | null): MaybePromise<Outcome> {
      const known = limit === null ? 0 : gatekeeper.used(caller.subject, nowMs);
      return chain(known, (used) => {
        if (limit !== null && used >= limit) return quotaExceeded(caller, nowMs);
        return refusal ?? reply(304, null, used);
      });
    }

    function charged(status: DeliveredStatus, body: Reply["body"]): MaybePromise<Outcome> {
      return chain(
        gatekeeper.take(caller.subject, limit, nowMs, caller.keyId),
        ({ granted, used }) => {
          if (granted) return reply(status, body, used);
          // Nobody reads this body, so an error of cancel() does not matter.
          if (body instanceof ReadableStream) body.cancel().catch(() => {});
          return quotaExceeded(caller, nowMs);
        },
      );
    }

    function reply(status: DeliveredStatus, body: Reply["body"], used: number): Reply {
      const fields = status === 304 ? found.notModifiedFields : found.fields;
      return { status, fields, body, cacheControl: fresh, remaining: remainingAfter(limit, used) };
    }
  }

  /** Makes the response from the outcome and the remaining quota. */
  function finish(exchange: Exchange, outcome: Outcome): MaybePromise<Response> {
    const { request, nowMs, asksState } = exchange;
    const reply = "extras" in outcome ? problemReply(outcome) : outcome;
    if (reply.remaining !== undefined) return recorded(exchange, reply, reply.remaining);
    if (asksState) {
      const left = chain(callerOf(exchange), (caller) => remaining(caller, gatekeeper, nowMs));
      return chain(left, (calls) => recorded(exchange, reply, calls));
    }
    exchange.caller ??= identifyAtOnce(request, options.trustedHops, gatekeeper, nowMs);
    return recorded(exchange, reply, knownRemaining(exchange.caller, gatekeeper, nowMs));
  }

  /** Counts and logs the request. Neither metrics nor log holds a path, query or key as sent. */
  function recorded(exchange: Exchange, reply: Reply, left: number): Response {
    const { request, route: path, startedAt, caller } = exchange;
    const { status, code } = reply;
    const durationMs = performance.now() - startedAt;
    const tier = caller?.tier?.name ?? "none";
    options.metrics.requests.observe(path, tier, status, durationMs);
    if (log.wantsRequest(code)) {
      const { method } = request;
      const account = caller?.account ?? null;
      const from = shortened(addressOf(request, options.trustedHops));
      log.request({ method, route: path, status, code, account, tier, from, durationMs });
    }
    return responseOf(reply, left);
  }

  /** Identifies the caller once per request; returns a promise only if the state must be asked. */
  function callerOf(exchange: Exchange): MaybePromise<Caller> {
    if (exchange.caller !== null) return exchange.caller;
    const { request, nowMs } = exchange;
    return chain(identify(request, options.trustedHops, gatekeeper, nowMs), (caller) => {
      exchange.caller = caller;
      return caller;
    });
  }
}

const CONTRACT_PREFIX = DATA_ROUTES.contract.path.slice(0, -"{id}".length);
const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i;

/** Whether the path as sent is exactly the route's. */
function isExact(sent: string, path: string): boolean {
  if (path !== DATA_ROUTES.contract.path) return sent === path;
  if (!sent.startsWith(CONTRACT_PREFIX)) return false;
  const segment = sent.slice(CONTRACT_PREFIX.length);
  return segment !== "" && !segment.includes("/") && !DOT_SEGMENT.test(segment);
}

/** The contract id in the path, percent-decoded; as sent if it cannot be decoded. */
function contractIdOf(path: string): string {
  const segment = path.startsWith(CONTRACT_PREFIX) ? path.slice(CONTRACT_PREFIX.length) : "";
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Says why the tier has no file of this contract. */
function noContract(
  { withoutLevel, catalog, stamp }: LoadedSnapshot,
  tier: Tier,
  id: string,
): Denial {
  if (withoutLevel[tier.name].has(id)) {
    return deny("not_on_board", `Contract "${id}" has no level so far.`, { as_of: null });
  }
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

const REFUSALS = {
  invalid_key: "The key sent is not valid.",
  key_suspended: "The key, or its account, is suspended.",
  trial_lapsed: "The trial of the key's account has ended.",
  state_unavailable: "Keys cannot be checked at the moment.",
} as const;

function refused({ refusal }: Caller): Denial {
  if (refusal === null) throw new Error("A caller without a refusal is admitted");
  const retry = refusal === "state_unavailable" ? { retryAfterMs: STATE_RETRY_MS } : {};
  return deny(refusal, REFUSALS[refusal], retry);
}

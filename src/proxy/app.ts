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
import { ALLOWED_METHODS, OPTIONS_REPLY, responseOf, type Reply } from "./answer.ts";
import {
  addressOf,
  identify,
  identifyAtOnce,
  isAdmitted,
  misplacedIn,
  type AdmittedCaller,
  type Caller,
} from "./caller.ts";
import { chain } from "./chain.ts";
import { dataAnswers, type DataSources } from "./data.ts";
import { shortened } from "./client-address.ts";
import type { LivePages } from "./pages/live-pages.ts";
import type { Pages } from "./pages/pages.ts";
import { problemAnswer } from "./pages/problem-page.ts";
import { Exchange } from "./exchange.ts";
import type { Logger } from "./ops/log.ts";
import type { ProxyMetrics } from "./ops/metrics.ts";
import { healthReply, readiness } from "./ops/readiness.ts";
import { deny, type Denial } from "./problems.ts";
import { faultsDenial, holdsKey, nameFaults } from "./query.ts";
import { knownRemaining, remaining, usageReply } from "./quota.ts";
import type { PublicLog } from "./publications/public-log.ts";
import { DATA_ROUTES, isExact, SUMS_ROUTE } from "./routes.ts";
import { PAGES, UNCOUNTED_ROUTES } from "./uncounted-routes.ts";

/** What the app needs to answer. */
export interface AppOptions extends DataSources {
  readonly gatekeeper: Gatekeeper;
  readonly pages: Pages;
  readonly livePages: LivePages;
  readonly publicLog: PublicLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ProxyMetrics;
  /** How often the proxy looks for a new publication; the retry-after while there is none. */
  readonly pollMs: number;
  readonly trustedHops: number;
}

type Outcome = Reply | Denial;
type Handler = (exchange: Exchange) => MaybePromise<Outcome>;
type KeyedHandler = (exchange: Exchange, caller: AdmittedCaller) => MaybePromise<Outcome>;

const exchangeOf = ({ context }: H3Event): Exchange => context["exchange"] as Exchange;

const NOT_FOUND = deny("not_found", "There is nothing at this path.");
const STATE_RETRY_MS = 5_000;

/** Makes the app. It takes requests of Node's HTTP server (see node-listener.ts). */
export function createApp(options: AppOptions): H3 {
  const { live, log, archive, gatekeeper, pages, livePages, publicLog, clock, logger, pollMs } =
    options;
  const app = new H3({
    // A path with malformed escapes reaches the routes and gets a 404.
    allowMalformedURL: true,
    silent: true,
    onError: (error, event) => {
      const exchange = exchangeOf(event);
      logger.error({ err: error.cause ?? error, route: exchange.route }, "request failed");
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
  route(UNCOUNTED_ROUTES.health.path, () => healthReply());
  route(UNCOUNTED_ROUTES.readiness.path, ({ nowMs }) => readiness(live, gatekeeper, nowMs, pollMs));
  route(UNCOUNTED_ROUTES.feed.path, (exchange) => publicLog.feed(exchange));
  route(UNCOUNTED_ROUTES.status.path, (exchange) => publicLog.status(exchange));
  route(PAGES.status.path, (exchange) => publicLog.statusPage(exchange));
  route(PAGES.contract.path, (exchange) => livePages.contract(exchange));
  for (const [path, answer] of livePages.routes) route(path, answer);
  for (const path of pages.paths) route(path, ({ request }) => pages.reply(path, request.headers));
  route(UNCOUNTED_ROUTES.entry.path, (exchange) => publicLog.entry(exchange));

  // These routes take a key; callers without one get the free slice.
  keyed(UNCOUNTED_ROUTES.usage.path, (exchange, caller) => {
    const { query, nowMs } = exchange;
    const fault = exchange.bodyFault() ?? faultsDenial(nameFaults(query, []));
    if (fault !== null) return fault;
    return chain(gatekeeper.used(caller.subject, nowMs), (used) => usageReply(caller, used, nowMs));
  });
  keyed(UNCOUNTED_ROUTES.publications.path, (exchange) => publicLog.list(exchange));
  const data = dataAnswers({ live, log, archive, gatekeeper, logger, pollMs });
  for (const dataRoute of [...Object.values(DATA_ROUTES), SUMS_ROUTE]) {
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
        isAdmitted(caller) ? handler(exchange, caller) : refused(caller, exchange),
      );
    route(path, checked, true);
  }

  /** Makes the response from the outcome and the remaining quota. */
  function finish(exchange: Exchange, outcome: Outcome): MaybePromise<Response> {
    const { request, nowMs, asksState } = exchange;
    const reply = "extras" in outcome ? problemAnswer(outcome, exchange) : outcome;
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
    if (logger.wantsRequest(code)) {
      const { method } = request;
      const account = caller?.account ?? null;
      const from = shortened(addressOf(request, options.trustedHops));
      logger.request({ method, route: path, status, code, account, tier, from, durationMs });
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

const REFUSALS = {
  invalid_key: "The key sent is not valid.",
  key_suspended: "The key, or its account, is suspended.",
  trial_lapsed: "The trial of the key's account has ended.",
  state_unavailable: "Keys cannot be checked at the moment.",
} as const;

function refused({ refusal }: Caller, { request }: Exchange): Denial {
  if (refusal === null) throw new Error("A caller without a refusal is admitted");
  const retry = refusal === "state_unavailable" ? { retryAfterMs: STATE_RETRY_MS } : {};
  const field = refusal === "invalid_key" ? misplacedIn(request) : undefined;
  if (field === undefined) return deny(refusal, REFUSALS[refusal], retry);
  const detail = `The field ${field} holds a key in a form that is not read: send Authorization: Bearer KEY, or x-api-key: KEY.`;
  return deny(refusal, detail);
}

/**
 * The service's HTTP interface as one h3 app: all routes, and all checks in their order. The first
 * check that fails decides the answer. Denials are return values; an exception is a defect.
 */
import { H3, type H3Event } from "h3";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Gatekeeper } from "../../state/gatekeeper.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Turns } from "../../lib/turns.ts";
import { jsonReply, type Found, type Outcome, type Reply } from "../answers/answer.ts";
import type { Backlog } from "./backlog.ts";
import {
  addressOf,
  callerAt,
  identify,
  identifyLink,
  isAdmitted,
  misplacedIn,
  type AdmittedCaller,
  type Caller,
} from "./caller.ts";
import { dataAnswers, type DataSources } from "../answers/data.ts";
import { fits, isLink, targetOf, tokenIn } from "../answers/link-target.ts";
import { shortened } from "./client-address.ts";
import { exchangeFor, hostFault, whenSent, type Exchange } from "./exchange.ts";
import type { ProxyMetrics } from "../ops/metrics.ts";
import { readiness } from "../answers/readiness.ts";
import { ALLOWED_METHODS, OPTIONS_REPLY, problemReply } from "../answers/problem-reply.ts";
import { deny, type Denial } from "../problems.ts";
import { faultsDenial, holdsKey, nameFaults } from "../query.ts";
import { charged, remaining, responseOf, sent, usageReply } from "./send.ts";
import type { PublicLog } from "../answers/publications/public-log.ts";
import { DATA_ROUTES, isExact, LINK_PATH, SUMS_ROUTE, type DataRoute } from "../routes.ts";
import { PAGES, UNCOUNTED_ROUTES } from "../uncounted-routes.ts";

export interface AppOptions extends DataSources {
  readonly gatekeeper: Gatekeeper;
  /** Bodies pass through it. */
  readonly backlog: Backlog;
  /** The answers that stay, by path. */
  readonly pages: ReadonlyMap<string, Promise<Found>>;
  /** Those that change with the snapshot. */
  readonly livePages: ReadonlyMap<string, Handler>;
  readonly publicLog: PublicLog;
  /** What takes work waits in it. */
  readonly turns: Turns;
  readonly clock: Clock;
  readonly metrics: ProxyMetrics;
  readonly trustedHops: number;
}

type Handler = (exchange: Exchange) => Outcome | Promise<Outcome>;
type KeyedHandler = (exchange: Exchange, caller: AdmittedCaller) => Outcome | Promise<Outcome>;

/** What Node hands over. */
interface HttpPair {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

const NOT_FOUND = deny("not_found", "There is nothing at this path.");
const STATE_RETRY_MS = 5_000;

/** Makes the app. It takes requests of Node's HTTP server (see server.ts). */
export function createApp(options: AppOptions): H3 {
  const { gatekeeper, pages, livePages, publicLog, clock, logger, live, pollMs, turns } = options;
  // A path with malformed escapes reaches the routes and gets a 404.
  const app = new H3({ allowMalformedURL: true, silent: true });

  // These routes need no key and never wait for the state.
  route(UNCOUNTED_ROUTES.health.path, () => jsonReply({ status: "ok" }));
  route(UNCOUNTED_ROUTES.readiness.path, ({ nowMs }) => readiness(live, gatekeeper, nowMs, pollMs));
  route(UNCOUNTED_ROUTES.feed.path, () => publicLog.feed());
  route(UNCOUNTED_ROUTES.status.path, (exchange) => publicLog.status(exchange));
  route(PAGES.status.path, (exchange) => publicLog.statusPage(exchange));
  for (const [path, answer] of livePages) route(path, answer);
  for (const [path, found] of pages) route(path, () => found);
  route(UNCOUNTED_ROUTES.entry.path, (exchange) => publicLog.entry(exchange));

  // These routes take a key; callers without one get the free slice.
  keyed(UNCOUNTED_ROUTES.usage.path, async (exchange, caller) => {
    const { query, nowMs } = exchange;
    const fault = exchange.bodyFault() ?? faultsDenial(nameFaults(query, []));
    if (fault !== null) return fault;
    return usageReply(caller, await gatekeeper.counts.used(caller.subject, nowMs), nowMs);
  });
  keyed(UNCOUNTED_ROUTES.publications.path, (exchange) => publicLog.list(exchange));
  const data = dataAnswers(options);
  const counted =
    (dataRoute: DataRoute): KeyedHandler =>
    async (exchange, caller) => {
      const place = turns.placeOf(caller.subject);
      let isStreamed = false;
      try {
        const found = await data(dataRoute, exchange, caller, place);
        if (!("cacheControl" in found)) return found;
        const reply = await charged(found, exchange, caller, gatekeeper.counts, place);
        isStreamed = "body" in reply && reply.body instanceof ReadableStream;
        return reply;
      } finally {
        // A stream has work to do until it is sent.
        if (isStreamed) whenSent(exchange, () => place.leave());
        else place.leave();
      }
    };
  for (const dataRoute of [...Object.values(DATA_ROUTES), SUMS_ROUTE]) {
    keyed(dataRoute.path, counted(dataRoute));
  }
  route(LINK_PATH, linked, true);

  app.all(
    "/**",
    answered(() => NOT_FOUND),
  );
  return app;

  /** Wraps every handler: makes the response, counts the request in the metrics and logs it. */
  function answered(handler: Handler): (event: H3Event) => Promise<Response> {
    return async (event) => {
      const { node } = event.runtime as { readonly node: HttpPair };
      const { req: request, res: response } = node;
      const exchange = exchangeFor(request, response, clock.now());
      try {
        return await finish(exchange, hostFault(request) ?? (await handler(exchange)));
      } catch (error) {
        logger.error({ err: error, route: exchange.route }, "request failed");
        exchange.asksState = false;
        return finish(exchange, deny("internal", "The service failed to answer; this is logged."));
      }
    };
  }

  /** Matches the exact path only; h3's router also matches `/a/`, escapes and dot segments. */
  function route(path: string, handler: Handler, asksState = false): void {
    const checked: Handler = (exchange) => {
      if (!isExact(exchange.path, path)) return NOT_FOUND;
      exchange.route = path;
      const { method } = exchange.request;
      if (method === "OPTIONS") return OPTIONS_REPLY;
      exchange.asksState = asksState;
      if (method !== "GET" && method !== "HEAD") {
        return deny("method_not_allowed", `Method ${method}: expected ${ALLOWED_METHODS}.`);
      }
      // Of a link any query is refused, but only once it is known.
      if (path !== LINK_PATH && holdsKey(exchange.query)) {
        const detail = "The query holds what looks like an API key; send it in a header field.";
        return deny("key_in_query", detail);
      }
      return handler(exchange);
    };
    app.all(path.replace("{id}", ":id"), answered(checked));
  }

  /** Answers a link with what its account would read. Key fields mean nothing here. */
  async function linked(exchange: Exchange): Promise<Outcome> {
    const { request, path, query, nowMs } = exchange;
    exchange.caller = callerAt(addressOf(request, options.trustedHops), gatekeeper, nowMs);
    const token = tokenIn(path);
    if (token === null) return NOT_FOUND;
    const holder = await identifyLink(token, gatekeeper);
    if (holder.refusal === "invalid_key") return NOT_FOUND;
    if (holder.path === null) return refused(holder, exchange);
    const target = targetOf(holder.path);
    if (target === undefined || !fits(path, target)) return NOT_FOUND;
    exchange.caller = holder;
    const fault = faultsDenial(nameFaults(query, []));
    if (fault !== null) return fault;
    if (!isAdmitted(holder)) return refused(holder, exchange);
    return counted(target.route)({ ...exchange, path: target.path, query: target.query }, holder);
  }

  function keyed(path: string, handler: KeyedHandler): void {
    const checked: Handler = async (exchange) => {
      const caller = exchange.caller ?? (await identified(exchange));
      return isAdmitted(caller) ? handler(exchange, caller) : refused(caller, exchange);
    };
    route(path, checked, true);
  }

  /** Makes the response from the outcome and the remaining quota. */
  async function finish(exchange: Exchange, outcome: Outcome): Promise<Response> {
    const { request, nowMs, asksState } = exchange;
    const answer = "forms" in outcome ? await sent(outcome, exchange) : outcome;
    const told = "extras" in answer ? problemReply(answer, exchange, options) : answer;
    const reply = isLink(exchange.path) ? unlisted(told) : told;
    const caller = exchange.caller ?? (await identified(exchange));
    const left = reply.remaining ?? (await remaining(caller, gatekeeper.counts, nowMs, asksState));
    record(exchange, caller, reply);
    return responseOf(
      reply,
      options.backlog.bodyFor(request, request.method === "HEAD" ? null : reply.body),
      left,
    );
  }

  /** Counts and logs the request. Neither metrics nor log holds a path, query or key as sent. */
  function record(
    { request, route: path, startedAt }: Exchange,
    caller: Caller,
    reply: Reply,
  ): void {
    const { status, code } = reply;
    const durationMs = performance.now() - startedAt;
    const tier = caller.tier?.name ?? "none";
    options.metrics.requests.observe(path, tier, status, durationMs);
    if (!logger.wantsRequest(code)) return;
    const { method } = request;
    const from = shortened(addressOf(request, options.trustedHops));
    const { account } = caller;
    logger.request({ method, route: path, status, code, account, tier, from, durationMs });
  }

  /** Identifies the caller, once per request. */
  async function identified(exchange: Exchange): Promise<Caller> {
    const { request, nowMs, asksState } = exchange;
    exchange.caller = await identify(request, options.trustedHops, gatekeeper, nowMs, asksState);
    return exchange.caller;
  }
}

/** A link's address must reach neither the next page nor a search engine. */
const unlisted = (reply: Reply): Reply => ({
  ...reply,
  fields: Object.entries({
    ...Object.fromEntries(reply.fields),
    "referrer-policy": "no-referrer",
    "x-robots-tag": "noindex",
  }),
});

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
  const detail = `The field ${field} holds a key, and keys are not read there: send Authorization: Bearer KEY, or x-api-key: KEY.`;
  return deny(refusal, detail);
}

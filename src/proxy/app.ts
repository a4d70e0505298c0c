/**
 * Carries requests to `decide` and its answers to the socket, by h3. Its router is left aside: it
 * normalises paths, and here only the path as it was sent counts (see routes.ts).
 */
import { STATUS_CODES, type IncomingMessage } from "node:http";
import { H3, type H3Event } from "h3";
import { FastResponse } from "srvx";
import type { Clock } from "../clock.ts";
import type { MaybePromise } from "../access/access.ts";
import { addressOf, identify, presentedKey } from "./caller.ts";
import { chain } from "./chain.ts";
import { shortened, type AddressGroup } from "./client-address.ts";
import { decide, type Exchange, type Outcome, type Sources } from "./decide.ts";
import type { Logger } from "./log.ts";
import { remaining } from "./meter.ts";
import type { ProxyMetrics } from "./metrics.ts";
import { parseQuery } from "./parameters.ts";
import { problemReply, type Reply } from "./reply.ts";
import { EXACT_PATHS, findRoute, splitTarget } from "./routes.ts";

export interface AppOptions extends Sources {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ProxyMetrics;
  readonly trustedHops: number;
}

export function createApp(options: AppOptions): H3 {
  const handle = (event: H3Event): MaybePromise<Response> => {
    const request = event.runtime?.node?.req;
    if (request === undefined) throw new Error("The proxy runs on Node's HTTP server only");
    return answer(options, request as IncomingMessage);
  };
  // What fails before there is a caller to tell about a quota.
  const onError = (error: unknown): Response => {
    options.log.error({ err: error }, "request failed");
    return responseOf(internalProblem(), 0, undefined);
  };
  // Malformed escapes shall reach the handler: to a caller they are addresses that do not exist.
  const app = new H3({ allowMalformedURL: true, silent: true, onError }).all("/**", handle);
  // All go to the same handler; exact paths are just found faster.
  for (const path of EXACT_PATHS) app.all(path, handle);
  return app;
}

/** Waits only where the state must be asked or a body must be made; most answers are direct. */
function answer(options: AppOptions, request: IncomingMessage): MaybePromise<Response> {
  const { clock, gatekeeper, trustedHops } = options;
  const startedAt = performance.now();
  const nowMs = clock.now();
  const { path, query } = splitTarget(request.url ?? "");
  const match = findRoute(path);
  const address = (): AddressGroup => addressOf(request, trustedHops);
  return chain(identify(presentedKey(request), address, gatekeeper, nowMs), (caller) => {
    const exchange = { request, match, query: parseQuery(query), caller, nowMs };
    return chain(replyTo(options, exchange), ({ reply, remaining: left }) => {
      record(options, exchange, reply, performance.now() - startedAt);
      return responseOf(reply, left, request.method);
    });
  });
}

const responseOf = (
  { status, headers, body }: Reply,
  left: number,
  method: string | undefined,
): Response =>
  new FastResponse(method === "HEAD" ? null : body, {
    status,
    statusText: STATUS_CODES[status] ?? "",
    headers: { ...headers, "x-ratelimit-remaining": String(left) },
  });

const internalProblem = (): Reply =>
  problemReply("internal", "The service failed to answer; this is logged.");

type Answered = Required<Outcome>;

/** What to answer, and what remains of the quota after it. A defect becomes a 500. */
function replyTo(options: AppOptions, exchange: Exchange): MaybePromise<Answered> {
  const { gatekeeper, log } = options;
  const { caller, nowMs } = exchange;
  const complete = (outcome: Outcome): MaybePromise<Answered> =>
    outcome.remaining === undefined
      ? chain(remaining(caller, gatekeeper, nowMs), (left) => ({ ...outcome, remaining: left }))
      : { reply: outcome.reply, remaining: outcome.remaining };
  const failed = async (error: unknown): Promise<Answered> => {
    log.error({ err: error, route: exchange.match?.route.path }, "request failed");
    const reply = internalProblem();
    try {
      return { reply, remaining: await remaining(caller, gatekeeper, nowMs) };
    } catch {
      return { reply, remaining: 0 };
    }
  };
  try {
    const answered = chain(decide(options, exchange), complete);
    return answered instanceof Promise ? answered.catch(failed) : answered;
  } catch (error) {
    return failed(error);
  }
}

/** Metrics, and a line of the log. Neither holds a path, query or key as sent. */
function record(
  { log, metrics, trustedHops }: AppOptions,
  { request, match, caller }: Exchange,
  { status, code }: Reply,
  durationMs: number,
): void {
  const route = match?.route.path ?? "(none)";
  const tier = caller.tier?.name ?? "none";
  metrics.observe({ route, status, tier, durationMs });
  if (!log.isLevelEnabled("info")) return;
  const { method } = request;
  const from = shortened(addressOf(request, trustedHops));
  const ms = Math.round(durationMs * 1000) / 1000;
  log.info({ method, route, status, code, account: caller.account, tier, from, ms }, "request");
}

/** From a request to what is answered: who asks, what they get, and the note made of it. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../clock.ts";
import type { MaybePromise } from "../state/gatekeeper.ts";
import { addressOf, identify, type Caller } from "./caller.ts";
import { chain } from "./chain.ts";
import { shortened } from "./client-address.ts";
import { decide, type Exchange, type Outcome, type Sources } from "./decide.ts";
import type { Logger } from "./ops/log.ts";
import { remaining } from "./quota.ts";
import type { ProxyMetrics } from "./ops/metrics.ts";
import { parseQuery } from "./parameters.ts";
import { problemReply, type Reply } from "./reply.ts";
import { findRoute, splitTarget } from "./routes.ts";

/** What an answer needs besides its sources. */
export interface AnswerOptions extends Sources {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ProxyMetrics;
  readonly trustedHops: number;
}

/** What to answer, and what remains of the caller's quota after it. */
export type Answer = Required<Outcome>;

/**
 * The answer to a request, logged and counted in the metrics. A promise only where the state must
 * be asked or a body must be made first: most answers are there at once. Never throws or rejects; a
 * defect becomes a 500.
 */
export function answer(options: AnswerOptions, request: IncomingMessage): MaybePromise<Answer> {
  const { clock, gatekeeper } = options;
  const startedAt = performance.now();
  const nowMs = clock.now();
  const { path, query } = splitTarget(request.url ?? "");
  const match = findRoute(path);
  const parameters = parseQuery(query);
  const from = (caller: Caller): MaybePromise<Answer> =>
    answerCaller(options, { request, match, query: parameters, caller, nowMs }, startedAt);
  const caller = identify(request, options.trustedHops, gatekeeper, nowMs);
  return caller instanceof Promise ? caller.then(from) : from(caller);
}

function answerCaller(
  options: AnswerOptions,
  exchange: Exchange,
  startedAt: number,
): MaybePromise<Answer> {
  const answered = answerTo(options, exchange);
  if (answered instanceof Promise) {
    return answered.then((whole) => recorded(options, exchange, startedAt, whole));
  }
  return recorded(options, exchange, startedAt, answered);
}

/** The 500. Its cause is in the log only. */
export const internalProblem = (): Reply =>
  problemReply("internal", "The service failed to answer; this is logged.");

function answerTo(options: AnswerOptions, exchange: Exchange): MaybePromise<Answer> {
  try {
    const outcome = decide(options, exchange);
    if (outcome instanceof Promise) {
      return outcome
        .then((found) => completed(options, exchange, found))
        .catch((error: unknown) => failed(options, exchange, error));
    }
    const answered = completed(options, exchange, outcome);
    if (!(answered instanceof Promise)) return answered;
    return answered.catch((error: unknown) => failed(options, exchange, error));
  } catch (error) {
    return failed(options, exchange, error);
  }
}

/** With what remains of the quota, where no call was counted. */
function completed(
  { gatekeeper }: AnswerOptions,
  { caller, nowMs }: Exchange,
  { reply, remaining: left }: Outcome,
): MaybePromise<Answer> {
  if (left !== undefined) return { reply, remaining: left };
  return chain(remaining(caller, gatekeeper, nowMs), (counted) => ({ reply, remaining: counted }));
}

async function failed(
  { gatekeeper, log }: AnswerOptions,
  { match, caller, nowMs }: Exchange,
  error: unknown,
): Promise<Answer> {
  log.error({ err: error, route: match?.route.path }, "request failed");
  const reply = internalProblem();
  try {
    return { reply, remaining: await remaining(caller, gatekeeper, nowMs) };
  } catch {
    return { reply, remaining: 0 };
  }
}

/** Counted in the metrics and, where wanted, logged. Neither holds a path, query or key as sent. */
function recorded(
  { log, metrics, trustedHops }: AnswerOptions,
  { request, match, caller }: Exchange,
  startedAt: number,
  answered: Answer,
): Answer {
  const { status, code } = answered.reply;
  const route = match?.route.path ?? "(none)";
  const tier = caller.tier?.name ?? "none";
  const durationMs = performance.now() - startedAt;
  metrics.observe(route, tier, status, durationMs);
  if (log.wantsRequest(code)) {
    const { method } = request;
    const from = shortened(addressOf(request, trustedHops));
    log.request({ method, route, status, code, account: caller.account, tier, from, durationMs });
  }
  return answered;
}

/**
 * The road of every request, from top to bottom: check, identify, find, refuse or 304, charge, make, respond.
 * The first check that fails decides the answer. Denials are return values; an exception is a defect.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../lib/clock.ts";
import { NO_QUEUE, type Place, type Turns } from "../lib/turns.ts";
import type { Gatekeeper } from "../state/gatekeeper.ts";
import { isSendable, type Asked, type Outcome, type Reply } from "./outcome.ts";
import { fits, isLink, targetOf, tokenIn } from "./find/link-target.ts";
import type { Service } from "../pages/page-frame.ts";
import { ALLOWED_METHODS, optionsReply, problemReply } from "./problem-reply.ts";
import type { ProxyMetrics } from "../hosts/node/metrics.ts";
import type { Logger } from "../hosts/node/request-log.ts";
import { BUSY, deny, isDenial, type Denial } from "../public/problems.ts";
import { faultsDenial, holdsKey, nameFaults } from "../public/query.ts";
import { isExact } from "../public/routes.ts";
import { asksForAny, intentOf, stopOf } from "./serve/intent.ts";
import type { Backlog } from "../hosts/node/backlog.ts";
import {
  addressOf,
  callerAt,
  countFields,
  identify,
  identifyLink,
  isAdmitted,
  misplacedIn,
  type AdmittedCaller,
  type Caller,
} from "./caller.ts";
import { shortened } from "./client-address.ts";
import { Exchange } from "./exchange.ts";
import { quotaExceeded, remaining, remainingAfter, callerFields } from "./quota.ts";
import { planOf, replyOf, stoppedReply, unsatisfiable } from "./reply.ts";
import { respond } from "../hosts/node/respond.ts";

/** An address: whose answers it gives, whether one costs a call, and how to find it. */
export type Address = {
  /** `{id}` stands for one segment. */
  readonly path: string;
} & (
  | {
      /** The answer needs no key, and never waits for the state. */
      readonly reader: "everybody";
      readonly find: (asked: Asked) => Outcome | Promise<Outcome>;
    }
  | {
      /** A link names its reader by itself. */
      readonly reader: "caller" | "link";
      readonly isCounted: boolean;
      /** All refusals that need neither the body nor a count are decided here. */
      readonly find: (
        asked: Asked,
        reader: AdmittedCaller,
        place: Place,
      ) => Outcome | Promise<Outcome>;
    }
);

export interface RoadOptions extends Service {
  readonly gatekeeper: Gatekeeper;
  /** Bodies pass through it. */
  readonly backlog: Backlog;
  /** Work waits in it. */
  readonly turns: Turns;
  readonly clock: Clock;
  readonly metrics: ProxyMetrics;
  readonly logger: Logger;
  /** How many proxies of the operator are in front; their X-Forwarded-For is trusted. */
  readonly trustedHops: number;
}

const NOT_FOUND = deny("not_found", "There is nothing at this path.");
const KEY_IN_QUERY = deny(
  "key_in_query",
  "The query seems to contain an API key; send it in a header field.",
);
const INTERNAL = deny("internal", "The service failed to answer; this is logged.");
const STATE_RETRY_MS = 5_000;

/** Answers a request; null: no address has its path. */
export type Travel = (
  address: Address | null,
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<void>;

/** Makes the road. It never rejects. */
export function roadOf(options: RoadOptions): Travel {
  const { gatekeeper, turns, clock, metrics, logger, backlog, trustedHops } = options;
  const { counts } = gatekeeper;

  return async (address, request, response) => {
    const exchange = new Exchange(request, response, clock.now());
    let outcome: Reply | Denial;
    try {
      outcome = await answerTo(exchange, address);
    } catch (error) {
      logFailure(error, exchange);
      exchange.asksState = false;
      outcome = INTERNAL;
    }

    // Respond.
    const result = outcome.kind === "denial" ? problemReply(outcome, exchange, options) : outcome;
    const reply = isLink(exchange.path) ? unlisted(result) : result;
    const caller = exchange.caller ?? (await identified(exchange));
    const { callsLeft, nowMs, asksState } = exchange;
    const left = callsLeft ?? (await remaining(caller, counts, nowMs, asksState));
    record(exchange, caller, reply);
    try {
      await respond(response, reply, callerFields(caller, left, exchange), backlog);
    } catch (error) {
      logFailure(error, exchange);
      response.destroy();
    }
  };

  function logFailure(error: unknown, { route, requestId }: Exchange): void {
    logger.error({ err: error, route, request_id: requestId }, "request failed");
  }

  async function answerTo(exchange: Exchange, address: Address | null): Promise<Reply | Denial> {
    const { request, nowMs } = exchange;
    const { method, headers } = request;

    // Check the request itself.
    const fault = exchange.hostFault();
    if (fault !== null) return fault;
    // h3's router also matches `/a/`, escapes and dot segments.
    if (address === null || !isExact(exchange.path, address.path)) return NOT_FOUND;
    exchange.route = address.path;
    if (method === "OPTIONS") return optionsReply(headers);
    exchange.asksState = address.reader !== "everybody";
    if (method !== "GET" && method !== "HEAD") {
      return deny("method_not_allowed", `Method ${method}: expected ${ALLOWED_METHODS}.`);
    }
    // Of a link any query is refused, but only once it is known.
    if (address.reader !== "link" && holdsKey(exchange.query)) return KEY_IN_QUERY;

    // Identify.
    let reader: AdmittedCaller | null = null;
    if (address.reader !== "everybody") {
      const caller = await (address.reader === "link" ? holderOf(exchange) : identified(exchange));
      if (isDenial(caller)) return caller;
      if (!isAdmitted(caller)) return refused(caller, exchange);
      reader = caller;
    }
    const place = reader === null ? NO_QUEUE : turns.placeOf(reader.subject);
    let isStreamed = false;
    try {
      // Find.
      const found = await (address.reader === "everybody"
        ? address.find(exchange)
        : address.find(exchange, reader as AdmittedCaller, place));
      if (!isSendable(found)) return found;

      // Refuse or 304: decided by the answer's header, without its body.
      const plan = planOf(found, request);
      const stop = stopOf(plan.forms, request);
      const isOutside = stop === null && plan.intent?.status === 416;
      // A 304 to `*` costs a call: it tells a caller without a copy something. Any other is free.
      const isFree = isOutside || stop?.status === 412 || (stop !== null && !asksForAny(headers));
      const payer = address.reader !== "everybody" && address.isCounted ? reader : null;
      const limit = payer?.tier.callsPerMonth ?? null;
      let used = 0;
      if (payer !== null && isFree) {
        // Written with the others of this turn of the loop, as counted answers are: one by one, each
        // wakes its reader, which doubles what a 304 costs under load.
        await setImmediate();
        if (limit !== null) used = await counts.used(payer.subject, nowMs);
        if (limit !== null && used >= limit) return quotaExceeded(payer, nowMs);
      }
      if (isOutside) return unsatisfiable(plan.intent);

      // Charge: before any work, so that nobody has it done without a call left.
      if (payer !== null && !isFree) {
        if (stop === null && plan.isLaborious && !place.enter()) return BUSY;
        const mayBePrivate = found.kind === "unmade" || found.isPrivate === true;
        if (stop === null && mayBePrivate && !place.mayHold()) return BUSY;
        const taken = await counts.take(payer.subject, limit, nowMs, payer.keyId);
        if (!taken.granted) return quotaExceeded(payer, nowMs);
        used = taken.used;
      }
      if (payer !== null) exchange.callsLeft = remainingAfter(limit, used);
      if (stop !== null) return stoppedReply(stop, found);

      // Make: a call whose answer fails is given back.
      const failed = (): void => {
        if (payer === null) return;
        exchange.callsLeft = null;
        counts.giveBack(payer.subject, nowMs, payer.keyId);
      };
      try {
        const forms = found.kind === "unmade" ? await found.make(place) : found.forms;
        if (isDenial(forms)) {
          failed();
          return forms;
        }
        const intent = plan.intent ?? intentOf(forms, request);
        if (intent.status === 416) {
          failed();
          return unsatisfiable(intent);
        }
        const reply = await replyOf(intent, found, request, place);
        isStreamed = reply.body instanceof ReadableStream;
        if (reply.body === null) place.hold(0);
        else if (found.kind === "found" && found.isPrivate === true && !isStreamed) {
          // A part of a body in memory keeps the whole.
          if (!place.hold(intent.entity.sizeBytes)) {
            failed();
            return BUSY;
          }
        }
        return reply;
      } catch (error) {
        failed();
        if (found.unopened === undefined) throw error;
        return await found.unopened(error);
      }
    } finally {
      // A stream has work to do until it is sent, and a body of one request is in memory until then.
      if (isStreamed || place.isHolding) exchange.whenSent(() => place.leave());
      else place.leave();
    }
  }

  /** Identifies the caller, once per request. */
  function identified(exchange: Exchange): Caller | Promise<Caller> {
    const { request, nowMs, asksState } = exchange;
    const caller = identify(request, trustedHops, gatekeeper, nowMs, asksState);
    const noted = (found: Caller): Caller => {
      exchange.caller = found;
      return found;
    };
    return caller instanceof Promise ? caller.then(noted) : noted(caller);
  }

  /** Identifies the holder of a link, or refuses it. Key fields mean nothing here. */
  async function holderOf(exchange: Exchange): Promise<Caller | Denial> {
    const { request, path, query, nowMs } = exchange;
    exchange.caller = callerAt(addressOf(request, trustedHops), gatekeeper, nowMs);
    const token = tokenIn(path);
    if (token === null) return NOT_FOUND;
    const holder = await identifyLink(token, gatekeeper);
    if (holder.refusal === "invalid_key") return NOT_FOUND;
    if (holder.path === null) return refused(holder, exchange);
    const target = targetOf(holder.path);
    if (target === undefined || !fits(path, target)) return NOT_FOUND;
    exchange.caller = holder;
    return faultsDenial(nameFaults(query, [])) ?? holder;
  }

  /** Counts and logs the request. Neither metrics nor log holds a path, query or key as sent. */
  function record(
    { request, requestId, route, startedAt }: Exchange,
    { tier, account }: Caller,
    { status, code }: Reply,
  ): void {
    const durationMs = performance.now() - startedAt;
    const name = tier?.name ?? "none";
    metrics.requests.observe(route, name, status, durationMs);
    if (!logger.wantsRequest(code)) return;
    const { method } = request;
    const from = shortened(addressOf(request, trustedHops));
    const whose = { account, tier: name, from, request_id: requestId };
    logger.request({ method, route, status, code, ...whose, durationMs });
  }
}

/** A link's address must reach neither the next page nor a search engine. */
const unlisted = (reply: Reply): Reply => ({
  ...reply,
  raw: [
    ...reply.raw,
    ...(reply.raw.includes("referrer-policy") ? [] : ["referrer-policy", "no-referrer"]),
    "x-robots-tag",
    "noindex",
  ],
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
  const detail = refusal === "invalid_key" ? keyFault(request) : REFUSALS[refusal];
  return deny(refusal, detail, retry);
}

function keyFault(request: IncomingMessage): string {
  if (countFields(request.rawHeaders, "authorization") > 1) {
    return "The field authorization is there more than once: send it once.";
  }
  const place = misplacedIn(request);
  if (place === undefined) return REFUSALS.invalid_key;
  const why =
    place === "field authorization"
      ? " without the scheme Bearer"
      : ", and keys are not read there";
  return `The ${place} holds a key${why}: send Authorization: Bearer KEY, or x-api-key: KEY.`;
}

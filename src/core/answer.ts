/**
 * The answer to a request, from top to bottom: check, identify, find, refuse or 304, charge, make. The first check that
 * fails decides it. Denials are values; an exception is a defect. Nothing here knows a socket, a file, a timer or
 * the environment: the world stands for them.
 */
import { NO_QUEUE, type Place } from "../lib/turns.ts";
import { BUSY, deny, isDenial, type Denial } from "../public/problems.ts";
import { faultsDenial, holdsKey, nameFaults } from "../public/query.ts";
import { parametersOf } from "../public/routes.ts";
import { addressesOf, addressOfPath, type Address, type Addresses } from "./addresses.ts";
import { countFields, type Ask } from "./ask.ts";
import {
  addressOf,
  callerAt,
  identify,
  identifyLink,
  isAdmitted,
  misplacedIn,
  wrappingOf,
  type AdmittedCaller,
  type Caller,
} from "./caller.ts";
import { Exchange } from "./exchange.ts";
import { fits, isLink, targetOf, tokenIn } from "./find/link-target.ts";
import { isSendable, type Body, type Reply, type Unread } from "./outcome.ts";
import { ALLOWED_METHODS, optionsReply, problemReply } from "./problem-reply.ts";
import { callerFields, quotaExceeded, remaining, remainingAfter } from "./quota.ts";
import { planOf, replyOf, stoppedReply, unsatisfiable } from "./reply.ts";
import { requestIds } from "./request-id.ts";
import type { RawFields } from "./serve/entity.ts";
import { asksForAny, intentOf, likelyForms, namesTags, stopOf } from "./serve/intent.ts";
import type { World } from "./world.ts";

/** An answer, for a host to send. */
export interface Answer {
  readonly status: number;
  /** The fields of the content: one list for all answers with the same content, so that a host may prepare it. */
  readonly shared: RawFields;
  /** The fields of this answer alone, which come after them. */
  readonly own: RawFields;
  /** Null: no body. */
  readonly body: Body | null;
  /** The host calls it once, when the answer is sent or abandoned: its place and its bytes are free then. */
  readonly done: () => void;
}

/** The fields of an answer in the order of sending. Its media type is true: a browser must not guess (Fetch Standard). */
export const fieldsOf = ({ shared, own }: Pick<Answer, "shared" | "own">): RawFields => [
  ...shared,
  ...SAFE,
  ...own,
];

/** The fields of every answer. */
export const SAFE: RawFields = ["x-content-type-options", "nosniff"];

const NOT_FOUND = deny("not_found", "There is nothing at this path.");
const KEY_IN_QUERY = deny(
  "key_in_query",
  "The query seems to contain an API key; send it in a header field.",
);
const INTERNAL = deny("internal", "The service failed to answer; this is logged.");
const STATE_RETRY_MS = 5_000;

/** Things that are made once for a world. */
interface Prepared {
  readonly addresses: Addresses;
  readonly newRequestId: () => string;
}

const prepared = new WeakMap<World, Prepared>();

function preparedFor(world: World): Prepared {
  let made = prepared.get(world);
  if (made === undefined) {
    made = { addresses: addressesOf(world), newRequestId: requestIds(world.platform) };
    prepared.set(world, made);
  }
  return made;
}

/** Answers a request. It rejects for a defect alone, and holds no place then. */
export async function answer(ask: Ask, world: World): Promise<Answer> {
  const held: Held = { place: NO_QUEUE };
  try {
    return await answerWith(ask, held, world);
  } catch (error) {
    held.place.leave();
    throw error;
  }
}

async function answerWith(ask: Ask, held: Held, world: World): Promise<Answer> {
  const { accounts, observer, clock } = world;
  const { addresses, newRequestId } = preparedFor(world);
  const exchange = new Exchange(ask, clock.now(), newRequestId());
  let outcome: Reply | Denial;
  try {
    outcome = await outcomeOf(exchange, addressOfPath(addresses, exchange.path), held, world);
  } catch (error) {
    observer.failed(error, exchange.route, exchange.requestId, "request failed");
    exchange.asksState = false;
    outcome = INTERNAL;
  }
  const result = outcome.kind === "denial" ? problemReply(outcome, exchange, world) : outcome;
  const { status, raw, cacheControl, body } = isLink(exchange.path) ? unlisted(result) : result;
  // A stream has work to do until it is sent, and a body of one request is in memory until then.
  const { place } = held;
  const isHeld = body instanceof ReadableStream || place.isHolding;
  if (!isHeld) place.leave();
  const caller = exchange.caller ?? (await identifyCaller(exchange, world));
  const { callsLeft, nowMs, asksState } = exchange;
  const left = callsLeft ?? (await remaining(caller, accounts.counts, nowMs, asksState));
  observer.answered({
    method: ask.method,
    route: exchange.route,
    status,
    code: result.code,
    account: caller.account,
    key: caller.keyId,
    calls: exchange.calls,
    tier: caller.tier?.name ?? "none",
    address: addressOf(ask, world.trustedHops),
    requestId: exchange.requestId,
    arrivedMs: ask.arrivedMs,
  });
  const ofCaller = callerFields(caller, left, exchange);
  const own = cacheControl === undefined ? ofCaller : ["cache-control", cacheControl, ...ofCaller];
  return { status, shared: raw, own, body, done: isHeld ? () => place.leave() : NOTHING_HELD };
}

/** Nothing is held for the answer. */
export const NOTHING_HELD = (): void => {};

/**
 * The answer to a request that a host could not read, or refuses before it has one: its sender is known by the address
 * at the other end alone.
 */
export function refusal(
  denial: Denial,
  path: string,
  { peer, arrivedMs }: Pick<Ask, "peer" | "arrivedMs">,
  world: World,
): Answer & { readonly body: Uint8Array } {
  const { accounts, clock, observer } = world;
  const nowMs = clock.now();
  const address = addressOf({ peer, headers: {} }, 0);
  const { subject, tier } = callerAt(address, accounts, nowMs);
  const left = remainingAfter(tier.callsPerMonth, accounts.counts.known(subject, nowMs) ?? 0);
  const requestId = preparedFor(world).newRequestId();
  const { status, code, raw, body } = problemReply(denial, { path, headers: {}, requestId }, world);
  const route = "(none)";
  const who = { account: null, key: null, calls: 0, tier: tier.name, address, requestId };
  observer.answered({ method: "", route, status, code, ...who, arrivedMs });
  const own = callerFields({ tier }, left, { requestId, nowMs });
  return { status, shared: raw, own, body, done: NOTHING_HELD };
}

/** The place of a request that has work to do, until its answer is sent. */
interface Held {
  place: Place;
}

async function outcomeOf(
  exchange: Exchange,
  address: Address | null,
  held: Held,
  world: World,
): Promise<Reply | Denial> {
  const { accounts, turns } = world;
  const { counts } = accounts;
  const { ask, nowMs } = exchange;
  const { method, headers } = ask;

  // Check the request itself.
  const fault = exchange.hostFault();
  if (fault !== null) return fault;
  // Probes of load balancers ask about the server as a whole (RFC 9110, 9.3.7).
  if (method === "OPTIONS" && ask.target === "*") return optionsReply(headers);
  if (address === null) return NOT_FOUND;
  exchange.route = address.path;
  if (method === "OPTIONS") return optionsReply(headers);
  exchange.asksState = address.reader !== "everybody";
  if (method !== "GET" && method !== "HEAD") {
    return deny("method_not_allowed", `Method ${method}: expected ${ALLOWED_METHODS}.`);
  }
  // A key in the query of a link is refused once the link is known.
  if (address.reader !== "link" && holdsKey(exchange.query)) return KEY_IN_QUERY;

  // Identify.
  let reader: AdmittedCaller | null = null;
  if (address.reader !== "everybody") {
    const identifying =
      address.reader === "link" ? holderOf(exchange, world) : identifyCaller(exchange, world);
    const caller = identifying instanceof Promise ? await identifying : identifying;
    if (isDenial(caller)) return caller;
    if (!isAdmitted(caller)) return denyCaller(caller, exchange);
    reader = caller;
  }
  const holder = reader?.subject ?? `address ${addressOf(ask, world.trustedHops)}`;
  const place = turns.placeOf(holder);
  held.place = place;

  // Find.
  const payer = address.reader !== "everybody" && address.isCounted ? reader : null;
  const limit = payer?.tier.callsPerMonth ?? null;
  let found = await (address.reader === "everybody"
    ? address.find(exchange, place)
    : address.find(exchange, reader as AdmittedCaller, place));
  if (found.kind === "unread") {
    const decided = await decidedUnread(found, payer, exchange, world);
    if (decided !== null) return decided;
    found = await found.read();
  }
  if (!isSendable(found)) return found;

  // Refuse or 304: decided by the answer's header, without its body.
  const plan = planOf(found, ask);
  const stop = stopOf(plan.forms, ask);
  const isOutside = stop === null && plan.intent?.status === 416;
  // A 304 to `*` costs a call: it tells a caller without a copy something. Any other is free.
  const isFree = isOutside || stop?.status === 412 || (stop !== null && !asksForAny(headers));
  let used = 0;
  if (payer !== null && isFree) {
    // Written with the others of this turn of the loop, as counted answers are: one by one, each
    // wakes its reader, which doubles what a 304 costs under load.
    await turns.later();
    if (limit !== null) used = await counts.used(payer.subject, nowMs);
    if (limit !== null && used >= limit) return quotaExceeded(payer, nowMs);
  }
  if (isOutside) return unsatisfiable(plan.intent);

  // Charge: before any work, so that nobody has it done without a call left.
  if (payer !== null && !isFree) {
    if (stop === null && plan.isLaborious && !place.enter()) return BUSY;
    const mayBePrivate = found.kind === "deferred" || found.isPrivate === true;
    if (stop === null && mayBePrivate && !place.mayHold()) return BUSY;
    const taken = await counts.take(payer.subject, limit, nowMs, payer.keyId);
    if (!taken.granted) return quotaExceeded(payer, nowMs);
    used = taken.used;
    exchange.calls = 1;
  }
  if (payer !== null) exchange.callsLeft = remainingAfter(limit, used);
  if (stop !== null) return stoppedReply(stop, found);

  // Make: a call whose answer fails is given back.
  const failed = (): void => {
    if (payer === null) return;
    exchange.callsLeft = null;
    exchange.calls = 0;
    counts.giveBack(payer.subject, nowMs, payer.keyId);
  };
  try {
    const forms = found.kind === "deferred" ? await found.make(place) : found.forms;
    if (isDenial(forms)) {
      failed();
      return forms;
    }
    const intent = plan.intent ?? intentOf(forms, ask);
    if (intent.status === 416) {
      failed();
      return unsatisfiable(intent);
    }
    const opening = replyOf(intent, found, ask, place);
    const reply = opening instanceof Promise ? await opening : opening;
    const isStreamed = reply.body instanceof ReadableStream;
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
}

/**
 * The refusal of a caller without a call left, or what the tags that the request names come to; null: the answer has to
 * be read. `*` and dates are looked at once it is.
 */
async function decidedUnread(
  { tags, cacheControl }: Unread,
  payer: AdmittedCaller | null,
  exchange: Exchange,
  { accounts, turns }: World,
): Promise<Reply | Denial | null> {
  const { ask, nowMs } = exchange;
  const limit = payer?.tier.callsPerMonth ?? null;
  let used = 0;
  if (payer !== null && limit !== null) {
    await turns.later();
    used = await accounts.counts.used(payer.subject, nowMs);
    if (used >= limit) return quotaExceeded(payer, nowMs);
  }
  // Without the raw fields no date is read.
  const asked = { headers: ask.headers, rawHeaders: [] };
  const isDecided = tags !== null && namesTags(ask.headers);
  const stop = isDecided ? stopOf(likelyForms(tags, ask.headers), asked) : null;
  if (stop === null) return null;
  if (payer !== null) exchange.callsLeft = remainingAfter(limit, used);
  return stoppedReply(stop, { cacheControl });
}

/** Identifies the caller, once per request. */
function identifyCaller(
  exchange: Exchange,
  { accounts, trustedHops }: World,
): Caller | Promise<Caller> {
  const { ask, nowMs, asksState } = exchange;
  const caller = identify(ask, trustedHops, accounts, nowMs, asksState);
  const noted = (found: Caller): Caller => {
    exchange.caller = found;
    return found;
  };
  return caller instanceof Promise ? caller.then(noted) : noted(caller);
}

/** Identifies the holder of a link, or refuses it. Key fields mean nothing here. */
async function holderOf(
  exchange: Exchange,
  { accounts, trustedHops }: World,
): Promise<Caller | Denial> {
  const { ask, path, query, nowMs } = exchange;
  exchange.caller = callerAt(addressOf(ask, trustedHops), accounts, nowMs);
  const token = tokenIn(path);
  if (token === null) return NOT_FOUND;
  const holder = await identifyLink(token, accounts);
  if (holder.refusal === "invalid_key") return NOT_FOUND;
  if (holder.path === null) return denyCaller(holder, exchange);
  const target = targetOf(holder.path);
  if (target === undefined || !fits(path, target)) return NOT_FOUND;
  exchange.caller = holder;
  // Programs add to an address what makes it new to a cache. Only what would change the answer is refused.
  const taken = parametersOf(target.route);
  if (holdsKey(query)) return KEY_IN_QUERY;
  const refusable = query.filter(([name]) => taken.includes(name));
  return faultsDenial(nameFaults(refusable, [])) ?? holder;
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

const REPLACED = "The key was replaced: use the account's newer key.";

function denyCaller({ refusal: code, isReplaced }: Caller, { ask }: Exchange): Denial {
  if (code === null) throw new Error("A caller without a refusal is admitted");
  const retry = code === "state_unavailable" ? { retryAfterMs: STATE_RETRY_MS } : {};
  const isFaulty = code === "invalid_key" && !isReplaced;
  const detail = isReplaced ? REPLACED : isFaulty ? keyFault(ask) : REFUSALS[code];
  return deny(code, detail, retry);
}

function keyFault(ask: Ask): string {
  if (countFields(ask.rawHeaders, "authorization") > 1) {
    return "The field authorization is there more than once: send it once.";
  }
  const around = wrappingOf(ask);
  if (around !== null) return `${around}: send Authorization: Bearer KEY, or x-api-key: KEY.`;
  const place = misplacedIn(ask);
  if (place === undefined) return REFUSALS.invalid_key;
  const why =
    place === "field authorization"
      ? " without the scheme Bearer"
      : ", and keys are not read there";
  return `The ${place} holds a key${why}: send Authorization: Bearer KEY, or x-api-key: KEY.`;
}

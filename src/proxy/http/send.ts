/** How an intent is sent: the reply that it means, the count of the call, the quota, and the response. */
import { STATUS_CODES, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import { FastResponse } from "srvx";
import { instantText } from "../../lib/clock.ts";
import { NO_QUEUE, type Place } from "../../lib/turns.ts";
import type { Counts } from "../../state/counts.ts";
import { callsLeft, monthEndMs, monthOf } from "../../state/month.ts";
import { jsonReply, type Found, type Reply, type Unmade } from "../answers/answer.ts";
import type { AdmittedCaller, Caller } from "./caller.ts";
import type { Exchange } from "./exchange.ts";
import {
  asksForAny,
  intentOf,
  likelyForms,
  stopOf,
  type Intent,
  type Stop,
} from "../serve/intent.ts";
import { BUSY, deny, type Denial } from "../problems.ts";
import type { Entity, FieldList } from "../serve/entity.ts";
import type { ByteRange } from "../serve/stream.ts";

/** The reply of an address that costs nothing. */
export async function sent(found: Found, { request }: Exchange): Promise<Reply | Denial> {
  const intent = intentOf(found.forms, request);
  const stop = stopOf([intent.entity], request.headers);
  if (stop !== null) return stopped(stop, found);
  return intent.status === 416 ? unsatisfiable(intent) : replyOf(intent, found, request, NO_QUEUE);
}

/**
 * The reply of a data address, and the count of its call. What costs nothing is answered from what is known
 * without a body. Anything else is counted first, and made then, so that nobody has work done without a call
 * left; a call whose answer fails is given back.
 */
export async function charged(
  found: Found | Unmade,
  { request, nowMs }: Exchange,
  caller: AdmittedCaller,
  counts: Counts,
  place: Place,
): Promise<Reply | Denial> {
  const { subject, keyId } = caller;
  const { headers, method } = request;
  const limit = caller.tier.callsPerMonth;
  const known = "forms" in found ? intentOf(found.forms, request) : null;
  const stop = stopOf(
    "forms" in found ? [(known as Intent).entity] : likelyForms(found.tags, headers),
    headers,
  );
  // A 304 to `*` costs a call: it tells a caller without a copy something. Any other is free.
  const isFree =
    stop === null ? known?.status === 416 : stop.status === 412 || !asksForAny(headers);
  if (isFree) {
    // Written with the others of this turn of the loop, as counted answers are: one by one, each
    // wakes its reader, which doubles what a 304 costs under load.
    await setImmediate();
    const used = limit === null ? 0 : await counts.used(subject, nowMs);
    if (limit !== null && used >= limit) return quotaExceeded(caller, nowMs);
    if (stop === null) return unsatisfiable(known as Intent);
    const reply = stopped(stop, found);
    return "extras" in reply ? reply : { ...reply, remaining: remainingAfter(limit, used) };
  }
  const needsPlace =
    "forms" in found ? isLaborious((known as Intent).entity.body, method) : found.isLaborious;
  if (stop === null && needsPlace && !place.enter()) return BUSY;
  const { granted, used } = await counts.take(subject, limit, nowMs, keyId);
  if (!granted) return quotaExceeded(caller, nowMs);
  if (stop !== null) return { ...stopped(stop, found), remaining: remainingAfter(limit, used) };
  try {
    const intent = known ?? (await madeIntent(found as Unmade, request, place));
    if (!("code" in intent)) {
      const reply = await replyOf(intent as Sent, found, request, place);
      return { ...reply, remaining: remainingAfter(limit, used) };
    }
    counts.giveBack(subject, nowMs, keyId);
    return intent;
  } catch (error) {
    counts.giveBack(subject, nowMs, keyId);
    if (found.unopened === undefined) throw error;
    return found.unopened(error);
  }
}

/** Whether the answer with this body takes work. For HEAD a body is opened only if it may be no such body. */
const isLaborious = (body: Entity["body"], method: string | undefined): boolean =>
  typeof body === "function" &&
  body.isLaborious === true &&
  (method !== "HEAD" || body.isUnread === true);

async function madeIntent(
  found: Unmade,
  request: IncomingMessage,
  place: Place,
): Promise<Intent | Denial> {
  const forms = await found.make(place);
  return "code" in forms ? forms : intentOf(forms, request);
}

/** The answer without the entity. */
function stopped(stop: Stop, { cacheControl }: Found | Unmade): Reply | Denial {
  if (stop.status === 412) {
    return deny("precondition_failed", "The answer is another version than these fields ask for.");
  }
  const fields: FieldList = [...stop.form.notModifiedFields, ["cache-control", cacheControl]];
  return { status: 304, fields, body: null };
}

/** The response. `left` is the number of calls that the caller has left. */
export const responseOf = (
  { status, fields }: Reply,
  body: Buffer | ReadableStream<Uint8Array> | null,
  left: number,
): Response =>
  new FastResponse(body, {
    status,
    statusText: STATUS_CODES[status] ?? "",
    headers: sentFields(fields, left),
  });

/** The fields of every answer, whose media type is true: a browser must not guess (Fetch Standard). */
export const sentFields = (fields: FieldList, left: number): [string, string][] => [
  ...(fields as [string, string][]),
  ["x-content-type-options", "nosniff"],
  ["x-ratelimit-remaining", String(left)],
];

/** Under the proxy's own TLS a browser must ask by HTTPS from now on, for a year (RFC 6797). */
export const transportFields = (socket: Socket): [string, string][] =>
  socket instanceof TLSSocket ? [["strict-transport-security", "max-age=31536000"]] : [];

function unsatisfiable({ entity: { sizeBytes } }: Intent): Denial {
  const detail = `The file has ${sizeBytes} bytes; Range asks for none of them.`;
  return deny("range_not_satisfiable", detail, { sizeBytes });
}

/** What the request means, if it is a part of the entity or the whole. */
type Sent = Exclude<Intent, { readonly status: 416 }>;

/** The reply that the intent means. Opens a body that is not in memory; rejects if it cannot. */
async function replyOf(
  intent: Sent,
  { cacheControl }: Found | Unmade,
  { method, headers }: IncomingMessage,
  place: Place,
): Promise<Reply> {
  const { entity, status } = intent;
  const range = status === 206 ? intent.range : undefined;
  const ofEntity = range === undefined ? entity.fields : partFields(entity, range, headers);
  const fields: FieldList = [...ofEntity, ["cache-control", cacheControl]];
  const isHead = method === "HEAD";
  const { body: stored } = entity;
  if (isHead && !(typeof stored === "function" && stored.isUnread === true)) {
    return { status, fields, body: null };
  }
  const body = typeof stored === "function" ? await stored(place, range) : stored;
  if (isHead) {
    if (body instanceof ReadableStream) await body.cancel();
    return { status, fields, body: null };
  }
  const isPart = range !== undefined && Buffer.isBuffer(body);
  return { status, fields, body: isPart ? body.subarray(range.first, range.last + 1) : body };
}

/**
 * Chromium compares Unencoded-Digest, which is of the whole file, with the bytes of the part, and fails
 * the fetch. So a part for a browser has none. Browsers send Sec-Fetch-Site; other programs may send
 * Sec-Fetch-Mode, as the fetch of Node does.
 */
function partFields(
  { fields, sizeBytes }: Entity,
  { first, last }: ByteRange,
  { "sec-fetch-site": fetchSite }: IncomingHttpHeaders,
): FieldList {
  const { "unencoded-digest": digest = "", ...others } = Object.fromEntries(fields);
  return Object.entries({
    ...others,
    ...(fetchSite === undefined && { "unencoded-digest": digest }),
    "content-length": String(last - first + 1),
    "content-range": `bytes ${first}-${last}/${sizeBytes}`,
  });
}

/** Means "no limit" in x-ratelimit-remaining: the largest integer that every client can hold. */
const UNLIMITED = 2_147_483_647;

/** x-ratelimit-remaining after `used` calls. */
export const remainingAfter = (limit: number | null, used: number): number =>
  callsLeft(limit, used) ?? UNLIMITED;

/**
 * x-ratelimit-remaining for an answer that counts no call; 0 for a key that names no account. If the
 * answer must not wait for the state (`asksState`), it comes from the count that this process knows, or
 * is the tier's limit if it knows none.
 */
export async function remaining(
  { subject, tier }: Caller,
  counts: Counts,
  nowMs: number,
  asksState: boolean,
): Promise<number> {
  if (subject === null || tier === null) return 0;
  const limit = tier.callsPerMonth;
  if (limit === null) return UNLIMITED;
  const known = asksState ? await counts.used(subject, nowMs) : counts.known(subject, nowMs);
  return remainingAfter(limit, known ?? 0);
}

/** The 429, with the seconds to the 1st of next month. */
function quotaExceeded(caller: AdmittedCaller, nowMs: number): Denial {
  const limit = String(caller.tier.callsPerMonth);
  const whose = caller.account === null ? "this address" : "the account";
  const resetMs = monthEndMs(monthOf(nowMs));
  return deny(
    "quota_exceeded",
    `All ${limit} calls of ${whose} in this month are used; counting starts again at ${instantText(resetMs)}.`,
    { retryAfterMs: resetMs - nowMs },
  );
}

export function usageReply(caller: AdmittedCaller, used: number, nowMs: number): Reply {
  const limit = caller.tier.callsPerMonth;
  const body = {
    account: caller.account,
    tier: caller.tier.name,
    limit,
    used,
    remaining: callsLeft(limit, used),
    resets_at: instantText(monthEndMs(monthOf(nowMs))),
  };
  return { ...jsonReply(body), remaining: remainingAfter(limit, used) };
}

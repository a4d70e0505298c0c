/** How an intent is sent: the reply that it means, the count of the call, the quota, and the response. */
import { STATUS_CODES, type IncomingHttpHeaders } from "node:http";
import { setImmediate } from "node:timers/promises";
import { FastResponse } from "srvx";
import { instantText } from "../../lib/clock.ts";
import type { Counts } from "../../state/counts.ts";
import { callsLeft, monthEndMs, monthOf } from "../../state/month.ts";
import { jsonReply, type Found, type Reply } from "../answers/answer.ts";
import type { AdmittedCaller, Caller } from "./caller.ts";
import type { Exchange } from "./exchange.ts";
import { asksForAny, intentOf, type Intent } from "../serve/intent.ts";
import { deny, type Denial } from "../problems.ts";
import type { Entity, FieldList } from "../serve/entity.ts";
import type { ByteRange } from "../serve/stream.ts";

/** The reply of an address that costs nothing. */
export async function sent(found: Found, exchange: Exchange): Promise<Reply | Denial> {
  const intent = intentOf(found.forms, exchange.request);
  return intent.status === 416 ? unsatisfiable(intent) : replyOf(intent, found, exchange);
}

/**
 * The reply of a data address, and the count of its call. It is counted last, so that an error, and a
 * stream that cannot be opened, cost no call.
 */
export async function charged(
  found: Found,
  exchange: Exchange,
  caller: AdmittedCaller,
  counts: Counts,
): Promise<Reply | Denial> {
  const { request, nowMs } = exchange;
  const { subject, keyId } = caller;
  const limit = caller.tier.callsPerMonth;
  const intent = intentOf(found.forms, request);
  // A 304 to `*` costs a call: it tells a caller without a copy something. Any other is free.
  if (intent.status === 416 || (intent.status === 304 && !asksForAny(request.headers))) {
    // Written with the others of this turn of the loop, as counted answers are: one by one, each
    // wakes its reader, which doubles what a 304 costs under load.
    await setImmediate();
    const used = limit === null ? 0 : await counts.used(subject, nowMs);
    if (limit !== null && used >= limit) return quotaExceeded(caller, nowMs);
    if (intent.status === 416) return unsatisfiable(intent);
    return { ...(await replyOf(intent, found, exchange)), remaining: remainingAfter(limit, used) };
  }
  let reply: Reply;
  try {
    reply = await replyOf(intent, found, exchange);
  } catch (error) {
    if (found.unopened === undefined) throw error;
    return found.unopened(error);
  }
  const { granted, used } = await counts.take(subject, limit, nowMs, keyId);
  if (granted) return { ...reply, remaining: remainingAfter(limit, used) };
  // Nobody reads this body, so an error of cancel() does not matter.
  if (reply.body instanceof ReadableStream) reply.body.cancel().catch(() => {});
  return quotaExceeded(caller, nowMs);
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

function unsatisfiable({ entity: { sizeBytes } }: Intent): Denial {
  const detail = `The file has ${sizeBytes} bytes; Range asks for none of them.`;
  return deny("range_not_satisfiable", detail, { sizeBytes });
}

/** The reply that the intent means. Opens the stream of a body that is not in memory; rejects if it cannot. */
async function replyOf(
  intent: Exclude<Intent, { readonly status: 416 }>,
  { cacheControl }: Found,
  { request }: Exchange,
): Promise<Reply> {
  const { entity, status } = intent;
  const fieldsWith = (fields: FieldList): FieldList => [...fields, ["cache-control", cacheControl]];
  if (status === 304) return { status, fields: fieldsWith(entity.notModifiedFields), body: null };
  const range = status === 206 ? intent.range : undefined;
  const fields = fieldsWith(
    range === undefined ? entity.fields : partFields(entity, range, request.headers),
  );
  if (request.method === "HEAD") return { status, fields, body: null };
  const { body } = entity;
  if (typeof body === "function") return { status, fields, body: await body(range) };
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

/**
 * The answer with data: quota, preconditions, and the call counted last, so that only a 200 costs
 * one. This is the way of nearly all requests: where nothing must be waited for, no promise and no
 * function is made.
 */
import type { IncomingMessage } from "node:http";
import type { Gatekeeper, MaybePromise, TakeResult } from "../state/gatekeeper.ts";
import type { AdmittedCaller } from "./caller.ts";
import { chain } from "./chain.ts";
import { isNotModified } from "./conditional.ts";
import type { Outcome } from "./decide.ts";
import { nextChangeMs } from "./snapshot/freshness.ts";
import type { LoadedSnapshot } from "./snapshot/load.ts";
import { quotaExceeded, remainingAfter } from "./quota.ts";
import type { Representation } from "./snapshot/file.ts";
import type { HeaderText } from "./header-text.ts";
import type { Reply } from "./reply.ts";

const LONGEST_AGE_SECONDS = 60;
const CACHE_CONTROL = Array.from(
  { length: LONGEST_AGE_SECONDS + 1 },
  (_, seconds) => `cache-control: private, max-age=${seconds}\r\n`,
);

/** What is asked for, found, and who pays. */
interface Delivery {
  readonly gatekeeper: Gatekeeper;
  readonly caller: AdmittedCaller;
  readonly snapshot: LoadedSnapshot;
  readonly found: Representation;
  readonly request: IncomingMessage;
  readonly nowMs: number;
}

/** 200 (counted), 304, or 429. Rejects where the body is a stream that cannot be opened. */
export function dataReply(delivery: Delivery): MaybePromise<Outcome> {
  const { found, request } = delivery;
  if (isNotModified(request.headers, found.etag, found.modifiedMs)) return notModified(delivery);
  if (request.method === "HEAD") return charged(delivery, null);
  // A stream that cannot be opened is an error, and errors cost nothing: open before counting.
  if (typeof found.body === "function") {
    return found.body().then((body) => charged(delivery, body));
  }
  return charged(delivery, found.body);
}

function notModified(delivery: Delivery): MaybePromise<Outcome> {
  const { gatekeeper, caller, found, snapshot, nowMs } = delivery;
  const headers = fresh(found.notModifiedHeaders, snapshot, nowMs);
  const reply: Reply = { status: 304, headers, body: null };
  const limit = caller.tier.callsPerMonth;
  if (limit === null) return { reply };
  return chain(gatekeeper.used(caller.subject, nowMs), (used) =>
    used >= limit ? refused(caller, nowMs) : { reply },
  );
}

function charged(delivery: Delivery, body: Reply["body"]): MaybePromise<Outcome> {
  const { gatekeeper, caller, nowMs } = delivery;
  const taken = gatekeeper.take(caller.subject, caller.tier.callsPerMonth, nowMs);
  return taken instanceof Promise
    ? taken.then((result) => delivered(delivery, body, result))
    : delivered(delivery, body, taken);
}

function delivered(
  { caller, snapshot, found, nowMs }: Delivery,
  body: Reply["body"],
  { granted, used }: TakeResult,
): Outcome {
  if (granted) {
    const headers = fresh(found.headers, snapshot, nowMs);
    const remaining = remainingAfter(caller.tier.callsPerMonth, used);
    return { reply: { status: 200, headers, body }, remaining };
  }
  // Nobody will read it; whether it ends well no longer matters.
  if (body instanceof ReadableStream) body.cancel().catch(() => {});
  return refused(caller, nowMs);
}

const refused = (caller: AdmittedCaller, nowMs: number): Outcome => ({
  reply: quotaExceeded(caller, nowMs),
  remaining: 0,
});

/** Fresh for a minute at most, and never past the moment at which the answer may change. */
function fresh(headers: HeaderText, { stamp }: LoadedSnapshot, nowMs: number): HeaderText {
  const seconds = Math.floor((nextChangeMs(stamp, nowMs) - nowMs) / 1000);
  const maxAge = Math.min(LONGEST_AGE_SECONDS, Math.max(0, seconds));
  return headers + (CACHE_CONTROL[maxAge] as string);
}

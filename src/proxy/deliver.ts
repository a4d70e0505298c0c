/** Sends what was found for a request: preconditions, then the count of the call. */
import type { Gatekeeper, MaybePromise } from "../state/gatekeeper.ts";
import type { Reply } from "./answer.ts";
import type { AdmittedCaller } from "./caller.ts";
import { chain } from "./chain.ts";
import { asksForAny, isNotModified } from "./conditional.ts";
import type { Exchange } from "./exchange.ts";
import type { Denial } from "./problems.ts";
import { quotaExceeded, remainingAfter } from "./quota.ts";
import type { Representation } from "./snapshot/representation.ts";

/** What is found for a request: a representation, or the answer. */
export type Found = Representation | Reply | Denial;

type SentStatus = Representation["status"] | 304;

/** Who asks, and for how long the answer is fresh. */
export interface Delivery {
  readonly gatekeeper: Gatekeeper;
  readonly exchange: Exchange;
  readonly caller: AdmittedCaller;
  /** The value of Cache-Control. */
  readonly fresh: string;
}

/** Checks preconditions, then counts the call. It counts last, so that an error costs no call. */
export function deliver(delivery: Delivery, found: Found): MaybePromise<Reply | Denial> {
  if (!("etag" in found)) return found;
  const { gatekeeper, caller, exchange, fresh } = delivery;
  const { request, isHead, nowMs } = exchange;
  const { etag, modifiedMs, refusal, body } = found;
  const limit = caller.tier.callsPerMonth;
  if (isNotModified(request.headers, etag, modifiedMs)) {
    // A 304 to `*` costs a call: it tells a caller without a copy something. Any other is free.
    return asksForAny(request.headers) ? charged(304, null) : uncharged(null);
  }
  if (refusal !== undefined) return uncharged(refusal);
  if (isHead) return charged(200, null);
  if (typeof body !== "function") return charged(found.status, body);
  // Opens the stream before the call is counted: an open that fails costs no call.
  return body().then((stream) => charged(found.status, stream));

  /** The refusal (null: a 304) if the caller has calls left. */
  function uncharged(denial: Denial | null): MaybePromise<Reply | Denial> {
    const known = limit === null ? 0 : gatekeeper.used(caller.subject, nowMs);
    return chain(known, (used) => {
      if (limit !== null && used >= limit) return quotaExceeded(caller, nowMs);
      return denial ?? counted(304, null, used);
    });
  }

  function charged(status: SentStatus, sent: Reply["body"]): MaybePromise<Reply | Denial> {
    return chain(
      gatekeeper.take(caller.subject, limit, nowMs, caller.keyId),
      ({ granted, used }) => {
        if (granted) return counted(status, sent, used);
        // Nobody reads this body, so an error of cancel() does not matter.
        if (sent instanceof ReadableStream) sent.cancel().catch(() => {});
        return quotaExceeded(caller, nowMs);
      },
    );
  }

  function counted(status: SentStatus, sent: Reply["body"], used: number): Reply {
    const reply = replyOf(found as Representation, status, sent, fresh);
    return { ...reply, remaining: remainingAfter(limit, used) };
  }
}

const replyOf = (
  { fields, notModifiedFields }: Representation,
  status: SentStatus,
  body: Reply["body"],
  cacheControl: string,
): Reply => ({
  status,
  fields: status === 304 ? notModifiedFields : fields,
  body,
  cacheControl,
});

/** The quota of a caller: the fields about it, the refusal of one call too many, and /usage. */
import { instantText } from "../lib/clock.ts";
import type { Counts } from "../ports/accounts.ts";
import type { Platform } from "../ports/platform.ts";
import { callsLeft, monthEndMs, monthOf } from "../ports/month.ts";
import { jsonDocument, type Asked, type Found } from "./outcome.ts";
import { deny, type Denial } from "../public/problems.ts";
import type { RawFields } from "./serve/entity.ts";
import type { AdmittedCaller, Caller } from "./caller.ts";

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
export function remaining(
  { subject, tier }: Caller,
  counts: Counts,
  nowMs: number,
  asksState: boolean,
): number | Promise<number> {
  if (subject === null || tier === null) return 0;
  const limit = tier.callsPerMonth;
  if (limit === null) return UNLIMITED;
  if (!asksState) return remainingAfter(limit, counts.known(subject, nowMs) ?? 0);
  return counts.used(subject, nowMs).then((used) => remainingAfter(limit, used));
}

/** The fields of every answer about its caller: the calls left, the limit if there is one, and the request's id. */
export function callerFields(
  { tier }: Pick<Caller, "tier">,
  left: number,
  { requestId, nowMs }: Pick<Asked, "requestId" | "nowMs">,
): RawFields {
  const limit = tier?.callsPerMonth ?? null;
  const fields = ["x-request-id", requestId, "x-ratelimit-remaining", String(left)];
  if (limit === null) return fields;
  const resetSeconds = monthEndMs(monthOf(nowMs)) / 1000;
  return [...fields, "x-ratelimit-limit", String(limit), "x-ratelimit-reset", String(resetSeconds)];
}

/** The 429, with the seconds to the 1st of next month. */
export function quotaExceeded(caller: AdmittedCaller, nowMs: number): Denial {
  const limit = String(caller.tier.callsPerMonth);
  const whose = caller.account === null ? "this address" : "the account";
  const resetMs = monthEndMs(monthOf(nowMs));
  return deny(
    "quota_exceeded",
    `All ${limit} calls of ${whose} in this month are used. Counting starts again at ${instantText(resetMs)}.`,
    { retryAfterMs: resetMs - nowMs, resets_at: instantText(resetMs) },
  );
}

const endText = (atMs: number | null): string | null => (atMs === null ? null : instantText(atMs));

/** What `/usage` answers. */
export function usageReply(
  caller: AdmittedCaller,
  used: number,
  nowMs: number,
  platform: Platform,
): Found {
  const limit = caller.tier.callsPerMonth;
  const body = {
    account: caller.account,
    tier: caller.tier.name,
    limit,
    used,
    remaining: callsLeft(limit, used),
    resets_at: instantText(monthEndMs(monthOf(nowMs))),
    trial_ends_at: endText(caller.trialEndsAtMs),
    key_expires_at: endText(caller.keyExpiresAtMs),
  };
  return jsonDocument(body, platform);
}

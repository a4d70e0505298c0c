/** The monthly quota as callers see it: the remaining calls and the reset time. */
import type { Gatekeeper } from "../state/gatekeeper.ts";
import { callsLeft, monthEndMs, monthOf } from "../state/month.ts";
import { instantText } from "../lib/clock.ts";
import { jsonReply, type Reply } from "./answer.ts";
import type { AdmittedCaller, Caller } from "./caller.ts";
import { deny, type Denial } from "./problems.ts";

/** Means "no limit" in x-ratelimit-remaining: the largest integer that every client can hold. */
const UNLIMITED = 2_147_483_647;

const resetsAtMs = (nowMs: number): number => monthEndMs(monthOf(nowMs));

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
  gatekeeper: Gatekeeper,
  nowMs: number,
  asksState: boolean,
): Promise<number> {
  if (subject === null || tier === null) return 0;
  const limit = tier.callsPerMonth;
  if (limit === null) return UNLIMITED;
  const known = asksState
    ? await gatekeeper.used(subject, nowMs)
    : gatekeeper.known(subject, nowMs);
  return remainingAfter(limit, known ?? 0);
}

/** The 429, with the seconds to the 1st of next month. */
export function quotaExceeded(caller: AdmittedCaller, nowMs: number): Denial {
  const limit = String(caller.tier.callsPerMonth);
  const whose = caller.account === null ? "this address" : "the account";
  const resetMs = resetsAtMs(nowMs);
  return deny(
    "quota_exceeded",
    `All ${limit} calls of ${whose} in this month are used; counting starts again at ${instantText(resetMs)}.`,
    { retryAfterMs: resetMs - nowMs },
  );
}

/** The answer of /usage. */
export function usageReply(caller: AdmittedCaller, used: number, nowMs: number): Reply {
  const limit = caller.tier.callsPerMonth;
  const body = {
    account: caller.account,
    tier: caller.tier.name,
    limit,
    used,
    remaining: callsLeft(limit, used),
    resets_at: instantText(resetsAtMs(nowMs)),
  };
  return { ...jsonReply(body), remaining: remainingAfter(limit, used) };
}

/** The monthly quota as callers see it: what remains, and when it resets. */
import type { Gatekeeper, MaybePromise } from "../access/access.ts";
import type { AdmittedCaller, Caller } from "./caller.ts";
import { chain } from "./chain.ts";
import { jsonReply, problemReply, type Reply } from "./reply.ts";

/** Stands for "no limit" in x-ratelimit-remaining: the largest integer every client can hold. */
export const UNLIMITED = 2_147_483_647;

/** The first instant of the calendar month (UTC) after the one of `atMs`. */
export function resetMs(atMs: number): number {
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
}

/** x-ratelimit-remaining after `used` calls. */
export const remainingAfter = (limit: number | null, used: number): number =>
  limit === null ? UNLIMITED : Math.max(0, limit - used);

/** x-ratelimit-remaining for an answer that counts no call; 0 for a key that names no account. */
export function remaining(
  caller: Caller,
  gatekeeper: Gatekeeper,
  nowMs: number,
): MaybePromise<number> {
  if (caller.subject === null || caller.tier === null) return 0;
  const limit = caller.tier.callsPerMonth;
  if (limit === null) return UNLIMITED;
  return chain(gatekeeper.used(caller.subject, nowMs), (used) => remainingAfter(limit, used));
}

export function quotaExceeded(caller: AdmittedCaller, nowMs: number): Reply {
  const limit = String(caller.tier.callsPerMonth);
  const whose = caller.account === null ? "this address" : "the account";
  const reset = resetMs(nowMs);
  return problemReply(
    "quota_exceeded",
    `All ${limit} calls of ${whose} in this month are used; counting starts again at ${new Date(reset).toISOString()}.`,
    { retryAfterSeconds: Math.max(1, Math.ceil((reset - nowMs) / 1000)) },
  );
}

/** The body of /usage. */
export function usageReply(caller: AdmittedCaller, used: number, nowMs: number): Reply {
  const limit = caller.tier.callsPerMonth;
  return jsonReply({
    account: caller.account,
    tier: caller.tier.name,
    limit,
    used,
    remaining: limit === null ? null : remainingAfter(limit, used),
    resets_at: new Date(resetMs(nowMs)).toISOString(),
  });
}

/** Entries of a log, made without a store. */
import { parseSession, sessionStartMs, type Session } from "../../src/market/session.ts";
import type { Publication } from "../../src/snapshot/log/entry.ts";

/** A publish of the session (`2026-11-21T00Z`), `minutes` after its start. */
export function publishOf(
  number: number,
  session: string,
  revision = 1,
  reason: string | null = null,
  minutes = 5,
): Publication {
  const parsed = parseSession(session) as Session;
  return {
    number,
    action: "publish",
    session: parsed,
    revision,
    reason,
    at: new Date(sessionStartMs(parsed) + minutes * 60_000).toISOString(),
    manifest_sha256: String(number).padStart(64, "0"),
    corrections: 0,
    previous: number === 1 ? null : "0".repeat(64),
    roots: { free: null, starter: null, pro: null },
  };
}

/** A rollback to what `to` published, at the time of `after`. */
export const rollbackTo = (number: number, to: Publication, after: Publication): Publication => ({
  ...to,
  number,
  action: "rollback",
  reason: "Wrong feed",
  at: after.at,
});

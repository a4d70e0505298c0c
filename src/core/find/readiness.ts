/** /readyz. */
import type { z } from "zod";
import type { Accounts } from "../../ports/accounts.ts";
import type { Platform } from "../../ports/platform.ts";
import { sessionUtc } from "../../market/session.ts";
import { snapshotText } from "../../store/paths.ts";
import { jsonDocument, type Found } from "../outcome.ts";
import type { readiness as schema } from "../../public/answer-schemas.ts";
import { deny, type Denial } from "../../public/problems.ts";
import { behindMs, overdueSessions } from "../serve/freshness.ts";
import type { Head } from "../world.ts";

type Body = z.infer<typeof schema>;

/**
 * The proxy is ready once it has a snapshot. Later trouble is reported but does not make it unready:
 * late data that is marked as late is better than none.
 */
export function readiness(
  live: Head,
  accounts: Accounts,
  nowMs: number,
  pollMs: number,
  platform: Platform,
): Found | Denial {
  const snapshot = live.current;
  const trouble = live.trouble;
  if (snapshot === null) {
    const detail =
      trouble === null ? "Nothing is published yet." : `No snapshot is loaded (${trouble.kind}).`;
    return deny("no_session", detail, { retryAfterMs: pollMs });
  }
  const { text, head } = snapshot.stamp;
  const body: Body = {
    status: "ready",
    snapshot: text,
    session_utc: sessionUtc(head),
    publication: snapshot.publication.number,
    damaged: damagedOf(live),
    attribution: snapshot.attribution,
    overdue: overdueSessions(snapshot.stamp, nowMs),
    clock: behindMs(snapshot.stamp, nowMs) === 0 ? "ok" : "behind",
    state: stateOf(accounts),
    store: trouble?.kind ?? "ok",
  };
  return jsonDocument(body, platform);
}

/** `readonly`: keys are admitted by reading, and calls are counted in memory until the state takes writes. */
function stateOf({ trouble, refusal, evictionPolicy }: Accounts): Body["state"] {
  if (trouble !== null) return "unavailable";
  if (refusal !== null) return "readonly";
  return evictionPolicy === null ? "ok" : "evicting";
}

/** The newest publication if it is damaged and an older one is served instead; otherwise null. */
function damagedOf({ newest, current, trouble }: Head): Body["damaged"] {
  if (newest === null || newest === current?.publication || trouble?.kind !== "damaged")
    return null;
  return { publication: newest.number, snapshot: snapshotText(newest) };
}

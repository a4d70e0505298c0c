/** /healthz and /readyz. */
import type { Gatekeeper } from "../../state/gatekeeper.ts";
import { sessionUtc } from "../../market/session.ts";
import { snapshotText } from "../../store/paths.ts";
import { jsonReply, type Reply } from "../answer.ts";
import { deny, type Denial } from "../problems.ts";
import { overdueSessions } from "../snapshot/freshness.ts";
import type { LiveSnapshot } from "../snapshot/live.ts";

/** The process answers. */
export const healthReply = (): Reply => jsonReply({ status: "ok" });

/**
 * Ready from the first snapshot on. What is wrong besides is said, not a reason to be taken out of
 * service: late data that says so is better than none.
 */
export function readiness(
  live: LiveSnapshot,
  gatekeeper: Gatekeeper,
  nowMs: number,
  pollMs: number,
): Reply | Denial {
  const snapshot = live.current;
  const trouble = live.trouble;
  if (snapshot === null) {
    const detail =
      trouble === null ? "Nothing is published yet." : `No snapshot is loaded (${trouble.kind}).`;
    return deny("no_session", detail, { retryAfterMs: pollMs });
  }
  const { text, head } = snapshot.stamp;
  return jsonReply({
    status: "ready",
    snapshot: text,
    session_utc: sessionUtc(head),
    publication: snapshot.publication.number,
    damaged: damagedOf(live),
    attribution: snapshot.attribution,
    overdue: overdueSessions(snapshot.stamp, nowMs),
    state: gatekeeper.trouble === null ? "ok" : "unavailable",
    store: trouble?.kind ?? "ok",
  });
}

/** The newest publication, where another one is served in its place because it is damaged. */
function damagedOf({ newest, current, trouble }: LiveSnapshot): object | null {
  if (newest === null || newest === current?.publication || trouble?.kind !== "damaged")
    return null;
  return { publication: newest.number, snapshot: snapshotText(newest) };
}

/** Whether sessions were published, and when: for monitors and for people who wait. */
import type { z } from "zod";
import { sessionAt, sessionStartMs, sessionUtc, type Session } from "../../market/session.ts";
import type { Publication } from "../../snapshot/log/entry.ts";
import { snapshotText } from "../../store/paths.ts";
import type { status } from "../../public/answer-schemas.ts";

/** Thirty days. */
const SESSIONS_SHOWN = 60;

interface StatusContent {
  /** The publishes and rollbacks, oldest first; the last one is what the proxy serves. */
  readonly publications: readonly Publication[];
  readonly overdue: number;
  readonly graceMs: number;
}

export type Status = z.infer<typeof status>;
export type SessionStatus = Status["sessions"][number];

/** The status at `nowMs`. It changes only with the publications and with `statusTickMs`. */
export function makeStatus(
  { publications, overdue, graceMs }: StatusContent,
  nowMs: number,
): Status {
  const head = publications.at(-1);
  return {
    head:
      head === undefined
        ? null
        : {
            publication: head.number,
            snapshot: snapshotText(head),
            session_utc: sessionUtc(head.session),
            revision: head.revision,
            published_at: head.at,
          },
    overdue,
    next_session_utc: head === undefined ? null : sessionUtc(head.session + 1),
    sessions: head === undefined ? [] : sessionRows(publications, head, nowMs, graceMs),
  };
}

/**
 * When the status last changed by the clock alone (epoch milliseconds): a session began, or the grace
 * of one ended.
 */
export const statusTickMs = (nowMs: number, graceMs: number): number =>
  Math.max(sessionStartMs(sessionAt(nowMs)), sessionStartMs(sessionAt(nowMs - graceMs)) + graceMs);

function sessionRows(
  publications: readonly Publication[],
  head: Publication,
  nowMs: number,
  graceMs: number,
): SessionStatus[] {
  const publishes = publications.filter(({ action }) => action === "publish");
  const sessions = publishes.map(({ session }) => session);
  const newest = sessions.reduce((a, b) => Math.max(a, b), head.session);
  const last = Math.max(sessionAt(nowMs), newest);
  const from = Math.max(last - SESSIONS_SHOWN + 1, sessions[0] ?? head.session);
  const bySession = Map.groupBy(publishes, ({ session }) => session);
  const standing = standingSnapshots(publications, from);
  // Up to the newest session that is published or has no grace left.
  const judged = Math.max(newest, sessionAt(nowMs - graceMs));
  const rows: SessionStatus[] = [];
  for (let session = last; session >= from; session -= 1) {
    const [first, ...revisions] = bySession.get(session) ?? [];
    const snapshot = standing.get(session) ?? null;
    rows.push({
      session_utc: sessionUtc(session),
      published_at: first?.at ?? null,
      minutes_late: first === undefined ? null : minutesLate(first),
      missed: first === undefined && session <= judged,
      revised: revisions.length > 0,
      rolled_back: first !== undefined && snapshot === null,
      snapshot,
    });
  }
  return rows;
}

/** Minutes from the session's start to the publish, with one decimal. */
const minutesLate = ({ session, at }: Publication): number =>
  Math.max(0, Math.round((Date.parse(at) - sessionStartMs(session)) / 6_000) / 10);

/**
 * The snapshot that stands for each session from `from` on: the head, the snapshot that it was published
 * upon, and so on. A session that was published and is not among them was rolled back.
 */
function standingSnapshots(
  publications: readonly Publication[],
  from: Session,
): ReadonlyMap<Session, string> {
  const parents = new Map<string, Publication | undefined>();
  let head: Publication | undefined;
  for (const publication of publications) {
    const name = snapshotText(publication);
    // A name is published once; were it twice, the way back could be a circle.
    if (publication.action === "publish" && !parents.has(name)) parents.set(name, head);
    head = publication;
  }
  const standing = new Map<Session, string>();
  let at = head;
  while (at !== undefined && at.session >= from) {
    const name = snapshotText(at);
    if (!standing.has(at.session)) standing.set(at.session, name);
    at = parents.get(name);
  }
  return standing;
}

/** The rules that decide whether a run may publish on the current head, and their error messages. */
import { instantText, type Clock } from "../lib/clock.ts";
import { counted } from "../lib/text.ts";
import { ConflictError, InputError, RefusedError } from "../lib/errors.ts";
import type { Verdict } from "../feed/gates.ts";
import type { Amendment } from "../ledger/amend.ts";
import { formatMicros } from "../market/decimal.ts";
import type { Level } from "../market/series.ts";
import { sessionAt, sessionKey, type Session } from "../market/session.ts";
import type { ObjectStore } from "../ports/store.ts";
import { MAX_APART_MS } from "../snapshot/log/time-gates.ts";
import { snapshotText } from "../store/paths.ts";
import type { Base } from "./base.ts";
import type { PublishRequest } from "./request.ts";
import { withdrawnBy } from "./revisions.ts";

/** Throws InputError if the session has not begun. */
export function requireBegun(session: Session, clock: Clock): void {
  const current = sessionAt(clock.now());
  if (session <= current) return;
  throw new InputError(
    `--session ${sessionKey(session)} has not begun: the clock is in ${sessionKey(current)}`,
  );
}

/** Throws ConflictError if the session is older than the head's. */
export function requireNotOlder(session: Session, base: Base, clock: Clock): void {
  const head = base.head?.publication;
  if (head === undefined || session >= head.session) return;
  const nowMs = clock.now();
  const remedy =
    head.session > sessionAt(nowMs)
      ? `it has not begun: the clock says ${instantText(nowMs)}. If that is right, go back with snapshots rollback`
      : `to change past levels, publish ${sessionKey(head.session)} or later with --revise "reason"`;
  const what = `Session ${sessionKey(session)} is older than the head, ${snapshotText(head)}`;
  throw new ConflictError(`${what}; ${remedy}`);
}

/** Throws ConflictError, with each level, if published levels change without a revision. */
export async function requireRevised(
  { session, revise }: PublishRequest,
  { restatements }: Amendment,
  base: Base,
  store: ObjectStore,
  clock: Clock,
): Promise<void> {
  if (revise !== null || restatements.length === 0) return;
  const changes = restatements.map(
    ({ where, contract, session, old, now }) =>
      `${where}: ${contract} at ${sessionKey(session)}: ${levelText(old)} would become ${levelText(now)}`,
  );
  await requireNotWithdrawn(session, base, store, clock, changes);
  throw new ConflictError(
    `The input changes ${counted(restatements.length, "published level")}; ${clockBehind(base, clock)}if it is right, publish with --revise "reason"`,
    changes,
  );
}

/** Says that the clock is before the log, which makes old levels of a feed's new ones; "" if it is not. */
function clockBehind({ end: { newest } }: Base, clock: Clock): string {
  const nowMs = clock.now();
  if (newest === null || nowMs >= Date.parse(newest.entry.at) - MAX_APART_MS) return "";
  return `the clock says ${instantText(nowMs)}, before the newest entry of the log (${newest.entry.at}): if the clock is wrong, set it; `;
}

const levelText = (level: Level | null): string =>
  level === null ? "none" : formatMicros(level.usd);

/**
 * Throws ConflictError if the session is already published with other content or was withdrawn by a
 * rollback, unless the run is a revision.
 */
export async function requireFree(
  request: PublishRequest,
  base: Base,
  store: ObjectStore,
  clock: Clock,
): Promise<void> {
  if (request.revise !== null) return;
  const { session } = request;
  const head = base.head?.publication;
  await requireNotWithdrawn(session, base, store, clock);
  if (head !== undefined && head.session === session) {
    throw new ConflictError(
      `Session ${sessionKey(session)} is published as ${snapshotText(head)} with other content; ` +
        `to correct it, give --revise "reason"`,
    );
  }
}

async function requireNotWithdrawn(
  session: Session,
  base: Base,
  store: ObjectStore,
  clock: Clock,
  changes: readonly string[] = [],
): Promise<void> {
  const rollback = await withdrawnBy(store, session, base.end.head, clock.now());
  if (rollback === null) return;
  throw new ConflictError(
    `Session ${sessionKey(session)} was published and rolled back (${rollback.reason ?? "no reason given"}); ` +
      `to publish it again, give --revise "reason"`,
    changes,
  );
}

/**
 * Throws InputError if `--accept` names a gate that refuses nothing, else RefusedError, with all findings and
 * their remedies, if any gate refuses. If only sparse levels are refused, the rest may come; with
 * `mayWait` the run also waits while the feed repeats the head's levels.
 */
export function passGates(
  { refusals, remedies, refusing, unneeded, repeat }: Verdict,
  mayWait: boolean,
): void {
  const awaited = mayWait ? repeat : null;
  const isEarly = refusing.every(
    (gate) => gate === "sparse" || (gate === "unchanged" && awaited !== null),
  );
  const waitFor = isEarly ? (awaited ?? refusals[0]) : undefined;
  const options = waitFor === undefined ? {} : { waitFor };
  if (unneeded.length > 0) {
    const message = "--accept names a gate that refuses nothing; nothing was written";
    throw new InputError(message, [...unneeded, ...refusals, ...remedies], options);
  }
  if (refusals.length === 0 && awaited === null) return;
  const message = `Refused: ${counted(refusals.length, "finding")}; nothing was written`;
  throw new RefusedError(message, [...refusals, ...remedies], options);
}

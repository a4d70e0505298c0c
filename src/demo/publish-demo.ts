/** Publishes the demonstration market: five years of history, and the sessions up to now. */
import { setImmediate } from "node:timers/promises";
import type { Clock } from "../lib/clock.ts";
import { ConflictError, DamageError } from "../lib/errors.ts";
import { USUAL_LIMITS } from "../feed/finding.ts";
import { sourceOf, type InputSource } from "../feed/source.ts";
import { sessionAt, sessionKey, sessionStartMs, type Session } from "../market/session.ts";
import { publish } from "../publish/publish.ts";
import { USUAL_REQUEST, type Progress } from "../publish/request.ts";
import { readLogEnd } from "../snapshot/log/walk.ts";
import { markStore } from "../snapshot/store-mark.ts";
import { compareObjects, objectsOf, readManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../ports/store.ts";
import { demoCatalogPath, readDemoEvents } from "./demo-catalog.ts";
import { demoCsv, demoHistory } from "./demo-feed.ts";
import { DEMO_NOTICE, isOfDemo } from "./notice.ts";
import { DEMO_FIRST_SESSION } from "./demo-series.ts";

/** How many sessions get a snapshot each. The sessions before them are history. */
const CONSECUTIVE_SESSIONS = 4;

/** How long after its start a session is published. */
const PUBLISHED_AFTER_MS = 5 * 60_000;

/** On weekends half of the contracts are covered: shops sell then, and nobody assesses. */
const GATES = {
  ...USUAL_LIMITS,
  minCoverageMicros: 40_000_000,
  acceptMoves: false,
  allowSparse: false,
} as const;

/**
 * Marks a new store. Publishes the sessions after the store's head up to the current one, each when it is asked for, as
 * if its time had just come. Gives the head's session, if there is a head, then each that is published. `signal` ends
 * it with its reason; a session that has been read is published first. Throws ConflictError if the store holds
 * other data than the demonstration, DamageError if its head is not whole, and the errors of `publish`.
 */
export async function* publishDemo(
  store: ObjectStore,
  clock: Clock,
  progress: Progress,
  signal?: AbortSignal,
): AsyncGenerator<Session> {
  const { head } = await readLogEnd(store);
  if (head !== null) {
    const manifest = await readManifest(store, head, head.manifest_sha256);
    if (!isOfDemo(manifest.attribution)) {
      throw new ConflictError(
        `${store.location} holds snapshots that are not the demonstration's; name another folder with --store`,
      );
    }
    const { damages } = await compareObjects(store, objectsOf(head, manifest));
    if (damages.length > 0) throw new DamageError(`${store.location} is damaged`, damages);
    yield head.session;
  }
  await markStore(store, clock.now());
  const current = sessionAt(clock.now());
  let last = head?.session ?? null;
  let from = head === null ? DEMO_FIRST_SESSION : head.session + 1;
  let session = Math.max(from, current - CONSECUTIVE_SESSIONS + 1);
  const misprint = readDemoEvents().find(({ what }) => what === "misprint");
  let number = (head?.number ?? 0) + 1;
  for (; session <= current; session += 1, number += 1) {
    const dueMs = sessionStartMs(session) + PUBLISHED_AFTER_MS;
    // Publication 2 has the misprint. Publication 3 gives the session before again, as it should have been.
    const corrects = number === 3;
    // A demonstration may rest for long.
    const isGap = last !== null && session - last > GATES.maxGapSessions;
    const rows = demoHistory(
      corrects ? from - 1 : from,
      session,
      number === 2 ? misprint : undefined,
    );
    await publish(
      {
        ...USUAL_REQUEST,
        catalog: sourceOf(demoCatalogPath),
        quotes: [quotesOf(rows, signal)],
        session,
        attribution: DEMO_NOTICE,
        revise: corrects ? (misprint?.text ?? null) : null,
        gates: { ...GATES, accept: isGap ? [{ gate: "gap", ids: null }] : [] },
      },
      store,
      { now: () => Math.min(clock.now(), dueMs) },
      (stage, done, total) => progress(`${sessionKey(session)} ${stage}`, done, total),
    );
    yield session;
    last = session;
    from = session + 1;
  }
}

const quotesOf = (
  rows: ReturnType<typeof demoHistory>,
  signal: AbortSignal | undefined,
): InputSource => ({
  name: "the demonstration",
  format: "csv",
  async *open() {
    for (const text of demoCsv(rows)) {
      // Five years take seconds. Signals and requests come between.
      await setImmediate();
      signal?.throwIfAborted();
      yield Buffer.from(text);
    }
  },
});

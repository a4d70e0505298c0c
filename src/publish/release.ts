/** Makes a content the head: renders it, and writes and commits it unless the run is a dry one. */
import type { Clock } from "../lib/clock.ts";
import { ConflictError, InputError } from "../lib/errors.ts";
import type { Correction } from "../ledger/corrections.ts";
import type { RenamedSegment } from "../ledger/segments.ts";
import { sessionUtc, type Session } from "../market/session.ts";
import { FULLEST } from "../market/tier.ts";
import { recordsOf, tierView, type BoardRecord } from "../market/view.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import { NO_KEYS, signingOf, type Signing } from "../snapshot/log/sign.ts";
import { USUAL_TIME_GATES } from "../snapshot/log/time-gates.ts";
import type { ObjectStore } from "../ports/store.ts";
import type { SnapshotName } from "../store/paths.ts";
import type { Parent } from "./base.ts";
import { beginSnapshot, commit, removeSnapshot } from "./commit.ts";
import { contentOfHead, type Content, type PublishedBase } from "./content.ts";
import type { KeptInput } from "./read-inputs.ts";
import { dropObject, manifestOf, render, type Sink } from "./rendering.ts";
import type { Progress, ReleaseOptions } from "./request.ts";

const ATTEMPTS_MAX = 50;

/** Repeats a run that returns null because another publisher came first. */
export async function untilFirst(run: () => Promise<PublishResult | null>): Promise<PublishResult> {
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts += 1) {
    const result = await run();
    if (result !== null) return result;
  }
  throw new ConflictError(`Gave up: ${ATTEMPTS_MAX} other publishers came first`);
}

export interface PublishResult {
  /** "planned": a dry run that would publish. "unchanged": the head already holds the same. */
  readonly outcome: "published" | "planned" | "unchanged";
  /** The published or planned snapshot; the head if it is unchanged. */
  readonly snapshot: SnapshotName;
  /** The publication's number; the head's if it is unchanged; null if the outcome is "planned". */
  readonly publication: number | null;
  readonly manifest: Manifest;
  readonly board: readonly BoardRecord[];
  /** Null without a signing key, or if nothing was appended. */
  readonly signing: Signing | null;
  /** The session since which no level has moved; null if a level that was given for this one moves. */
  readonly unmovedSince: Session | null;
  /** Left out: no segment has another name. */
  readonly renamedSegments?: readonly RenamedSegment[];
}

/** A content with what its manifest says of the run. */
export interface Release {
  readonly name: SnapshotName;
  readonly content: Content;
  readonly reason: string | null;
  readonly inputs: readonly KeptInput[];
  /** The corrections that this run makes. */
  readonly fresh: readonly Correction[];
  readonly unmovedSince: Session | null;
}

/**
 * Publishes the content on `parent`. Returns null if another run published first. Throws InputError if a
 * file is too large for its readers, RefusedError, DamageError and UnreachableError as `commit` does.
 */
export async function release(
  { name, content, reason, inputs, fresh, unmovedSince }: Release,
  parent: Parent,
  { dryRun, keys = NO_KEYS, timeGates = USUAL_TIME_GATES, by = null, why = null }: ReleaseOptions,
  store: ObjectStore,
  clock: Clock,
  progress: Progress,
): Promise<PublishResult | null> {
  const renderTo = async (sink: Sink): Promise<Manifest> =>
    manifestOf(await render(name, content, parent, sink, progress), name, content, {
      parent: parentOf(parent),
      reason,
      by,
      why,
      inputs: inputs.map(({ entry }) => entry),
      corrected: fresh.map((item) => ({
        contract: item.contract,
        session_utc: sessionUtc(item.session),
        old_usd: item.oldUsd,
        new_usd: item.newUsd,
      })),
    });
  const result = { snapshot: name, board: boardOf(content), unmovedSince };
  if (dryRun) {
    await store.mayWrite();
    const manifest = await renderTo(dropObject);
    const signing = signingOf(keys, "planned");
    return { ...result, manifest, outcome: "planned", publication: null, signing };
  }
  const { catalog } = content.market;
  const { newest } = parent.end;
  const sink = await beginSnapshot(store, name, catalog, newest);
  if (sink === null) return null;
  const manifest = await renderTo(sink).catch(async (error: unknown) => {
    if (error instanceof InputError) await removeSnapshot(store, name);
    throw error;
  });
  const written = { name, manifest, inputs, keys, timeGates, newest };
  const publication = await commit(store, written, clock);
  if (publication === null) return null;
  const signing = signingOf(keys, "signed");
  return { ...result, manifest, outcome: "published", publication, signing };
}

const boardOf = ({ market, session }: Pick<Content, "market" | "session">): BoardRecord[] =>
  recordsOf(tierView(market, FULLEST, session));

/** The result of a run whose content the head holds already. */
export function keepHead(base: PublishedBase, unmovedSince: Session | null): PublishResult {
  const { publication, manifest } = base.head;
  const { session, revision, number } = publication;
  return {
    outcome: "unchanged",
    snapshot: { session, revision },
    publication: number,
    manifest,
    board: boardOf(contentOfHead(base)),
    signing: null,
    unmovedSince,
  };
}

function parentOf({ head }: Parent): Manifest["parent"] {
  if (head === null) return null;
  const { session_utc, revision, identity } = head.manifest;
  return { session_utc, revision, identity };
}

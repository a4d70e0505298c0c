/** Makes a content the head: renders it, and writes and commits it unless the run is a dry one. */
import type { Clock } from "../lib/clock.ts";
import { InputError } from "../lib/errors.ts";
import type { Correction } from "../ledger/corrections.ts";
import { sessionUtc, type Session } from "../market/session.ts";
import { FULLEST } from "../market/tier.ts";
import { recordsOf, tierView, type BoardRecord } from "../market/view.ts";
import { unfitIn, type Manifest } from "../snapshot/manifest.ts";
import { NO_KEYS, signingOf, type Signing } from "../snapshot/log/sign.ts";
import type { ObjectStore } from "../store/object-store.ts";
import type { SnapshotName } from "../store/paths.ts";
import type { Base } from "./base.ts";
import { commit } from "./commit.ts";
import { contentOfHead, type Content, type PublishedBase } from "./content.ts";
import type { KeptInput } from "./inputs.ts";
import { manifestOf, plan, type Plan } from "./plan.ts";
import type { Progress, ReleaseOptions } from "./request.ts";

/** The result of a run. */
export interface PublishResult {
  /** "planned": a dry run that would publish. "unchanged": the head already holds the same. */
  readonly outcome: "published" | "planned" | "unchanged";
  /** The published or planned snapshot; the head if it is unchanged. */
  readonly snapshot: SnapshotName;
  /** The publication's number; the head's if it is unchanged; null if the outcome is "planned". */
  readonly publication: number | null;
  readonly manifest: Manifest;
  /** The records of the Pro board. */
  readonly board: readonly BoardRecord[];
  /** Null without a signing key, or if nothing was appended. */
  readonly signing: Signing | null;
  /** The session since which no level has moved; null if a level that was given for this one moves. */
  readonly unmovedSince: Session | null;
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
  /** Null: rendered here. */
  readonly plan?: Plan;
}

/**
 * Publishes the content on `base`. Returns null if another run published first. Throws InputError if a
 * file is too large for its readers, DamageError and UnreachableError as `commit` does.
 */
export async function release(
  { name, content, reason, inputs, fresh, unmovedSince, plan: rendered }: Release,
  base: Base,
  { dryRun, keys = NO_KEYS, by = null, why = null }: ReleaseOptions,
  store: ObjectStore,
  clock: Clock,
  progress: Progress,
): Promise<PublishResult | null> {
  const planned = rendered ?? (await plan(content, base, progress));
  const manifest = manifestOf(planned, name, content, {
    parent: parentOf(base),
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
  const unfit = unfitIn(manifest);
  if (unfit !== null) throw new InputError(`No reader would accept the snapshot: ${unfit}`);
  const result = {
    snapshot: name,
    manifest,
    board: recordsOf(planned.views[FULLEST.name]),
    unmovedSince,
  };
  if (dryRun) {
    await store.mayWrite();
    const signing = signingOf(keys, "planned");
    return { ...result, outcome: "planned", publication: null, signing };
  }
  const publication = await commit(
    store,
    { name, plan: planned, inputs, manifest, keys, newest: base.end.newest, nowMs: clock.now() },
    progress,
  );
  if (publication === null) return null;
  const signing = signingOf(keys, "signed");
  return { ...result, outcome: "published", publication: publication.number, signing };
}

/** The result of a run whose content the head holds already. */
export function keepHead(base: PublishedBase, unmovedSince: Session | null): PublishResult {
  const { publication, manifest } = base.head;
  const { session, revision, number } = publication;
  const content = contentOfHead(base);
  const board = recordsOf(tierView(content.market, FULLEST, session));
  return {
    outcome: "unchanged",
    snapshot: { session, revision },
    publication: number,
    manifest,
    board,
    signing: null,
    unmovedSince,
  };
}

function parentOf(base: Base): Manifest["parent"] {
  if (base.head === null) return null;
  const { session_utc, revision, identity } = base.head.manifest;
  return { session_utc, revision, identity };
}

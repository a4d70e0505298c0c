/**
 * The entries of the log. Each is an object of its own: one line of JSON and a line feed, created once
 * and never changed.
 *
 *   publications/0000000041.json   {"number":41,"action":"publish","session":"2026-11-20T12Z",…}
 *   publications/0000000042.json   {"number":42,"action":"rollback","session":"2026-11-20T00Z",…}
 *   publications/0000000043.json   {"number":43,"action":"prune","at":"2026-11-21T00:05:00.000Z",
 *                                   "snapshots":["2026-11-20T12Z/r1"],"parts":["ledger/…-40.ndjson"],…}
 *
 * The newest publish or rollback is the head; its append is the only step that readers see. `previous` is
 * the SHA-256 of the whole entry before (walk.ts). If the entry is signed, its last member is the
 * signature (sign.ts).
 */
import { z } from "zod";
import { perTier } from "../../market/tier.ts";
import { REVISION_MAX } from "../../store/paths.ts";
import { sessionField, sha256Field } from "../stored-fields.ts";

/** The largest size of an entry, with its signature; a larger prune writes several entries. */
export const ENTRY_BYTES_MAX = 60_000;

/** The time of the entry. */
const at = z.iso.datetime({ precision: 3 });
/** Null in the first entry alone. */
const previous = sha256Field.nullable();

const publicationSchema = z.strictObject({
  number: z.int().positive(),
  action: z.enum(["publish", "rollback"]),
  session: sessionField,
  revision: z.int().positive().max(REVISION_MAX),
  reason: z.string().nullable(),
  at,
  manifest_sha256: sha256Field,
  /** How many corrections it brought. */
  corrections: z.int().nonnegative(),
  previous,
  /**
   * The SHA-256 of each tier's SHA256SUMS; null: the snapshot has none. A tier without a root: the snapshot
   * has no data for it, because the program that published it had fewer tiers.
   */
  roots: z.strictObject(perTier(() => sha256Field.nullable().optional())),
});

/** "From `at` on, the snapshot `session`/r`revision` is the head." */
export type Publication = z.infer<typeof publicationSchema>;

const pruneSchema = z.strictObject({
  number: z.int().positive(),
  action: z.literal("prune"),
  at,
  /** `2026-11-20T12Z/r1` */
  snapshots: z.array(z.string()),
  /** Keys of the ledger months. */
  parts: z.array(z.string()),
  previous,
});

/** "From `at` on, no run may need these." */
export type PruneEntry = z.infer<typeof pruneSchema>;

export type Entry = Publication | PruneEntry;

export const entrySchema = z.discriminatedUnion("action", [publicationSchema, pruneSchema]);

/** Whether the entry made a snapshot the head. */
export const isPublication = (entry: Entry): entry is Publication => entry.action !== "prune";

/** The names of snapshots and the keys of ledger months that prunes in the log took. */
export const takenIn = (log: readonly Pick<StoredEntry, "entry">[]): Set<string> =>
  new Set(log.flatMap(({ entry: e }) => (isPublication(e) ? [] : [...e.snapshots, ...e.parts])));

/**
 * The word for an entry. The first revision of a session revises nothing: a reason there is the one for corrections of
 * earlier sessions.
 */
export function publicationKind({
  action,
  reason,
  revision,
}: Pick<Publication, "action" | "reason" | "revision">): "publish" | "revise" | "rollback" {
  if (action === "rollback") return "rollback";
  return reason === null || revision === 1 ? "publish" : "revise";
}

export interface StoredEntry {
  readonly entry: Entry;
  readonly bytes: Buffer;
  /** SHA-256 (hex) of all its bytes. */
  readonly sha256: string;
  /** The signature in Base64; null: it is unsigned. */
  readonly signature: string | null;
  /** Where it was read, for messages. */
  readonly where: string;
}

/** Reads the entry with this number; null: the log ends before it. */
export type ReadEntry = (number: number) => Promise<StoredEntry | null>;

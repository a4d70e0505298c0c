/**
 * The log: numbered entries that are created once and never changed. Every change of a store is an
 * append to the log. If several runs append the same number, exactly one succeeds.
 *
 *   publications/0000000041.json   {"number":41,"action":"publish","session":"2026-11-20T12Z",…}
 *   publications/0000000042.json   {"number":42,"action":"rollback","session":"2026-11-20T00Z",…}
 *   publications/0000000043.json   {"number":43,"action":"prune","at":"2026-11-21T00:05:00.000Z",
 *                                   "snapshots":["2026-11-20T12Z/r1"],"parts":["ledger/…-40.ndjson"]}
 *
 * The newest publish or rollback is the head; its append is the only step that readers see.
 *
 * A prune appends an entry with the names of what it takes before it removes anything. A publish or
 * rollback at the same time finds its number taken and reads that entry: if the entry names
 * something that the run needs, the run starts again or is refused, otherwise it appends after the
 * entry. If the publish comes first, the prune finds its number taken and starts again. So one of
 * the two always sees the other, whatever their clocks say. A prune that crashes after its entry
 * leaves objects that no run needs; the next prune removes them. A taken name is never used again
 * (claims.ts, ledgerPartKey).
 */
import { z } from "zod";
import { DamageError } from "../lib/errors.ts";
import { sessionKey } from "../market/session.ts";
import { perTier } from "../market/tier.ts";
import { tooLarge, type ObjectStore } from "../store/object-store.ts";
import { parsePublicationKey, publicationKey, PUBLICATIONS, REVISION_MAX } from "../store/paths.ts";
import { sha256Hex } from "./digest.ts";
import { sessionField, sha256Field } from "./stored-fields.ts";

/** The largest size of an entry; a larger prune writes several entries. */
export const ENTRY_BYTES_MAX = 60_000;

const READS_AT_ONCE = 16;
/** What has a number so much higher than all others is no part of the log: nobody loses so many entries. */
const GAP_MAX = 1_000;

/**
 * The link to the log before (chain.ts). Entries of older versions have none; that of entry 1, which
 * has nothing before it, is null.
 */
const previousField = sha256Field.nullable().optional();

/** The SHA-256 of each tier's SHA256SUMS; null: the snapshot has none. Older entries have no roots. */
const rootsField = z.object(perTier(() => sha256Field.nullable().default(null))).optional();

const publicationSchema = z.object({
  number: z.int().positive(),
  action: z.enum(["publish", "rollback"]),
  session: sessionField,
  revision: z.int().positive().max(REVISION_MAX),
  reason: z.string().nullable(),
  at: z.iso.datetime({ precision: 3 }),
  manifest_sha256: sha256Field,
  /** How many corrections it brought; 0.1.0 did not say. */
  corrections: z.int().nonnegative().optional(),
  previous: previousField,
  roots: rootsField,
});

/** "From `at` on, the snapshot `session`/r`revision` is the head." */
export type Publication = z.infer<typeof publicationSchema>;

const pruneSchema = z.object({
  number: z.int().positive(),
  action: z.literal("prune"),
  at: z.iso.datetime({ precision: 3 }),
  /** `2026-11-20T12Z/r1` */
  snapshots: z.array(z.string()),
  /** Keys of the ledger's parts. */
  parts: z.array(z.string()),
  previous: previousField,
});

/** "From `at` on, no run may need these." */
export type PruneEntry = z.infer<typeof pruneSchema>;

/** Any entry of the log. */
export type Entry = Publication | PruneEntry;

const actionSchema = z.object({ action: z.string() });
const entrySchema = z.discriminatedUnion("action", [publicationSchema, pruneSchema]);
const ACTIONS: readonly string[] = ["publish", "rollback", "prune"];

/** Whether the entry made a snapshot the head. */
export const isPublication = (entry: Entry): entry is Publication => entry.action !== "prune";

/** The word for an entry: a publish with a reason is a revision. */
export const whatOf = ({
  action,
  reason,
}: Pick<Publication, "action" | "reason">): "publish" | "revise" | "rollback" =>
  action === "rollback" ? "rollback" : reason === null ? "publish" : "revise";

/** An entry with the SHA-256 (hex) of its bytes. */
export interface StoredEntry {
  readonly entry: Entry;
  readonly sha256: string;
}

/** The entry with this number, or null if the log has none. Throws DamageError if it is damaged. */
export async function readStoredEntry(
  store: ObjectStore,
  number: number,
): Promise<StoredEntry | null> {
  const key = publicationKey(number);
  const bytes = await store.get(key, ENTRY_BYTES_MAX);
  if (bytes === null) return null;
  const where = `${store.location}/${key}`;
  return parseStoredEntry(bytes, number, where);
}

/** Reads the bytes of the entry with this number. Throws DamageError, naming `where`. */
export function parseStoredEntry(bytes: Uint8Array, number: number, where: string): StoredEntry {
  const entry = parseEntry(bytes, where);
  if (entry.number === number) return { entry, sha256: sha256Hex(bytes) };
  throw new DamageError(`${where} carries another number`);
}

/** Like `readStoredEntry`, without the digest. */
export const readEntry = async (store: ObjectStore, number: number): Promise<Entry | null> =>
  (await readStoredEntry(store, number))?.entry ?? null;

function parseEntry(bytes: Uint8Array, where: string): Entry {
  if (bytes.length > ENTRY_BYTES_MAX) throw tooLarge(where, bytes.length, ENTRY_BYTES_MAX);
  let action: string;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    ({ action } = actionSchema.parse(value));
    if (ACTIONS.includes(action)) return entrySchema.parse(value);
  } catch (cause) {
    throw new DamageError(`${where} is not an entry of the log`, [], { cause });
  }
  throw new DamageError(`${where} was published by a newer chipboard: its action is "${action}"`);
}

/** The whole log, oldest first. Throws DamageError if a number is missing or an entry is damaged. */
export async function readLog(store: ObjectStore): Promise<Entry[]> {
  return (await Array.fromAsync(readLogBackwards(store))).reverse();
}

/** The publishes and rollbacks of the log, oldest first. Throws as `readLog` does. */
export const readPublications = async (store: ObjectStore): Promise<Publication[]> =>
  (await readLog(store)).filter(isPublication);

/**
 * The log, newest entry first, read only as far as the caller iterates; with `from` it begins with the
 * entry of this number. Throws DamageError if any number is missing, or if an entry that the caller
 * reaches is damaged.
 */
export async function* readLogBackwards(store: ObjectStore, from?: number): AsyncGenerator<Entry> {
  for await (const { entry } of readStoredBackwards(store, from)) yield entry;
}

async function* readStoredBackwards(
  store: ObjectStore,
  from?: number,
): AsyncGenerator<StoredEntry> {
  let atOnce = 1;
  for (let next = from ?? (await logLength(store)); next > 0;) {
    const numbers = Array.from({ length: Math.min(atOnce, next) }, (_, at) => next - at);
    yield* await Promise.all(numbers.map((number) => mustRead(store, number)));
    next -= numbers.length;
    atOnce = Math.min(2 * atOnce, READS_AT_ONCE);
  }
}

/** The end of the log. */
export interface LogEnd {
  /** Null: the log is empty. */
  readonly newest: StoredEntry | null;
  readonly head: Publication | null;
  /** The entries from the head to the newest one, oldest first. */
  readonly entries: readonly StoredEntry[];
}

/** Reads back to the head. Throws DamageError if a number is missing or an entry read is damaged. */
export async function readLogEnd(store: ObjectStore): Promise<LogEnd> {
  const entries: StoredEntry[] = [];
  let head: Publication | null = null;
  for await (const stored of readStoredBackwards(store)) {
    entries.unshift(stored);
    if (!isPublication(stored.entry)) continue;
    head = stored.entry;
    break;
  }
  return { newest: entries.at(-1) ?? null, head, entries };
}

/** The head, or null for an empty store. Throws DamageError as readLogEnd does. */
export const readHead = async (store: ObjectStore): Promise<Publication | null> =>
  (await readLogEnd(store)).head;

/** How many entries the log has. Throws DamageError if it has a gap. */
export async function logLength(store: ObjectStore): Promise<number> {
  const { newest, missing } = await listLog(store);
  if (missing !== null) throw lacks(store, missing);
  return newest;
}

/** The highest number in the log (0: none) and the lowest number missing below it, or below what follows. */
export async function listLog(
  store: ObjectStore,
): Promise<{ newest: number; missing: number | null }> {
  let newest = 0;
  let missing: number | null = null;
  for await (const { key } of store.list(PUBLICATIONS)) {
    const number = parsePublicationKey(key);
    if (number === null) continue;
    if (number !== newest + 1) missing ??= newest + 1;
    if (number > newest + GAP_MAX) break;
    newest = number;
  }
  return { newest, missing };
}

/** The bytes of an entry. */
export function renderEntry(entry: Entry): Buffer {
  if (!isPublication(entry)) {
    const { number, action, at, snapshots, parts, previous } = entry;
    return Buffer.from(`${JSON.stringify({ number, action, at, snapshots, parts, previous })}\n`);
  }
  const { number, action, session, ...rest } = entry;
  const { revision, reason, at, manifest_sha256, corrections, previous, roots } = rest;
  const text = JSON.stringify({
    number,
    action,
    session: sessionKey(session),
    revision,
    reason,
    at,
    manifest_sha256,
    corrections,
    previous,
    roots,
  });
  return Buffer.from(`${text}\n`);
}

/** Reads an entry that was listed. Throws DamageError if it is gone. */
export async function mustRead(store: ObjectStore, number: number): Promise<StoredEntry> {
  const stored = await readStoredEntry(store, number);
  if (stored === null) throw lacks(store, number);
  return stored;
}

/** The error for a gap in the log. */
export const lacks = (store: ObjectStore, number: number): DamageError =>
  new DamageError(`${store.location}: the log lacks ${publicationKey(number)}`);

/**
 * The publication log: numbered entries, created if absent, never changed. The highest number is
 * the head. Publish and rollback each append one; that append is the only step readers can see.
 *
 *   publications/0000000041.json   {"number":41,"action":"publish","session":"2026-11-20T12Z",…}
 *   publications/0000000042.json   {"number":42,"action":"rollback","session":"2026-11-20T00Z",…}
 */
import { z } from "zod";
import { DamageError } from "../errors.ts";
import { sessionKey } from "../market/session.ts";
import { JSON_TYPE } from "../store/media-types.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { parsePublicationKey, publicationKey, PUBLICATIONS } from "../store/paths.ts";
import { sha256Hex } from "./digest.ts";
import { sessionField, sha256Field } from "./stored-fields.ts";

const READS_AT_ONCE = 16;

const publicationSchema = z.object({
  number: z.int().positive(),
  action: z.enum(["publish", "rollback"]),
  session: sessionField,
  revision: z.int().positive(),
  reason: z.string().nullable(),
  at: z.iso.datetime({ precision: 3 }),
  manifest_sha256: sha256Field,
});

/** "From `at` on, the snapshot `session`/r`revision` is the head." */
export type Publication = z.infer<typeof publicationSchema>;

/** An entry with the SHA-256 (hex) of its bytes. */
export interface LogEntry {
  readonly publication: Publication;
  readonly sha256: string;
}

/** The entry with this number, or null where the log does not reach that far. */
export async function readLogEntry(store: ObjectStore, number: number): Promise<LogEntry | null> {
  const key = publicationKey(number);
  const bytes = await store.get(key);
  if (bytes === null) return null;
  try {
    const publication = publicationSchema.parse(JSON.parse(bytes.toString("utf8")));
    if (publication.number === number) return { publication, sha256: sha256Hex(bytes) };
  } catch (cause) {
    throw new DamageError(`${store.location}/${key} is not a publication`, [], { cause });
  }
  throw new DamageError(`${store.location}/${key} carries another number`);
}

/** The same without the digest. */
export const readPublication = async (
  store: ObjectStore,
  number: number,
): Promise<Publication | null> => (await readLogEntry(store, number))?.publication ?? null;

/** The whole log, oldest first. Throws DamageError where a number is missing or an entry is damaged. */
export async function readLog(store: ObjectStore): Promise<Publication[]> {
  const entries: Publication[] = [];
  for await (const entry of readLogBackwards(store)) entries.push(entry);
  return entries.reverse();
}

/**
 * The log, newest entry first, read as far as it is asked for. Throws DamageError where a number is
 * missing, wherever that is, and where an entry that is asked for is damaged.
 */
export async function* readLogBackwards(store: ObjectStore): AsyncGenerator<Publication> {
  let atOnce = 1;
  for (let next = await logLength(store); next > 0;) {
    const numbers = Array.from({ length: Math.min(atOnce, next) }, (_, at) => next - at);
    for (const entry of await Promise.all(numbers.map((number) => mustRead(store, number)))) {
      yield entry;
    }
    next -= numbers.length;
    atOnce = Math.min(2 * atOnce, READS_AT_ONCE);
  }
}

/** The newest entry, or null for an empty store. Throws DamageError where a number is missing. */
export async function readHead(store: ObjectStore): Promise<Publication | null> {
  for await (const entry of readLogBackwards(store)) return entry;
  return null;
}

/** How many entries the log has. Throws DamageError where it has a gap. */
export async function logLength(store: ObjectStore): Promise<number> {
  const { newest, missing } = await listLog(store);
  if (missing !== null) throw lacks(store, missing);
  return newest;
}

/** The highest number of the log (0: none), and the lowest one missing below it. */
export async function listLog(
  store: ObjectStore,
): Promise<{ newest: number; missing: number | null }> {
  let newest = 0;
  let missing: number | null = null;
  for await (const { key } of store.list(PUBLICATIONS)) {
    const number = parsePublicationKey(key);
    if (number === null) continue;
    if (number !== newest + 1) missing ??= newest + 1;
    newest = number;
  }
  return { newest, missing };
}

/** Appends the entry; "taken" where another publisher was first. */
export function appendPublication(
  store: ObjectStore,
  entry: Publication,
): Promise<"created" | "taken"> {
  const { number, action, session, revision, reason, at, manifest_sha256 } = entry;
  const text = JSON.stringify({
    number,
    action,
    session: sessionKey(session),
    revision,
    reason,
    at,
    manifest_sha256,
  });
  return store.create(publicationKey(number), Buffer.from(`${text}\n`), JSON_TYPE);
}

/** An entry that was listed; it may have gone since. */
async function mustRead(store: ObjectStore, number: number): Promise<Publication> {
  const entry = await readPublication(store, number);
  if (entry === null) throw lacks(store, number);
  return entry;
}

/** What a gap in the log is. */
export const lacks = (store: ObjectStore, number: number): DamageError =>
  new DamageError(`${store.location}: the log lacks ${publicationKey(number)}`);

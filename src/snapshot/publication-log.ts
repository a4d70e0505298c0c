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
import { sessionField, sha256Field } from "./stored-fields.ts";

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

/** The entry with this number, or null where the log does not reach that far. */
export async function readPublication(
  store: ObjectStore,
  number: number,
): Promise<Publication | null> {
  const key = publicationKey(number);
  const bytes = await store.get(key);
  if (bytes === null) return null;
  try {
    const entry = publicationSchema.parse(JSON.parse(bytes.toString("utf8")));
    if (entry.number === number) return entry;
  } catch (cause) {
    throw new DamageError(`${store.location}/${key} is not a publication`, [], { cause });
  }
  throw new DamageError(`${store.location}/${key} carries another number`);
}

/** The whole log, oldest first. Throws DamageError where a number is missing. */
export async function readLog(store: ObjectStore): Promise<Publication[]> {
  const numbers = await listNumbers(store);
  const entries = await Promise.all(numbers.map((number) => readPublication(store, number)));
  return entries.map((entry, at) => {
    if (entry === null || entry.number !== at + 1) {
      throw new DamageError(`${store.location}: the log lacks ${publicationKey(at + 1)}`);
    }
    return entry;
  });
}

/** The newest entry, or null for an empty store. */
export async function readHead(store: ObjectStore): Promise<Publication | null> {
  const last = (await listNumbers(store)).at(-1);
  return last === undefined ? null : readPublication(store, last);
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

async function listNumbers(store: ObjectStore): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { key } of store.list(PUBLICATIONS)) {
    const number = parsePublicationKey(key);
    if (number !== null) numbers.push(number);
  }
  return numbers;
}

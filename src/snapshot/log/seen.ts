/**
 * The memory of a log: the newest entry that was proven. A log that was cut off, or replaced as a whole, shows
 * nothing of it in the store. A state remembers for its proxies (lost.ts), the file of `--remember` for `check` and
 * `snapshots verify`.
 */
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { realpath, rename, rm, writeFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import { z } from "zod";
import { DamageError, errorCode, InputError, reasonOf } from "../../lib/errors.ts";
import { sha256Field } from "../stored-fields.ts";
import type { StoredEntry } from "./entry.ts";

/** An entry of the log by its number and the SHA-256 (hex) of its bytes. */
export const seenEntry = z.strictObject({ number: z.int().positive(), sha256: sha256Field });

const SIZE_BYTES_MAX = 1_000;

export type SeenEntry = z.infer<typeof seenEntry>;

/** The one with the higher number, and of two with the same the first. */
export const newerSeen = (held: SeenEntry | null, entry: SeenEntry): SeenEntry =>
  held !== null && held.number >= entry.number ? held : entry;

/**
 * Why the log does not have the entry. `newest` is the number of its newest entry, `sha256` (hex) is the log's entry in
 * the place of the one that was seen; undefined: none.
 */
export const unlikeSeen = (
  { number, sha256: seen }: SeenEntry,
  newest: number,
  sha256: string | undefined,
): string =>
  sha256 === undefined
    ? `The log ends with entry ${newest}, and entry ${number} was seen before: the log was cut off, or an older one is shown`
    : `Entry ${number} of the log has the SHA-256 ${sha256}, and the one seen before has ${seen}: the log was rewritten, or it belongs to another store`;

/** Throws DamageError, with the words of `unlikeSeen`, unless the log has the entry. */
export function requireSeen(seen: SeenEntry, newest: number, sha256: string | undefined): void {
  if (sha256 !== seen.sha256) throw new DamageError(unlikeSeen(seen, newest, sha256));
}

/** What the file says; null: there is none yet. Throws InputError for any other file. */
export async function readRemembered(path: string): Promise<SeenEntry | null> {
  let text: string;
  try {
    text = await textOf(createReadStream(path, { end: SIZE_BYTES_MAX }));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw new InputError(`${optionOf(path)}: cannot be read: ${reasonOf(error)}`);
  }
  try {
    return seenEntry.parse(JSON.parse(text));
  } catch (cause) {
    const expected = 'expected a file of an earlier check: {"number":42,"sha256":"…"}';
    throw new InputError(`${optionOf(path)}: ${expected}`, [], { cause });
  }
}

/**
 * Replaces the file in one step, unless it has this entry or a newer one, which another check may have
 * written meanwhile. Throws InputError if it cannot be written.
 */
export async function writeRemembered(path: string, stored: StoredEntry): Promise<void> {
  const entry = { number: stored.entry.number, sha256: stored.sha256 };
  const written = await readRemembered(path);
  if (newerSeen(written, entry) === written) return;
  // If the path is a link, the file that it leads to is replaced.
  const place = written === null ? path : await realpath(path);
  const temporary = `${place}.${randomUUID()}.new`;
  try {
    await writeFile(temporary, `${JSON.stringify(entry)}\n`, { flag: "wx", flush: true });
    await rename(temporary, place);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new InputError(`${optionOf(path)}: cannot be written: ${reasonOf(error)}`);
  }
}

const optionOf = (path: string): string => `--remember ${JSON.stringify(path)}`;

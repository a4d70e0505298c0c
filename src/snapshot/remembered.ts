/**
 * The file of `--remember`: the newest entry of the log that `check` or `snapshots verify` has proven. Who
 * cuts off a log, or puts a whole other one in its place, leaves nothing in the store that shows it.
 */
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { realpath, rename, rm, writeFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import { z } from "zod";
import { DamageError, errorCode, InputError, reasonOf } from "../lib/errors.ts";
import { sha256Field } from "./stored-fields.ts";

const remembered = z.strictObject({ number: z.int().positive(), sha256: sha256Field });

const SIZE_BYTES_MAX = 1_000;

/** An entry of the log by its number and the SHA-256 (hex) of its bytes. */
export type Remembered = z.infer<typeof remembered>;

/** What the file says; null: there is none yet. Throws InputError for any other file. */
export async function readRemembered(path: string): Promise<Remembered | null> {
  let text: string;
  try {
    text = await textOf(createReadStream(path, { end: SIZE_BYTES_MAX }));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw new InputError(`${optionOf(path)}: cannot be read: ${reasonOf(error)}`);
  }
  try {
    return remembered.parse(JSON.parse(text));
  } catch (cause) {
    const expected = 'expected a file of an earlier check: {"number":42,"sha256":"…"}';
    throw new InputError(`${optionOf(path)}: ${expected}`, [], { cause });
  }
}

/**
 * Replaces the file in one step, unless it has this entry or a newer one, which another check may have
 * written meanwhile. Throws InputError if it cannot be written.
 */
export async function writeRemembered(path: string, entry: Remembered): Promise<void> {
  const written = await readRemembered(path);
  if (written !== null && written.number >= entry.number) return;
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

/**
 * Throws DamageError unless the log has the entry. `newest` is the number of its newest entry, `sha256` (hex)
 * what it has in the place of the remembered one; undefined: nothing.
 */
export function requireRemembered(
  { number, sha256: seen }: Remembered,
  newest: number,
  sha256: string | undefined,
): void {
  if (sha256 === seen) return;
  throw new DamageError(
    sha256 === undefined
      ? `The log ends with entry ${newest}, and an earlier check has seen entry ${number}: the log was cut off, or an older one is shown`
      : `Entry ${number} of the log has the SHA-256 ${sha256}, and an earlier check has seen ${seen}: the log was rewritten, or is that of another store`,
  );
}

const optionOf = (path: string): string => `--remember ${JSON.stringify(path)}`;

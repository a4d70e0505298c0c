/** The file of `--remember`: the newest entry of the log that a check has proven. */
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { realpath, rename, rm, writeFile } from "node:fs/promises";
import { text as textOf } from "node:stream/consumers";
import { z } from "zod";
import { errorCode, InputError, reasonOf } from "../lib/errors.ts";
import { sha256Field } from "../snapshot/stored-fields.ts";

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

const optionOf = (path: string): string => `--remember ${JSON.stringify(path)}`;

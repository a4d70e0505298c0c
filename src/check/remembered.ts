/** The file of `--remember`: the newest entry of the log that a check has proven. */
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { z } from "zod";
import { errorCode, InputError, reasonOf } from "../lib/errors.ts";
import { sha256Field } from "../snapshot/stored-fields.ts";

const remembered = z.strictObject({ number: z.int().positive(), sha256: sha256Field });

/** An entry of the log by its number and the SHA-256 (hex) of its bytes. */
export type Remembered = z.infer<typeof remembered>;

/** What the file says; null: there is none yet. Throws InputError for any other file. */
export async function readRemembered(path: string): Promise<Remembered | null> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
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

/** Replaces the file in one step. Throws InputError if it cannot be written. */
export async function writeRemembered(path: string, entry: Remembered): Promise<void> {
  const temporary = `${path}.${process.pid}.new`;
  try {
    await writeFile(temporary, `${JSON.stringify(entry)}\n`, { flag: "wx" });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw new InputError(`${optionOf(path)}: cannot be written: ${reasonOf(error)}`);
  }
}

const optionOf = (path: string): string => `--remember ${JSON.stringify(path)}`;

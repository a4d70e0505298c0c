/** `snapshots inputs`: writes what a snapshot was made from into a folder, as it came. */
import { lstat, mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { readInput, unpack } from "../ledger/kept-inputs.ts";
import { atOnce } from "../lib/at-once.ts";
import { InputError, reasonOf } from "../lib/errors.ts";
import { PRIVATE_FILE_MODE, PRIVATE_FOLDER_MODE } from "../lib/modes.ts";
import type { InputEntry } from "../snapshot/manifest.ts";
import type { ObjectStore } from "../ports/store.ts";
import { snapshotText } from "../store/paths.ts";
import { findSnapshot } from "./find-snapshot.ts";

const NAME_CHARACTERS_MAX = 100;

/** The inputs of a snapshot, and the files that they were written to. */
export interface WrittenInputs {
  /** `2026-11-21T00Z/r1`. */
  readonly snapshot: string;
  readonly folder: string;
  /** `file`: the name in the folder. */
  readonly inputs: readonly (InputEntry & { readonly file: string })[];
}

/**
 * Writes each input to `<n>-<kind>-<basename>`, counted from 1. Throws InputError if `folder` is a link or
 * has a file of such a name, DamageError if an input is missing or damaged: nothing is written then.
 */
export async function writeInputs(
  store: ObjectStore,
  reference: string,
  folder: string,
): Promise<WrittenInputs> {
  const { name, manifest } = await findSnapshot(store, reference);
  const inputs = manifest.inputs.map((entry, at) => ({ ...entry, file: fileName(entry, at + 1) }));
  const stored = await atOnce(inputs, ({ key, bytes }) => readInput(store, key, bytes));
  const where = `--out ${JSON.stringify(folder)}`;
  // Without a slash at its end, the path of a link means the link.
  const path = resolve(folder);
  try {
    await mkdir(path, { recursive: true, mode: PRIVATE_FOLDER_MODE });
    if (!(await lstat(path)).isDirectory()) throw new Error("it is a link");
    const there = await readdir(path);
    const taken = inputs.find(({ file }) => there.includes(file));
    if (taken !== undefined) throw new Error(`${taken.file} exists`);
    for (const [at, { file }] of inputs.entries()) {
      const content = unpack(stored[at] as Buffer);
      await writeFile(join(path, file), content, { flag: "wx", mode: PRIVATE_FILE_MODE });
    }
  } catch (cause) {
    const message = `${where}: expected a folder for new files (${reasonOf(cause)})`;
    throw new InputError(message, [], { cause });
  }
  return { snapshot: snapshotText(name), folder, inputs };
}

/** The end of a longer name stays, because it says what the file is. */
const fileName = ({ kind, name }: InputEntry, number: number): string =>
  `${number}-${kind}-${basename(name)
    .replace(/[^A-Za-z0-9._-]/g, "-")
    .slice(-NAME_CHARACTERS_MAX)}`;

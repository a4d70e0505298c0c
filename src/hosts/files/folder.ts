/**
 * The folder of an exported site. It is written whole beside its place, and then takes it. It replaces nothing but an
 * empty folder and an export, known by the list of its files. A run that was killed leaves its own folder beside the
 * place, `.NAME-export-…`; if it was killed between its two renames, the old export is in there as `old`. A later run
 * removes that folder after an hour.
 */
import { lstat, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { HOUR_MS } from "../../lib/clock.ts";
import { ChipboardError, errorCode, InputError, reasonOf } from "../../lib/errors.ts";
import { sha256Hex } from "../../snapshot/digest.ts";
import type { SiteFile } from "./site.ts";

/** Names every other file of an export with its SHA-256, in the format of sha256sum. */
const LIST = "chipboard-export.sha256";

/** The folder of a run, beside the place of this name; mkdtemp adds six characters. */
const unfinished = (name: string): string => `.${name}-export-`;
const STALE_MS = HOUR_MS;

interface WrittenSite {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Replaces the folder by these files. Throws InputError if it is neither empty nor an export, or cannot be
 * written. The folder is unchanged whenever this throws.
 */
export async function replaceFolder(
  folder: string,
  files: AsyncIterable<SiteFile>,
): Promise<WrittenSite> {
  const place = resolve(folder);
  try {
    await requireReplaceable(place);
    await mkdir(dirname(place), { recursive: true });
    const beside = await mkdtemp(join(dirname(place), unfinished(basename(place))));
    try {
      const made = join(beside, "new");
      const written = await writeFiles(made, files);
      // Somebody may have written into it meanwhile.
      const isThere = await requireReplaceable(place);
      const old = join(beside, "old");
      if (isThere) await rename(place, old);
      try {
        await rename(made, place);
      } catch (error) {
        if (isThere) await rename(old, place);
        throw error;
      }
      await sweep(place, beside).catch(() => {});
      return written;
    } finally {
      await rm(beside, { recursive: true, force: true });
    }
  } catch (cause) {
    if (cause instanceof ChipboardError || errorCode(cause) === "") throw cause;
    const where = `${JSON.stringify(folder)}: expected a folder to write`;
    throw new InputError(`${where} (${reasonOf(cause)})`, [], { cause });
  }
}

/** Removes what killed runs left beside the place. `fresh` is this run's own folder, which tells the file system's time. */
async function sweep(place: string, fresh: string): Promise<void> {
  const { mtimeMs: now } = await lstat(fresh);
  const start = unfinished(basename(place));
  for (const entry of await readdir(dirname(place), { withFileTypes: true })) {
    const isOfRun = entry.name.startsWith(start) && entry.name.length === start.length + 6;
    const folder = join(dirname(place), entry.name);
    if (!isOfRun || !entry.isDirectory() || folder === fresh) continue;
    const names = await readdir(folder);
    const isOurs = names.every((name) => name === "new" || name === "old");
    if (isOurs && now - (await lstat(folder)).mtimeMs > STALE_MS)
      await rm(folder, { recursive: true, force: true });
  }
}

async function writeFiles(root: string, files: AsyncIterable<SiteFile>): Promise<WrittenSite> {
  const lines: string[] = [];
  let size = 0;
  for await (const { path, bytes } of files) {
    const file = join(root, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes, { flag: "wx" });
    lines.push(`${sha256Hex(bytes)}  ${path}\n`);
    size += bytes.length;
  }
  const list = lines.toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join("");
  await writeFile(join(root, LIST), list, { flag: "wx" });
  return { files: lines.length, bytes: size };
}

/** Whether the folder is there. Throws InputError if it may not be replaced. */
async function requireReplaceable(place: string): Promise<boolean> {
  const there = await lstat(place).catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  });
  if (there === null) return false;
  const shown = JSON.stringify(place);
  if (!there.isDirectory())
    throw new InputError(`${shown}: expected a folder, found something else`);
  const names = await readdir(place);
  if (names.length === 0 || names.includes(LIST)) return true;
  throw new InputError(
    `${shown}: expected an empty folder, or one that "chipboard export" wrote; found ` +
      `${JSON.stringify(names[0])} and no ${LIST}. Name another folder`,
  );
}

/**
 * Copies a whole state, and makes backups: accounts, keys and links (as hashes), counts, the secret that
 * addresses are hashed with, and the newest entry of each log that proxies have accepted. The target gets
 * everything in one atomic step, or nothing.
 */
import { link, lstat, mkdtemp, readdir, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { HOUR_MS } from "../lib/clock.ts";
import { DirectorySync } from "../lib/directory-sync.ts";
import { ConflictError, DamageError, errorCode, InputError, reasonOf } from "../lib/errors.ts";
import { isAddress, shownLocation } from "../lib/secrets.ts";
import { counted } from "../lib/text.ts";
import type { CountName, Item, StateContent } from "../ports/state.ts";
import { NOWHERE, remembering, seenOf, type SeenLog } from "../snapshot/log/lost.ts";
import { writeTo } from "./accounts.ts";
import { isOfSeen, seenAmong, writeSeen } from "./seen-logs.ts";
import { forgetAtMs } from "../ports/month.ts";
import { withDriver } from "./open.ts";

/**
 * Copies the state at `from` (also a backup file) into the empty state at `to`, reads it back, and
 * compares it. Counts whose time is over are left out. Throws ConflictError if the target is not
 * empty, DamageError if it reads back differently, and what `withRegistry` throws.
 */
export async function copyState(from: string, to: string, nowMs: number): Promise<StateSize> {
  const content = await read(from);
  const counts = content.counts
    .map((count) => ({ ...count, keptMs: forgetAtMs(count.subject, count.month) - nowMs }))
    .filter(({ keptMs }) => keptMs > 0);
  const wanted = { items: content.items, counts };
  await withDriver(to, "fill", async (target) => {
    const version = await target.version();
    const held = await target.readAll();
    const items: Item<string | null>[] = wanted.items.filter(([name]) => !isOfSeen(name));
    // Proxies that use the target already may have seen newer entries.
    const seen = seenAmong(wanted.items).reduce(remembering, seenAmong(held.items));
    if (seen.length > 0) writeSeen(writeTo(items), seen);
    const isEmpty = Object.values(sizeOf(held)).every((size) => size === 0);
    if (isEmpty && (await target.write(version, items, counts))) return;
    throw new ConflictError(
      `State ${shownLocation(to)} holds ${inWords(sizeOf(await target.readAll()))}, and a copy needs an empty one: nothing was changed. ` +
        "If an earlier copy filled it, it is whole and you can use it; otherwise name another target",
    );
  });
  await requireCopied(wanted, to);
  return sizeOf(wanted);
}

/** A backup is made in a folder beside it, whose name ends with this and six random characters. */
const UNFINISHED = ".unfinished-";
const UNFINISHED_END = /\.unfinished-[A-Za-z0-9]{6}$/;
/** No backup takes so long. */
const STALE_MS = HOUR_MS;

/**
 * Copies the state at `from` into the new file `path`, which only its owner can read. The file appears
 * when it is whole. What a killed backup left beside it is removed after an hour. Throws ConflictError if
 * the path exists, InputError if it cannot be written, and what `copyState` throws.
 */
export async function backUpState(from: string, path: string, nowMs: number): Promise<StateSize> {
  if (isAddress(path)) {
    const shown = JSON.stringify(shownLocation(path));
    throw new InputError(`Backup ${shown}: expected the path of a file`);
  }
  const exists = new ConflictError(
    `${path} exists, and backups are never overwritten: name another file`,
  );
  if (existsSync(path)) throw exists;
  const fail = (error: unknown): never => {
    if (errorCode(error) === "EEXIST") throw exists;
    throw new InputError(`Backup ${JSON.stringify(path)} cannot be written: ${reasonOf(error)}`);
  };
  const { makePortable, stateFilePath } = await import("./sqlite/sqlite-file.ts");
  const folder = await mkdtemp(path + UNFINISHED).catch(fail);
  try {
    await sweep(folder, stateFilePath).catch(() => {});
    const copy = await copyState(from, folder, nowMs);
    makePortable(stateFilePath(folder));
    await link(stateFilePath(folder), path).catch(fail);
    await new DirectorySync().sync(dirname(path)).catch(async (error: unknown) => {
      await rm(path, { force: true });
      return fail(error);
    });
    return copy;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Removes what killed backups left beside `fresh`, a new folder, which tells the file system's own time. */
async function sweep(fresh: string, stateFilePath: (folder: string) => string): Promise<void> {
  const beside = dirname(fresh);
  const { mtimeMs: now } = await lstat(fresh);
  for (const entry of await readdir(beside, { withFileTypes: true })) {
    if (!entry.isDirectory() || !UNFINISHED_END.test(entry.name)) continue;
    const folder = join(beside, entry.name);
    // Another backup may remove it at the same time, or another user may own it. It does no harm.
    await removeStale(folder, stateFilePath(folder), now).catch(() => {});
  }
}

/** Removes the folder if it has nothing but a state's file and SQLite's files beside it, and all are old. */
async function removeStale(folder: string, file: string, now: number): Promise<void> {
  const paths = (await readdir(folder)).map((name) => join(folder, name));
  if (!paths.every((path) => path.startsWith(file))) return;
  const all = await Promise.all([folder, ...paths].map((path) => lstat(path)));
  if (all.every(({ mtimeMs }) => mtimeMs < now - STALE_MS)) await rm(folder, { recursive: true });
}

/** `3 accounts, 5 keys and 12 counts`; links are named if there are any. */
export function inWords({ accounts, keys, links, counts }: StateSize): string {
  const withLinks = links === 0 ? "" : `, ${counted(links, "link")}`;
  return `${counted(accounts, "account")}, ${counted(keys, "key")}${withLinks} and ${counted(counts, "count")}`;
}

const read = (location: string): Promise<StateContent> =>
  withDriver(location, "use", (state) => state.readAll());

function sizeOf({ items, counts }: StateContent) {
  const such = (name: RegExp): number => items.filter(([item]) => name.test(item)).length;
  return {
    accounts: such(/^accounts:[^:]+$/),
    keys: such(/^key-ids:cbk_/),
    links: such(/^key-ids:lnk_/),
    counts: counts.length,
  };
}
/** How much a copy holds. */
export type StateSize = ReturnType<typeof sizeOf>;

/** Whether the state remembers this entry of the log, or a newer one. */
const isSeen = ({ items }: StateContent, log: SeenLog): boolean =>
  (seenOf(seenAmong(items), { ...log, location: NOWHERE })?.number ?? 0) >= log.number;

/** Proxies that use the target already may have counted more in it, and seen a newer entry. */
async function requireCopied(wanted: StateContent, to: string): Promise<void> {
  const found = await read(to);
  const idOf = ({ month, subject }: CountName): string => `${month} ${subject}`;
  const used = new Map(found.counts.map((count) => [idOf(count), count.used]));
  const items = new Map(found.items);
  const isWhole =
    wanted.items.every(([name, json]) => isOfSeen(name) || items.get(name) === json) &&
    wanted.counts.every((count) => (used.get(idOf(count)) ?? 0) >= count.used) &&
    seenAmong(wanted.items).every((log) => isSeen(found, log));
  if (isWhole) return;
  throw new DamageError(
    `State ${shownLocation(to)} reads back differently from its source. Do not use it; copy again into another one`,
  );
}

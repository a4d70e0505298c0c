/**
 * Copies a whole state, and makes backups: accounts, keys and links (as hashes), counts, the secret that
 * addresses are hashed with, and the newest entry of the log that proxies have accepted. The target gets
 * everything in one atomic step, or nothing.
 */
import { link, mkdtemp, rm } from "node:fs/promises";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { DirectorySync } from "../lib/directory-sync.ts";
import { ConflictError, DamageError, errorCode, InputError, reasonOf } from "../lib/errors.ts";
import { counted, redactedUrl } from "../lib/text.ts";
import type { CountName, StateContent } from "./driver.ts";
import type { SeenEntry } from "../snapshot/log/seen.ts";
import { SEEN_ITEM } from "./facts.ts";
import { forgetAtMs } from "./month.ts";
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
    const isNewer = seenNumber(wanted) > seenNumber(held);
    const items = wanted.items.filter(([name]) => name !== SEEN_ITEM || isNewer);
    const isEmpty = Object.values(sizeOf(held)).every((size) => size === 0);
    if (isEmpty && (await target.write(version, items, counts))) return;
    throw new ConflictError(
      `State ${redactedUrl(to)} holds ${inWords(sizeOf(await target.readAll()))}, and a copy needs an empty one: nothing was changed. ` +
        "If an earlier copy filled it, it is whole and you can use it; otherwise name another target",
    );
  });
  await requireCopied(wanted, to);
  return sizeOf(wanted);
}

/**
 * Copies the state at `from` into the new file `path`, which only its owner can read. The file appears
 * when it is whole. Throws ConflictError if the path exists, InputError if it cannot be written, and
 * what `copyState` throws.
 */
export async function backUpState(from: string, path: string, nowMs: number): Promise<StateSize> {
  const exists = new ConflictError(
    `${path} exists, and backups are never overwritten: name another file`,
  );
  if (existsSync(path)) throw exists;
  const fail = (error: unknown): never => {
    if (errorCode(error) === "EEXIST") throw exists;
    throw new InputError(`Backup ${JSON.stringify(path)} cannot be written: ${reasonOf(error)}`);
  };
  const { makePortable, stateFilePath } = await import("./sqlite/file.ts");
  const folder = await mkdtemp(`${path}.`).catch(fail);
  try {
    const copy = await copyState(from, folder, nowMs);
    makePortable(stateFilePath(folder));
    await link(stateFilePath(folder), path).catch(fail);
    await new DirectorySync().sync(dirname(path));
    return copy;
  } finally {
    await rm(folder, { recursive: true });
  }
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

/** The number of the entry of the log that the state has seen; 0: none. */
function seenNumber({ items }: StateContent): number {
  const [, json] = items.find(([name]) => name === SEEN_ITEM) ?? [];
  return json === undefined ? 0 : (JSON.parse(json) as SeenEntry).number;
}

/** Proxies that use the target already may have counted more in it, and seen a newer entry. */
async function requireCopied(wanted: StateContent, to: string): Promise<void> {
  const found = await read(to);
  const idOf = ({ month, subject }: CountName): string => `${month} ${subject}`;
  const used = new Map(found.counts.map((count) => [idOf(count), count.used]));
  const items = new Map(found.items);
  const isWhole =
    wanted.items.every(([name, json]) => name === SEEN_ITEM || items.get(name) === json) &&
    wanted.counts.every((count) => (used.get(idOf(count)) ?? 0) >= count.used) &&
    seenNumber(wanted) <= seenNumber(found);
  if (isWhole) return;
  throw new DamageError(
    `State ${redactedUrl(to)} reads back differently from what was copied into it: do not use it, and copy again into another one`,
  );
}

/** The backups: how old the newest is, and the drill, which restores and verifies it. */
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DAY_MS, HOUR_MS, instantText } from "../lib/clock.ts";
import { ChipboardError, DamageError, InputError, reasonOf } from "../lib/errors.ts";
import { counted } from "../lib/text.ts";
import { verifySnapshots } from "../desk/verify.ts";
import { readLogEnd, type LogEnd } from "../snapshot/log/walk.ts";
import { copyState, inWords } from "../state/copy-state.ts";
import { accountsIn } from "../state/open.ts";
import { damageIn } from "../state/sqlite/sqlite-file.ts";
import { openStore } from "../store/open-store.ts";
import type { ObjectStore } from "../ports/store.ts";
import { PUBLICATIONS } from "../store/paths.ts";
import {
  ALERT_LIMITS,
  beyondLimit,
  faultOf,
  notWatched,
  ok,
  orFailure,
  notKnown,
  type Finding,
} from "./checks.ts";
import { ageOf, type Memory } from "./memory.ts";

const DRILL_DAYS = 7;
const MAKE_BACKUP = "systemctl start chipboard-backup, or chipboard state backup FILE";
const READ_BACKUP = `give this user the right to read it, or make another one: ${MAKE_BACKUP}`;

/** The newest backup at a location: a file of a state, a copy of a store, or both. */
interface Backup {
  readonly stateFile: string | null;
  readonly storeCopy: string | null;
  readonly atMs: number;
  /** Changes with the backup. */
  readonly key: string;
}

/** The finding of the row `backup`, and the backup if it can be read. */
interface BackupFinding {
  readonly finding: Finding;
  readonly backup: Backup | null;
}

/** `end` is the log's of the store that is backed up. */
export async function checkBackup(
  location: string | null,
  end: LogEnd | ChipboardError,
  nowMs: number,
  { successes }: Memory,
): Promise<BackupFinding> {
  if (location === null) return { finding: notWatched("backup", "--backup"), backup: null };
  const backup = await orFailure(() => findBackup(location));
  if (backup instanceof ChipboardError) {
    return { finding: faultOf("backup", backup, READ_BACKUP), backup: null };
  }
  const failure = await orFailure(() => look(backup));
  if (failure instanceof ChipboardError) {
    return { finding: faultOf("backup", failure, READ_BACKUP), backup: null };
  }
  successes.backup = backup.atMs;
  const name = backup.stateFile ?? backup.storeCopy;
  const text = `${name} is of ${instantText(backup.atMs)}`;
  const limitMs = ALERT_LIMITS.backupHours * HOUR_MS;
  const isOld = nowMs - backup.atMs > limitMs;
  const copied = failure?.newest == null ? null : Date.parse(failure.newest.entry.at);
  const newest =
    end instanceof ChipboardError || end.newest === null ? null : Date.parse(end.newest.entry.at);
  const isBehind = copied !== null && newest !== null && newest - copied > limitMs;
  const expected = `expected at most ${ALERT_LIMITS.backupHours} hours`;
  const finding = isOld
    ? beyondLimit("backup", `${text}, ${hours(nowMs - backup.atMs)} ago, ${expected}`, MAKE_BACKUP)
    : isBehind
      ? beyondLimit(
          "backup",
          `${text}; its copy of the store ends ${hours(newest - copied)} before the store, ${expected}`,
          "systemctl start chipboard-backup, or chipboard snapshots copy",
        )
      : ok("backup", text);
  return { finding, backup };
}

const hours = (ms: number): string => `${Math.floor(ms / HOUR_MS)} hours`;

/** Throws InputError if there is none. */
async function findBackup(location: string): Promise<Backup> {
  const where = `--backup ${JSON.stringify(location)}`;
  const place = await statOf(where, location);
  if (place.isFile()) {
    const { mtimeMs, size } = place;
    return {
      stateFile: location,
      storeCopy: null,
      atMs: mtimeMs,
      key: [location, mtimeMs, size].join(" "),
    };
  }
  const names = await orUnreadable(where, () => readdir(location));
  const folders = [location, ...names.map((name) => join(location, name))];
  const storeCopy = folders.find((folder) => existsSync(join(folder, PUBLICATIONS))) ?? null;
  const files = await Promise.all(
    names
      .filter((name) => name.endsWith(".sqlite"))
      .map((name) => join(location, name))
      .map(async (path) => ({ path, ...(await statOf(where, path)) })),
  );
  const newest = files.toSorted((a, b) => b.mtimeMs - a.mtimeMs)[0];
  if (newest === undefined && storeCopy === null) {
    throw new InputError(`${where} holds no backup: expected a file ….sqlite or a copy of a store`);
  }
  const copy = storeCopy === null ? null : await statOf(where, join(storeCopy, PUBLICATIONS));
  return {
    stateFile: newest?.path ?? null,
    storeCopy,
    atMs: newest?.mtimeMs ?? copy?.mtimeMs ?? 0,
    key: [newest?.path, newest?.mtimeMs, newest?.size, copy?.mtimeMs].join(" "),
  };
}

const statOf = (where: string, path: string) => orUnreadable(where, () => stat(path));

async function orUnreadable<T>(where: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new InputError(`${where} cannot be read: ${reasonOf(cause)}`, [], { cause });
  }
}

/** Opens both parts. Returns the end of the copied log; null without a copy. Throws DamageError. */
async function look({ stateFile, storeCopy }: Backup): Promise<LogEnd | null> {
  if (stateFile !== null) {
    const state = await orFailure(() => accountsIn(stateFile));
    if (state instanceof ChipboardError) {
      throw /permission denied/i.test(state.message)
        ? state
        : new DamageError(`The backup ${stateFile} cannot be read: ${state.message}`);
    }
  }
  return storeCopy === null ? null : onStore(storeCopy, readLogEnd);
}

async function onStore<T>(folder: string, work: (store: ObjectStore) => Promise<T>): Promise<T> {
  const store = await openStore(folder, {});
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/**
 * Restores and verifies the backup: at the first look, each week, and after a failure each new backup. `isGuard` false:
 * only repeats what the last drill found.
 */
export async function checkDrill(
  location: string | null,
  backup: Backup | null,
  nowMs: number,
  memory: Memory,
  isGuard: boolean,
): Promise<Finding> {
  if (location === null) return notWatched("drill", "--backup");
  const last = memory.kept.drill;
  const isFault = last?.finding.result === "fault";
  const isDue =
    last === undefined ||
    ageOf(last.atMs, nowMs) >= DRILL_DAYS * DAY_MS ||
    (isFault && last.key !== backup?.key);
  if (last !== undefined && (!isDue || !isGuard || backup === null)) return last.finding;
  if (backup === null) return notKnown("drill", "there is no backup that can be read");
  if (!isGuard) return notKnown("drill", "chipboard guard has restored no backup yet");
  const found = await orFailure(() => restore(backup, nowMs));
  const finding =
    found instanceof ChipboardError
      ? faultOf("drill", found, `do not rely on this backup: ${MAKE_BACKUP}`)
      : ok("drill", `restored and verified at ${instantText(nowMs)}: ${found}`);
  memory.kept.drill = { atMs: nowMs, key: backup.key, finding };
  return finding;
}

/** Restores the backup, and returns its size in words. Throws DamageError. */
async function restore({ stateFile, storeCopy }: Backup, nowMs: number): Promise<string> {
  const words: string[] = [];
  if (stateFile !== null) {
    const damage = damageIn(stateFile);
    if (damage !== null) throw new DamageError(`The backup ${stateFile} is damaged: ${damage}`);
    const folder = await mkdtemp(join(tmpdir(), "chipboard-drill-"));
    try {
      const copy = await orFailure(() => copyState(stateFile, join(folder, "state"), nowMs));
      if (copy instanceof ChipboardError) {
        throw new DamageError(`The backup ${stateFile} cannot be restored: ${copy.message}`);
      }
      words.push(`${stateFile} with ${inWords(copy)}`);
    } finally {
      await rm(folder, { recursive: true });
    }
  }
  if (storeCopy !== null) {
    const { damages, files, entries } = await onStore(storeCopy, (store) =>
      verifySnapshots(store, null),
    );
    if (damages.length > 0) {
      throw new DamageError(`The backup ${storeCopy} is damaged`, damages);
    }
    words.push(
      `${storeCopy} with ${counted(entries, "entry", "entries")} and ${counted(files, "file")}`,
    );
  }
  return words.join("; ");
}

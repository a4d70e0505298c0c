/**
 * The one SQLite file of a state folder, `chipboard.sqlite`, readable by its owner only:
 *
 *   items(key, value)              the registry, as unstorage items
 *   calls(month, subject, used)    calls counted
 *   facts(name, value)             the number of changes of the registry
 *
 * The file's `user_version` marks a state. A copy sets it last, so that what a killed copy leaves is no
 * state. Write-ahead logging lets any number of processes read while one of them writes.
 */
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  statSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { errorCode, reasonOf, UnreachableError } from "../../lib/errors.ts";
import { NoStateError, type StatePurpose } from "../../ports/state.ts";

const APPLICATION_ID = 0x63686970;
const FORMAT = 3;
/** SQLite waits this long for a lock and blocks the process. sqlite-state.ts waits longer without that. */
const BUSY_TIMEOUT_MS = 5;

const SCHEMA = `
  CREATE TABLE items (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE calls (
    month TEXT NOT NULL, subject TEXT NOT NULL, used INTEGER NOT NULL, PRIMARY KEY (month, subject)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
`;
/** Makes a state of the tables. */
export const MARK = `PRAGMA user_version = ${FORMAT}`;

export const stateFilePath = (folder: string): string => join(folder, "chipboard.sqlite");

/** Creates a missing file, readable by its owner only, and a missing folder. */
function createPrivateFile(folder: string, path: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    // "wx" never opens an existing file: to close one here would drop SQLite's locks of this process.
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    makePrivate(path);
  }
}

function makePrivate(path: string): void {
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
}

/** Creates the state of `folder` if there is none: for a copy to fill, without the mark. Returns whether it did. */
export function createStateFile(folder: string, purpose: "create" | "fill"): boolean {
  const path = stateFilePath(folder);
  createPrivateFile(folder, path);
  using database = openExisting(path);
  database.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
  const isNew = isUnmarked(database);
  if (isBlank(database)) database.exec(SCHEMA);
  if (isNew && purpose === "create") database.exec(MARK);
  database.exec("COMMIT");
  return isNew;
}

/**
 * Opens the existing state of a folder, or a state's file such as a backup. Throws NoStateError if there is
 * none, except for a copy that fills a state of its own.
 */
export function openStateFile(location: string, purpose: StatePurpose): OpenStateFile {
  const path = isFile(location) ? location : stateFilePath(location);
  requireThere(path);
  if (purpose === "serve") makePrivate(path);
  try {
    return { database: checkState(openExisting(path), path, purpose), isFixed: false };
  } catch (error) {
    const isReading = purpose === "use" || purpose === "serve";
    const beside = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (!isReading || !isRefusalOfDisk(error) || beside > 0) throw error;
    return { database: checkState(openExisting(path, true), path, "use"), isFixed: true };
  }
}

/** An open file. Fixed: the disk has no room for SQLite's files beside it, so that it is read as it was then. */
export interface OpenStateFile {
  readonly database: DatabaseSync;
  readonly isFixed: boolean;
}

const [SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN] = [8, 10, 13, 14];
const SQLITE_READONLY_DBMOVED = 1_032;

/** Whether the file system refused a write: it is full, read-only, or does not let this user write. */
export function isRefusalOfDisk(error: unknown): boolean {
  const code = error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;
  const refusals = [SQLITE_READONLY, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN];
  return refusals.includes(code & 0xff) && code !== SQLITE_READONLY_DBMOVED;
}

function checkState(database: DatabaseSync, path: string, purpose: StatePurpose): DatabaseSync {
  try {
    if (!isUnmarked(database)) requireFormat(database);
    else if (purpose !== "fill") throw new NoStateError(resolve(path));
    // A backup that somebody put there has another mode.
    if (purpose === "serve") database.exec("PRAGMA journal_mode = WAL");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Throws NoStateError only if nothing is there: a file that this user cannot see is no missing state. */
function requireThere(path: string): void {
  try {
    statSync(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") throw new NoStateError(resolve(path));
    throw error;
  }
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();

/** Makes a closed state's file one that can be read where nobody may write beside it. */
export function makePortable(path: string): void {
  using database = openExisting(path);
  database.exec("PRAGMA journal_mode = DELETE");
}

/** What SQLite finds wrong in the structure of a state's file, in one line; null: nothing. */
export function damageIn(path: string): string | null {
  try {
    using database = openExisting(path, true);
    const rows = database.prepare("PRAGMA integrity_check(3)").all();
    const found = rows.map((row) => String(row["integrity_check"])).join("; ");
    return found === "ok" ? null : found;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Makes a one-line message of a failure of SQLite. */
export function stateError(folder: string, cause: unknown): UnreachableError {
  if (cause instanceof UnreachableError) return cause;
  const message = `State ${JSON.stringify(folder)} (--state) cannot be used: ${reasonOf(cause)}${forbiddenIn(folder)}`;
  return new UnreachableError(message, [], { cause });
}

/** SQLite does not say that a file may not be opened by this user. */
function forbiddenIn(location: string): string {
  const path = stateFilePath(location);
  const isForbidden = (each: string): boolean => {
    try {
      accessSync(each, constants.R_OK | constants.W_OK);
      return false;
    } catch (error) {
      return ["EACCES", "EPERM"].includes(errorCode(error));
    }
  };
  const places = [location, path, `${path}-wal`, `${path}-shm`];
  const forbidden = places.find(isForbidden);
  return forbidden === undefined ? "" : `; permission denied: ${forbidden}`;
}

function openExisting(path: string, isFixed = false): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set("mode", isFixed ? "ro" : "rw");
  if (isFixed) url.searchParams.set("immutable", "1");
  return new DatabaseSync(url, { timeout: BUSY_TIMEOUT_MS });
}

const isBlank = (database: DatabaseSync): boolean =>
  database.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.["n"] === 0;

/** Whether the file is empty, or one that a copy began to fill. */
const isUnmarked = (database: DatabaseSync): boolean =>
  isBlank(database) || (isOurs(database) && formatOf(database) === 0);

const isOurs = (database: DatabaseSync): boolean =>
  database.prepare("PRAGMA application_id").get()?.["application_id"] === APPLICATION_ID;

const formatOf = (database: DatabaseSync): unknown =>
  database.prepare("PRAGMA user_version").get()?.["user_version"];

function requireFormat(database: DatabaseSync): void {
  if (!isOurs(database)) throw new Error("chipboard.sqlite belongs to another application");
  const format = formatOf(database);
  if (format !== FORMAT) {
    throw new Error(`chipboard.sqlite has format ${String(format)}, expected ${FORMAT}`);
  }
}

/**
 * Identifies the file. It changes if the file is replaced or emptied, or if its `-wal` or `-shm` is
 * deleted: SQLite keeps the deleted ones open, and locks out other processes or overwrites their
 * data.
 */
export function fileIdOf(folder: string): string {
  const path = stateFilePath(folder);
  const { dev, ino, size } = statSync(path);
  const beside = ["-wal", "-shm"].map(
    (suffix) => statSync(path + suffix, { throwIfNoEntry: false })?.ino ?? "none",
  );
  return [dev, ino, size === 0 ? "empty" : "", ...beside].join(" ");
}

/**
 * The one SQLite file of a state folder, `chipboard.sqlite`, readable by its owner only:
 *
 *   items(key, value)              the registry, as unstorage items
 *   calls(month, subject, used)    calls counted
 *   facts(name, value)             the number of changes of the registry
 *
 * Write-ahead logging lets any number of processes read while one of them writes.
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { errorCode, reasonOf, UnreachableError } from "../../lib/errors.ts";
import { NoStateError } from "../driver.ts";

const APPLICATION_ID = 0x63686970;
const FORMAT = 3;
/** SQLite waits this long for a lock and blocks the process. state.ts waits longer without that. */
const BUSY_TIMEOUT_MS = 5;

const SCHEMA = `
  CREATE TABLE items (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE calls (
    month TEXT NOT NULL, subject TEXT NOT NULL, used INTEGER NOT NULL, PRIMARY KEY (month, subject)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};
`;

export const stateFilePath = (folder: string): string => join(folder, "chipboard.sqlite");

/** Creates a missing file, readable by its owner only, and a missing folder. */
function createPrivateFile(folder: string, path: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    // "wx" never opens an existing file: to close one here would drop SQLite's locks of this process.
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  }
}

/** Creates the state of `folder` if there is none. Returns whether it did. */
export function createStateFile(folder: string): boolean {
  const path = stateFilePath(folder);
  createPrivateFile(folder, path);
  using database = openExisting(path);
  database.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
  const isNew = isBlank(database);
  if (isNew) database.exec(SCHEMA);
  database.exec("COMMIT");
  return isNew;
}

/**
 * Opens the existing state of a folder, or a state's file such as a backup. Throws NoStateError if there
 * is none.
 */
export function openStateFile(location: string): DatabaseSync {
  const path = isFile(location) ? location : stateFilePath(location);
  if (!existsSync(path)) throw new NoStateError(resolve(path));
  const database = openExisting(path);
  try {
    requireFormat(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();

/** Makes a closed state's file one that can be read where nobody may write beside it. */
export function makePortable(path: string): void {
  using database = openExisting(path);
  database.exec("PRAGMA journal_mode = DELETE");
}

/** Makes a one-line message of a failure of SQLite. */
export function unfit(folder: string, cause: unknown): UnreachableError {
  if (cause instanceof UnreachableError) return cause;
  const message = `State ${JSON.stringify(folder)} (--state) cannot be used: ${reasonOf(cause)}`;
  return new UnreachableError(message, [], { cause });
}

function openExisting(path: string): DatabaseSync {
  const url = pathToFileURL(path);
  url.searchParams.set("mode", "rw");
  return new DatabaseSync(url, { timeout: BUSY_TIMEOUT_MS });
}

const isBlank = (database: DatabaseSync): boolean =>
  database.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.["n"] === 0;

function requireFormat(database: DatabaseSync): void {
  const id = database.prepare("PRAGMA application_id").get()?.["application_id"];
  const format = database.prepare("PRAGMA user_version").get()?.["user_version"];
  if (isBlank(database)) throw new Error("chipboard.sqlite is empty");
  if (id !== APPLICATION_ID) throw new Error("chipboard.sqlite belongs to another application");
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

/**
 * The lock that makes one `serve` the only one to count in a state folder: an SQLite file held by
 * an exclusive transaction. The operating system releases it when the process ends, however it ends.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { UnreachableError } from "../../errors.ts";
import { createPrivateFile, isBusy, unfit } from "./file.ts";

/**
 * A lock that is held. `release` is for an end in order; the end of the process releases it, too.
 */
export interface ServeLock {
  release(): void;
}

/** Takes the lock of `folder`, or throws an UnreachableError that ends with `holder()`. */
export function takeServeLock(folder: string, holder: () => string): ServeLock {
  const path = join(folder, "serve.lock");
  let database: DatabaseSync | undefined;
  try {
    createPrivateFile(folder, path);
    database = new DatabaseSync(path, { timeout: 0 });
    // Nothing is written, so there is nothing to roll back to: no journal beside the file.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    database?.close();
    if (!isBusy(error)) throw unfit(folder, error);
    throw new UnreachableError(
      `State ${JSON.stringify(folder)} (--state) is in use by another serve${holder()}`,
    );
  }
  const held = database;
  return { release: () => held.close() };
}

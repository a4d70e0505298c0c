/**
 * The connection of a serving proxy to its state file. It survives the file: where the file is gone,
 * replaced or damaged the connection is dropped, `check` says so, and opens it again when it can.
 */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { reopenStateFile, stateFilePath } from "./file.ts";

/** What a look at the file showed. "changed": by another connection, or it is another file. */
type CheckResult = "same" | "changed";

/** An open connection, or one that waits for the next `check` to open it. */
export class SqliteConnection {
  readonly #folder: string;
  #database: DatabaseSync | null;
  #fileId = "";
  #dataVersion: unknown;

  /** Takes over an open database of the folder. */
  constructor(folder: string, database: DatabaseSync) {
    this.#folder = folder;
    this.#database = database;
    this.#adopt(database);
  }

  /** The open database. Throws where there is none at the moment. */
  get database(): DatabaseSync {
    if (this.#database === null) throw new Error("the state file is not open");
    return this.#database;
  }

  /** Looks at the file, and opens it where it is not open. Throws while it cannot be used. */
  check(): CheckResult {
    if (this.#database === null) {
      const database = reopenStateFile(this.#folder);
      this.#database = database;
      this.#adopt(database);
      return "changed";
    }
    // An open file that was deleted or replaced goes on working, unseen by everybody else.
    if (this.#currentFileId() !== this.#fileId) throw new Error("the state file was replaced");
    const dataVersion = dataVersionOf(this.#database);
    if (dataVersion === this.#dataVersion) return "same";
    this.#dataVersion = dataVersion;
    return "changed";
  }

  /** Lets go of the file, whatever state it is in. */
  drop(): void {
    const database = this.#database;
    this.#database = null;
    try {
      database?.close();
    } catch {
      // What cannot be closed cannot be used either; nothing is lost that was committed.
    }
  }

  #adopt(database: DatabaseSync): void {
    database.exec("PRAGMA synchronous = NORMAL");
    this.#dataVersion = dataVersionOf(database);
    this.#fileId = this.#currentFileId();
  }

  /**
   * Which file it is; an emptied one is another. So is one whose log or shared memory was deleted:
   * SQLite goes on with those it has open, and shuts everybody else out or writes across them.
   */
  #currentFileId(): string {
    const path = stateFilePath(this.#folder);
    const { dev, ino, size } = statSync(path);
    const beside = ["-wal", "-shm"].map(
      (suffix) => statSync(path + suffix, { throwIfNoEntry: false })?.ino ?? "none",
    );
    return [dev, ino, size === 0 ? "empty" : "", ...beside].join(" ");
  }
}

const dataVersionOf = (database: DatabaseSync): unknown =>
  database.prepare("PRAGMA data_version").get()?.["data_version"];

/** The registry and the counts of a state folder, as commands use them beside a running proxy. */
import { existsSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import type { Storage } from "unstorage";
import { errorCode } from "../../errors.ts";
import { Limiter } from "../../limiter.ts";
import type { Subject } from "../gatekeeper.ts";
import { createStateFile, emptyState, stateFilePath, unfit, whenNotBusy } from "./file.ts";
import { sqliteStorage } from "./items.ts";
import type { Change, RegistryState, StatePurpose } from "../driver.ts";

/**
 * Opens the state of `folder`. Where there is none, "change" creates it and "read" sees an empty
 * one. Throws UnreachableError.
 */
export async function openSqliteRegistry(
  folder: string,
  purpose: StatePurpose,
): Promise<RegistryState> {
  const isAbsent = purpose === "read" && !existsSync(stateFilePath(folder));
  return new SqliteRegistry(folder, isAbsent ? emptyState() : await createStateFile(folder));
}

class SqliteRegistry implements RegistryState {
  readonly location: string;
  readonly storage: Storage;
  readonly #database: DatabaseSync;
  /** Changes of this connection, one after the other. */
  readonly #changes = new Limiter(1);

  constructor(folder: string, database: DatabaseSync) {
    this.location = folder;
    this.#database = database;
    this.storage = sqliteStorage(() => database);
    database.exec("PRAGMA synchronous = FULL");
  }

  change<T>(plan: () => Promise<Change<T>>): Promise<T> {
    return this.#changes.run(() => this.#changeAlone(plan));
  }

  async counts(subjects: readonly Subject[], month: string): Promise<number[]> {
    const count = this.#database.prepare("SELECT used FROM calls WHERE month = ? AND subject = ?");
    return subjects.map((subject) => Number(count.get(month, subject)?.["used"] ?? 0));
  }

  explain(error: unknown): unknown {
    return errorCode(error) === "ERR_SQLITE_ERROR" ? unfit(this.location, error) : error;
  }

  close(): Promise<void> {
    return this.#changes.run(async () => this.#database.close());
  }

  async #changeAlone<T>(plan: () => Promise<Change<T>>): Promise<T> {
    try {
      await whenNotBusy(() => this.#database.exec("BEGIN IMMEDIATE"));
      const { writes, result } = await plan();
      await this.storage.setItems([...writes].map(([key, value]) => ({ key, value })));
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw this.explain(error);
    }
  }
}

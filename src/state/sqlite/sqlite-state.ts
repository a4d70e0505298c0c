/**
 * The state of a folder in one SQLite file, for commands and for any number of proxies on one machine.
 * A batch of counts is one transaction: after its commit, `kill -9` loses none of it.
 *
 * If the file is missing, replaced or damaged, this closes it, and `look` opens it again when it can.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { createStorage, defineDriver, type Storage } from "unstorage";
import { errorCode, reasonOf } from "../../lib/errors.ts";
import { NoStateError } from "../../ports/state.ts";
import type {
  CountName,
  CountReply,
  CountRequest,
  Item,
  KeptCount,
  Look,
  StateContent,
  StateDriver,
  StatePurpose,
  StoredCount,
} from "../../ports/state.ts";
import { monthEndMs, monthOf, monthsWithCounts, rangesToForget } from "../../ports/month.ts";
import {
  createStateFile,
  fileIdOf,
  MARK,
  isRefusalOfDisk,
  openStateFile,
  stateFilePath,
  stateError,
  type OpenStateFile,
} from "./sqlite-file.ts";

/** SQLite deletes so many in about 3 ms, in which this process does nothing else. */
const FORGOTTEN_AT_ONCE = 1_000;
/** How long a step tries again while another process holds a lock. */
const PATIENCE_MS = 5_000;
const RETRY_MAX_MS = 5;
const SQLITE_BUSY = 5;

/** Opens the state of `folder`. Throws NoStateError for a missing state that must exist, and UnreachableError. */
export async function openSqlite(folder: string, purpose: StatePurpose): Promise<StateDriver> {
  try {
    const creates = purpose === "create" || purpose === "fill";
    const isNew = creates && (await whenNotBusy(() => createStateFile(folder, purpose)));
    const file = await whenNotBusy(() => openStateFile(folder, purpose));
    return new SqliteState(folder, purpose, file, isNew);
  } catch (error) {
    throw stateError(folder, error);
  }
}

class SqliteState implements StateDriver {
  readonly storage: Storage;
  readonly created: string | null;
  readonly #folder: string;
  readonly #purpose: StatePurpose;
  readonly #statements = new Map<string, StatementSync>();
  #database: DatabaseSync | null = null;
  /** See OpenStateFile. */
  #isFixed = false;
  /** What the next look tries, to find out whether writes are taken: one that it takes back, or after a refusal a real one. */
  #doubt: "trial" | "write" | null = "trial";
  /** At the last look; null: not yet looked at. */
  #fileId: string | null = null;
  #seenVersion: string | null = null;

  constructor(folder: string, purpose: StatePurpose, file: OpenStateFile, isNew: boolean) {
    this.#folder = folder;
    this.#purpose = purpose;
    this.storage = createStorage({ driver: itemsDriver((sql) => this.#prepare(sql)) });
    this.created = isNew ? resolve(stateFilePath(folder)) : null;
    this.#adopt(file);
  }

  /** Uses an open database. Counts survive a kill of the process; changes also survive a power failure. */
  #adopt({ database, isFixed }: OpenStateFile): void {
    database.exec(`PRAGMA synchronous = ${this.#purpose === "serve" ? "NORMAL" : "FULL"}`);
    this.#database = database;
    this.#isFixed = isFixed;
    this.#doubt ??= "trial";
    this.#fileId = null;
    this.#seenVersion = null;
  }

  version(): Promise<string> {
    return whenNotBusy(() => this.#version());
  }

  write(
    version: string,
    items: readonly Item<string | null>[],
    counts: readonly KeptCount[] = [],
  ): Promise<boolean> {
    return this.#atOnce("BEGIN IMMEDIATE", () => {
      if (this.#version() !== version) return false;
      for (const [name, json] of items) {
        if (json === null) this.#prepare("DELETE FROM items WHERE key = ?").run(name);
        else this.#prepare("INSERT OR REPLACE INTO items VALUES (?, ?)").run(name, json);
      }
      for (const { used: known, ...name } of counts) this.#add({ ...name, known, added: 0 }, 0);
      this.#prepare(
        "INSERT INTO facts VALUES ('version', '1') ON CONFLICT DO UPDATE SET value = value + 1",
      ).run();
      if (this.#purpose === "fill") this.#opened().exec(MARK);
      return true;
    });
  }

  used(names: readonly CountName[]): Promise<number[]> {
    return whenNotBusy(() => {
      const count = this.#prepare("SELECT used FROM calls WHERE month = ? AND subject = ?");
      return names.map(({ month, subject }) => Number(count.get(month, subject)?.["used"] ?? 0));
    });
  }

  /** Ignores the batch's number: SQLite has not counted a batch that failed. */
  async count(_number: number, batch: readonly CountRequest[]): Promise<CountReply[]> {
    try {
      return await this.#atOnce("BEGIN IMMEDIATE", () => {
        let granted = 0;
        return batch.map((request) => {
          const reply = this.#countOne(request, request.follows ? granted : request.wanted);
          granted = reply.granted;
          return reply;
        });
      });
    } catch (error) {
      if (this.refusal(error) !== null) this.#doubt = "write";
      else if (!isBusy(error)) this.#drop();
      throw error;
    }
  }

  /** Writes only after a write was refused, and then nothing new. */
  async look(): Promise<Look> {
    try {
      // Nothing of what others write is seen in it.
      if (this.#isFixed) this.#drop();
      if (!existsSync(stateFilePath(this.#folder))) throw new Error("chipboard.sqlite is gone");
      if (this.#database === null) this.#adopt(openStateFile(this.#folder, this.#purpose));
      // An open file that was deleted or replaced still works, but no other process sees it.
      const fileId = fileIdOf(this.#folder);
      this.#fileId ??= fileId;
      if (fileId !== this.#fileId) throw new Error("chipboard.sqlite was replaced");
      const version = await this.version();
      const isChanged = version !== this.#seenVersion;
      this.#seenVersion = version;
      return { isChanged, refusal: await this.#refusalNow() };
    } catch (error) {
      if (!isBusy(error)) this.#drop();
      const isEmptied = error instanceof NoStateError;
      throw stateError(this.#folder, isEmptied ? new Error("chipboard.sqlite is empty") : error);
    }
  }

  async #refusalNow(): Promise<string | null> {
    if (this.#doubt === null) return null;
    try {
      await this.#atOnce(
        "BEGIN IMMEDIATE",
        // It has this mark already.
        () => this.#opened().exec(MARK),
        this.#doubt === "write" ? "COMMIT" : "ROLLBACK",
      );
      this.#doubt = null;
      return null;
    } catch (error) {
      const refusal = this.refusal(error);
      if (refusal !== null) this.#doubt = "write";
      return refusal;
    }
  }

  /** A file that was opened with room keeps answering reads without it. */
  refusal(error: unknown): string | null {
    return isRefusalOfDisk(error) && this.#database !== null ? reasonOf(error) : null;
  }

  async evictionPolicy(): Promise<null> {
    return null;
  }

  async forget(nowMs: number): Promise<boolean> {
    const newest = this.#prepare("SELECT max(month) AS month FROM calls WHERE month < ?");
    const counted = newest.get(monthOf(nowMs))?.["month"];
    const endMs = typeof counted === "string" ? monthEndMs(counted) : nowMs;
    // A clock that is more than a month ahead of the counts is wrong, and must not delete current ones.
    const believedMs = monthOf(nowMs) > monthOf(endMs) ? endMs - 1 : nowMs;
    const old = this.#prepare(`DELETE FROM calls WHERE (month, subject) IN (
      SELECT month, subject FROM calls WHERE month < ? LIMIT ?)`);
    const ofMonth = this.#prepare(`DELETE FROM calls WHERE (month, subject) IN (
      SELECT month, subject FROM calls WHERE month = ? AND subject >= ? AND subject < ? LIMIT ?)`);
    return whenNotBusy(() => {
      const [oldest = ""] = monthsWithCounts(believedMs);
      let left = FORGOTTEN_AT_ONCE - Number(old.run(oldest, FORGOTTEN_AT_ONCE).changes);
      for (const { month, from, before } of rangesToForget(believedMs))
        left -= Number(ofMonth.run(month, from, before, left).changes);
      return left === 0;
    });
  }

  readAll(): Promise<StateContent> {
    return this.#atOnce("BEGIN", () => {
      const items = this.#prepare("SELECT key, value FROM items ORDER BY key").all();
      const counts = this.#prepare("SELECT * FROM calls ORDER BY month, subject").all();
      return {
        items: items.map(({ key, value }) => [String(key), String(value)]),
        // The tables are strict: each column has its type.
        counts: counts as unknown as StoredCount[],
      };
    });
  }

  explain(error: unknown): unknown {
    return isOfSqlite(error) ? stateError(this.#folder, error) : error;
  }

  async close(): Promise<void> {
    this.#drop();
  }

  /** The open database. Throws if none is open. */
  #opened(): DatabaseSync {
    if (this.#database === null)
      throw stateError(this.#folder, new Error("chipboard.sqlite is not open"));
    return this.#database;
  }

  /** Each statement is prepared once. */
  #prepare(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#opened().prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #version(): string {
    const version = this.#prepare("SELECT value FROM facts WHERE name = 'version'");
    return String(version.get()?.["value"] ?? "");
  }

  /** Adds all wanted calls, then subtracts those above the limit. */
  #countOne(request: CountRequest, wanted: number): CountReply {
    const { month, subject, limit } = request;
    const used = this.#add(request, wanted);
    const excess = limit === null ? 0 : Math.min(wanted, Math.max(0, used - limit));
    if (excess > 0) {
      const subtract = "UPDATE calls SET used = used - ? WHERE month = ? AND subject = ?";
      this.#prepare(subtract).run(excess, month, subject);
    }
    return { granted: wanted - excess, used: used - excess };
  }

  /** Adds calls to a count that is `known` or more. Returns the count after them. */
  #add(
    { month, subject, known, added }: Pick<CountRequest, "month" | "subject" | "known" | "added">,
    wanted: number,
  ): number {
    const row = this.#prepare(
      `INSERT INTO calls (month, subject, used) VALUES (?1, ?2, max(0, ?3 + ?4) + ?5)
       ON CONFLICT DO UPDATE SET used = max(0, max(used, ?3) + ?4) + ?5 RETURNING used`,
    ).get(month, subject, known, added, wanted);
    return Number(row?.["used"]);
  }

  /** Runs the work as one transaction. */
  #atOnce<T>(
    begin: "BEGIN" | "BEGIN IMMEDIATE",
    work: () => T,
    end: "COMMIT" | "ROLLBACK" = "COMMIT",
  ): Promise<T> {
    return whenNotBusy(() => {
      const database = this.#opened();
      this.#prepare(begin).run();
      try {
        const result = work();
        this.#prepare(end).run();
        return result;
      } catch (error) {
        if (database.isTransaction) database.exec("ROLLBACK");
        throw error;
      }
    });
  }

  /** Closes the file, even a damaged one. */
  #drop(): void {
    const database = this.#database;
    this.#database = null;
    this.#statements.clear();
    try {
      database?.close();
    } catch {
      // A database that cannot be closed cannot be used either. Committed changes are safe.
    }
  }
}

/** unstorage's driver over the `items` table. It only reads: `write` is a step of its own. */
const itemsDriver = defineDriver((prepare: (sql: string) => StatementSync) => {
  const getItem = (key: string): Promise<string | null> =>
    whenNotBusy(() => {
      const row = prepare("SELECT value FROM items WHERE key = ?").get(key);
      return row === undefined ? null : String(row["value"]);
    });
  return {
    name: "sqlite-items",
    getItem,
    hasItem: async (key) => (await getItem(key)) !== null,
    getKeys: (base) =>
      whenNotBusy(() =>
        prepare("SELECT key FROM items WHERE key >= ?1 AND key < ?1 || char(0x10ffff)")
          .all(base)
          .map((row) => String(row["key"])),
      ),
  };
});

/**
 * Runs a step that may meet another process's lock. It tries again by a timer, for up to five
 * seconds, so that this process does other work meanwhile.
 */
async function whenNotBusy<T>(step: () => T): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return step();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
    }
    await delay(Math.random() * RETRY_MAX_MS);
  }
}

const isOfSqlite = (error: unknown): boolean => errorCode(error) === "ERR_SQLITE_ERROR";

/** Whether SQLite failed because another connection holds a lock. */
const isBusy = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY;

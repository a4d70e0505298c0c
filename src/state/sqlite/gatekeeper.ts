/**
 * The state of a folder as one serving process holds it: verdicts remembered, calls counted in
 * memory and written every 100 ms, changes by commands seen within about half a second.
 */
import { instantText, type Clock } from "../../clock.ts";
import { reasonOf, UnreachableError } from "../../errors.ts";
import type { Gatekeeper, KeyVerdict, MaybePromise, Subject, TakeResult } from "../gatekeeper.ts";
import { addressSubject, createAddressSecret } from "../address-subject.ts";
import { takeServeLock, type ServeLock } from "./serve-lock.ts";
import { SqliteConnection } from "./connection.ts";
import { createStateFile, isBusy, unfit, whenNotBusy } from "./file.ts";
import { SqliteMeter } from "./meter.ts";
import { sqliteStorage } from "./items.ts";
import { Verdicts } from "../verdicts.ts";

const FLUSH_MS = 100;
const CHECK_MS = 500;
const FORGET_MS = 60_000;

/**
 * Opens the state of `folder` for a `serve`, and creates it where there is none. Throws
 * UnreachableError where that is impossible, or where another serve holds it.
 */
export async function openSqliteGatekeeper(folder: string, clock: Clock): Promise<Gatekeeper> {
  const database = await createStateFile(folder);
  const fact = (name: string): string | undefined =>
    database.prepare("SELECT value FROM facts WHERE name = ?").get(name)?.["value"]?.toString();
  let lock: ServeLock | undefined;
  try {
    const taken = takeServeLock(folder, () => {
      const holder = fact("serving");
      return holder === undefined ? "" : ` (${holder})`;
    });
    lock = taken;
    const serving = `process ${process.pid}, since ${instantText(clock.now())}`;
    const keep = database.prepare("INSERT OR IGNORE INTO facts (name, value) VALUES (?, ?)");
    const put = database.prepare("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)");
    await whenNotBusy(() => keep.run("address_secret", createAddressSecret()));
    await whenNotBusy(() => put.run("serving", serving));
    const secret = fact("address_secret") as string;
    const connection = new SqliteConnection(folder, database);
    return new SqliteGatekeeper({ folder, clock, lock: taken, secret, connection });
  } catch (error) {
    lock?.release();
    database.close();
    throw unfit(folder, error);
  }
}

interface Parts {
  readonly folder: string;
  readonly clock: Clock;
  readonly lock: ServeLock;
  readonly secret: string;
  readonly connection: SqliteConnection;
}

class SqliteGatekeeper implements Gatekeeper {
  readonly #parts: Parts;
  readonly #verdicts: Verdicts;
  readonly #meter: SqliteMeter;
  readonly #timers: NodeJS.Timeout[];
  #trouble: string | null = null;
  #forgetAtMs = -Infinity;

  constructor(parts: Parts) {
    this.#parts = parts;
    const current = () => parts.connection.database;
    const failed = (error: unknown): void => this.#failed(error);
    this.#meter = new SqliteMeter(current, failed);
    const isHealthy = (): boolean => this.#trouble === null;
    this.#verdicts = new Verdicts(sqliteStorage(current), parts.clock, {
      get healthy() {
        return isHealthy();
      },
      failed,
    });
    this.#timers = [
      setInterval(() => this.#flush(), FLUSH_MS).unref(),
      setInterval(() => this.#check(), CHECK_MS).unref(),
    ];
  }

  get healthy(): boolean {
    return this.#trouble === null;
  }

  get trouble(): string | null {
    return this.#trouble;
  }

  authenticate(key: string): MaybePromise<KeyVerdict> {
    return this.#verdicts.authenticate(key);
  }

  addressSubject(address: string, atMs: number): Subject {
    return addressSubject(this.#parts.secret, address, atMs);
  }

  take(subject: Subject, limit: number | null, atMs: number): TakeResult {
    return this.#meter.take(subject, limit, atMs);
  }

  used(subject: Subject, atMs: number): number {
    return this.#meter.used(subject, atMs);
  }

  /** Throws UnreachableError where counts could not be written. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    const { connection, lock, folder } = this.#parts;
    try {
      // A file that was replaced is let go of by the first look, and opened by the second.
      this.#check();
      if (this.#trouble !== null) this.#check();
      while (this.#meter.hasUnwritten) await whenNotBusy(() => this.#meter.flush());
    } catch (error) {
      throw new UnreachableError(
        `State ${JSON.stringify(folder)} (--state): the last calls could not be written: ${String(error)}`,
      );
    } finally {
      connection.drop();
      lock.release();
    }
  }

  #flush(): void {
    if (this.#trouble !== null || !this.#meter.hasUnwritten) return;
    try {
      this.#meter.flush();
    } catch (error) {
      if (!isBusy(error)) this.#failed(error);
    }
  }

  #check(): void {
    try {
      const result = this.#parts.connection.check();
      if (result === "changed" || this.#trouble !== null) this.#verdicts.invalidate();
      if (this.#trouble !== null) this.#meter.flush();
      this.#trouble = null;
      const nowMs = this.#parts.clock.now();
      if (nowMs < this.#forgetAtMs) return;
      const hasMore = this.#meter.forget(nowMs);
      if (!hasMore) this.#forgetAtMs = nowMs + FORGET_MS;
    } catch (error) {
      if (!isBusy(error)) this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (isBusy(error)) return;
    this.#trouble = reasonOf(error);
    this.#parts.connection.drop();
  }
}

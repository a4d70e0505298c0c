/**
 * Counts calls in memory, exactly, and writes the counts in batches. One process counts in a state,
 * so a count in memory is the truth and the file follows: a count is written as it stands, never as
 * a difference, which makes writing it twice harmless.
 *
 * Only a count first needed while the file does not answer starts from nothing; what the file holds
 * is added to it as soon as the file is read.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Subject, TakeResult } from "../gatekeeper.ts";
import { GenerationCache } from "../../generation-cache.ts";
import { keptMonths, monthOf } from "../month.ts";

const REMEMBERED_COUNTS = 200_000;
/** While the file does not answer, at most this many subjects are counted in memory. */
const UNWRITTEN_COUNTS = 500_000;
const WRITTEN_AT_ONCE = 5_000;

interface Count {
  readonly subject: Subject;
  readonly month: string;
  used: number;
  /** Whether `used` includes what the file holds. */
  isWhole: boolean;
  /** Whether the file does not hold `used` yet. */
  isUnwritten: boolean;
}

interface Statements {
  readonly read: StatementSync;
  readonly write: StatementSync;
  readonly forget: StatementSync;
}

/** The counter of the one process that serves from the state. */
export class SqliteMeter {
  readonly #current: () => DatabaseSync;
  readonly #failed: (error: unknown) => void;
  /** By subject: the month asked for last. */
  readonly #counts = new GenerationCache<Count>(REMEMBERED_COUNTS);
  readonly #unwritten = new Map<string, Count>();
  #statements: { database: DatabaseSync; prepared: Statements } | null = null;

  /** `current` gives the open database or throws; `failed` is told what SQLite threw. */
  constructor(current: () => DatabaseSync, failed: (error: unknown) => void) {
    this.#current = current;
    this.#failed = failed;
  }

  /** Whether the file lacks calls that were granted. */
  get hasUnwritten(): boolean {
    return this.#unwritten.size > 0;
  }

  /** As Gatekeeper has it, and always at once. */
  take(subject: Subject, limit: number | null, atMs: number): TakeResult {
    const count = this.#count(subject, monthOf(atMs));
    if (limit !== null && count.used >= limit) return { granted: false, used: count.used };
    if (!count.isUnwritten) {
      if (this.#unwritten.size >= UNWRITTEN_COUNTS) return { granted: false, used: count.used };
      this.#unwritten.set(idOf(count), count);
      count.isUnwritten = true;
    }
    count.used += 1;
    return { granted: true, used: count.used };
  }

  /** As Gatekeeper has it, and always at once. */
  used(subject: Subject, atMs: number): number {
    return this.#count(subject, monthOf(atMs)).used;
  }

  /** Writes some of what is not written, in one transaction. Throws what SQLite throws. */
  flush(): void {
    const batch = [...this.#unwritten.values().take(WRITTEN_AT_ONCE)];
    if (batch.length === 0) return;
    const database = this.#current();
    const { write } = this.#prepared();
    database.exec("BEGIN IMMEDIATE");
    try {
      for (const count of batch) {
        this.#complete(count);
        write.run(count.month, count.subject, count.used);
      }
      database.exec("COMMIT");
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
    for (const count of batch) {
      this.#unwritten.delete(idOf(count));
      count.isUnwritten = false;
    }
  }

  /** Forgets some of the counts that are past keeping. Returns whether there may be more. */
  forget(nowMs: number): boolean {
    const { address, account } = keptMonths(nowMs);
    const { changes } = this.#prepared().forget.run({ address, account, limit: WRITTEN_AT_ONCE });
    return Number(changes) === WRITTEN_AT_ONCE;
  }

  #count(subject: Subject, month: string): Count {
    let count = this.#counts.get(subject);
    if (count?.month !== month) {
      const id = idOf({ subject, month });
      const fresh = { subject, month, used: 0, isWhole: false, isUnwritten: false };
      count = this.#unwritten.get(id) ?? fresh;
      this.#counts.set(subject, count);
    }
    if (!count.isWhole) {
      try {
        this.#complete(count);
      } catch (error) {
        this.#failed(error);
      }
    }
    return count;
  }

  #complete(count: Count): void {
    if (count.isWhole) return;
    const row = this.#prepared().read.get(count.month, count.subject);
    count.used += Number(row?.["used"] ?? 0);
    count.isWhole = true;
  }

  #prepared(): Statements {
    const database = this.#current();
    if (this.#statements?.database === database) return this.#statements.prepared;
    const prepared = {
      read: database.prepare("SELECT used FROM calls WHERE month = ? AND subject = ?"),
      write: database.prepare(
        "INSERT INTO calls (month, subject, used) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET used = max(used, excluded.used)",
      ),
      forget: database.prepare(
        `DELETE FROM calls WHERE (month, subject) IN (
           SELECT month, subject FROM calls
           WHERE month < $account OR (month < $address AND subject GLOB 'address:*') LIMIT $limit)`,
      ),
    };
    this.#statements = { database, prepared };
    return prepared;
  }
}

const idOf = ({ month, subject }: Pick<Count, "month" | "subject">): string =>
  `${month} ${subject}`;

/** The log in memory, for requests that ask for more of it than the head. */
import { DamageError } from "../../lib/errors.ts";
import { atOnce } from "../../lib/at-once.ts";
import type { MaybePromise } from "../../state/gatekeeper.ts";
import { isPublication, lacks, type Entry } from "../../snapshot/publication-log.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { snapshotText, type SnapshotName } from "../../store/paths.ts";
import type { FollowedLog } from "./followed-log.ts";

/** Few, because live answers wait for all reads that end in the same turn of the event loop. */
const READS_AT_ONCE = 4;

/**
 * The entries of one store's log. They are read in the background after the start of the proxy, or when
 * a request needs them; they never change, so each is read once. An entry takes about 400 bytes; a log
 * of ten years has 7,300.
 */
export class LogIndex {
  readonly #store: ObjectStore;
  readonly #followed: FollowedLog;
  readonly #entries = new Map<number, Entry>();
  readonly #pruned = new Set<string>();
  #newest = 0;
  #filling: Promise<void> | null = null;
  #closed = false;

  constructor(store: ObjectStore, followed: FollowedLog) {
    this.#store = store;
    this.#followed = followed;
  }

  /** The number up to which the entries are read. */
  get newest(): number {
    return this.#newest;
  }

  /** How many entries are known. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Reads the entries up to `newest` that are not known yet. Damaged ones are skipped: `get` throws
   * for them. Throws UnreachableError if the store does not answer.
   */
  async fill(newest: number): Promise<void> {
    while (this.#newest < newest) {
      this.#filling ??= this.#read(newest).finally(() => (this.#filling = null));
      await this.#filling;
    }
  }

  /** Reads no further entry for a `fill` under way. */
  close(): void {
    this.#closed = true;
  }

  /** Reads what the log has after the entries known. Throws as `get` does. */
  async refresh(): Promise<void> {
    await this.#filling;
    for (;;) {
      const next = await this.#followed.entry(this.#newest + 1);
      if (next === null) return;
      this.#add(next.entry);
      this.#newest = next.entry.number;
    }
  }

  /** The entry. Throws DamageError if it is missing or damaged, UnreachableError as `fill` does. */
  get(number: number): MaybePromise<Entry> {
    return this.#entries.get(number) ?? this.#readOne(number);
  }

  /** The entries up to `newest`, oldest first, without those that are damaged or not read yet. */
  known(newest: number): Entry[] {
    const numbers = Array.from({ length: newest }, (_, at) => at + 1);
    return numbers.flatMap((number) => this.#entries.get(number) ?? []);
  }

  /** Whether an entry known says that a prune took the snapshot. Its name is never used again. */
  isPruned(name: SnapshotName): boolean {
    return this.#pruned.has(snapshotText(name));
  }

  async #read(newest: number): Promise<void> {
    const numbers = Array.from({ length: newest - this.#newest }, (_, at) => this.#newest + 1 + at);
    const read = async (number: number): Promise<void> => {
      if (this.#closed) return;
      try {
        await this.#readOne(number);
      } catch (error) {
        if (!(error instanceof DamageError)) throw error;
      }
    };
    await atOnce(numbers, read, READS_AT_ONCE);
    this.#newest = Math.max(this.#newest, newest);
  }

  async #readOne(number: number): Promise<Entry> {
    const stored = await this.#followed.entry(number);
    if (stored === null) throw lacks(this.#store, number);
    this.#add(stored.entry);
    return stored.entry;
  }

  #add(entry: Entry): void {
    if (isPublication(entry)) {
      this.#entries.set(entry.number, entry);
      return;
    }
    for (const text of entry.snapshots) this.#pruned.add(text);
    // The names of a prune's parts and snapshots are long lists, and no request asks for them.
    this.#entries.set(entry.number, { ...entry, snapshots: [], parts: [] });
  }
}

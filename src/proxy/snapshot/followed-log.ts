/** The log that a proxy follows, as its store has it. vouched-log.ts follows only what is signed. */
import { DamageError } from "../../lib/errors.ts";
import {
  isPublication,
  lacks,
  listLog,
  readStoredEntry,
  type Entry,
  type Publication,
  type StoredEntry,
} from "../../snapshot/publication-log.ts";
import type { MaybePromise } from "../../state/gatekeeper.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { publicationKey } from "../../store/paths.ts";

/** What is new in the log. */
export interface News {
  /** The newest publish or rollback among the new entries; null: there is none. */
  readonly head: Publication | null;
  /** Why the log goes on but is not followed further; null: it is followed to its end. */
  readonly trouble: Error | null;
}

/** Follows the log from the newest entry known, whose bytes must not change. */
export interface FollowedLog {
  /** The number of the newest entry known; 0: none. */
  readonly newestNumber: number;

  /**
   * The start: the entries, newest first, as far as the caller iterates. Damage goes to `onDamage`.
   * Throws UnreachableError if the store does not answer.
   */
  begin(onDamage: (error: Error) => void): AsyncIterable<Entry>;

  /**
   * Reads on. Throws DamageError if an entry is damaged, or the newest known one is gone or has
   * changed; then nothing new is known. Throws UnreachableError as `begin` does.
   */
  follow(): Promise<News>;

  /** The entry; null: there is none, or none to follow. Throws DamageError and UnreachableError. */
  entry(number: number): MaybePromise<StoredEntry | null>;

  /** The SHA-256 (hex) that the entry's bytes must have; null: any. */
  provenSha256(number: number): string | null;
}

/** A log whose entries nobody must have signed. */
export class StoredLog implements FollowedLog {
  readonly #store: ObjectStore;
  #newest: StoredEntry | null = null;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  get newestNumber(): number {
    return this.#newest?.entry.number ?? 0;
  }

  async *begin(onDamage: (error: Error) => void): AsyncIterable<Entry> {
    const { newest, missing } = await listLog(this.#store);
    if (missing !== null) onDamage(lacks(this.#store, missing));
    for (let number = newest; number > 0; number -= 1) {
      const stored = await this.#damageAside(number, onDamage);
      if (stored === null) continue;
      this.#newest ??= stored;
      yield stored.entry;
    }
  }

  async #damageAside(
    number: number,
    onDamage: (error: Error) => void,
  ): Promise<StoredEntry | null> {
    try {
      return await this.entry(number);
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      onDamage(error);
      return null;
    }
  }

  async follow(): Promise<News> {
    const known = this.#newest;
    let newest = known;
    let head: Publication | null = null;
    for (;;) {
      const next = await this.entry((newest?.entry.number ?? 0) + 1);
      if (next === null) break;
      newest = next;
      if (isPublication(next.entry)) head = next.entry;
    }
    // This check comes after the reads: it shows that the new entries are of the same store.
    if (known !== null) {
      const { number } = known.entry;
      const kept = await this.entry(number);
      requireKept(this.#store, number, known.sha256, kept?.sha256 ?? null);
    }
    this.#newest = newest;
    return { head, trouble: null };
  }

  entry(number: number): Promise<StoredEntry | null> {
    return readStoredEntry(this.#store, number);
  }

  provenSha256(): null {
    return null;
  }
}

/**
 * Throws DamageError unless the entry has the SHA-256 (hex) that it had before; `found` is null if it is
 * gone.
 */
export function requireKept(
  store: ObjectStore,
  number: number,
  sha256: string,
  found: string | null,
): void {
  const where = `${store.location}/${publicationKey(number)}`;
  if (found === null) throw new DamageError(`${where} is gone`);
  if (found === sha256) return;
  throw new DamageError(`${where} is not the entry that was read before: is it another store?`);
}

/**
 * The chain of the log. `previous` of an entry is the SHA-256 (hex) of the bytes of the entry before:
 *
 *   sha256sum publications/0000000041.json                          previous of 42
 *
 * The first entry of all has `previous` null. Entries that an older version appended have none; the
 * first entry after them covers them all. Its `previous` is the SHA-256 over the bytes of the newest
 * entry before it that has one (if there is one) and of all entries since, one after another:
 *
 *   cat publications/000000000[1-4].json | sha256sum                previous of 5, if 1 to 4 have none
 *
 * So the bytes of an entry vouch for all entries before it, and a signature of it (entry-signature.ts) for
 * the whole log until there.
 */
import { createHash, type Hash } from "node:crypto";
import { DamageError } from "../lib/errors.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { publicationKey } from "../store/paths.ts";
import {
  ENTRY_BYTES_MAX,
  lacks,
  parseStoredEntry,
  type Entry,
  type StoredEntry,
} from "./publication-log.ts";

const READS_AT_ONCE = 16;

/**
 * Whether a signature of the entry vouches for all entries before it, too: the bytes of an entry that
 * has no `previous` say nothing of them.
 */
export const vouchesForPast = ({ number, previous }: Entry): boolean =>
  number === 1 || previous !== undefined;

/** Follows a log entry by entry, from entry 1 or from one that has `previous`, and proves each link. */
export class Chain {
  /** Over all entries that the next `previous` must cover. */
  #covered: Hash = createHash("sha256");
  #newest: StoredEntry | null = null;

  /** The last entry added; null: none. */
  get newest(): StoredEntry | null {
    return this.#newest;
  }

  /** The `previous` of the entry that comes next. */
  get link(): string | null {
    return this.#newest === null ? null : this.#covered.copy().digest("hex");
  }

  /**
   * Adds the bytes of the entry with this number: any to begin with, then the next one. `where` names
   * them in messages. Throws DamageError if they are no such entry, or do not follow the ones before.
   */
  add(bytes: Uint8Array, number: number, where: string): StoredEntry {
    const before = this.#newest?.entry.number ?? null;
    if (before !== null && number !== before + 1) throw new Error(`Expected entry ${before + 1}`);
    const stored = parseStoredEntry(bytes, number, where);
    const { previous } = stored.entry;
    if (before === null && number > 1) {
      if (typeof previous !== "string") {
        throw new DamageError(`${where} has no previous, so what follows cannot be proven from it`);
      }
    } else if (previous !== undefined && previous !== this.link) {
      throw new DamageError(
        `${where} does not follow the log before it: its previous is ${previous}, ` +
          `expected ${this.link}`,
      );
    }
    if (previous !== undefined) this.#covered = createHash("sha256");
    this.#covered.update(bytes);
    this.#newest = stored;
    return stored;
  }
}

/**
 * Reads the entries with the numbers `from` to `to` and proves their links, each entry to the one
 * before it. `onEntry` gets each entry that is proven, in order. Throws DamageError if an entry is
 * missing or damaged, or a link is broken; UnreachableError if the store does not answer.
 */
export async function proveChain(
  store: ObjectStore,
  from: number,
  to: number,
  onEntry: (stored: StoredEntry) => void = () => {},
): Promise<Chain> {
  const chain = new Chain();
  for (let next = from; next <= to; next += READS_AT_ONCE) {
    const numbers = Array.from(
      { length: Math.min(READS_AT_ONCE, to - next + 1) },
      (_, at) => next + at,
    );
    const read = await Promise.all(
      numbers.map((number) => store.get(publicationKey(number), ENTRY_BYTES_MAX)),
    );
    for (const [at, bytes] of read.entries()) {
      const number = next + at;
      if (bytes === null) throw lacks(store, number);
      onEntry(chain.add(bytes, number, `${store.location}/${publicationKey(number)}`));
    }
  }
  return chain;
}

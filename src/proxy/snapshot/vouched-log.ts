/**
 * The log as far as signatures vouch for it: up to the newest entry that one of the keys has signed.
 * Its entries are proven by their chain from the first one on, and it must have the newest entry that
 * proxies of this state have accepted before. An unsigned end is not followed until a signed entry
 * comes after it, and a damaged one not until it is whole.
 *
 * All entries are in memory, about 600 bytes each: what was proven once stays proven, whatever happens
 * to the store. Each poll compares one of them with the store, in turn, and in the turn of the newest one
 * its signature, so that a change is reported.
 */
import { DamageError, UnreachableError } from "../../lib/errors.ts";
import { Chain, vouchesForPast } from "../../snapshot/chain.ts";
import { sha256Hex } from "../../snapshot/digest.ts";
import { requireSignedEntry } from "../../snapshot/entry-signature.ts";
import {
  ENTRY_BYTES_MAX,
  isPublication,
  type Entry,
  type StoredEntry,
} from "../../snapshot/publication-log.ts";
import { requireNotCutOff } from "../../snapshot/signed-log.ts";
import type { VerifyKey } from "../../snapshot/signing-key.ts";
import type { LogMemory, SeenEntry } from "../../state/log-memory.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { publicationKey } from "../../store/paths.ts";
import { requireKept, type FollowedLog, type News } from "./followed-log.ts";

const READS_AT_ONCE = 16;
/** How many new entries a poll reads; later polls read the others. */
const NEW_ENTRIES_MAX = 1_000;
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 60_000;

/** Whose signatures vouch for the log, and what remembers it. */
export interface Vouchers {
  readonly keys: readonly VerifyKey[];
  readonly memory: LogMemory;
}

interface Found {
  readonly found: readonly StoredEntry[];
  readonly damage: DamageError | null;
}

/** Follows the signed log of one store. */
export class VouchedLog implements FollowedLog {
  readonly #store: ObjectStore;
  readonly #keys: readonly VerifyKey[];
  readonly #memory: LogMemory;
  /** The entry with the number n is at n − 1. */
  readonly #entries: StoredEntry[] = [];
  /** The SHA-256 of the unsigned end that the last poll found. */
  #unsigned: string | null = null;
  #isRemembered = true;
  /** The number of the entry that the next poll compares with the store. */
  #compared = 1;
  /** Why nothing is accepted yet, and when the log is read again: reading it from its start takes long. */
  #refusal: { readonly error: Error; readonly waitMs: number; readonly untilMs: number } | null =
    null;

  constructor(store: ObjectStore, { keys, memory }: Vouchers) {
    this.#store = store;
    this.#keys = keys;
    this.#memory = memory;
  }

  get newestNumber(): number {
    return this.#entries.length;
  }

  entry(number: number): StoredEntry | null {
    return this.#entries[number - 1] ?? null;
  }

  provenSha256(number: number): string | null {
    return this.entry(number)?.sha256 ?? null;
  }

  async *begin(onDamage: (error: Error) => void): AsyncIterable<Entry> {
    try {
      const { trouble } = await this.follow();
      if (trouble !== null) onDamage(trouble);
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      onDamage(error);
    }
    for (const { entry } of this.#entries.toReversed()) yield entry;
  }

  async follow(): Promise<News> {
    const known = this.#entries.at(-1) ?? null;
    if (known !== null) return this.#readOn(known);
    if (this.#refusal !== null && performance.now() < this.#refusal.untilMs) {
      throw this.#refusal.error;
    }
    try {
      const news = await this.#readFirst();
      this.#refusal = null;
      return news;
    } catch (error) {
      if (error instanceof DamageError) {
        const waitMs = Math.min(RETRY_MAX_MS, 2 * (this.#refusal?.waitMs ?? RETRY_MIN_MS / 2));
        this.#refusal = { error, waitMs, untilMs: performance.now() + waitMs };
      }
      throw error;
    }
  }

  /** Reads and proves the whole log. */
  async #readFirst(): Promise<News> {
    // Before the log: while that is read, another proxy may accept an entry that comes after its end.
    const seen = await this.#memory.seen();
    const { found, damage } = await this.#chainFrom(1, Infinity);
    const last = found.length;
    // Only what was served before shows that no more than the end is damaged.
    if (damage !== null && (seen === null || last < seen.number)) throw damage;
    if (seen !== null) requireSeen(this.#store.location, found, seen);
    if (damage === null) await requireNotCutOff(this.#store, last);
    if (last === 0) return { head: null, trouble: null };
    const signed = await this.#newestSigned(found);
    if (signed === 0 || (seen !== null && signed < seen.number)) {
      const { number } = seen ?? { number: last };
      await requireSignedEntry(this.#store, found[number - 1] as StoredEntry, this.#keys);
    }
    const { head, trouble } = await this.#accept(found, signed, seen, false);
    return { head, trouble: damage ?? trouble };
  }

  /** Reads the entries after the newest one known. */
  async #readOn(known: StoredEntry): Promise<News> {
    const { number } = known.entry;
    const {
      found: [first = null, ...found],
      damage,
    } = await this.#chainFrom(number, NEW_ENTRIES_MAX);
    if (first === null && damage !== null) throw damage;
    requireKept(this.#store, number, known.sha256, first?.sha256 ?? null);
    const signed = await this.#newestSigned(found);
    const seen = signed === 0 && this.#isRemembered ? null : await this.#seenElsewhere();
    const { head, trouble } = await this.#accept(found, signed, seen, true);
    return { head, trouble: damage ?? trouble ?? (await this.#changeOfOld()) };
  }

  /**
   * Why an old entry is not what it was, or the newest one not signed any more; null: what this compares
   * is as it was. The bytes of the newest entry are compared at each poll.
   */
  async #changeOfOld(): Promise<Error | null> {
    const known = this.entry(this.#compared) as StoredEntry;
    const key = publicationKey(this.#compared);
    try {
      if (this.#compared === this.newestNumber) {
        await requireSignedEntry(this.#store, known, this.#keys);
      } else {
        const bytes = await this.#store.get(key, ENTRY_BYTES_MAX);
        requireKept(this.#store, known.entry.number, known.sha256, bytes && sha256Hex(bytes));
      }
      this.#compared = (this.#compared % this.newestNumber) + 1;
      return null;
    } catch (error) {
      if (error instanceof DamageError) return error;
      throw error;
    }
  }

  /**
   * The entries from this number on, each linked to the one before, `max` at most; and why one that comes
   * after them is none (null: there is none).
   */
  async #chainFrom(from: number, max: number): Promise<Found> {
    const chain = new Chain();
    const found: StoredEntry[] = [];
    for (let atOnce = 2; found.length < max; atOnce = Math.min(2 * atOnce, READS_AT_ONCE)) {
      const keys = Array.from({ length: atOnce }, (_, at) =>
        publicationKey(from + found.length + at),
      );
      const reads = keys.map((key) => this.#store.get(key, ENTRY_BYTES_MAX));
      await Promise.allSettled(reads);
      for (const [at, read] of reads.entries()) {
        try {
          const bytes = await read;
          if (bytes === null) return { found, damage: null };
          const where = `${this.#store.location}/${keys[at]}`;
          found.push(chain.add(bytes, from + found.length, where));
        } catch (error) {
          if (error instanceof DamageError) return { found, damage: error };
          throw error;
        }
      }
    }
    return { found, damage: null };
  }

  /** How many of the entries a signature vouches for: the newest signed one and those before it. */
  async #newestSigned(found: readonly StoredEntry[]): Promise<number> {
    for (let count = found.length; count > 0; count -= 1) {
      const stored = found[count - 1] as StoredEntry;
      if (vouchesForPast(stored.entry) && (await this.#isSigned(stored))) return count;
    }
    return 0;
  }

  async #isSigned(stored: StoredEntry): Promise<boolean> {
    return (await damageOf(requireSignedEntry(this.#store, stored, this.#keys))) === null;
  }

  async #accept(
    found: readonly StoredEntry[],
    signed: number,
    seen: SeenEntry | null,
    isRunning: boolean,
  ): Promise<News> {
    const accepted = found.slice(0, signed);
    if (seen !== null && isRunning) {
      const mine = this.entry(seen.number) ?? accepted[seen.number - 1 - this.newestNumber];
      if (mine !== undefined && mine.sha256 !== seen.sha256) {
        throw otherEntry(this.#store.location, seen, mine);
      }
    }
    this.#entries.push(...accepted);
    if (accepted.length > 0 || !this.#isRemembered) await this.#remember();
    const heads = accepted.map(({ entry }) => entry).filter(isPublication);
    return { head: heads.at(-1) ?? null, trouble: await this.#troubleOf(found.at(-1), isRunning) };
  }

  /** A publish signs its entry a moment after it appends it, so an end may be unsigned for one poll. */
  async #troubleOf(last: StoredEntry | undefined, isRunning: boolean): Promise<Error | null> {
    const isUnsigned = last !== undefined && last.entry.number > this.newestNumber;
    const before = this.#unsigned;
    this.#unsigned = isUnsigned ? last.sha256 : null;
    if (!isUnsigned || (isRunning && before !== last.sha256)) return null;
    return damageOf(requireSignedEntry(this.#store, last, this.#keys));
  }

  /** What proxies of this state have accepted. Null also while the state does not answer. */
  async #seenElsewhere(): Promise<SeenEntry | null> {
    try {
      return await this.#memory.seen();
    } catch (error) {
      if (error instanceof UnreachableError) return null;
      throw error;
    }
  }

  /** While the state does not answer, this process alone remembers the entry; later polls try again. */
  async #remember(): Promise<void> {
    const { entry, sha256 } = this.#entries.at(-1) as StoredEntry;
    try {
      await this.#memory.see({ number: entry.number, sha256 });
      this.#isRemembered = true;
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      this.#isRemembered = false;
    }
  }
}

/** The DamageError that `check` fails with; null: none. Throws other errors. */
const damageOf = (check: Promise<unknown>): Promise<DamageError | null> =>
  check.then(
    () => null,
    (error: unknown) => {
      if (error instanceof DamageError) return error;
      throw error;
    },
  );

/** Throws DamageError unless the log has the entry that was accepted before. */
function requireSeen(location: string, found: readonly StoredEntry[], seen: SeenEntry): void {
  const there = found[seen.number - 1];
  if (there === undefined) {
    throw new DamageError(
      `${location}: the log ends with entry ${found.length}, and entry ${seen.number} was served before: ` +
        `the log was cut off, or an older one is in its place; ${FORGET}`,
    );
  }
  if (there.sha256 !== seen.sha256) throw otherEntry(location, seen, there);
}

const otherEntry = (location: string, seen: SeenEntry, found: StoredEntry): DamageError =>
  new DamageError(
    `${location}: entry ${seen.number} of the log has the SHA-256 ${found.sha256}, and the one that was ` +
      `served before has ${seen.sha256}: the log was rewritten, or is that of another store; ${FORGET}`,
  );

const FORGET = 'if it is the right one, run "state forget-log" and start the proxy again';

/**
 * The log as the proxy has it: read whole at the start, then entry by entry at each poll. All entries are
 * in memory, about a kilobyte each: what was read once stays as it was, whatever happens to the store. Each
 * poll compares the newest one and, in turn, one of the others with the store, so that a change is
 * reported, and about every thirtieth poll lists the log to find gaps.
 *
 * With keys, the log ends for the proxy at the newest entry that one of them signed: it is proven by its
 * links from the first entry on, and must have the newest entry that proxies of this state have
 * accepted before. An unsigned end is not followed until a signed entry comes after it. Without keys,
 * damaged entries of the past are left out until they are whole.
 */
import { DamageError, UnreachableError } from "../../lib/errors.ts";
import {
  isPublication,
  type Entry,
  type Publication,
  type StoredEntry,
} from "../../snapshot/log/entry.ts";
import { requireSeen, type LogMemory, type SeenEntry } from "../../snapshot/log/seen.ts";
import { requireSigned, signerOf } from "../../snapshot/log/sign.ts";
import {
  entriesIn,
  lacks,
  listLog,
  logLength,
  mustRead,
  walkLog,
} from "../../snapshot/log/walk.ts";
import type { VerifyKey } from "../../snapshot/signing-key.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { snapshotText, type SnapshotName } from "../../store/paths.ts";

/** How many new entries a poll reads; later polls read the others. */
const NEW_ENTRIES_MAX = 1_000;
/** The cost of a listing grows with the length of the log. */
const POLLS_PER_LISTING = 30;
const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 60_000;
const WAY_ON = '; if it is the right one, run "state forget-log" and start the proxy again';

/** Whose signatures vouch for the log, and what remembers it. */
export interface Vouchers {
  readonly keys: readonly VerifyKey[];
  readonly memory: LogMemory;
}

/** An entry in memory. Of a prune, the lists of names are in the bytes alone. */
type Known = Pick<StoredEntry, "entry" | "bytes" | "sha256" | "where">;

/** Reads and follows the log of one store. */
export class LogReader {
  readonly #store: ObjectStore;
  readonly #vouchers: Vouchers | null;
  /** The entry with the number n is at n − 1; an error in the place of one that is damaged. */
  readonly #log: (Known | DamageError)[] = [];
  readonly #pruned = new Set<string>();
  #head: Publication | null = null;
  #isRemembered = true;
  /** The number of the entry that the next poll compares with the store. */
  #compared = 1;
  #pollsToListing = POLLS_PER_LISTING;
  /** Why nothing is accepted yet, and when the log is read again: reading it from its start takes long. */
  #refusal: { readonly error: Error; readonly waitMs: number; readonly untilMs: number } | null =
    null;
  #following: Promise<Error | null> | null = null;

  /** `vouchers` null: nobody must have signed the log. */
  constructor(store: ObjectStore, vouchers: Vouchers | null) {
    this.#store = store;
    this.#vouchers = vouchers;
  }

  /** The number of the newest entry; 0: none. */
  get newestNumber(): number {
    return this.#log.length;
  }

  /** The newest publish or rollback. */
  get head(): Publication | null {
    return this.#head;
  }

  /** The entries, oldest first, without those that are damaged. */
  get entries(): Entry[] {
    return this.#log.flatMap((known) => (known instanceof DamageError ? [] : known.entry));
  }

  /** An entry up to the newest one. Throws DamageError if it is damaged. */
  get(number: number): Known {
    const known = this.#log[number - 1] ?? lacks(this.#store, number);
    if (known instanceof DamageError) throw known;
    return known;
  }

  /** Whether a prune took the snapshot. Its name is never used again. */
  isPruned(name: SnapshotName): boolean {
    return this.#pruned.has(snapshotText(name));
  }

  /**
   * Reads on; callers at the same time share the reading. Returns why the log is not followed to its end,
   * or is not what it was; null: it is. Throws DamageError if nothing new can be known, UnreachableError if
   * the store does not answer.
   */
  follow(): Promise<Error | null> {
    this.#following ??= this.#follow().finally(() => (this.#following = null));
    return this.#following;
  }

  async #follow(): Promise<Error | null> {
    if (this.newestNumber > 0) return this.#readOn();
    if (this.#refusal !== null && performance.now() < this.#refusal.untilMs) {
      throw this.#refusal.error;
    }
    try {
      const trouble = await this.#readFirst();
      this.#refusal = null;
      if (trouble !== null) this.#pollsToListing = 0;
      return trouble;
    } catch (error) {
      if (error instanceof DamageError) {
        const waitMs = Math.min(RETRY_MAX_MS, 2 * (this.#refusal?.waitMs ?? RETRY_MIN_MS / 2));
        this.#refusal = { error, waitMs, untilMs: performance.now() + waitMs };
      }
      throw error;
    }
  }

  /** Reads the whole log. */
  async #readFirst(): Promise<Error | null> {
    if (this.#vouchers === null) return this.#readAnyFirst();
    const { keys, memory } = this.#vouchers;
    // Before the log: while that is read, another proxy may accept an entry that comes after its end.
    const seen = await memory.seen();
    const { found, damage } = await this.#walk(1, Infinity);
    // Only what was served before shows that no more than the end is damaged.
    if (damage !== null && found.length < (seen?.number ?? Infinity)) throw damage;
    if (seen !== null) requireSeen(seen, found.length, found[seen.number - 1]?.sha256, WAY_ON);
    const last = found[(seen?.number ?? found.length) - 1];
    if (last !== undefined && signedOf(found, keys) < (seen?.number ?? 1))
      requireSigned(last, keys);
    return (await this.#accept(found, null)) ?? damage;
  }

  /** Reads it without keys, and what comes after damage, too. */
  async #readAnyFirst(): Promise<Error | null> {
    const { newest } = await listLog(this.#store);
    const log: (StoredEntry | DamageError)[] = [];
    let trouble: DamageError | null = null;
    do {
      const next = log.length + 1;
      const { found, damage } = await this.#walk(next, Infinity);
      log.push(...found);
      // An entry that does not follow the one before is the first one of the next walk.
      if (found.length === 0 && next <= newest) log.push(damage ?? lacks(this.#store, next));
      trouble ??= damage ?? (log.length < newest ? lacks(this.#store, log.length + 1) : null);
    } while (log.length < newest);
    while (log.at(-1) instanceof DamageError) log.pop();
    for (const stored of log) {
      this.#log.push(stored instanceof DamageError ? stored : this.#known(stored));
    }
    return trouble;
  }

  /** Reads the entries after the newest one known. */
  async #readOn(): Promise<Error | null> {
    const known = this.get(this.newestNumber);
    const { found, damage } = await this.#walk(this.newestNumber, NEW_ENTRIES_MAX);
    const [first, ...fresh] = found;
    if (first === undefined && damage !== null) throw damage;
    requireKept(known, first);
    const isNews = this.#vouchers !== null && signedOf(fresh, this.#vouchers.keys) > 0;
    const seen = isNews || !this.#isRemembered ? await this.#seenElsewhere() : null;
    const trouble = (await this.#accept(fresh, seen)) ?? damage;
    return trouble ?? (await this.#change());
  }

  /** The entries from this number on, each linked to the one before, and why one that comes next is none. */
  async #walk(
    from: number,
    max: number,
  ): Promise<{ found: StoredEntry[]; damage: DamageError | null }> {
    const found: StoredEntry[] = [];
    const damage = await damageOf(async () => {
      for await (const stored of walkLog(entriesIn(this.#store), from)) {
        if (found.push(stored) === max) break;
      }
    });
    return { found, damage };
  }

  /**
   * Adds what the keys vouch for, and remembers it. Returns why what comes after it is not accepted. Throws
   * DamageError if the entry that was seen by another proxy is among these, and another one.
   */
  async #accept(found: readonly StoredEntry[], seen: SeenEntry | null): Promise<Error | null> {
    const keys = this.#vouchers?.keys ?? null;
    const accepted = keys === null ? found : found.slice(0, signedOf(found, keys));
    const mine =
      seen && (accepted[seen.number - 1 - this.newestNumber] ?? this.#log[seen.number - 1]);
    if (mine && !(mine instanceof DamageError)) requireSeen(seen, 0, mine.sha256, WAY_ON);
    for (const stored of accepted) this.#log.push(this.#known(stored));
    if (accepted.length > 0 || !this.#isRemembered) await this.#remember();
    const last = found.at(-1);
    if (keys === null || last === undefined || accepted.length === found.length) return null;
    return damageOf(() => requireSigned(last, keys));
  }

  #known({ entry, bytes, sha256, where }: StoredEntry): Known {
    if (isPublication(entry)) {
      if (entry.number > (this.#head?.number ?? 0)) this.#head = entry;
      return { entry, bytes, sha256, where };
    }
    for (const text of entry.snapshots) this.#pruned.add(text);
    return { entry: { ...entry, snapshots: [], parts: [] }, bytes, sha256, where };
  }

  /** Why the store is not what it was; null: what this compares is. */
  #change(): Promise<Error | null> {
    return damageOf(async () => {
      const damaged = this.#log.findIndex((known) => known instanceof DamageError) + 1;
      const stored = await mustRead(this.#store, damaged || this.#compared);
      if (damaged > 0) {
        // It is whole again.
        this.#log[damaged - 1] = this.#known(stored);
      } else {
        requireKept(this.get(this.#compared), stored);
        this.#compared = (this.#compared % this.newestNumber) + 1;
      }
      this.#pollsToListing = Math.max(0, this.#pollsToListing - 1);
      if (this.#pollsToListing > 0) return;
      // If an entry is missing, only a listing shows the later ones.
      await logLength(this.#store);
      this.#pollsToListing = POLLS_PER_LISTING;
    });
  }

  /** What proxies of this state have accepted. Null also while the state does not answer. */
  #seenElsewhere(): Promise<SeenEntry | null> {
    return (this.#vouchers as Vouchers).memory.seen().catch(unlessAway);
  }

  /** While the state does not answer, this process alone remembers the entry; later polls try again. */
  async #remember(): Promise<void> {
    const known = this.#log.at(-1);
    if (this.#vouchers === null || known === undefined || known instanceof DamageError) return;
    const { entry, sha256 } = known;
    const kept = this.#vouchers.memory.see({ number: entry.number, sha256 });
    this.#isRemembered = (await kept.catch(unlessAway)) !== null;
  }
}

/** How many of the entries a signature vouches for: the newest signed one and those before it. */
const signedOf = (found: readonly StoredEntry[], keys: readonly VerifyKey[]): number =>
  found.findLastIndex((stored) => signerOf(stored, keys) !== null) + 1;

/** Throws DamageError unless the entry is as it was; `found` is missing if it is gone. */
function requireKept({ sha256, where }: Known, found: StoredEntry | undefined): void {
  if (found === undefined) throw new DamageError(`${where} is gone`);
  if (found.sha256 === sha256) return;
  throw new DamageError(`${where} is not the entry that was read before: is it another store?`);
}

/** Null for an UnreachableError. Throws other errors. */
function unlessAway(error: unknown): null {
  if (error instanceof UnreachableError) return null;
  throw error;
}

/** The DamageError that `check` fails with; null: none. Throws other errors. */
async function damageOf(check: () => unknown): Promise<DamageError | null> {
  try {
    await check();
    return null;
  } catch (error) {
    if (error instanceof DamageError) return error;
    throw error;
  }
}

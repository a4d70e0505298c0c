/**
 * The log as the proxy has it: read whole at the start, by its tiles, then entry by entry at each poll. All entries are in
 * memory, about a kilobyte each. An entry that was read stays as it was, whatever happens to the store. Each
 * poll compares the newest one and, in turn, one of the others with the store, so that a change is reported,
 * and about every thirtieth poll lists the log to find gaps.
 *
 * The log must have the newest entry that proxies of this state have accepted before: otherwise the store is
 * lost (snapshot/log/lost.ts). Without keys, the proxy then serves what there is, and says so; with keys it serves
 * nothing that is older.
 *
 * With keys, the log ends for the proxy at the newest entry that one of them signed: it is proven by its
 * links from the first entry on. An unsigned end waits until a signed entry comes after it. Without keys, damaged
 * entries of the past are left out until they are whole.
 */
import {
  DamageError,
  LostStoreError,
  nullIfDamaged,
  orDamage,
  UnreachableError,
} from "../lib/errors.ts";
import {
  isPublication,
  type Entry,
  type Publication,
  type ReadEntry,
  type StoredEntry,
} from "../snapshot/log/entry.ts";
import { lossOf, placeOf, seenOf, type LogMemory, type SeenLog } from "../snapshot/log/lost.ts";
import { requireSeen } from "../snapshot/log/seen.ts";
import { requireSigned, signerOf } from "../snapshot/log/sign.ts";
import { tiledEntries, tilesIn } from "../snapshot/log/tiles.ts";
import { entriesIn, missingEntryError, listLog, mustRead, walkLog } from "../snapshot/log/walk.ts";
import type { LogView } from "../core/world.ts";
import type { VerifyKey } from "../snapshot/signing-key.ts";
import { readStoreId } from "../snapshot/store-mark.ts";
import type { ObjectStore } from "../ports/store.ts";
import { snapshotText, type SnapshotName, type Tile } from "../store/paths.ts";

/** The cost of a listing grows with the length of the log. */
const POLLS_PER_LISTING = 30;
const REMEDY =
  'Bring its disk or bucket back, or restore a copy and run "chipboard state forget-log"';

/** What a listing of the log shows. */
interface LogListing {
  readonly newest: number;
  readonly tiles: readonly Tile[];
}

/** Reads and follows the log of one store. */
export class LogReader implements LogView {
  readonly #store: ObjectStore;
  readonly #memory: LogMemory | null;
  readonly #keys: readonly VerifyKey[] | null;
  /** The id of the store's mark; null: it has none, or it cannot be read. */
  #id: string | null = null;
  /** The entry with the number n is at n − 1; an error in the place of one that is damaged. */
  readonly #log: (StoredEntry | DamageError)[] = [];
  /** Entries read after it that are not accepted yet. */
  #waiting: StoredEntry[] = [];
  /** For how many of those that wait a signature vouches: the newest signed one and those before it. */
  #vouched = 0;
  /** The whole entries of the log, in its order. */
  readonly #entries: Entry[] = [];
  /** The number of the first entry that made a snapshot the head, by the snapshot's name. */
  readonly #published = new Map<string, number>();
  readonly #pruned = new Set<string>();
  /** The newest publish or rollback. */
  head: Publication | null = null;
  /** The number of the newest entry that this proxy gave the memory. */
  #remembered = 0;
  /** The number of the entry that was compared last. */
  #compared = 0;
  #pollsToListing = 0;
  #following: Promise<Error | null> | null = null;

  /** `memory` null: nothing remembers the log. One of the keys must have signed it; null: nobody must. */
  constructor(
    store: ObjectStore,
    memory: LogMemory | null,
    keys: readonly VerifyKey[] | null = null,
  ) {
    this.#store = store;
    this.#memory = memory;
    this.#keys = keys;
  }

  /** The number of the newest entry; 0: none. */
  get newestNumber(): number {
    return this.#log.length;
  }

  /** The entries, oldest first, without those that are damaged. Later entries are added to this list. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** An entry up to the newest one. Throws DamageError if it is damaged. */
  get(number: number): StoredEntry {
    const known = this.#log[number - 1] ?? missingEntryError(this.#store, number);
    if (known instanceof DamageError) throw known;
    return known;
  }

  /** Whether an entry up to this number made the snapshot (a name such as `2026-11-20T12Z/r1`) the head. */
  isPublishedBy(snapshot: string, number: number): boolean {
    return (this.#published.get(snapshot) ?? Infinity) <= number;
  }

  /** Whether a prune took the snapshot. Its name is never used again. */
  isPruned(name: SnapshotName): boolean {
    return this.#pruned.has(snapshotText(name));
  }

  /**
   * Reads on; callers at the same time share the reading. Returns why the log is not followed to its end, differs
   * from the one that was read, or is not the one that is remembered (LostStoreError). Null: it is the same. Throws
   * UnreachableError if the store does not answer, or at the start the memory.
   */
  follow(): Promise<Error | null> {
    this.#following ??= this.#follow().finally(() => (this.#following = null));
    return this.#following;
  }

  async #follow(): Promise<Error | null> {
    const isFirst = this.newestNumber === 0;
    // Before the log: while that is read, another proxy may accept an entry that comes after its end.
    const remembering = this.#memory?.seen();
    // A proxy that runs goes on while the state does not answer.
    const logs = (await (isFirst ? remembering : remembering?.catch(nullIfUnreachable))) ?? null;
    // Of a store whose mark cannot be read, the first entry tells which store it is.
    if (isFirst) this.#id = await nullIfDamaged(() => readStoreId(this.#store));
    // If an entry is missing, only a listing shows the later ones.
    const isListed = this.#pollsToListing === 0;
    const nothing = { newest: 0, gap: null, tiles: [] };
    const { newest, gap, tiles } = isListed ? await listLog(this.#store) : nothing;
    if (!isListed) this.#pollsToListing -= 1;
    else if (gap === null) this.#pollsToListing = POLLS_PER_LISTING;
    // Later the log is read entry by entry: only the start reads many.
    const { change, damage: end } = await this.#readOn(
      isFirst && isListed ? { newest, tiles } : null,
    );
    const unread = change ?? end;
    const seen = logs && seenOf(logs, this.#names());
    const lost = seen === null ? null : await this.#lossOf(seen, change);
    const damage = unread ?? (this.#keys === null || seen === null ? gap : null);
    if (this.#keys === null) {
      for (const stored of this.#waiting.splice(0)) this.#add(stored);
      if (isFirst) await this.#readPast(newest);
    }
    if (lost !== null) {
      const found = unread === null ? "" : `. ${unread.message}`;
      return new LostStoreError(`${lost}${found}. ${REMEDY}`);
    }
    const keys = this.#keys;
    const refusal = keys && (await damageOf(() => this.#accept(keys, seen, damage)));
    if (logs !== null) await this.#remember();
    return refusal ?? damage ?? gap ?? (isFirst ? null : damageOf(() => this.#compare()));
  }

  #names() {
    const first = this.#log[0] ?? this.#waiting[0];
    return {
      store: this.#id,
      first: first === undefined || first instanceof DamageError ? null : first.sha256,
      location: placeOf(this.#store),
    };
  }

  /**
   * Why the store is lost; null: it is not. It is asked only where the entries that were read do not show that:
   * damage after the newest of them says nothing of those before.
   */
  async #lossOf(seen: SeenLog, change: DamageError | null): Promise<string | null> {
    const known = this.#log[seen.number - 1] ?? this.#waiting[seen.number - 1 - this.newestNumber];
    const isThere =
      known !== undefined && !(known instanceof DamageError) && known.sha256 === seen.sha256;
    const isSame = seen.first === null || seen.first === this.#names().first;
    if (change === null && isThere && isSame) return null;
    return nullIfDamaged(() => lossOf(this.#store, seen));
  }

  /**
   * Reads the entries after the newest one read, which must be as it was. Returns its change, or the damage that
   * the reading ended at.
   */
  async #readOn(
    listed: LogListing | null,
  ): Promise<{ change: DamageError | null; damage: DamageError | null }> {
    const last =
      this.#waiting.at(-1) ?? (this.newestNumber > 0 ? this.get(this.newestNumber) : null);
    const { found, damage } = await this.#walk(last?.entry.number ?? 1, listed);
    const first = last === null ? undefined : found.shift();
    const change = last && ((first === undefined ? damage : null) ?? changeOf(last, first));
    if (change !== null && this.#waiting.length === 0) return { change, damage: null };
    if (change !== null) {
      // An entry that is not accepted may still be replaced.
      this.#waiting = [];
      this.#vouched = 0;
      return this.#readOn(listed);
    }
    this.#waiting = [...this.#waiting, ...found];
    const isVouched = (stored: StoredEntry): boolean => signerOf(stored, this.#keys ?? []) !== null;
    if (found.length > 0) this.#vouched = this.#waiting.findLastIndex(isVouched) + 1;
    return { change: null, damage };
  }

  /** Without keys: also reads the entries after damage, up to the newest. */
  async #readPast(newest: number): Promise<void> {
    while (this.newestNumber < newest) {
      const next = this.newestNumber + 1;
      // An entry that does not follow the one before is the first one of the next walk.
      const { found, damage } = await this.#walk(next, null);
      for (const stored of found) this.#add(stored);
      if (found.length === 0) this.#log.push(damage ?? missingEntryError(this.#store, next));
    }
    while (this.#log.at(-1) instanceof DamageError) this.#log.pop();
  }

  /** The entries from this number on, each linked to the one before, and why one that comes next is none. */
  async #walk(
    from: number,
    listed: LogListing | null,
  ): Promise<{ found: StoredEntry[]; damage: DamageError | null }> {
    const found: StoredEntry[] = [];
    const damage = await damageOf(async () => {
      // A listing leaves out symbolic links. The entry after its end is read, because it may be one.
      const alone = entriesIn(this.#store);
      const read: ReadEntry = listed
        ? tiledEntries(tilesIn(this.#store, listed.tiles), async (number) =>
            number > listed.newest + 1 ? null : alone(number),
          )
        : alone;
      for await (const stored of walkLog(read, from)) found.push(stored);
    });
    return { found, damage };
  }

  /**
   * Accepts what the keys vouch for. Throws DamageError if that is not all that was
   * read, or not the log that was seen before.
   */
  #accept(keys: readonly VerifyKey[], seen: SeenLog | null, damage: DamageError | null): void {
    const waiting = this.#waiting;
    const known = this.newestNumber;
    // At the start only the entry that was served before shows that no more than the end is damaged.
    if (known === 0 && damage !== null && waiting.length < (seen?.number ?? Infinity)) throw damage;
    if (seen !== null) {
      const same = seen.number > known ? waiting[seen.number - 1 - known] : this.get(seen.number);
      // A proxy that runs may be behind another one.
      if (known === 0 || same !== undefined) {
        requireSeen(seen, known + waiting.length, same?.sha256);
      }
      if (known === 0 && this.#vouched < seen.number) requireSigned(same as StoredEntry, keys);
    }
    for (const stored of waiting.splice(0, this.#vouched)) this.#add(stored);
    this.#vouched = 0;
    const last = waiting.at(-1);
    if (last !== undefined) requireSigned(last, keys);
  }

  /** While the state does not answer, this process alone remembers the entry; later polls try again. */
  async #remember(): Promise<void> {
    const number = this.newestNumber;
    const { location, store, first } = this.#names();
    if (this.#memory === null || first === null || number === this.#remembered) return;
    const { sha256 } = this.get(number);
    const log = { store, first, number, sha256, locations: [location] };
    const held = await this.#memory.see(log).then(() => number, nullIfUnreachable);
    if (held !== null) this.#remembered = number;
  }

  #add(stored: StoredEntry): void {
    const { entry } = stored;
    this.#log[entry.number - 1] = stored;
    const isNewest = entry.number > (this.#entries.at(-1)?.number ?? 0);
    this.#entries.push(entry);
    if (!isNewest) this.#entries.sort((a, b) => a.number - b.number);
    if (!isPublication(entry)) {
      entry.snapshots.forEach((text) => this.#pruned.add(text));
      return;
    }
    const name = snapshotText(entry);
    this.#published.set(name, Math.min(entry.number, this.#published.get(name) ?? Infinity));
    if (entry.number > (this.head?.number ?? 0)) this.head = entry;
  }

  /** Throws DamageError if an entry, in turn one of all, has changed. Takes one that is whole again. */
  async #compare(): Promise<void> {
    const damaged = this.#log.findIndex((known) => known instanceof DamageError) + 1;
    this.#compared = (this.#compared % this.newestNumber) + 1;
    const stored = await mustRead(this.#store, damaged || this.#compared);
    if (damaged > 0) return this.#add(stored);
    const change = changeOf(this.get(this.#compared), stored);
    if (change !== null) throw change;
  }
}

/** Why the entry is not as it was; null: it is. `found` is missing if it is gone. */
function changeOf(
  { sha256, where }: StoredEntry,
  found: StoredEntry | undefined,
): DamageError | null {
  if (found === undefined) return new DamageError(`${where} is gone`);
  if (found.sha256 === sha256) return null;
  return new DamageError(`${where} is not the entry that was read before: is it another store?`);
}

/** Null for an UnreachableError. Throws other errors. */
function nullIfUnreachable(error: unknown): null {
  if (error instanceof UnreachableError) return null;
  throw error;
}

/** The DamageError that `check` fails with; null: none. Throws other errors. */
async function damageOf(check: () => unknown): Promise<DamageError | null> {
  const found = await orDamage(check);
  return found instanceof DamageError ? found : null;
}

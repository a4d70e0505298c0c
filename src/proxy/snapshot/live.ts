/**
 * The snapshot that answers come from. The log is polled for the next publication; a new snapshot
 * is loaded and proven whole beside the old one, then takes its place in one step. Requests take
 * `current` once, so each answer comes from one snapshot, and downloads finish on what they began.
 *
 * Where a publication cannot be loaded the old snapshot stays, and `trouble` says why until a
 * publication loads. It is tried again, ever more rarely; a newer publication is tried at once. A
 * proxy that starts takes the newest publication that loads whole in its place. The log is followed
 * from the newest entry known, which must keep its bytes, and is listed now and then to find gaps.
 */
import type { Clock } from "../../lib/clock.ts";
import { ChipboardError, DamageError, reasonOf } from "../../lib/errors.ts";
import {
  lacks,
  listLog,
  logLength,
  isPublication,
  readStoredEntry,
  type Publication,
  type StoredEntry,
} from "../../snapshot/publication-log.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { publicationKey, snapshotText } from "../../store/paths.ts";
import { overdueSessions } from "./freshness.ts";
import { loadSnapshot, type LoadedSnapshot, type LoadOptions } from "./load.ts";
import type { Logger } from "../ops/log.ts";

const RETRY_MAX_MS = 60_000;
/** A listing costs as much as the log is long. */
const POLLS_PER_LISTING = 30;

const UNREADABLE = "publication log cannot be read";

/** What following the log depends on. */
export interface LiveSnapshotOptions extends Omit<LoadOptions, "onStreamFailure"> {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** How often a new publication is looked for. */
  readonly pollMs: number;
}

/** Why the newest publication is not the one served. */
interface Trouble {
  readonly kind: "damaged" | "unreachable";
  readonly message: string;
}

/** Follows the log of one store. Methods that answers call never wait. */
export class LiveSnapshot {
  readonly #options: LiveSnapshotOptions;
  #current: LoadedSnapshot | null = null;
  #trouble: Trouble | null = null;
  /** The newest entry known, and the newest one that makes a head. */
  #newestSeen: StoredEntry | null = null;
  #head: Publication | null = null;
  #pollsToListing = POLLS_PER_LISTING;
  #failures = 0;
  #retryAt = 0;
  #loads = { loaded: 0, failed: 0 };
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: LiveSnapshotOptions) {
    this.#options = options;
  }

  /** Null until something is published and loaded. */
  get current(): LoadedSnapshot | null {
    return this.#current;
  }

  get trouble(): Trouble | null {
    return this.#trouble;
  }

  /** The newest publication known, served or not; null where none can be read. */
  get newest(): Publication | null {
    return this.#head;
  }

  /** Snapshots loaded and failed since the start. */
  get loads(): { readonly loaded: number; readonly failed: number } {
    return this.#loads;
  }

  /**
   * Loads the newest publication that is whole and keeps following the log. Throws UnreachableError
   * where the store cannot be read at all; damage does not keep the proxy from starting.
   */
  async start(): Promise<void> {
    const { log, store } = this.#options;
    const { newest, missing } = await listLog(store);
    if (newest === 0) log.warn({ store: store.location }, "nothing is published there yet");
    if (missing !== null) {
      this.#pollsToListing = 0;
      this.#report(lacks(store, missing), UNREADABLE);
    }
    const taken = new Set<string>();
    for (let number = newest; number > 0 && this.#current === null; number -= 1) {
      const stored = await this.#damageAside(() => readStoredEntry(store, number));
      if (stored === null) continue;
      this.#newestSeen ??= stored;
      const { entry } = stored;
      if (!isPublication(entry)) entry.snapshots.forEach((text) => taken.add(text));
      if (!isPublication(entry) || taken.has(snapshotText(entry))) continue;
      this.#head ??= entry;
      const damage = this.#trouble;
      await this.#load(entry);
      this.#trouble ??= damage;
      if (this.#trouble?.kind === "unreachable") break;
    }
    this.#schedule();
  }

  /** Stops following. A load under way is not waited for; it comes to nothing. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      void this.#poll().finally(() => this.#schedule());
    }, this.#options.pollMs);
  }

  async #poll(): Promise<void> {
    try {
      const newest = await this.#follow();
      if (newest !== null) {
        this.#failures = 0;
        this.#head = newest;
        await this.#load(newest);
      } else if (this.#failures > 0 && performance.now() >= this.#retryAt) {
        if (this.#head !== null) await this.#load(this.#head);
      } else {
        await this.#requireNoGap();
        if (this.#failures > 0 || this.#trouble === null) return;
        this.#trouble = null;
        this.#options.log.info({}, "store answers again");
      }
    } catch (error) {
      this.#report(error, UNREADABLE);
    }
  }

  /**
   * Follows the log from the last entry seen: the newest head that came since, or null. Throws
   * DamageError where the log is not what it was.
   */
  async #follow(): Promise<Publication | null> {
    const { store } = this.#options;
    const known = this.#newestSeen;
    let newest = known;
    let head: Publication | null = null;
    for (;;) {
      const next = await readStoredEntry(store, (newest?.entry.number ?? 0) + 1);
      if (next === null) break;
      newest = next;
      if (isPublication(next.entry)) head = next.entry;
    }
    // After the reads: what came since stands on this entry, or comes from another store.
    if (known !== null) await this.#requireKept(known);
    this.#newestSeen = newest;
    return head;
  }

  /** A store without the entry that was served from, or with another, is not one without news. */
  async #requireKept({ entry: { number }, sha256 }: StoredEntry): Promise<void> {
    const { store } = this.#options;
    const where = `${store.location}/${publicationKey(number)}`;
    const stored = await readStoredEntry(store, number);
    if (stored === null) throw new DamageError(`${where} is gone`);
    if (stored.sha256 !== sha256) {
      throw new DamageError(`${where} is not the entry that was read before: is it another store?`);
    }
  }

  /** An entry that cannot be read next may be missing while later ones are there. */
  async #requireNoGap(): Promise<void> {
    if (this.#pollsToListing > 0) {
      this.#pollsToListing -= 1;
      return;
    }
    // Throws where there is one, and is asked again by the next poll.
    await logLength(this.#options.store);
    this.#pollsToListing = POLLS_PER_LISTING;
  }

  async #load(publication: Publication): Promise<void> {
    const { store, log } = this.#options;
    const startedAt = performance.now();
    try {
      const loaded = await loadSnapshot(store, publication, {
        ...this.#options,
        onStreamFailure: (error) => log.error({ err: error }, "stored file cannot be sent"),
      });
      const coded = this.#code(loaded);
      // The old snapshot answers meanwhile. Where there is none, answers come before all is coded.
      if (this.#current !== null) await coded;
      else coded.catch((error: unknown) => log.error({ err: error }, "snapshot not compressed"));
      if (this.#closed) return;
      this.#current = loaded;
      this.#trouble = null;
      if (publication === this.#head) this.#failures = 0;
      this.#loads.loaded += 1;
      const ms = Math.round(performance.now() - startedAt);
      const { text } = loaded.stamp;
      log.info({ snapshot: text, publication: publication.number, ms }, "snapshot switched");
    } catch (error) {
      this.#loads.failed += 1;
      this.#failures += 1;
      const wait = Math.min(RETRY_MAX_MS, this.#options.pollMs * 2 ** this.#failures);
      this.#retryAt = performance.now() + wait;
      this.#report(error, `publication ${publication.number} cannot be loaded`);
    }
  }

  /** Makes the coded forms, one after another; what is asked for before its turn is made then. */
  async #code({ stamp, files }: LoadedSnapshot): Promise<void> {
    for (const file of files.values()) {
      if (this.#closed) return;
      await file.coded(overdueSessions(stamp, this.#options.clock.now()));
    }
  }

  #report(error: unknown, what: string): void {
    if (this.#closed) return;
    const kind = error instanceof DamageError ? "damaged" : "unreachable";
    const message = `${what}: ${reasonOf(error)}`;
    if (this.#trouble?.message !== message) {
      const kept = this.#current?.stamp.text ?? null;
      // Where it can be acted on, the message says all; a stack is for what was not foreseen.
      const isForeseen = error instanceof ChipboardError;
      const err = isForeseen ? { type: error.name, message: error.message } : error;
      this.#options.log.error({ err, serving: kept }, what);
    }
    this.#trouble = { kind, message };
  }

  async #damageAside<T>(read: () => Promise<T>): Promise<T | null> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      this.#report(error, UNREADABLE);
      return null;
    }
  }
}

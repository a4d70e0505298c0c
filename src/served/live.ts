/**
 * The snapshot that the proxy answers from. It polls the log for new publications. It loads and
 * verifies a new snapshot completely while the old one answers, then switches in one step. A request
 * reads `current` once, so each answer comes from one snapshot, and a download ends with the
 * snapshot that it began with.
 *
 * If a publication cannot be loaded, the old snapshot stays and `trouble` says why until a
 * publication loads. The proxy tries it again at growing intervals, and tries a newer publication at
 * once. While nothing is served, it falls back to the newest publication that loads. log-reader.ts reads
 * the log.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../lib/clock.ts";
import {
  ChipboardError,
  DamageError,
  LostStoreError,
  reasonOf,
  UnfitError,
  UnreachableError,
} from "../lib/errors.ts";
import { isPublication, type Publication } from "../snapshot/log/entry.ts";
import type { ObjectStore } from "../ports/store.ts";
import { loadSnapshot, type LoadedSnapshot, type LoadOptions } from "./load.ts";
import type { LogReader } from "./log-reader.ts";
import type { EventLog } from "../ports/observer.ts";
import type { Head } from "../core/world.ts";

const RETRY_MAX_MS = 60_000;
/** The start waits this long for a store that is silent or slow. */
const START_PATIENCE_MS = 5_000;

const UNREADABLE = "publication log cannot be read";
const SLOW = "the store gives no snapshot yet";

export interface LiveSnapshotOptions extends LoadOptions {
  readonly store: ObjectStore;
  readonly reader: LogReader;
  readonly clock: Clock;
  readonly log: EventLog;
  /** The interval between two polls of the log. */
  readonly pollMs: number;
}

/** Why the newest publication is not the one served. Lost: the store is not the one that the state remembers. */
interface Trouble {
  readonly kind: "damaged" | "unreachable" | "lost";
  readonly message: string;
}

/** Follows the log of one store. */
export class LiveSnapshot implements Head<LoadedSnapshot> {
  readonly #options: LiveSnapshotOptions;
  /** How many loads succeeded and failed since the start. */
  readonly loads = { loaded: 0, failed: 0 };
  /** The served snapshot; null until one is loaded. */
  current: LoadedSnapshot | null = null;
  trouble: Trouble | null = null;
  readonly #firstLoad = Promise.withResolvers<void>();
  /** Resolves when there is something to serve. */
  readonly loaded = this.#firstLoad.promise;
  /** The newest publication known, served or not; null: none is known. */
  newest: Publication | null = null;
  #failures = 0;
  #retryAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: LiveSnapshotOptions) {
    this.#options = options;
  }

  /**
   * Loads the newest publication that is undamaged and keeps following the log. Damage does not prevent the
   * start, nor does a store that is away: then this resolves without a snapshot, and polls go on. Throws
   * UnfitError if the store answers that it cannot be used.
   */
  async start(): Promise<void> {
    const { log, store, reader } = this.#options;
    const first = this.#follow().catch((error: unknown) => {
      if (!(error instanceof UnreachableError) || error instanceof UnfitError) throw error;
      this.#report(error, UNREADABLE);
    });
    const patience = delay(START_PATIENCE_MS, false, { ref: false });
    if (await Promise.race([first.then(() => true), patience])) {
      if (this.trouble === null && reader.newestNumber === 0) {
        log.warn({ store: store.location }, "nothing is published there yet");
      }
      return this.#schedule();
    }
    const seconds = START_PATIENCE_MS / 1000;
    const silence = new UnreachableError(
      `${store.location} has not answered in ${seconds} seconds`,
    );
    if (this.current === null) this.#report(silence, SLOW);
    void first
      .catch((error: unknown) => this.#report(error, UNREADABLE))
      .finally(() => this.#schedule());
  }

  /** Stops following the log. Does not wait for a running load and ignores its result. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#closed) return;
    this.#timer = setTimeout(() => {
      void this.poll().finally(() => this.#schedule());
    }, this.#options.pollMs);
  }

  /** Follows the log once. Never rejects. */
  async poll(): Promise<void> {
    try {
      await this.#follow();
    } catch (error) {
      this.#report(error, UNREADABLE);
    }
  }

  /** Reads the log on, and loads a new head, or one that is due again. Throws as `LogReader.follow` does. */
  async #follow(): Promise<void> {
    const { reader, log } = this.#options;
    const trouble = await reader.follow();
    const { head } = reader;
    if (head !== this.newest) {
      this.newest = head;
      this.#failures = 0;
      await this.#loadNewest();
    } else if (head !== null && this.#failures > 0 && performance.now() >= this.#retryAt) {
      await this.#loadNewest();
    } else if (trouble === null && this.#failures === 0 && this.trouble !== null) {
      this.trouble = null;
      log.info({}, "store answers again");
    }
    if (trouble instanceof LostStoreError) this.#report(trouble, "the store is lost");
    else if (trouble !== null) this.#report(trouble, UNREADABLE);
  }

  /** Loads the head; while nothing is served, the newest publication that loads. */
  async #loadNewest(): Promise<void> {
    const { reader } = this.#options;
    if (this.current !== null && reader.head !== null) return this.#load(reader.head);
    let damage: Trouble | null = null;
    for (const entry of reader.entries.toReversed()) {
      if (!isPublication(entry) || reader.isPruned(entry)) continue;
      await this.#load(entry);
      if (this.#closed) return;
      if (this.current !== null) this.trouble = damage;
      else damage = this.trouble;
      if (this.current !== null || damage?.kind === "unreachable") return;
    }
  }

  async #load(publication: Publication): Promise<void> {
    const { store, log } = this.#options;
    const startedAt = performance.now();
    try {
      const loaded = await loadSnapshot(store, publication, this.#options);
      if (this.#closed) return;
      this.current = loaded;
      this.#firstLoad.resolve();
      this.trouble = null;
      if (publication === this.newest) this.#failures = 0;
      this.loads.loaded += 1;
      const ms = Math.round(performance.now() - startedAt);
      const { stamp, carried, movement } = loaded;
      const { number } = publication;
      const feed = {
        unchanged: movement?.unchanged,
        still: movement?.still.length,
        carried: carried.length,
      };
      log.info({ snapshot: stamp.text, publication: number, ...feed, ms }, "snapshot switched");
    } catch (error) {
      this.loads.failed += 1;
      this.#failures += 1;
      const wait = Math.min(RETRY_MAX_MS, this.#options.pollMs * 2 ** this.#failures);
      this.#retryAt = performance.now() + wait;
      this.#report(error, `publication ${publication.number} cannot be loaded`);
    }
  }

  #report(error: unknown, what: string): void {
    if (this.#closed) return;
    const kind =
      error instanceof LostStoreError
        ? "lost"
        : error instanceof DamageError
          ? "damaged"
          : "unreachable";
    const message = `${what}: ${reasonOf(error)}`;
    if (this.trouble?.message !== message) {
      const kept = this.current?.stamp.text ?? null;
      // The message of a ChipboardError is enough to act on; other errors need their stack.
      const isForeseen = error instanceof ChipboardError;
      const err = isForeseen ? { type: error.name, message: error.message } : error;
      this.#options.log.error({ err, serving: kept }, what);
    }
    this.trouble = { kind, message };
  }
}

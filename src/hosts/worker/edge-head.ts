/**
 * The snapshot that an isolate serves, and the log. There is no timer: a request reads the log on if nobody has for a
 * while. A request may end before it has read: then nobody waits for it, and the next one reads anew.
 */
import type { Head, LiveSnapshot as Live, LogView } from "../../core/world.ts";
import type { Entry, Publication, StoredEntry } from "../../snapshot/log/entry.ts";
import type { SnapshotName } from "../../store/paths.ts";
import type { LiveSnapshot } from "../../served/live.ts";
import { OneAtATime, PATIENCE_MS } from "./one-at-a-time.ts";
import type { LogReader } from "../../served/log-reader.ts";

/** What reads the log of a store, and follows its head. */
interface Follower {
  readonly reader: LogReader;
  readonly live: LiveSnapshot;
}

export class EdgeHead implements Head, LogView {
  readonly #make: () => Follower;
  readonly #pollMs: number;
  /** What answers come from. */
  #shown: Follower;
  /** Null: a request reads on by it. */
  #idle: Follower | null;
  #beganMs = -Infinity;
  #lookAtMs = -Infinity;
  readonly #first = new OneAtATime();

  constructor(make: () => Follower, pollMs: number) {
    this.#make = make;
    this.#pollMs = pollMs;
    this.#shown = make();
    this.#idle = this.#shown;
  }

  get current(): Live | null {
    return this.#shown.live.current;
  }

  get trouble(): Head["trouble"] {
    return this.#shown.live.trouble;
  }

  get newest(): Publication | null {
    return this.#shown.live.newest;
  }

  get newestNumber(): number {
    return this.#shown.reader.newestNumber;
  }

  get entries(): readonly Entry[] {
    return this.#shown.reader.entries;
  }

  get head(): Publication | null {
    return this.#shown.reader.head;
  }

  get(number: number): StoredEntry {
    return this.#shown.reader.get(number);
  }

  isPublishedBy(snapshot: string, number: number): boolean {
    return this.#shown.reader.isPublishedBy(snapshot, number);
  }

  isPruned(name: SnapshotName): boolean {
    return this.#shown.reader.isPruned(name);
  }

  /** Reads the log on if it is due; while there is nothing to serve, always. Never rejects. */
  async refresh(): Promise<void> {
    if (this.current === null) return this.#first.run(() => this.follow());
    const nowMs = performance.now();
    const isRead = this.#idle === null && nowMs - this.#beganMs < PATIENCE_MS;
    if (nowMs < this.#lookAtMs || isRead) return;
    this.#lookAtMs = nowMs + this.#pollMs;
    await this.follow();
  }

  /** Reads the log on, by a follower that no other request uses. */
  async follow(): Promise<null> {
    const follower = this.#idle ?? this.#make();
    this.#idle = null;
    this.#beganMs = performance.now();
    await follower.live.poll();
    const isShown = this.current === null || follower.reader.newestNumber >= this.newestNumber;
    if (isShown && (follower.live.current !== null || this.current === null))
      this.#shown = follower;
    this.#idle = this.#shown;
    return null;
  }
}

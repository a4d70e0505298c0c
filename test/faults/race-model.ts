/** What has been promised while publishers, rollbacks and prunes race, checked after every write. */
import {
  isPublication,
  readEntry,
  readLog,
  readPublications,
  type Publication,
} from "../../src/snapshot/publication-log.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { parsePublicationKey, snapshotFolder, snapshotText } from "../../src/store/paths.ts";
import { wholeSnapshot } from "./crash-head.ts";
import type { Operation } from "./crash-store.ts";
import type { Report } from "./race-actors.ts";

/**
 * Holds which actor made which publication, and which objects nobody may remove: those that the
 * head and the publication before it need. Every method throws where a promise does not hold.
 */
export class RaceModel {
  readonly #store: ObjectStore;
  readonly #makers = new Map<number, string>();
  #needed: ReadonlySet<string> = new Set();
  #first = 0;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** Takes the store for what was there before. */
  async begin(): Promise<void> {
    this.#first = (await readPublications(this.#store)).length;
    await this.#look();
  }

  /** An object changes by a write only, so to look at what was written is to look at everything. */
  async written(actor: string, { kind, key }: Operation, result: unknown): Promise<void> {
    if (kind === "delete" && this.#needed.has(key)) {
      throw new Error(`${actor} removed ${key}, which the head or the one before it needs`);
    }
    const number = kind === "create" && result === "created" ? parsePublicationKey(key) : null;
    if (number === null) return;
    const entry = await readEntry(this.#store, number);
    if (entry === null || !isPublication(entry)) return;
    this.#makers.set(number, actor);
    await this.#look();
  }

  /**
   * Compares what the actors say with the log: each publication was made by the one that says so,
   * or by one that was killed (null) before it could. Then all that the log names
   * is looked at.
   */
  async end(reports: ReadonlyMap<string, Report | null>): Promise<void> {
    const log = await readPublications(this.#store);
    for (const [actor, report] of reports) {
      const made = [...this.#makers].filter(([, maker]) => maker === actor);
      if (report === null) {
        if (made.length > 1) throw new Error(`${actor} made ${made.length} publications`);
        continue;
      }
      const claimed = report.made === null ? [] : [report.made.number];
      if (String(made.map(([number]) => number)) !== String(claimed)) {
        const numbers = made.map(([number]) => number).join(", ");
        throw new Error(`${actor} says it made [${String(claimed)}], and made [${numbers}]`);
      }
      if (report.made === null) continue;
      const entry = log.find(({ number }) => number === report.made?.number);
      if (entry !== undefined && snapshotText(entry) === report.made.snapshot) continue;
      throw new Error(`${actor} says it made ${report.made.snapshot}; the log has another there`);
    }
    if (log.length !== this.#first + this.#makers.size) {
      throw new Error(
        `${log.length - this.#first} publications, of which ${this.#makers.size} made`,
      );
    }
    await this.#look();
    const taken = await this.#taken();
    for (const entry of log) {
      if (!taken.has(snapshotText(entry))) await this.#wholeOrGone(entry);
    }
  }

  /** What prunes named: it may be there in part, until the next one has removed it. */
  async #taken(): Promise<ReadonlySet<string>> {
    const log = await readLog(this.#store);
    return new Set(log.flatMap((entry) => (isPublication(entry) ? [] : entry.snapshots)));
  }

  /** A snapshot that was published is whole, or nothing is left of it. */
  async #wholeOrGone(entry: Publication): Promise<void> {
    let files = 0;
    for await (const _ of this.#store.list(snapshotFolder(entry))) files += 1;
    if (files > 0) await wholeSnapshot(this.#store, entry, entry.manifest_sha256);
  }

  /** The log without a gap; the head and the one before it whole. */
  async #look(): Promise<void> {
    const log = await readPublications(this.#store);
    const kept = await Promise.all(
      log.slice(-2).map((entry) => wholeSnapshot(this.#store, entry, entry.manifest_sha256)),
    );
    this.#needed = new Set(kept.flat());
  }
}

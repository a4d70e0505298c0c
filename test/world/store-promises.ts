/** Checks the promises after every write while publishers, rollbacks, prunes and copies race. */
import { isPublication, type Publication } from "../../src/snapshot/log/entry.ts";
import { readEntries, readEntry, readPublications } from "../store/log-entries.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { parsePublicationKey, snapshotFolder, snapshotText } from "../../src/store/paths.ts";
import { wholeSnapshot } from "../../tools/faults/crash-head.ts";
import type { Operation } from "../faults/crash-store.ts";
import type { Report } from "./actors.ts";

/**
 * Knows which actor made which publication, and which objects nobody may remove: those that the head
 * and the publication before it need. Every method throws if a promise is broken.
 */
export class StorePromises {
  readonly #store: ObjectStore;
  readonly #makers = new Map<number, string>();
  #needed: ReadonlySet<string> = new Set();
  #first = 0;

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** Records the content of the store before the world begins. */
  async begin(): Promise<void> {
    this.#first = (await readPublications(this.#store)).length;
    await this.#look();
  }

  /** Called after each write. Only writes change objects, so this sees every change. */
  async written(actor: string, { kind, key }: Operation, result: unknown): Promise<void> {
    if (kind === "delete" && this.#needed.has(key)) {
      throw new Error(`${actor} removed ${key}, which the head or the one before it needs`);
    }
    if (kind !== "create" || result === "taken") return;
    const number = parsePublicationKey(key);
    if (number === null || this.#makers.has(number)) return;
    // A write that failed may have happened.
    if (result instanceof Error && (await this.#store.get(key)) === null) return;
    const entry = await readEntry(this.#store, number);
    if (!isPublication(entry)) return;
    this.#makers.set(number, actor);
    await this.#look();
  }

  /**
   * Compares the reports with the log: each publication was made by the actor that claims it, or by
   * one that was killed before it could report (null), or got no answer (`unanswered`). Then checks all snapshots of
   * the log.
   */
  async end(
    reports: ReadonlyMap<string, Report | null>,
    unanswered: ReadonlySet<string> = new Set(),
  ): Promise<void> {
    const log = await readPublications(this.#store);
    for (const [actor, report] of reports) {
      const made = [...this.#makers].filter(([, maker]) => maker === actor);
      if (report === null || (report.made === null && unanswered.has(actor))) {
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

  /** Snapshots that a prune has named: parts may remain until the next prune removes them. */
  async #taken(): Promise<ReadonlySet<string>> {
    const log = await readEntries(this.#store);
    return new Set(log.flatMap((entry) => (isPublication(entry) ? [] : entry.snapshots)));
  }

  /** A published snapshot is complete, or nothing is left of it. */
  async #wholeOrGone(entry: Publication): Promise<void> {
    let files = 0;
    for await (const _ of this.#store.list(snapshotFolder(entry))) files += 1;
    if (files > 0) await wholeSnapshot(this.#store, entry, entry.manifest_sha256);
  }

  /** Throws unless the log has no gap and the head and the one before it are complete. */
  async #look(): Promise<void> {
    const log = await readPublications(this.#store);
    const kept = await Promise.all(
      log.slice(-2).map((entry) => wholeSnapshot(this.#store, entry, entry.manifest_sha256)),
    );
    this.#needed = new Set(kept.flat());
  }
}

/** How many corrections each publication brought. */
import { DamageError } from "../../lib/errors.ts";
import { Limiter } from "../../lib/limiter.ts";
import { isPublication, type Entry, type Publication } from "../../snapshot/publication-log.ts";
import { readStoredManifest } from "../../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../../store/object-store.ts";

const READS_AT_ONCE = 8;

/** An entry of the log with the number of its corrections; null: unknown, or a prune. */
export interface CountedEntry<E extends Entry = Entry> {
  readonly entry: E;
  readonly corrections: number | null;
}

/**
 * Counts corrections. Entries of 0.1.0 do not say how many they brought, but their manifests do; each
 * of those is read once.
 */
export class CorrectionCounts {
  readonly #store: ObjectStore;
  readonly #limiter = new Limiter(READS_AT_ONCE);
  readonly #read = new Map<number, Promise<number | null>>();

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /**
   * The entries with their corrections; null where the snapshot was pruned or its manifest is damaged.
   * Throws UnreachableError if the store does not answer.
   */
  count<E extends Entry>(entries: readonly E[]): Promise<CountedEntry<E>[]> {
    return Promise.all(
      entries.map(async (entry) => ({ entry, corrections: await this.#of(entry) })),
    );
  }

  #of(entry: Entry): number | null | Promise<number | null> {
    if (!isPublication(entry)) return null;
    if (entry.corrections !== undefined) return entry.corrections;
    if (entry.action === "rollback") return 0;
    let read = this.#read.get(entry.number);
    if (read === undefined) {
      read = this.#limiter.run(() => this.#fromManifest(entry));
      this.#read.set(entry.number, read);
      read.catch(() => this.#read.delete(entry.number));
    }
    return read;
  }

  async #fromManifest(publication: Publication): Promise<number | null> {
    try {
      const { manifest_sha256 } = publication;
      const stored = await readStoredManifest(this.#store, publication, manifest_sha256);
      return stored === null ? null : stored.manifest.corrected.length;
    } catch (error) {
      if (error instanceof DamageError) return null;
      throw error;
    }
  }
}

/**
 * `snapshots copy`: brings another store to the state of this one. It copies every object that an
 * entry of the log names and no prune took, all inputs, the names that are never used again (`taken/`), and the mark.
 * Claims stay behind: they belong to runs that write into the source.
 *
 * It can stop at any time, because of its order: files, ledger months and inputs, then manifests, and last the
 * log, oldest entry first, with its tiles. The target's log must be the beginning of the source's, so a repeated
 * copy goes on where the last one ended, and a target that was published to is refused. It compares
 * every object with its digest when it reads it, and again after it has arrived. A mirror then removes what
 * prunes of the source took, and nothing else: the target's log names it by then.
 */
import { atOnce } from "../lib/at-once.ts";
import { ConflictError, DamageError, UnreachableError } from "../lib/errors.ts";
import { counted } from "../lib/text.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import { ENTRY_BYTES_MAX, isPublication, takenIn } from "../snapshot/log/entry.ts";
import type { StoredEntry } from "../snapshot/log/entry.ts";
import { writeTiles } from "../snapshot/log/append.ts";
import { entriesIn, logLength, readLog, walkLog } from "../snapshot/log/walk.ts";
import { readVerified } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../ports/store.ts";
import {
  INPUTS,
  LEDGER,
  parseSnapshotFileKey,
  publicationKey,
  SESSIONS,
  snapshotText,
  STORE_MARK,
  TAKEN,
} from "../store/paths.ts";
import { collect, holds, keysBelow, needsOf } from "./copy-needs.ts";
import type { CopyProgress, Needed, Needs } from "./copy-needs.ts";
import { foldersOf, remove } from "./prune.ts";
import { emptyLogError } from "./find-snapshot.ts";

/** The result of a copy; for a dry run, the result that the copy would have. */
export interface Copying {
  /** "unchanged": there was nothing to do. "planned": a dry run, and there is. */
  readonly outcome: "copied" | "planned" | "unchanged";
  /** Where the stores are. */
  readonly from: string;
  readonly to: string;
  /** How many objects were written, entries of the log among them. */
  readonly objects: number;
  /** The size of those objects. */
  readonly bytes: number;
  /** How many objects a mirror removed. */
  readonly removed: number;
  /** Damaged inputs that no snapshot names, which were not copied, one line each. */
  readonly left_out: readonly string[];
  /** How many objects the target already had, with the same bytes. */
  readonly there: number;
  /** How many snapshots the target has after the copy, without those that a prune took. */
  readonly snapshots: number;
  /** The head of both stores and its entry of the log; null: there is none. */
  readonly head: { readonly snapshot: string; readonly number: number } | null;
}

/**
 * Copies, and as a mirror removes; with `dryRun` it reads and checks everything and writes nothing. Throws InputError
 * if the source holds no log, ConflictError if the target has another log, or other bytes under a key of
 * the source: nothing is changed then. Throws DamageError if an object of the source is missing or
 * damaged: the others are copied then, but the target's log stays as it was. A damaged input that no snapshot names is
 * left out.
 */
export async function copyStore(
  from: ObjectStore,
  to: ObjectStore,
  dryRun: boolean,
  progress: CopyProgress,
  mirror = false,
): Promise<Copying> {
  const run = new CopyRun(from, to, dryRun, progress);
  for (;;) {
    const log = await run.readLogs();
    const needs = await needsOf(from, log, progress);
    const damages = [...needs.damages, ...(await run.copy(log, needs))];
    if (damages.length === 0) {
      const removed = mirror ? await run.prune(log, needs) : 0;
      return run.result(log, needs, removed);
    }
    // A prune that ran meanwhile explains missing objects. Its entry says that nothing needs it.
    const later = await Array.fromAsync(walkLog(entriesIn(from), log.length + 1));
    if (takenIn(later).size > 0) continue;
    throw new DamageError(
      `${from.location} is damaged: ${counted(damages.length, "finding")}; the log of ${to.location} ` +
        "stays as it was. Restore these objects, or prune their snapshots, and copy again",
      damages,
    );
  }
}

class CopyRun {
  readonly #from: ObjectStore;
  readonly #to: ObjectStore;
  readonly #dryRun: boolean;
  readonly #progress: CopyProgress;
  /** Keys whose bytes are the same in both stores. */
  readonly #same = new Set<string>();
  #objects = 0;
  #bytes = 0;

  constructor(from: ObjectStore, to: ObjectStore, dryRun: boolean, progress: CopyProgress) {
    this.#from = from;
    this.#to = to;
    this.#dryRun = dryRun;
    this.#progress = progress;
  }

  /** The source's log. Throws ConflictError unless the target's is its beginning. */
  async readLogs(): Promise<StoredEntry[]> {
    // The target's first: another copy may extend it meanwhile, but only by what the source has.
    const keys = Array.from({ length: await logLength(this.#to) }, (_, at) =>
      publicationKey(at + 1),
    );
    const there = await atOnce(keys, (key) => this.#to.get(key, ENTRY_BYTES_MAX));
    const log = await readLog(this.#from);
    if (log.length === 0) throw await emptyLogError(this.#from);
    const from = this.#from.location;
    const to = this.#to.location;
    for (const [at, key] of keys.entries()) {
      this.#same.add(key);
      const bytes = there[at] ?? null;
      if (bytes !== null && sha256Hex(bytes) === log[at]?.sha256) continue;
      const what =
        at < log.length
          ? `${to}/${key} is not the ${key} of ${from}`
          : `${to}/${key} is not in ${from}: ${to} was published to, rolled back or pruned`;
      throw new ConflictError(`${what}; nothing was changed. ${EXPECTED_TARGET}`);
    }
    return log;
  }

  /** Copies everything that the log names, then the log. Returns the damages of the source. */
  async copy(log: readonly StoredEntry[], needs: Needs): Promise<string[]> {
    await this.#compareTarget(needs);
    const entries = log.map(({ entry, sha256 }) => ({
      key: publicationKey(entry.number),
      sha256,
      bytesMax: ENTRY_BYTES_MAX,
    }));
    const missingOf = (needed: readonly Needed[]): Needed[] =>
      needed.filter(({ key }) => !this.#same.has(key));
    const files = missingOf(needs.files);
    const manifests = missingOf(needs.manifests);
    const newEntries = missingOf(entries);
    const total = files.length + manifests.length + newEntries.length;
    if (total === 0) return [];
    await (this.#dryRun ? this.#to.mayWrite() : this.#to.prove());
    const damages: string[] = [];
    let done = 0;
    const tell = (): void => this.#progress("Copying", (done += 1), total);
    for (const objects of [files, manifests]) {
      await atOnce(objects, async (object) => {
        await collect(damages, () => this.#transfer(object));
        tell();
      });
    }
    if (damages.length + needs.damages.length > 0) return damages;
    for (const entry of newEntries) {
      await this.#transfer(entry);
      tell();
    }
    if (!this.#dryRun) await writeTiles(this.#to, log.length);
    return [];
  }

  /** Removes what prunes in the log took, and no snapshot needs. Returns how many objects. */
  async prune(log: readonly StoredEntry[], { files }: Needs): Promise<number> {
    const taken = takenIn(log);
    for (const { key } of files) taken.delete(key);
    const below = (prefix: string) => Array.fromAsync(this.#to.list(prefix));
    const folders = foldersOf(await below(SESSIONS), []);
    const removable = folders.filter(({ name }) => taken.has(snapshotText(name)));
    const removableMonths = (await below(LEDGER)).filter(({ key }) => taken.has(key));
    if (!this.#dryRun) await remove(this.#to, { removable, removableMonths, doneClaims: [] });
    return removable.flatMap(({ objects }) => objects).length + removableMonths.length;
  }

  result(log: readonly StoredEntry[], needs: Needs, removed: number): Copying {
    const { files, manifests, names, leftOut } = needs;
    const head = log.map(({ entry }) => entry).findLast(isPublication);
    return {
      outcome: this.#objects + removed === 0 ? "unchanged" : this.#dryRun ? "planned" : "copied",
      from: this.#from.location,
      to: this.#to.location,
      objects: this.#objects,
      bytes: this.#bytes,
      removed,
      left_out: leftOut,
      there: files.length + manifests.length + log.length - this.#objects,
      snapshots: names.size,
      head: head === undefined ? null : { snapshot: snapshotText(head), number: head.number },
    };
  }

  /** Throws ConflictError if the target holds other bytes, or other files of a snapshot. */
  async #compareTarget({ files, manifests, names }: Needs): Promise<void> {
    const objects = [...files, ...manifests];
    const needed = new Map(objects.map((object) => [object.key, object]));
    const isStray = (key: string): boolean => {
      if (key === STORE_MARK) return !needed.has(key);
      const parsed = parseSnapshotFileKey(key);
      return parsed !== null && names.has(snapshotText(parsed.name)) && !needed.has(key);
    };
    const prefixes = [STORE_MARK, SESSIONS, LEDGER, INPUTS, TAKEN];
    const keys = (await atOnce(prefixes, (prefix) => keysBelow(this.#to, prefix))).flat();
    const from = this.#from.location;
    const to = this.#to.location;
    const differences = keys.filter(isStray).map((key) => `${to}/${key} is not in ${from}`);
    const there = keys.flatMap((key) => (this.#same.has(key) ? [] : (needed.get(key) ?? [])));
    let compared = 0;
    await atOnce(there, async (object) => {
      if (await holds(this.#to, object)) this.#same.add(object.key);
      else differences.push(`${to}/${object.key} has other bytes`);
      this.#progress("Comparing", (compared += 1), there.length);
    });
    if (differences.length === 0) return;
    throw new ConflictError(
      `${to} holds other content than ${from}: ${counted(differences.length, "finding")}; ` +
        `nothing was changed. ${EXPECTED_TARGET}`,
      differences,
    );
  }

  /** Copies one object. Throws DamageError if the source lacks it, or has other bytes. */
  async #transfer(object: Needed): Promise<void> {
    const { key, sha256, bytesMax } = object;
    const bytes = await readVerified(this.#from, key, sha256, bytesMax);
    if (!this.#dryRun) {
      const outcome = await this.#to.create(key, bytes);
      if (!(await holds(this.#to, object))) {
        const where = `${this.#to.location}/${key}`;
        throw outcome === "taken"
          ? new ConflictError(`${where} was written by another run. ${EXPECTED_TARGET}`)
          : new UnreachableError(`${where} does not hold the bytes that were written to it`);
      }
      this.#same.add(key);
    }
    this.#objects += 1;
    this.#bytes += bytes.length;
  }
}

const EXPECTED_TARGET = "Expected an empty target, or an earlier copy that nothing else wrote to";

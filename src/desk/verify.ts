/**
 * `snapshots verify`: proves the bytes of stored snapshots and the log. It checks every byte, also of
 * inflated files, against the manifest, the manifest against the log, and the log against itself and, with
 * keys, its signatures. It also checks the ledger months and the inputs. It collects findings instead of
 * throwing them.
 */
import { atOnce } from "../lib/at-once.ts";
import { DamageError, orDamage } from "../lib/errors.ts";
import { readInput } from "../ledger/kept-inputs.ts";
import { TIER_NAMES } from "../market/tier.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import { identityOf, type Manifest } from "../snapshot/manifest.ts";
import { isPublication, type Publication, type StoredEntry } from "../snapshot/log/entry.ts";
import { requireSeen, type SeenEntry } from "../snapshot/log/seen.ts";
import { requireSigned } from "../snapshot/log/sign.ts";
import { unfitTiles } from "../snapshot/log/tiles.ts";
import { entriesIn, listLog, walkLog } from "../snapshot/log/walk.ts";
import { renderSums, rootsOf } from "../snapshot/sums.ts";
import type { VerifyKey } from "../snapshot/signing-key.ts";
import { compareObjects, objectsOf, readManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../ports/store.ts";
import {
  FILES,
  firstOf,
  INPUTS,
  lastOf,
  publicationKey,
  snapshotFileKey,
  snapshotFolder,
  snapshotText,
  tileKey,
  type SnapshotName,
  type Tile,
} from "../store/paths.ts";
import { keysBelow } from "./copy-needs.ts";
import { emptyLogError, findSnapshot, type FoundSnapshot } from "./find-snapshot.ts";

/** A signature of an entry by one of the keys. */
interface EntrySigner {
  readonly number: number;
  /** The snapshot that the entry makes the head; null: it is a prune. */
  readonly snapshot: string | null;
  readonly fingerprint: string;
}

/** The result of a verification. */
export interface Verification {
  /** The checked snapshots, in log order: `2026-11-21T00Z/r1`. */
  readonly checked: readonly string[];
  /** Snapshots that the log names and a prune removed. */
  readonly pruned: readonly string[];
  /** How many entries the log has; fewer if there is damage. */
  readonly entries: number;
  /** The newest of them. */
  readonly newest: StoredEntry | null;
  /** The signatures that were checked and fit; empty without keys. */
  readonly signatures: readonly EntrySigner[];
  /** How many objects were read: files of snapshots, and each ledger month and input once. */
  readonly files: number;
  /** The stored size of those objects. */
  readonly bytes: number;
  /** The findings, one line each; empty: no damage. */
  readonly damages: readonly string[];
}

/**
 * Checks the log, and the snapshot that `reference` names; null: every snapshot in the log. With keys,
 * one of them must have signed the log's newest entry, which vouches for all before it; where every
 * snapshot is checked, each signature there is must be by one of them. The log must have the entry that was
 * seen before.
 */
export async function verifySnapshots(
  store: ObjectStore,
  reference: string | null,
  keys: readonly VerifyKey[] | null = null,
  seen: SeenEntry | null = null,
): Promise<Verification> {
  const run = new VerifyRun(store);
  const log = await run.readLog();
  const isUnbroken = run.damages.length === 0;
  if (seen !== null && isUnbroken) {
    await run.attempt(async () => requireSeen(seen, log.length, log[seen.number - 1]?.sha256));
  }
  // After a break nothing is known of the newest entry.
  const newest = isUnbroken ? log.at(-1) : undefined;
  for (const stored of log) {
    const isChecked = stored === newest || (reference === null && stored.signature !== null);
    if (keys !== null && isChecked) await run.checkSignature(stored, keys);
  }
  // A log that lost all its entries has no snapshot to look up.
  if (seen !== null && run.entries === 0 && run.damages.length > 0) return run;
  if (reference === null) {
    if (log.length === 0 && isUnbroken) {
      await run.attempt(async () => Promise.reject(await emptyLogError(store)));
    }
    for (const entry of run.publicationsIn(log)) await run.checkPublication(entry);
    // A prune leaves the inputs of the snapshots that it takes.
    await run.checkInputs(await keysBelow(store, INPUTS));
    return run;
  }
  const found = await run.attempt(() => findSnapshot(store, reference));
  if (found === null) return run;
  if (keys !== null && found.publication === null) {
    const text = snapshotText(found.name);
    run.damages.push(`${store.location}: the log does not name ${text}, so nobody signed it`);
  }
  await run.checkSnapshot(found);
  await run.checkInputs(found.manifest.inputs.map(({ key }) => key));
  return run;
}

/** Checks the served files of a snapshot that was already found; returns the damages, one line each. */
export async function damagesOf(store: ObjectStore, found: FoundSnapshot): Promise<string[]> {
  const run = new VerifyRun(store);
  await run.checkSnapshot(found);
  return run.damages;
}

class VerifyRun implements Verification {
  readonly checked: string[] = [];
  readonly pruned: string[] = [];
  readonly damages: string[] = [];
  readonly signatures: EntrySigner[] = [];
  entries = 0;
  newest: StoredEntry | null = null;
  files = 0;
  bytes = 0;
  readonly #store: ObjectStore;
  /** The ledger months and inputs read so far: snapshots share them, and each is read once. */
  readonly #seen = new Set<string>();
  /** Snapshots that a prune named; until the next prune some of their objects may remain. */
  readonly #taken = new Set<string>();

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  /** The result of `work`. Turns a DamageError into a finding and null; throws other errors. */
  async attempt<T>(work: () => Promise<T>): Promise<T | null> {
    const found = await orDamage(work);
    if (!(found instanceof DamageError)) return found;
    if (!this.damages.includes(found.message)) this.damages.push(found.message);
    return null;
  }

  /** The log, oldest entry first; up to the first break if there is one. */
  async readLog(): Promise<readonly StoredEntry[]> {
    const log: StoredEntry[] = [];
    let tiles: readonly Tile[] = [];
    await this.attempt(async () => {
      const listed = await listLog(this.#store);
      tiles = listed.tiles;
      if (listed.gap !== null) throw listed.gap;
      for await (const stored of walkLog(entriesIn(this.#store), 1)) log.push(stored);
    });
    // After the first damage of the log nothing tells which tiles are right.
    const isWhole = this.damages.length === 0;
    const known = tiles.filter((tile) => isWhole || lastOf(tile) <= log.length);
    for (const tile of await unfitTiles(this.#store, known, log)) {
      const where = this.#where(tileKey(tile));
      this.damages.push(`${where} is not the entries ${firstOf(tile)} to ${lastOf(tile)}`);
    }
    this.entries = log.length;
    this.newest = log.at(-1) ?? null;
    return log;
  }

  async checkSignature(stored: StoredEntry, keys: readonly VerifyKey[]): Promise<void> {
    const { entry } = stored;
    const snapshot = isPublication(entry) ? snapshotText(entry) : null;
    await this.attempt(async () => {
      const { fingerprint } = requireSigned(stored, keys);
      this.signatures.push({ number: entry.number, snapshot, fingerprint });
    });
  }

  /** An entry for each snapshot of the log; adds what entries say that does not fit together. */
  publicationsIn(log: readonly StoredEntry[]): Iterable<Publication> {
    const firsts = new Map<string, Publication>();
    for (const { entry, where } of log) {
      if (!isPublication(entry)) {
        entry.snapshots.forEach((text) => this.#taken.add(text));
        continue;
      }
      const text = snapshotText(entry);
      if (this.#taken.has(text)) {
        this.damages.push(`${where} names ${text}, which an earlier prune removed`);
      }
      const first = firsts.get(text) ?? entry;
      firsts.set(text, first);
      if (first.manifest_sha256 === entry.manifest_sha256) continue;
      const other = publicationKey(first.number);
      this.damages.push(`${where} names another manifest than ${other} for ${text}`);
    }
    return firsts.values();
  }

  async checkPublication(publication: Publication): Promise<void> {
    const name = { session: publication.session, revision: publication.revision };
    if (this.#taken.has(snapshotText(name))) return void this.pruned.push(snapshotText(name));
    const manifest = await this.attempt(() =>
      readManifest(this.#store, name, publication.manifest_sha256),
    );
    if (manifest === null) return;
    await this.checkSnapshot({ name, manifest, publication });
    await this.checkInputs(manifest.inputs.map(({ key }) => key));
  }

  async checkSnapshot({
    name,
    manifest,
    publication,
  }: Pick<FoundSnapshot, "name" | "manifest" | "publication">): Promise<void> {
    this.checked.push(snapshotText(name));
    this.#sums(name, manifest, publication);
    if (manifest.identity !== identityOf(manifest.files, manifest.ledger)) {
      this.damages.push(`${snapshotText(name)}: the identity does not match the files named`);
    }
    const months = manifest.ledger.filter(({ key }) => this.#isFirst(key));
    const objects = objectsOf(name, { ...manifest, ledger: months });
    const { damages, bytes } = await compareObjects(this.#store, objects, true);
    this.damages.push(...damages);
    this.files += objects.length;
    this.bytes += bytes;
    await this.#strays(name, manifest);
  }

  async checkInputs(keys: readonly string[]): Promise<void> {
    const fresh = keys.filter((key) => this.#isFirst(key));
    await atOnce(fresh, async (key) => {
      const stored = await this.attempt(() => readInput(this.#store, key));
      this.bytes += stored?.length ?? 0;
    });
    this.files += fresh.length;
  }

  /** Whether nothing has asked for this key before. */
  #isFirst(key: string): boolean {
    const isFirst = !this.#seen.has(key);
    this.#seen.add(key);
    return isFirst;
  }

  /** Each tier's SHA256SUMS lists the files of the manifest, and is the root in the entry of the log. */
  #sums(name: SnapshotName, manifest: Manifest, publication: Publication | null): void {
    const roots = rootsOf(manifest);
    for (const tier of TIER_NAMES) {
      const where = this.#where(snapshotFileKey(name, FILES.sums(tier)));
      const root = roots[tier] ?? null;
      if (root !== null && root !== sha256Hex(renderSums(tier, manifest.files))) {
        this.damages.push(`${where} does not list the files of the manifest`);
      }
      if (publication !== null && (publication.roots[tier] ?? null) !== root) {
        const entry = this.#where(publicationKey(publication.number));
        this.damages.push(`${where} is not the root of ${tier} in ${entry}`);
      }
    }
  }

  async #strays(name: SnapshotName, manifest: Manifest): Promise<void> {
    const known = new Set(objectsOf(name, manifest).map(({ key }) => key));
    known.add(snapshotFileKey(name, FILES.manifest));
    for (const key of await keysBelow(this.#store, snapshotFolder(name))) {
      if (!known.has(key)) this.damages.push(`${this.#where(key)} is not named by the manifest`);
    }
  }

  #where(key: string): string {
    return `${this.#store.location}/${key}`;
  }
}

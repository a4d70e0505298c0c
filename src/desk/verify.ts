/**
 * `snapshots verify`: checks every byte against the manifest, the manifest against the log, the log
 * against itself and, with keys, its signatures, the ledger's parts, and the formats of each tier
 * against each other. It collects findings instead of throwing them.
 */
import { DamageError } from "../lib/errors.ts";
import { TIER_NAMES } from "../market/tier.ts";
import { sha256Hex } from "../snapshot/digest.ts";
import { identityOf, type Manifest } from "../snapshot/manifest.ts";
import {
  isPublication,
  readLog,
  type Entry,
  type Publication,
  type StoredEntry,
} from "../snapshot/publication-log.ts";
import { renderSums, rootsOf } from "../snapshot/sums.ts";
import type { Remembered } from "../snapshot/remembered.ts";
import type { VerifyKey } from "../snapshot/signing-key.ts";
import { compareObjects, objectsOf, readStoredManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../store/object-store.ts";
import {
  FILES,
  OLD_SIGNATURE,
  parseSnapshotFileKey,
  publicationKey,
  snapshotFileKey,
  snapshotFolder,
  snapshotText,
  type SnapshotName,
} from "../store/paths.ts";
import { formatDifferences } from "./formats.ts";
import { vouchesForPast } from "../snapshot/chain.ts";
import { proveLog, type EntrySigner } from "./verify-log.ts";
import {
  findSnapshot,
  isSame,
  emptyLogError,
  requirePruned,
  type FoundSnapshot,
} from "./reference.ts";

/** What a verification checked and found. */
export interface Verification {
  /** The checked snapshots, in log order: `2026-11-21T00Z/r1`. */
  readonly checked: readonly string[];
  /** Snapshots that the log names and a prune removed. */
  readonly pruned: readonly string[];
  /** How many entries the log has; fewer if there is damage. */
  readonly entries: number;
  /** The newest of them. */
  readonly newest: StoredEntry | null;
  /** How many of them the newest link covers: entries of 0.1.0 after it have none. */
  readonly linked: number;
  /** The signatures that were checked and fit; empty without keys. */
  readonly signatures: readonly EntrySigner[];
  /** How many objects were read: files of snapshots, and each ledger part once. */
  readonly files: number;
  /** The stored size of those objects. */
  readonly bytes: number;
  /** The findings, one line each; empty: no damage. */
  readonly damages: readonly string[];
}

/**
 * Checks the log, and the snapshot that `reference` names; null: every snapshot in the log. With keys,
 * one of them must have signed the log's newest entry, which vouches for all before it. The log must have
 * the entry that is remembered.
 */
export async function verifySnapshots(
  store: ObjectStore,
  reference: string | null,
  keys: readonly VerifyKey[] | null = null,
  remembered: Remembered | null = null,
): Promise<Verification> {
  const run = new VerifyRun(store);
  const proof = await proveLog(store, keys, reference === null, remembered);
  run.damages.push(...proof.damages);
  run.entries = proof.entries.length;
  run.newest = proof.entries.at(-1) ?? null;
  run.linked = proof.entries.findLast(({ entry }) => vouchesForPast(entry))?.entry.number ?? 0;
  run.signatures = proof.signatures;
  // A log that lost all its entries has no snapshot to look up.
  if (remembered !== null && run.entries === 0 && run.damages.length > 0) return run.result();
  if (reference === null) {
    const isBroken = proof.damages.length > 0;
    const log: readonly Entry[] | null = isBroken
      ? await run.attempt(() => readLog(store))
      : proof.entries.map(({ entry }) => entry);
    if (log?.length === 0) {
      await run.attempt(async () => Promise.reject(await emptyLogError(store)));
    }
    const head = log?.findLast(isPublication);
    const firsts = new Map<string, Publication>();
    for (const entry of log ?? []) {
      if (!isPublication(entry)) {
        entry.snapshots.forEach((text) => run.taken.add(text));
        continue;
      }
      if (run.taken.has(snapshotText(entry))) {
        run.damages.push(
          `${store.location}/${publicationKey(entry.number)} names ${snapshotText(entry)}, ` +
            "which an earlier prune removed",
        );
      }
      const first = firsts.get(snapshotText(entry));
      if (first === undefined) firsts.set(snapshotText(entry), entry);
      else if (first.manifest_sha256 !== entry.manifest_sha256) {
        run.damages.push(
          `${store.location}/${publicationKey(entry.number)} names another manifest than ` +
            `${publicationKey(first.number)} for ${snapshotText(entry)}`,
        );
      }
    }
    for (const entry of firsts.values()) {
      await run.published(entry, head !== undefined && isSame(head, entry));
    }
  } else {
    const found = await run.attempt(() => findSnapshot(store, reference));
    if (found !== null) {
      if (keys !== null && found.publication === null) {
        const text = snapshotText(found.name);
        run.damages.push(`${store.location}: the log does not name ${text}, so nobody signed it`);
      }
      await run.snapshot(found);
    }
  }
  return run.result();
}

/** Checks a snapshot that was already found, not the log; returns the damages, one line each. */
export async function damagesOf(store: ObjectStore, found: FoundSnapshot): Promise<string[]> {
  const run = new VerifyRun(store);
  await run.snapshot(found);
  return run.damages;
}

class VerifyRun {
  readonly checked: string[] = [];
  readonly pruned: string[] = [];
  readonly damages: string[] = [];
  /** Snapshots that a prune named; until the next prune some of their objects may remain. */
  readonly taken = new Set<string>();
  signatures: readonly EntrySigner[] = [];
  entries = 0;
  newest: StoredEntry | null = null;
  linked = 0;
  files = 0;
  bytes = 0;
  readonly #store: ObjectStore;
  /** The ledger parts read so far: snapshots share parts, and each is read once. */
  readonly #parts = new Set<string>();

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  result(): Verification {
    const { checked, pruned, entries, signatures, files, bytes, damages, newest, linked } = this;
    return { checked, pruned, entries, signatures, files, bytes, damages, newest, linked };
  }

  /** The result of `work`. Turns a DamageError into a finding and null; throws other errors. */
  async attempt<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      if (!this.damages.includes(error.message)) this.damages.push(error.message);
      return null;
    }
  }

  async published(entry: Publication, isHead: boolean): Promise<void> {
    const name = { session: entry.session, revision: entry.revision };
    const before = this.damages.length;
    if (this.taken.has(snapshotText(name))) return void this.pruned.push(snapshotText(name));
    const stored = await this.attempt(() =>
      readStoredManifest(this.#store, name, entry.manifest_sha256),
    );
    if (stored !== null) return this.snapshot({ name, ...stored, publication: entry });
    if (this.damages.length > before) return;
    await this.attempt(() => requirePruned(this.#store, name, isHead));
    if (this.damages.length === before) this.pruned.push(snapshotText(name));
  }

  async snapshot({
    name,
    manifest,
    publication,
  }: Omit<FoundSnapshot, "manifestSha256">): Promise<void> {
    this.checked.push(snapshotText(name));
    const before = this.damages.length;
    this.#sums(name, manifest, publication);
    if (manifest.identity !== identityOf(manifest.files, manifest.ledger)) {
      this.damages.push(`${snapshotText(name)}: the identity does not match the files named`);
    }
    const parts = manifest.ledger.filter(({ key }) => !this.#parts.has(key));
    parts.forEach(({ key }) => this.#parts.add(key));
    const objects = objectsOf(name, { ...manifest, ledger: parts });
    const { damages, bytes } = await compareObjects(this.#store, objects);
    this.damages.push(...damages);
    this.files += objects.length;
    this.bytes += bytes;
    await this.#strays(name, manifest);
    if (this.damages.length > before) return;
    for (const tier of TIER_NAMES) {
      const found = await this.attempt(() =>
        formatDifferences(this.#store, { name, manifest }, tier),
      );
      this.damages.push(...(found ?? []).map((line) => `${snapshotText(name)}: ${line}`));
    }
  }

  /** Each tier's SHA256SUMS lists the files of the manifest, and is the root in the entry of the log. */
  #sums(name: SnapshotName, manifest: Manifest, publication: Publication | null): void {
    const roots = rootsOf(manifest);
    for (const tier of TIER_NAMES) {
      const where = this.#where(snapshotFileKey(name, FILES.sums(tier)));
      const root = roots[tier];
      if (root !== null && root !== sha256Hex(renderSums(tier, manifest.files))) {
        this.damages.push(`${where} does not list the files of the manifest`);
      }
      if (publication?.roots !== undefined && publication.roots[tier] !== root) {
        const entry = this.#where(publicationKey(publication.number));
        this.damages.push(`${where} is not the root of ${tier} in ${entry}`);
      }
    }
  }

  async #strays(name: SnapshotName, manifest: Manifest): Promise<void> {
    const known = new Set([
      FILES.manifest,
      OLD_SIGNATURE,
      ...manifest.files.map(({ path }) => path),
    ]);
    for (const key of await this.#keysUnder(snapshotFolder(name))) {
      const path = parseSnapshotFileKey(key)?.path ?? key;
      if (!known.has(path)) this.damages.push(`${this.#where(key)} is not named by the manifest`);
    }
  }

  #keysUnder(prefix: string): Promise<string[]> {
    return Array.fromAsync(this.#store.list(prefix), ({ key }) => key);
  }

  #where(key: string): string {
    return `${this.#store.location}/${key}`;
  }
}

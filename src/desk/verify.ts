/**
 * `snapshots verify`: checks every byte against the manifest, the manifest against the log and, with
 * keys, its signature, the ledger's parts, and the formats of each tier against each other. It
 * collects findings instead of throwing them.
 */
import { DamageError } from "../lib/errors.ts";
import { TIER_NAMES } from "../market/tier.ts";
import { identityOf, type Manifest } from "../snapshot/manifest.ts";
import { isPublication, readLog, type Publication } from "../snapshot/publication-log.ts";
import { requireSignature } from "../snapshot/signature.ts";
import type { VerifyKey } from "../snapshot/signing-key.ts";
import { compareObjects, objectsOf, readStoredManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../store/object-store.ts";
import {
  FILES,
  parseLedgerPartKey,
  parseSnapshotFileKey,
  publicationKey,
  snapshotFolder,
  snapshotText,
  type SnapshotName,
} from "../store/paths.ts";
import { formatDifferences } from "./formats.ts";
import {
  findSnapshot,
  isSame,
  emptyLogError,
  requirePruned,
  type FoundSnapshot,
} from "./reference.ts";

/** What a verification checked and found. */
export interface Verification {
  /** The checked snapshots, in log order. */
  readonly checked: readonly SnapshotName[];
  /** Snapshots that the log names and a prune removed. */
  readonly pruned: readonly SnapshotName[];
  /** The signing key's fingerprint for each checked snapshot; empty without keys. */
  readonly signatures: readonly { readonly snapshot: string; readonly fingerprint: string }[];
  /** How many objects were read: files of snapshots, and each ledger part once. */
  readonly files: number;
  /** The stored size of those objects. */
  readonly bytes: number;
  /** The findings, one line each; empty: no damage. */
  readonly damages: readonly string[];
}

/**
 * Checks the snapshot that `reference` names; null: every snapshot in the log. With keys, one of them
 * must have signed each snapshot.
 */
export async function verifySnapshots(
  store: ObjectStore,
  reference: string | null,
  keys: readonly VerifyKey[] | null = null,
): Promise<Verification> {
  const run = new VerifyRun(store, keys);
  if (reference === null) {
    const log = await run.attempt(() => readLog(store));
    if (log?.length === 0)
      await run.attempt(async () => Promise.reject(await emptyLogError(store)));
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
    if (found !== null) await run.snapshot(found);
  }
  return run;
}

/** Checks a snapshot that was already found; returns the damages, one line each. */
export async function damagesOf(
  store: ObjectStore,
  found: FoundSnapshot,
  keys: readonly VerifyKey[] | null,
): Promise<string[]> {
  const run = new VerifyRun(store, keys);
  await run.snapshot(found);
  return run.damages;
}

class VerifyRun implements Verification {
  readonly checked: SnapshotName[] = [];
  readonly pruned: SnapshotName[] = [];
  readonly signatures: { snapshot: string; fingerprint: string }[] = [];
  readonly damages: string[] = [];
  /** Snapshots that a prune named; until the next prune some of their objects may remain. */
  readonly taken = new Set<string>();
  files = 0;
  bytes = 0;
  readonly #store: ObjectStore;
  readonly #keys: readonly VerifyKey[] | null;
  /** The ledger parts read so far: snapshots share parts, and each is read once. */
  readonly #parts = new Set<string>();

  constructor(store: ObjectStore, keys: readonly VerifyKey[] | null) {
    this.#store = store;
    this.#keys = keys;
  }

  /** The result of `work`. Turns a DamageError into a finding and null; throws other errors. */
  async attempt<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      this.damages.push(error.message);
      return null;
    }
  }

  async published(entry: Publication, isHead: boolean): Promise<void> {
    const name = { session: entry.session, revision: entry.revision };
    const before = this.damages.length;
    if (this.taken.has(snapshotText(name))) return void this.pruned.push(name);
    const stored = await this.attempt(() =>
      readStoredManifest(this.#store, name, entry.manifest_sha256),
    );
    if (stored !== null) return this.snapshot({ name, ...stored });
    if (this.damages.length > before) return;
    await this.attempt(() => requirePruned(this.#store, name, isHead));
    if (this.damages.length === before) this.pruned.push(name);
  }

  async snapshot({
    name,
    manifest,
    manifestSha256,
  }: Omit<FoundSnapshot, "publication">): Promise<void> {
    this.checked.push(name);
    const before = this.damages.length;
    await this.#signature(name, manifestSha256);
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
    for (const { key, sha256 } of parts) {
      if (parseLedgerPartKey(key)?.sha256 === sha256) continue;
      this.damages.push(`${this.#where(key)} is not named by its content`);
    }
    await this.#strays(name, manifest);
    if (this.damages.length > before) return;
    for (const tier of TIER_NAMES) {
      const found = await this.attempt(() =>
        formatDifferences(this.#store, { name, manifest }, tier),
      );
      this.damages.push(...(found ?? []).map((line) => `${snapshotText(name)}: ${line}`));
    }
  }

  async #signature(name: SnapshotName, manifestSha256: string): Promise<void> {
    const keys = this.#keys;
    if (keys === null) return;
    const signer = await this.attempt(() =>
      requireSignature(this.#store, name, manifestSha256, keys),
    );
    if (signer === null) return;
    this.signatures.push({ snapshot: snapshotText(name), fingerprint: signer.fingerprint });
  }

  async #strays(name: SnapshotName, manifest: Manifest): Promise<void> {
    // A signature is expected here, even if no keys are given to check it.
    const known = new Set([
      FILES.manifest,
      FILES.signature,
      ...manifest.files.map(({ path }) => path),
    ]);
    for (const key of await this.#keysUnder(snapshotFolder(name))) {
      const path = parseSnapshotFileKey(key)?.path ?? key;
      if (!known.has(path)) this.damages.push(`${this.#where(key)} is not named by the manifest`);
    }
  }

  async #keysUnder(prefix: string): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key } of this.#store.list(prefix)) keys.push(key);
    return keys;
  }

  #where(key: string): string {
    return `${this.#store.location}/${key}`;
  }
}

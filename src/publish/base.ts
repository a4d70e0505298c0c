/** Loads and verifies the store's head, which the next publish builds on. */
import { parseCorrections, type Correction } from "../ledger/corrections.ts";
import { EMPTY_LEDGER, type Ledger } from "../ledger/ledger.ts";
import { loadLedger } from "../ledger/months.ts";
import type { Contract } from "../market/contract.ts";
import { parseCatalog } from "../snapshot/catalog-file.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import { readLogEnd, type Entry, type Publication } from "../snapshot/publication-log.ts";
import { readSnapshotFile, readManifest } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { FILES } from "../store/paths.ts";

/** The state that a publish starts from. In an empty store `head` is null and the rest is empty. */
export interface Base {
  /** The log's newest entry when the run began. */
  readonly newest: Entry | null;
  readonly head: { readonly publication: Publication; readonly manifest: Manifest } | null;
  readonly catalog: readonly Contract[] | null;
  readonly corrections: readonly Correction[];
  readonly ledger: Ledger;
}

/** Throws DamageError if an object that the head names is missing or changed. */
export async function loadBase(store: ObjectStore): Promise<Base> {
  const { newest, head: publication } = await readLogEnd(store);
  if (publication === null) {
    return { newest, head: null, catalog: null, corrections: [], ledger: EMPTY_LEDGER };
  }
  const manifest = await readManifest(store, publication, publication.manifest_sha256);
  const [catalog, corrections, ledger] = await Promise.all([
    readSnapshotFile(store, publication, manifest, FILES.catalog),
    readSnapshotFile(store, publication, manifest, FILES.corrections),
    loadLedger(store, manifest.ledger),
  ]);
  return {
    newest,
    head: { publication, manifest },
    catalog: catalog && parseCatalog(catalog.bytes, catalog.where),
    corrections: corrections === null ? [] : parseCorrections(corrections.bytes, corrections.where),
    ledger,
  };
}

/** Loads and verifies the store's head, which the next publish builds on. */
import { DamageError } from "../lib/errors.ts";
import { parseCorrections, type Correction } from "../ledger/corrections.ts";
import { EMPTY_LEDGER, type Ledger } from "../ledger/ledger.ts";
import { loadLedger } from "../ledger/months.ts";
import type { Contract } from "../market/contract.ts";
import { parseCatalog } from "../snapshot/catalog-file.ts";
import type { StoredSeriesByIndex } from "../market/published-series.ts";
import { NO_SETTLEMENTS, type Settlements } from "../market/settlements.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import type { Publication } from "../snapshot/log/entry.ts";
import { readLogEnd, type LogEnd } from "../snapshot/log/walk.ts";
import { requireStoreMark } from "../snapshot/store-mark.ts";
import { parseSettlements } from "../snapshot/settlements-file.ts";
import { readManifest, readSnapshotFile } from "../snapshot/stored-snapshot.ts";
import { perTier, type PerTier } from "../market/tier.ts";
import type { RowsBefore } from "../render/known-rows.ts";
import type { ObjectStore } from "../ports/store.ts";
import { FILES, type SnapshotName } from "../store/paths.ts";
import { readSeries } from "./head-series.ts";
import { NO_ROWS, readRowsBefore } from "./rows-before.ts";

/** The state that a publish starts from. In an empty store `head` is null and the rest is empty. */
export interface Base {
  /** The end of the log when the run began. */
  readonly end: LogEnd;
  readonly head: { readonly publication: Publication; readonly manifest: Manifest } | null;
  readonly catalog: readonly Contract[] | null;
  readonly corrections: readonly Correction[];
  readonly ledger: Ledger;
  readonly series: StoredSeriesByIndex;
  /** None of a head that an older program published. */
  readonly settlements: Settlements;
  /** Of the head's files of levels. */
  readonly rowsBefore: PerTier<RowsBefore>;
}

/** The part of the base that rendering and commit need: without the ledger of the head, which is large. */
export type Parent = Pick<Base, "end" | "head" | "rowsBefore">;

/**
 * Throws DamageError if an object that the head names is missing or changed, and UnfitError if a store without a log
 * has no mark.
 */
export async function loadBase(store: ObjectStore): Promise<Base> {
  for (;;) {
    const end = await readLogEnd(store);
    if (end.newest === null) await requireStoreMark(store);
    try {
      return await baseOf(store, end);
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      // Since the log was read, other runs may have made heads and a prune may have removed this one.
      if ((await readLogEnd(store)).head?.number === end.head?.number) throw error;
    }
  }
}

async function baseOf(store: ObjectStore, end: LogEnd): Promise<Base> {
  const publication = end.head;
  if (publication === null) {
    const empty = { catalog: null, corrections: [], ledger: EMPTY_LEDGER, rowsBefore: NO_ROWS };
    return { end, head: null, series: new Map(), settlements: NO_SETTLEMENTS, ...empty };
  }
  const manifest = await readManifest(store, publication, publication.manifest_sha256);
  const [catalog, corrections, settlements, ledger, rowsBefore] = await Promise.all([
    readCatalog(store, publication, manifest),
    readSnapshotFile(store, publication, manifest, FILES.corrections),
    readSnapshotFile(store, publication, manifest, FILES.settlements),
    loadLedger(store, manifest.ledger),
    readRowsBefore(store, publication, manifest),
  ]);
  const listed = new Set((catalog ?? []).map(({ id }) => id));
  const series = await readSeries(store, publication, manifest, { catalog: catalog ?? [], ledger });
  return {
    end,
    head: { publication, manifest },
    series,
    settlements:
      settlements === null
        ? NO_SETTLEMENTS
        : parseSettlements(settlements.bytes, settlements.where),
    catalog,
    corrections: corrections === null ? [] : parseCorrections(corrections.bytes, corrections.where),
    ledger,
    rowsBefore: perTier((tier) => ({ ...rowsBefore[tier], listed })),
  };
}

async function readCatalog(
  store: ObjectStore,
  name: SnapshotName,
  manifest: Manifest,
): Promise<readonly Contract[] | null> {
  const file = await readSnapshotFile(store, name, manifest, FILES.catalog);
  return file && parseCatalog(file.bytes, file.where);
}

/** The ids of the head's catalog; empty without one. */
export async function publishedIds(store: ObjectStore): Promise<ReadonlySet<string>> {
  const { head } = await readLogEnd(store);
  if (head === null) return new Set();
  const manifest = await readManifest(store, head, head.manifest_sha256);
  const catalog = await readCatalog(store, head, manifest);
  return new Set(catalog?.map(({ id }) => id));
}

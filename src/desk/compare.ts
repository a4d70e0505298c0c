/** `snapshots diff`: compares two snapshots as the fullest tier of each sees it. */
import { correctionFields, parseCorrections, type Correction } from "../ledger/corrections.ts";
import { changePct } from "../market/change.ts";
import type { Contract } from "../market/contract.ts";
import { microsOf } from "../market/decimal.ts";
import { parseCloses } from "../snapshot/series-states.ts";
import { catalogFields, parseCatalog } from "../snapshot/catalog-file.ts";
import { readSnapshotFile } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../ports/store.ts";
import { FILES, snapshotText } from "../store/paths.ts";
import {
  fullestOf,
  readBoard,
  readIndex,
  readRestatements,
  recordsOfBoard,
  type StoredIndex,
  type StoredRecord,
} from "./stored-payloads.ts";
import { findSnapshot, type FoundSnapshot } from "./find-snapshot.ts";
import { seriesMove, type SeriesMove, type StoredSeries } from "./series-move.ts";

/**
 * The differences from an older snapshot to a newer one. Contracts are named by id; one that was renamed
 * in between has its id of the newer snapshot. Null: one of the snapshots lacks the file.
 */
export interface Comparison {
  /** The snapshots, `2026-11-21T00Z/r1`. */
  readonly before: string;
  readonly after: string;
  /** Contracts on the newer board only, in board order. */
  readonly added: readonly string[] | null;
  /** Contracts on the older board only. */
  readonly removed: readonly string[] | null;
  /** Contracts with another level, largest move first. */
  readonly repriced: ReturnType<typeof findRepriced> | null;
  /** Changed fields of the catalog or the level, except the price. */
  readonly metadata: ReturnType<typeof changedMetadata> | null;
  /** Corrections that only the newer snapshot lists. */
  readonly corrected: ReturnType<typeof newCorrections> | null;
  /** The levels of the composite index, each with its own base; null: the snapshot has no level. */
  readonly index: { readonly old_level: number | null; readonly new_level: number | null };
  /** The continuous series of all indices. */
  readonly series: SeriesMove;
}

/**
 * Compares boards, indices, catalogs and corrections of the snapshots that the references name. Throws
 * DamageError if a file differs from what its manifest says, and what `findSnapshot` throws.
 */
export async function compareSnapshots(
  store: ObjectStore,
  older: string,
  newer: string,
): Promise<Comparison> {
  const before = await findSnapshot(store, older);
  const after = await findSnapshot(store, newer);
  const [asStored, newSide] = await Promise.all([sideOf(store, before), sideOf(store, after)]);
  const oldSide = withIdsOf(newSide, asStored);
  const old = oldSide.records;
  const now = newSide.records;
  return {
    before: snapshotText(before.name),
    after: snapshotText(after.name),
    added: old && now && idsWithout(now, old),
    removed: old && now && idsWithout(old, now),
    repriced: old && now && findRepriced(old, now),
    metadata:
      oldSide.catalog &&
      newSide.catalog &&
      changedMetadata(
        metadataOf(oldSide.catalog, now && old),
        metadataOf(newSide.catalog, old && now),
      ),
    corrected:
      oldSide.corrections &&
      newSide.corrections &&
      newCorrections(oldSide.corrections, newSide.corrections),
    index: { old_level: oldSide.index?.level ?? null, new_level: newSide.index?.level ?? null },
    series: seriesMove(oldSide.series, newSide.series),
  };
}

type Records = ReadonlyMap<string, StoredRecord>;
type Metadata = ReadonlyMap<string, ReadonlyMap<string, string | null>>;

/** Null: the snapshot lacks the file. */
interface Side {
  readonly records: Records | null;
  /** By id. */
  readonly catalog: ReadonlyMap<string, Contract> | null;
  readonly corrections: readonly Correction[] | null;
  readonly index: StoredIndex | null;
  readonly series: StoredSeries | null;
}

async function sideOf(store: ObjectStore, snapshot: FoundSnapshot): Promise<Side> {
  const { name, manifest } = snapshot;
  const [board, index, series, catalog, corrections] = await Promise.all([
    readBoard(store, snapshot, fullestOf(snapshot)),
    readIndex(store, snapshot),
    readSeries(store, snapshot),
    readSnapshotFile(store, name, manifest, FILES.catalog),
    readSnapshotFile(store, name, manifest, FILES.corrections),
  ]);
  return {
    records: board && new Map(recordsOfBoard(board).map((record) => [record.id, record])),
    catalog:
      catalog &&
      new Map(
        parseCatalog(catalog.bytes, catalog.where).map((contract) => [contract.id, contract]),
      ),
    corrections: corrections && parseCorrections(corrections.bytes, corrections.where),
    index,
    series,
  };
}

/** The series of the snapshot's fullest tier, or null if it has none. */
async function readSeries(
  store: ObjectStore,
  snapshot: FoundSnapshot,
): Promise<StoredSeries | null> {
  const { name, manifest } = snapshot;
  const tier = fullestOf(snapshot);
  const csv = await readSnapshotFile(store, name, manifest, FILES.indicesCsv(tier));
  if (csv === null) return null;
  const closes = parseCloses(csv.bytes, csv.where);
  const restatements = await Promise.all(
    [...closes.keys()].map((id) => readRestatements(store, snapshot, id)),
  );
  return {
    closes,
    differing: manifest.differing_closes ?? null,
    restatements: new Map(restatements.flat()),
  };
}

/** The side with its contracts under the ids that the other side has for them. */
function withIdsOf(other: Side, side: Side): Side {
  const ids = new Map<string, string>();
  for (const { id, formerly } of other.catalog?.values() ?? []) {
    for (const old of formerly) ids.set(old, id);
  }
  // The other side may be the one with the former ids.
  for (const { id, formerly } of side.catalog?.values() ?? []) {
    const old = formerly.find((each) => other.catalog?.has(each));
    if (old !== undefined) ids.set(id, old);
  }
  const idOf = (id: string): string => ids.get(id) ?? id;
  const rename = <T>(items: ReadonlyMap<string, T> | null): Map<string, T> | null =>
    items && new Map([...items].map(([id, item]) => [idOf(id), item]));
  return {
    ...side,
    records: rename(side.records),
    catalog: rename(side.catalog),
    corrections:
      side.corrections &&
      side.corrections.map((item) => ({ ...item, contract: idOf(item.contract) })),
  };
}

const idsWithout = (records: Records, others: Records): string[] =>
  [...records.keys()].filter((id) => !others.has(id));

function findRepriced(before: Records, after: Records) {
  return [...after]
    .flatMap(([id, record]) => {
      const old = before.get(id);
      if (old === undefined || old.spot_usd === record.spot_usd) return [];
      const from = Number(old.spot_usd);
      const to = Number(record.spot_usd);
      const change_pct = Number(changePct(microsOf(to), microsOf(from)));
      return [{ id, old_usd: from, new_usd: to, change_pct }];
    })
    .sort((a, b) => Math.abs(b.change_pct) - Math.abs(a.change_pct));
}

/** The fields of the catalog and, if there is a board, of the level. */
function metadataOf(catalog: ReadonlyMap<string, Contract>, records: Records | null): Metadata {
  const metadata = new Map<string, Map<string, string | null>>();
  for (const [id, contract] of catalog) {
    const fields = new Map<string, string | null>(
      catalogFields(contract).map(([field, value]) => [
        field,
        value === null ? null : String(value),
      ]),
    );
    metadata.set(id, fields);
    if (records === null) continue;
    const record = records.get(id);
    if (record !== undefined) {
      // A level may have a source of its own.
      for (const field of ["source", "source_url", "basis"] as const) {
        fields.set(field, record[field]);
      }
    }
    const latest = record?.break ?? null;
    fields.set("break", latest === null ? null : `${latest.session_utc} ${latest.reason}`);
  }
  return metadata;
}

function changedMetadata(before: Metadata, after: Metadata) {
  return [...after].flatMap(([id, fields]) => {
    const old = before.get(id);
    if (old === undefined) return [];
    return [...fields].flatMap(([field, value]) => {
      // Only contracts on the board have a basis.
      const previous = old.get(field);
      return previous === undefined || previous === value
        ? []
        : [{ id, field, old: previous, new: value }];
    });
  });
}

function newCorrections(before: readonly Correction[], after: readonly Correction[]) {
  const known = new Set(before.map((item) => JSON.stringify(item)));
  return after
    .filter((item) => !known.has(JSON.stringify(item)))
    .map((item) => ({ contract: item.contract, ...correctionFields(item) }));
}

/** `snapshots diff`: what separates two snapshots, as Pro sees them. */
import { parseCorrections, type Correction } from "../ledger/corrections.ts";
import { changePct } from "../market/change.ts";
import { MAX_LEVEL_USD, parseMicros, type Decimal } from "../market/decimal.ts";
import { parseCatalog } from "../snapshot/catalog-file.ts";
import { readSnapshotFile } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { FILES } from "../store/paths.ts";
import { readBoard, readIndex, recordsOfBoard, type StoredIndex } from "./stored-payloads.ts";
import type { FoundSnapshot } from "./reference.ts";

/** From an older snapshot to a newer one. Contracts are named by id. */
export interface Comparison {
  /** On the newer board only, in its order. */
  readonly added: readonly string[];
  /** On the older board only. */
  readonly removed: readonly string[];
  /** By the size of the move, largest first. */
  readonly repriced: readonly {
    readonly id: string;
    readonly old_usd: Decimal;
    readonly new_usd: Decimal;
    readonly change_pct: Decimal;
  }[];
  /** Fields of the catalog or of the level that changed; the level itself apart. */
  readonly metadata: readonly {
    readonly id: string;
    readonly field: string;
    readonly old: string | null;
    readonly new: string | null;
  }[];
  /** Corrections that the newer one lists and the older one does not. */
  readonly corrected: readonly Correction[];
  /** Composite levels are of two sessions, each against its own base. */
  readonly index: {
    readonly old_level: Decimal | null;
    readonly new_level: Decimal | null;
    /**
     * What prices did to it, in index points: the older level's constituents and bases with the newer
     * prices. The rest of the change is another base, a year later, and other constituents.
     */
    readonly price_points: number | null;
    readonly base_points: number | null;
    /** The contracts whose prices did it, largest first. */
    readonly movers: readonly { readonly id: string; readonly points: number }[];
  };
}

/**
 * Compares boards, indices, catalogs and corrections. Throws DamageError where a file of either is
 * not as its manifest says.
 */
export async function compareSnapshots(
  store: ObjectStore,
  before: FoundSnapshot,
  after: FoundSnapshot,
): Promise<Comparison> {
  const [oldSide, newSide] = await Promise.all([sideOf(store, before), sideOf(store, after)]);
  const common = [...newSide.levels.keys()].filter((id) => oldSide.levels.has(id));
  const repriced = common.flatMap((id) => {
    const [from, to] = [oldSide.levels.get(id), newSide.levels.get(id)];
    if (from === undefined || to === undefined || from === to) return [];
    const change = changePct(micros(to), micros(from));
    return [{ id, old_usd: from, new_usd: to, change_pct: change }];
  });
  return {
    added: [...newSide.levels.keys()].filter((id) => !oldSide.levels.has(id)),
    removed: [...oldSide.levels.keys()].filter((id) => !newSide.levels.has(id)),
    repriced: repriced.sort(
      (a, b) => Math.abs(Number(b.change_pct)) - Math.abs(Number(a.change_pct)),
    ),
    metadata: changedMetadata(oldSide.metadata, newSide.metadata),
    corrected: newCorrections(oldSide.corrections, newSide.corrections),
    index: movement(oldSide.index, newSide.index),
  };
}

type Metadata = ReadonlyMap<string, ReadonlyMap<string, string | null>>;

interface Side {
  readonly levels: ReadonlyMap<string, Decimal>;
  readonly metadata: Metadata;
  readonly corrections: readonly Correction[];
  readonly index: StoredIndex;
}

async function sideOf(store: ObjectStore, snapshot: FoundSnapshot): Promise<Side> {
  const { name, manifest } = snapshot;
  const [board, index, catalog, corrections] = await Promise.all([
    readBoard(store, snapshot, "pro"),
    readIndex(store, snapshot),
    readSnapshotFile(store, name, manifest, FILES.catalog),
    readSnapshotFile(store, name, manifest, FILES.corrections),
  ]);
  const records = new Map(recordsOfBoard(board).map((record) => [record.id, record]));
  const metadata = new Map<string, Map<string, string | null>>();
  for (const contract of parseCatalog(catalog.bytes, catalog.where)) {
    const fields = new Map<string, string | null>(
      Object.entries(contract).map(([field, value]) => [
        field,
        value === null ? null : String(value),
      ]),
    );
    const record = records.get(contract.id);
    if (record !== undefined) {
      // A level may name a source of its own.
      for (const field of ["source", "source_url", "basis"] as const) {
        fields.set(field, record[field]);
      }
    }
    const latest = record?.break ?? null;
    fields.set("break", latest === null ? null : `${latest.session_utc} ${latest.reason}`);
    metadata.set(contract.id, fields);
  }
  const levels = new Map([...records].map(([id, { spot_usd }]) => [id, spot_usd]));
  return {
    levels,
    metadata,
    corrections: parseCorrections(corrections.bytes, corrections.where),
    index,
  };
}

function changedMetadata(before: Metadata, after: Metadata): Comparison["metadata"] {
  return [...after].flatMap(([id, fields]) => {
    const old = before.get(id);
    if (old === undefined) return [];
    return [...fields].flatMap(([field, value]) => {
      // Only what is on the board has a basis.
      const previous = old.get(field);
      return previous === undefined || previous === value
        ? []
        : [{ id, field, old: previous, new: value }];
    });
  });
}

function newCorrections(
  before: readonly Correction[],
  after: readonly Correction[],
): readonly Correction[] {
  const known = new Set(before.map((item) => JSON.stringify(item)));
  return after.filter((item) => !known.has(JSON.stringify(item)));
}

function movement(before: StoredIndex, after: StoredIndex): Comparison["index"] {
  const now = new Map(after.contributions.map(({ id, spot_usd }) => [id, Number(spot_usd)]));
  const weight = 100 / before.contributions.length;
  const moves = before.contributions.map(({ id, base_usd, spot_usd }) => {
    const spot = Number(spot_usd);
    return { id, points: (weight * ((now.get(id) ?? spot) - spot)) / Number(base_usd) };
  });
  const prices = moves.reduce((sum, { points }) => sum + points, 0);
  const [from, to] = [before.level, after.level];
  const isMoved = from !== null && to !== null;
  return {
    old_level: from,
    new_level: to,
    price_points: isMoved ? fourDecimals(prices) : null,
    base_points: isMoved ? fourDecimals(Number(to) - Number(from) - prices) : null,
    movers: moves
      .map(({ id, points }) => ({ id, points: fourDecimals(points) }))
      .filter(({ points }) => points !== 0)
      .sort((a, b) => Math.abs(b.points) - Math.abs(a.points)),
  };
}

/** Never −0. */
const fourDecimals = (points: number): number => Math.round(points * 1e4) / 1e4 + 0;

const micros = (usd: Decimal): number => parseMicros(usd, MAX_LEVEL_USD) ?? Number.NaN;

/**
 * Tiles of the log: the bytes of 16 or 256 entries in a row. A log of years is read by them with few reads.
 *
 *   publications/tiles/16/0000000002    entries 33 to 48
 *   publications/tiles/256/0000000000   entries 1 to 256
 *
 * A run that appends an entry writes the tiles of the entries before it that the store lacks, each once. Nothing vouches for
 * a tile but the links of its entries: `previous` of an entry is the digest of the whole entry before (walk.ts). The
 * entries themselves stay, and readers take them where a tile does not fit. A store without tiles is read entry by entry.
 */
import { DamageError, nullIfDamaged } from "../../lib/errors.ts";
import type { ObjectStore } from "../../ports/store.ts";
import {
  firstOf,
  lastOf,
  publicationKey,
  TILE_SIZES,
  tileKey,
  type Tile,
} from "../../store/paths.ts";
import { ENTRY_BYTES_MAX, type ReadEntry, type StoredEntry } from "./entry.ts";
import { parseEntry } from "./entry-bytes.ts";

const LARGEST = Math.max(...TILE_SIZES);
/** The largest size of a tile. */
export const TILE_BYTES_MAX = LARGEST * ENTRY_BYTES_MAX;

/** The tiles that an entry with this number makes full: those that end before it. Small ones first. */
export const tilesBefore = (number: number): Tile[] =>
  TILE_SIZES.flatMap((size) =>
    Array.from({ length: Math.floor((number - 1) / size) }, (_, place) => ({ size, place })),
  );

/** The tiles that have this entry, the largest first. */
const tilesOf = (number: number): Tile[] =>
  TILE_SIZES.toReversed().map((size) => ({ size, place: Math.floor((number - 1) / size) }));

/** The tile's bytes. */
export const tileOf = (entries: readonly Pick<StoredEntry, "bytes">[]): Buffer =>
  Buffer.concat(entries.map(({ bytes }) => bytes));

/** Where tiles are read. */
export interface TileSource {
  /** Whether there is such a tile. */
  has(tile: Tile): boolean;
  /** The bytes of a tile; null: there is none. */
  read(tile: Tile): Promise<Buffer | null>;
  /** The place of an entry, for messages. */
  whereOf(number: number): string;
}

/** The tiles of a store. */
export function tilesIn(store: ObjectStore, tiles: readonly Tile[]): TileSource {
  const keys = new Set(tiles.map(tileKey));
  return {
    has: (tile) => keys.has(tileKey(tile)),
    read: (tile) => store.get(tileKey(tile), TILE_BYTES_MAX),
    whereOf: (number) => `${store.location}/${publicationKey(number)}`,
  };
}

/** The entries of a tile, each linked to the one before. Throws DamageError if it has others. */
function entriesOfTile(bytes: Buffer, tile: Tile, whereOf: TileSource["whereOf"]): StoredEntry[] {
  const entries: StoredEntry[] = [];
  for (let at = 0; at < bytes.length && entries.length < tile.size;) {
    const end = bytes.indexOf("\n", at) + 1 || bytes.length;
    const number = firstOf(tile) + entries.length;
    const stored = parseEntry(bytes.subarray(at, end), number, whereOf(number));
    const before = entries.at(-1);
    if (before !== undefined && stored.entry.previous !== before.sha256) break;
    entries.push(stored);
    at = end;
  }
  if (entries.length === tile.size && tileOf(entries).equals(bytes)) return entries;
  throw new DamageError(`${tileKey(tile)} is not the entries ${firstOf(tile)} to ${lastOf(tile)}`);
}

/**
 * Reads entries, by tiles where there are some: a tile once, while its entries are asked for one after another. A tile that
 * is damaged, or that the entry after it does not follow, is not used.
 */
export function tiledEntries(source: TileSource, read: ReadEntry): ReadEntry {
  const tileWith = (number: number): Tile | undefined =>
    tilesOf(number).find((tile) => source.has(tile));
  const wholeOrNull = (number: number): Promise<StoredEntry | null> =>
    nullIfDamaged(() => read(number));
  const stored = lastOnes(async (tile) => {
    const entries = await nullIfDamaged(async () => {
      const bytes = await source.read(tile);
      return bytes && entriesOfTile(bytes, tile, source.whereOf);
    });
    return entries ?? [];
  });
  const proven = lastOnes(async (tile) => {
    const entries = await stored(tile);
    const last = entries.at(-1);
    if (last === undefined) return [];
    const next = last.entry.number + 1;
    const nextTile = tileWith(next);
    const after = (nextTile && (await stored(nextTile)).at(0)) ?? (await wholeOrNull(next));
    if (after?.entry.previous === last.sha256) return entries;
    // One of the two is wrong. The entry that stands alone says which.
    return (await wholeOrNull(last.entry.number))?.sha256 === last.sha256 ? entries : [];
  });
  return async (number) => {
    const tile = tileWith(number);
    const found = tile && (await proven(tile))[number - firstOf(tile)];
    return found ?? read(number);
  };
}

/** The tiles that have other bytes than their entries in the log. */
export async function unfitTiles(
  store: ObjectStore,
  tiles: readonly Tile[],
  log: readonly StoredEntry[],
): Promise<Tile[]> {
  const unfit: Tile[] = [];
  for (const tile of tiles) {
    const entries = log.slice(firstOf(tile) - 1, lastOf(tile));
    const bytes = await nullIfDamaged(() => store.get(tileKey(tile), TILE_BYTES_MAX));
    const isFit = entries.length === tile.size && bytes?.equals(tileOf(entries)) === true;
    if (!isFit) unfit.push(tile);
  }
  return unfit;
}

/** So many results stay: readers go from tile to tile. */
const KEPT = 3;

/** The same, which does its work once for each of the last tiles that it was asked for. */
function lastOnes(
  work: (tile: Tile) => Promise<readonly StoredEntry[]>,
): (tile: Tile) => Promise<readonly StoredEntry[]> {
  const known = new Map<string, Promise<readonly StoredEntry[]>>();
  return (tile) => {
    const key = tileKey(tile);
    const result = known.get(key) ?? work(tile);
    known.delete(key);
    known.set(key, result);
    for (const old of [...known.keys()].slice(0, -KEPT)) known.delete(old);
    return result;
  };
}

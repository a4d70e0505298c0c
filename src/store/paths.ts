/**
 * Every key of a store. Only this module formats and parses keys:
 *
 *   store.json                               the mark of the store (see snapshot/store-mark.ts)
 *   publications/0000000042.json
 *   publications/tiles/16/0000000002         entries 33 to 48 in a row (see snapshot/log/tiles.ts)
 *   sessions/2026-11-21T00Z/r1/manifest.json
 *   sessions/2026-11-21T00Z/r1/pro/SHA256SUMS
 *   sessions/2026-11-21T00Z/r1/pro/contracts/ddr5-16gb-spot.json.gz
 *   ledger/2026-11-3f…e9-41.ndjson
 *   inputs/3f…e9-41.gz                       what a run read, as it came (see ledger/kept-inputs.ts)
 *   claims/2026-11-21T00Z/r2.json            while that snapshot is written (see snapshot/claims.ts)
 *   taken/2026-11-20T12Z/r3.json             a name that is never used again (see there)
 */
import { parseSession, sessionKey, type Session } from "../market/session.ts";

/** The mark of the store. */
export const STORE_MARK = "store.json";
/** Below it: the log. */
export const PUBLICATIONS = "publications/";
/** Below it: tiles of the log. */
export const TILES = `${PUBLICATIONS}tiles/`;
/** Below it: the snapshots, by session and revision. */
export const SESSIONS = "sessions/";
/** Below it: the ledger months, shared by snapshots. */
export const LEDGER = "ledger/";
/** Below it: the inputs of runs. */
export const INPUTS = "inputs/";
/** Below it: the claims of publishes under way, or crashed. */
export const CLAIMS = "claims/";
/** Below it: names of crashed runs' snapshots that a prune took. */
export const TAKEN = "taken/";

/** The highest revision that a key can name. */
export const REVISION_MAX = 999_999_999;

export interface SnapshotName {
  readonly session: Session;
  /** 1 or more. Of two revisions of a session, the higher one is newer. */
  readonly revision: number;
}

/** The entry of the log with this number (1 or more). */
export const publicationKey = (number: number): string =>
  `${PUBLICATIONS}${String(number).padStart(10, "0")}.json`;

/** The number of the entry that a key names; null for any other key. */
export function parsePublicationKey(key: string): number | null {
  const parts = /^publications\/(\d{10})\.json$/.exec(key);
  return parts === null ? null : Number(parts[1]);
}

/** How many entries the tiles of the log have. */
export const TILE_SIZES = [16, 256] as const;

/** `size` entries in a row, after `place` tiles of this size. */
export interface Tile {
  readonly size: (typeof TILE_SIZES)[number];
  readonly place: number;
}

/** The numbers of the tile's first entry and of its last one. */
export const firstOf = ({ size, place }: Tile): number => size * place + 1;
export const lastOf = ({ size, place }: Tile): number => size * (place + 1);

/** Its address below a service, and its key below `publications`. */
export const tilePath = ({ size, place }: Tile): string =>
  `/log/tiles/${size}/${String(place).padStart(10, "0")}`;

export const tileKey = (tile: Tile): string => tilePath(tile).replace("/log/", PUBLICATIONS);

/** The tile that a key names; null for any other key. */
export function parseTileKey(key: string): Tile | null {
  const parts = /^publications\/tiles\/(\d+)\/(\d{10})$/.exec(key);
  const size = TILE_SIZES.find((each) => String(each) === parts?.[1]);
  return size === undefined ? null : { size, place: Number(parts?.[2]) };
}

/** `2026-11-21T00Z/r1`, as in x-snapshot and on the command line. */
export const snapshotText = ({ session, revision }: SnapshotName): string =>
  `${sessionKey(session)}/r${revision}`;

/** Reads `2026-11-21T00Z/r1`, or a session alone (revision null). Null for anything else. */
export function parseSnapshotText(
  text: string,
): { session: Session; revision: number | null } | null {
  const parts = /^([^/]+?)(?:\/r([1-9]\d{0,8}))?$/.exec(text);
  const session = parts === null ? null : parseSession(parts[1] as string);
  if (parts === null || session === null) return null;
  return { session, revision: parts[2] === undefined ? null : Number(parts[2]) };
}

function parseSnapshotName(text: string): SnapshotName | null {
  const { session, revision } = parseSnapshotText(text) ?? { session: 0, revision: null };
  return revision === null ? null : { session, revision };
}

export const sessionFolder = (session: Session): string => `${SESSIONS}${sessionKey(session)}/`;

export const snapshotFolder = (name: SnapshotName): string => `${SESSIONS}${snapshotText(name)}/`;

/** The file at `path` (see FILES) of a snapshot. */
export const snapshotFileKey = (name: SnapshotName, path: string): string =>
  `${snapshotFolder(name)}${path}`;

/** The path of a file's gzip-coded form. */
export const codedPath = (path: string): string => `${path}.gz`;

/** Histories, the members and closes of series, and settlements: stored gzip-coded only. */
const HISTORY =
  /^(?:(?:series|settlements)\.json|\w+\/(?:(?:settlements\/)?(?:contracts|indices)\/.+\.json|(?:history|levels|superseded|indices|members|settlements)\.csv))$/;
/** Other files that the proxy sends as text. */
const TEXT = /^\w+\/(?:(?:board|index|indices|corrections|sparklines)\.json|export\.csv)$/;

/** The other files that end where the tier's history does. */
const OTHER_HISTORY = /^\w+\/(?:history\.parquet|(?:corrections|sparklines)\.json)$/;

/** Whether the file of a tier is as deep as the tier's history. */
export const isHistory = (path: string): boolean => HISTORY.test(path) || OTHER_HISTORY.test(path);

/** How the file at `path` is stored: gzip-coded only, in both forms, or plain only. */
export const storedAs = (path: string): "gzip" | "both" | "plain" =>
  HISTORY.test(path) ? "gzip" : TEXT.test(path) ? "both" : "plain";

/** The snapshot and the path inside it that a key names; null for any other key. */
export function parseSnapshotFileKey(key: string): { name: SnapshotName; path: string } | null {
  const [, folder = "", path = ""] = /^sessions\/([^/]+\/r\d+)\/(.+)$/.exec(key) ?? [];
  const name = parseSnapshotName(folder);
  return name && { name, path };
}

/** The key of a snapshot's claim, or of the name that a prune took. */
export const claimKey = (prefix: typeof CLAIMS | typeof TAKEN, name: SnapshotName): string =>
  `${prefix}${snapshotText(name)}.json`;

/** The snapshot that a key of claimKey names; null for any other. */
export const parseClaimKey = (key: string): SnapshotName | null =>
  parseSnapshotName(/^(?:claims|taken)\/(.+)\.json$/.exec(key)?.[1] ?? "");

/**
 * A ledger month: the month (`2026-11`) it covers, the SHA-256 (hex) of its bytes, and the number of
 * the log's entry that the run began from which wrote it. So a name is never used again: who writes
 * the same content later begins from a later entry.
 */
export const ledgerMonthKey = (month: string, sha256: string, began: number): string =>
  `${LEDGER}${month}-${sha256}-${began}.ndjson`;

/** What a key of ledgerMonthKey says; null for any other. */
export function parseLedgerMonthKey(
  key: string,
): { month: string; sha256: string; began: number } | null {
  const parts = /^ledger\/(\d{4}-\d{2})-([0-9a-f]{64})-(\d{1,10})\.ndjson$/.exec(key);
  if (parts === null) return null;
  return { month: parts[1] as string, sha256: parts[2] as string, began: Number(parts[3]) };
}

/** The key without the run that named it: the same content has the same. */
export const ledgerMonthContent = (key: string): string =>
  key.replace(/(-[0-9a-f]{64})-\d+(\.ndjson)$/, "$1$2");

/** A kept input: the SHA-256 (hex) of its bytes, and `began` as in ledgerMonthKey. */
export const inputKey = (sha256: string, began: number): string => `${INPUTS}${sha256}-${began}.gz`;

/** The SHA-256 in a key of inputKey; null for any other. */
export const parseInputKey = (key: string): string | null =>
  /^inputs\/([0-9a-f]{64})-\d{1,10}\.gz$/.exec(key)?.[1] ?? null;

/** Paths inside a snapshot's folder. */
export const FILES = {
  manifest: "manifest.json",
  catalog: "catalog.json",
  closes: "closes.json",
  corrections: "corrections.json",
  report: "report.html",
  series: "series.json",
  /** In place of `series`, in snapshots of format 4. */
  states: "states.json",
  settlements: "settlements.json",
  sums: (tier: string) => `${tier}/SHA256SUMS`,
  board: (tier: string) => `${tier}/board.json`,
  index: (tier: string) => `${tier}/index.json`,
  indices: (tier: string) => `${tier}/indices.json`,
  indexOf: (tier: string, id: string) => `${tier}/indices/${id}.json`,
  contract: (tier: string, id: string) => `${tier}/contracts/${id}.json`,
  csv: (tier: string) => `${tier}/export.csv`,
  xlsx: (tier: string) => `${tier}/export.xlsx`,
  basket: (tier: string) => `${tier}/basket.json`,
  historyCsv: (tier: string) => `${tier}/history.csv`,
  historyParquet: (tier: string) => `${tier}/history.parquet`,
  levelsCsv: (tier: string) => `${tier}/levels.csv`,
  supersededCsv: (tier: string) => `${tier}/superseded.csv`,
  indicesCsv: (tier: string) => `${tier}/indices.csv`,
  membersCsv: (tier: string) => `${tier}/members.csv`,
  settlementsCsv: (tier: string) => `${tier}/settlements.csv`,
  settlementsOfContract: (tier: string, id: string) => `${tier}/settlements/contracts/${id}.json`,
  settlementsOfIndex: (tier: string, id: string) => `${tier}/settlements/indices/${id}.json`,
  sparklines: (tier: string) => `${tier}/sparklines.json`,
  tierCorrections: (tier: string) => `${tier}/corrections.json`,
} as const;

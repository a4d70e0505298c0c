/** `snapshots show`: a snapshot's manifest and the facts of its board that operators check first. */
import { InputError } from "../lib/errors.ts";
import { byLargestChange } from "../market/change.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import type { Publication } from "../snapshot/log/entry.ts";
import { sessionKey } from "../market/session.ts";
import type { ObjectStore } from "../ports/store.ts";
import { FILES, snapshotFileKey, snapshotFolder, snapshotText } from "../store/paths.ts";
import {
  fullestOf,
  readBoard,
  readIndex,
  readIndices,
  recordsOfBoard,
  type StoredIndex,
  type StoredIndices,
} from "./stored-payloads.ts";
import { findSnapshot } from "./find-snapshot.ts";

const MOVES_SHOWN = 10;

/** A snapshot in a few facts. Null: the snapshot lacks the file. */
export interface Description {
  /** `2026-11-21T00Z/r1`. */
  readonly snapshot: string;
  /** Starts with the store's location. */
  readonly folder: string;
  /** The last entry of the log that names it, or null. */
  readonly publication: ReturnType<typeof shownEntry> | null;
  readonly index: StoredIndex | null;
  /** The composite and the indices of segments. */
  readonly indices: StoredIndices | null;
  /** Within 24 hours, largest first; at most MOVES_SHOWN. */
  readonly largest_moves: readonly { id: string; spot_usd: number; chg_24h_pct: number }[] | null;
  readonly breaks: readonly { id: string; session_utc: string; reason: string }[] | null;
  /** Whether the entry of the log has a signature. Only `verify` checks it and names the signer. */
  readonly signed: boolean;
  readonly manifest: Omit<Manifest, "files" | "ledger">;
}

/**
 * Throws InputError if `reference` names no stored snapshot, and DamageError if the snapshot cannot
 * be read.
 */
export async function describeSnapshot(
  store: ObjectStore,
  reference: string,
): Promise<Description> {
  const found = await findSnapshot(store, reference);
  const [board, index, indices] = await Promise.all([
    readBoard(store, found, fullestOf(found)),
    readIndex(store, found),
    readIndices(store, found),
  ]);
  const records = board && recordsOfBoard(board);
  const { files: _files, ledger: _ledger, ...manifest } = found.manifest;
  const { publication } = found;
  return {
    snapshot: snapshotText(found.name),
    folder: `${store.location}/${snapshotFolder(found.name)}`,
    publication: publication && shownEntry(publication),
    index,
    indices,
    largest_moves:
      records &&
      byLargestChange(records, (record) => record.chg_24h_pct)
        .slice(0, MOVES_SHOWN)
        .map(({ item: { id, spot_usd }, change }) => ({
          id,
          spot_usd: Number(spot_usd),
          chg_24h_pct: Number(change),
        })),
    breaks:
      records &&
      records.flatMap(({ id, break: latest }) => (latest === null ? [] : [{ id, ...latest }])),
    signed: found.isSigned,
    manifest,
  };
}

const shownEntry = ({ number, action, session, reason, at }: Publication) => ({
  number,
  action,
  session: sessionKey(session),
  reason,
  at,
});

/** The place of the snapshot's report. Throws InputError if it has none. */
export async function reportPath(store: ObjectStore, reference: string): Promise<string> {
  const { name, manifest } = await findSnapshot(store, reference);
  if (manifest.files.some(({ path }) => path === FILES.report)) {
    return `${store.location}/${snapshotFileKey(name, FILES.report)}`;
  }
  throw new InputError(`${snapshotText(name)} has no ${FILES.report}`);
}

import type { LevelSeriesBuilder } from "../market/level-series-builder.ts";
import type { LedgerEntry } from "../snapshot/manifest.ts";
import { readVerified } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../store/object-store.ts";
import type { Ledger } from "./ledger.ts";
import { decodePart } from "./parts.ts";

const PARTS_AT_ONCE = 16;

/**
 * The ledger that a manifest names. Throws DamageError where a part is missing, is no part, or its
 * bytes are not those the manifest proves.
 */
export async function loadLedger(
  store: ObjectStore,
  entries: readonly LedgerEntry[],
): Promise<Ledger> {
  const ascending = [...entries].sort((a, b) => (a.key < b.key ? -1 : 1));
  const builders = new Map<string, LevelSeriesBuilder>();
  for (let from = 0; from < ascending.length; from += PARTS_AT_ONCE) {
    const batch = ascending.slice(from, from + PARTS_AT_ONCE);
    const parts = await Promise.all(
      batch.map(({ key, sha256 }) => readVerified(store, key, sha256)),
    );
    parts.forEach((bytes, at) => decodePart(bytes, (batch[at] as LedgerEntry).key, builders));
  }
  return new Map([...builders].map(([id, builder]) => [id, builder.build()]));
}

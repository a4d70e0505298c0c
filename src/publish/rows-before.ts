/**
 * Reads the parent's rows of levels and superseded rows. The rows of the next snapshot are compared with
 * them.
 */
import { inflatedAtOnce, slicesOf } from "../snapshot/coded.ts";
import type { FileEntry, Manifest } from "../snapshot/manifest.ts";
import { formsOf, readVerified, type NamedObject } from "../snapshot/stored-snapshot.ts";
import { perTier, TIER_NAMES, type PerTier, type TierName } from "../market/tier.ts";
import { NO_ROWS_BEFORE, type RecordTexts, type RowsBefore } from "../render/known-rows.ts";
import type { ObjectStore } from "../ports/store.ts";
import { FILES, type SnapshotName } from "../store/paths.ts";

/** Of a new store. */
export const NO_ROWS: PerTier<RowsBefore> = perTier(() => NO_ROWS_BEFORE);

/**
 * The rows of each tier whose levels.csv says since when they have stood; none where an older program published
 * the snapshot. The coded files stay in memory, plain ones do not. Throws DamageError and UnreachableError.
 */
export async function readRowsBefore(
  store: ObjectStore,
  name: SnapshotName,
  { files }: Manifest,
): Promise<PerTier<Omit<RowsBefore, "listed">>> {
  const textsOf = async (entry: FileEntry): Promise<RecordTexts> => {
    const { key, sha256, bytes } = formsOf(name, entry).gzip as NamedObject;
    const code = await readVerified(store, key, sha256, bytes);
    const where = `${store.location}/${key}`;
    return new Map(
      slicesOf(entry).map((slice) => [slice.id, () => String(inflatedAtOnce(code, slice, where))]),
    );
  };
  const rowsOf = async (tier: TierName): Promise<Omit<RowsBefore, "listed">> => {
    const at = (path: string) => files.find((file) => file.path === path);
    const [levels, superseded] = [at(FILES.levelsCsv(tier)), at(FILES.supersededCsv(tier))];
    if (levels === undefined || superseded === undefined) return NO_ROWS_BEFORE;
    return { levels: await textsOf(levels), superseded: await textsOf(superseded) };
  };
  const all = TIER_NAMES.map(async (tier) => [tier, await rowsOf(tier)] as const);
  return Object.fromEntries(await Promise.all(all)) as PerTier<Omit<RowsBefore, "listed">>;
}

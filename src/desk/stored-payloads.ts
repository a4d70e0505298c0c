/** Reads boards and indices of stored snapshots. */
import { z } from "zod";
import type { ObjectStore } from "../ports/store.ts";
import { FILES } from "../store/paths.ts";
import { FULLEST, TIER_NAMES, type TierName } from "../market/tier.ts";
import { DamageError } from "../lib/errors.ts";
import { keepDigits } from "../lib/json.ts";
import { index, indices } from "../public/payload-schemas.ts";
import { readSnapshotFile } from "../snapshot/stored-snapshot.ts";
import type { FoundSnapshot } from "./find-snapshot.ts";

const digits = z.string();
const recordSchema = z.object({
  id: z.string(),
  spot_usd: digits,
  chg_24h_pct: digits.nullable(),
  basis: z.string(),
  source: z.string(),
  source_url: z.string(),
  break: z.object({ session_utc: z.string(), reason: z.string() }).nullable(),
});
/** A record of a board; numbers keep the digits of the file. */
export type StoredRecord = z.infer<typeof recordSchema>;

const boardSchema = z.object({
  memory: z.array(recordSchema),
  semiconductor: z.array(recordSchema),
});
type StoredBoard = z.infer<typeof boardSchema>;

const indexSchema = index.pick({ level: true, chg_24h_pct: true, chg_30d_pct: true });
export type StoredIndex = z.infer<typeof indexSchema>;

/** Older versions listed no former ids, which the desk does not show. */
const indicesSchema = z.object({
  indices: z.array(indices.shape.indices.element.omit({ formerly: true })),
});
export type StoredIndices = z.infer<typeof indicesSchema>["indices"];

/** A snapshot's name and manifest, by which its files are read. */
type NamedSnapshot = Pick<FoundSnapshot, "name" | "manifest">;

/** The tier with the most data in the snapshot: one of an older program may lack tiers of this one. */
export const fullestOf = ({ manifest: { tiers } }: NamedSnapshot): TierName =>
  TIER_NAMES.findLast((name) => tiers[name] !== undefined) ?? FULLEST.name;

/**
 * The tier's board, or null if the snapshot has none. Throws DamageError if it is missing, damaged
 * or unreadable.
 */
export const readBoard = (
  store: ObjectStore,
  snapshot: NamedSnapshot,
  tier: TierName,
): Promise<StoredBoard | null> =>
  readPayload(store, snapshot, FILES.board(tier), boardSchema, keepDigits);

/** The composite index of the snapshot's fullest tier, or null; throws DamageError as readBoard does. */
export const readIndex = (
  store: ObjectStore,
  snapshot: NamedSnapshot,
): Promise<StoredIndex | null> =>
  readPayload(store, snapshot, FILES.index(fullestOf(snapshot)), indexSchema);

/** All indices of the snapshot's fullest tier, or null; throws DamageError as readBoard does. */
export async function readIndices(
  store: ObjectStore,
  snapshot: NamedSnapshot,
): Promise<StoredIndices | null> {
  const path = FILES.indices(fullestOf(snapshot));
  const payload = await readPayload(store, snapshot, path, indicesSchema);
  return payload && payload.indices;
}

const restatementsSchema = z.object({
  series: z.object({
    restatements: z.array(z.object({ publication: z.number(), reason: z.string() })).default([]),
  }),
});
/** A restatement of series, as every version lists it. */
export type StoredRestatement = z.infer<
  typeof restatementsSchema
>["series"]["restatements"][number];

/** The restatements of an index in the snapshot's fullest tier, by publication; throws DamageError as readBoard does. */
export async function readRestatements(
  store: ObjectStore,
  snapshot: NamedSnapshot,
  id: string,
): Promise<[number, StoredRestatement][]> {
  const path = FILES.indexOf(fullestOf(snapshot), id);
  const payload = await readPayload(store, snapshot, path, restatementsSchema);
  return (payload?.series.restatements ?? []).map((item) => [item.publication, item]);
}

/** All records, memory first. */
export const recordsOfBoard = ({ memory, semiconductor }: StoredBoard): StoredRecord[] => [
  ...memory,
  ...semiconductor,
];

async function readPayload<T>(
  store: ObjectStore,
  { name, manifest }: NamedSnapshot,
  path: string,
  schema: z.ZodType<T>,
  reviver?: typeof keepDigits,
): Promise<T | null> {
  const file = await readSnapshotFile(store, name, manifest, path);
  if (file === null) return null;
  const { bytes, where } = file;
  try {
    return schema.parse(JSON.parse(bytes.toString("utf8"), reviver));
  } catch (cause) {
    throw new DamageError(`${where} is not a payload this version can read`, [], { cause });
  }
}

/** Reads the series of a head, which the next publish goes on from. */
import { DamageError } from "../lib/errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { z } from "zod";
import type { UsedLevel } from "../market/chained.ts";
import { isDelisted, type Contract } from "../market/contract.ts";
import { indicesOf } from "../market/indices.ts";
import type { IndexSeries, SeriesByIndex } from "../market/published-series.ts";
import { closeSessionOf, parseDate, type Day } from "../market/session.ts";
import { TIER_NAMES, TIERS, type TierName } from "../market/tier.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import { parseCloses, parseStates, type Closes } from "../snapshot/series-states.ts";
import { readSnapshotFile } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { FILES, type SnapshotName } from "../store/paths.ts";

/**
 * The series of the snapshot, from the files that its fullest tier has of them; none without those. `catalog`
 * and `ledger` are the snapshot's. Throws DamageError if a file is damaged.
 */
export async function readSeries(
  store: ObjectStore,
  name: SnapshotName,
  manifest: Manifest,
  catalog: readonly Contract[],
  ledger: Ledger,
): Promise<SeriesByIndex> {
  // A tier that was added since has no file here. A tier with a delay does not have all closes.
  const tier = TIER_NAMES.findLast(
    (name) => manifest.tiers[name] !== undefined && TIERS[name].delaySessions === 0,
  );
  const csv = tier && (await readSnapshotFile(store, name, manifest, FILES.indicesCsv(tier)));
  if (!csv) return new Map();
  const closes = parseCloses(csv.bytes, csv.where);
  const states = await readSnapshotFile(store, name, manifest, FILES.states);
  if (states !== null) return parseStates(states.bytes, states.where, closes);
  const series = new Map<string, IndexSeries>();
  for (const [id, own] of closes) {
    const base = await readBase(store, name, manifest, tier, id);
    if (base !== null) series.set(id, withoutStates(id, base, own, catalog, ledger));
  }
  return series;
}

const baseSchema = z.object({ series: z.object({ base: z.object({ date: z.string() }) }) });

/** The base of an index, by its payload; null: the snapshot has no such payload. */
async function readBase(
  store: ObjectStore,
  name: SnapshotName,
  manifest: Manifest,
  tier: TierName,
  id: string,
): Promise<Day | null> {
  const file = await readSnapshotFile(store, name, manifest, FILES.indexOf(tier, id));
  if (file === null) return null;
  try {
    const { series } = baseSchema.parse(JSON.parse(file.bytes.toString("utf8")));
    return parseDate(series.base.date);
  } catch (cause) {
    throw new DamageError(`${file.where} is not an index with a base`, [], { cause });
  }
}

/**
 * A series of a program that kept no states: it goes on from the last level of each contract up to its last
 * close, of any age. A revision of that session keeps its closes.
 */
function withoutStates(
  id: string,
  base: Day,
  { last, closes }: Closes,
  catalog: readonly Contract[],
  ledger: Ledger,
): IndexSeries {
  const noon = closeSessionOf(last);
  const contracts = indicesOf(catalog).find((index) => index.id === id)?.contracts ?? [];
  const used = new Map(
    contracts.flatMap((contract): [string, UsedLevel][] => {
      const level = isDelisted(contract, noon) ? null : ledger.get(contract.id)?.at(noon);
      return level ? [[contract.id, level]] : [];
    }),
  );
  const state = { last, close: closes.at(-1) as number, used };
  return { chained: { ...state, base, closes }, began: state, restatements: [] };
}

/** Reads the series of a head, which the next publish goes on from. */
import { limitsOf } from "../feed/finding.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { DamageError } from "../lib/errors.ts";
import { z } from "zod";
import type { ChainedSeries } from "../market/chained.ts";
import type { Contract } from "../market/contract.ts";
import { indicesOf } from "../market/indices.ts";
import { membersOf, type KeptLevel } from "../market/members.ts";
import {
  keptLevel,
  type StoredIndexSeries,
  type StoredSeriesByIndex,
} from "../market/published-series.ts";
import { closeSessionOf, parseDate, type Day } from "../market/session.ts";
import { TIER_NAMES, TIERS, type TierName } from "../market/tier.ts";
import type { Manifest } from "../snapshot/manifest.ts";
import { parseSeries } from "../snapshot/series-file.ts";
import {
  parseCloses,
  parseStates,
  type Closes,
  type SeriesState,
} from "../snapshot/series-states.ts";
import { readSnapshotFile } from "../snapshot/stored-snapshot.ts";
import type { ObjectStore } from "../ports/store.ts";
import { FILES, type SnapshotName } from "../store/paths.ts";

/** The market of the snapshot whose series are read. */
interface HeadMarket {
  readonly catalog: readonly Contract[];
  readonly ledger: Ledger;
}

/** The series of the snapshot; none without the files. Throws DamageError if a file is damaged. */
export async function readSeries(
  store: ObjectStore,
  name: SnapshotName,
  manifest: Manifest,
  market: HeadMarket,
): Promise<StoredSeriesByIndex> {
  const file = await readSnapshotFile(store, name, manifest, FILES.series);
  if (file !== null) return parseSeries(file.bytes, file.where);
  const states = await readStates(store, name, manifest);
  return new Map([...states].map(([id, state]) => [id, withLink(id, state, manifest, market)]));
}

/** The series as an older program left them: of format 3 without the levels that they used. */
async function readStates(
  store: ObjectStore,
  name: SnapshotName,
  manifest: Manifest,
): Promise<ReadonlyMap<string, WithoutLevels | SeriesState>> {
  // A tier that was added since has no file here. A tier with a delay does not have all closes.
  const tier = TIER_NAMES.findLast(
    (name) => manifest.tiers[name] !== undefined && TIERS[name].delaySessions === 0,
  );
  const csv = tier && (await readSnapshotFile(store, name, manifest, FILES.indicesCsv(tier)));
  if (!csv) return new Map();
  const closes = parseCloses(csv.bytes, csv.where);
  const states = await readSnapshotFile(store, name, manifest, FILES.states);
  if (states !== null) return parseStates(states.bytes, states.where, closes);
  const found = new Map<string, WithoutLevels>();
  for (const [id, own] of closes) {
    const base = await readBase(store, name, manifest, tier, id);
    if (base !== null) found.set(id, { restatements: [], ended: { ...own, base, used: null } });
  }
  return found;
}

interface WithoutLevels {
  readonly restatements: readonly [];
  readonly ended: Closes & { readonly base: Day; readonly used: null };
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
 * A series of an older program with a link at its last close: its members are those in force there, and the levels
 * that the series used for them are kept. All its days are published, also for a revision of the session.
 */
function withLink(
  id: string,
  { ended, restatements }: WithoutLevels | SeriesState,
  manifest: Manifest,
  { catalog, ledger }: HeadMarket,
): StoredIndexSeries {
  if (ended === null) return { chained: null, restatements: [] };
  const { base, last, used } = ended;
  const contracts = indicesOf(catalog).find((index) => index.id === id)?.contracts ?? [];
  const { maxCarryDays } = limitsOf(manifest.options);
  const members = membersOf(contracts, (each) => ledger.get(each), maxCarryDays, last, last);
  const levels = new Map<string, KeptLevel>();
  for (const contract of members.keys()) {
    const series = ledger.get(contract) as NonNullable<ReturnType<Ledger["get"]>>;
    const level = used === null ? series.at(closeSessionOf(last)) : used.get(contract);
    if (level) levels.set(contract, keptLevel({ ...series.given(level.session), ...level }));
  }
  const value = ended.closes.at(-1) as number;
  const closes = ended.closes.map((each) => ({ value: each, before: each, knownFrom: null }));
  const chained: ChainedSeries = {
    base,
    last,
    members,
    link: { date: last, publication: null, value, levels },
    closes,
    kept: { from: base, to: last },
    value,
  };
  // An older program calculated all closes from the base date by the catalog of then.
  return {
    chained,
    restatements: restatements.map((item) => ({ ...item, from: base, members: true })),
  };
}

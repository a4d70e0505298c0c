/**
 * The closes of index series and the levels last used: over random histories of a store, compared after each
 * publication with a calculation that steps from the published close before.
 */
import { fc, test } from "@fast-check/vitest";
import { parse } from "csv-parse/sync";
import { stringify } from "csv-stringify/sync";
import { expect } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import type { GateName } from "../../src/feed/gates.ts";
import { ChipboardError } from "../../src/lib/errors.ts";
import { rerender } from "../../src/publish/rerender.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { snapshotText } from "../../src/store/paths.ts";
import {
  catalogOf,
  headJson,
  mustPublish,
  tryPublish,
  type CatalogRow,
  type Run,
} from "../cli/small-market.ts";
import { TestClock } from "../http/fixture.ts";
import { ANY_TIME, readHead } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { plainBytes } from "../store/stored-file.ts";
import {
  lastDayOf,
  stepped,
  withNewNames,
  type SeriesContract,
  type SeriesLevel,
  type SeriesState,
  type SeriesStates,
} from "./naive-series.ts";
import { exactJson } from "./published.ts";
import { indexOf, utcOf } from "./raw-markets.ts";
import { runs } from "./runs.ts";

const FIRST = indexOf("2026-11-21T00:00:00.000Z");
const IDS = ["a", "b", "c", "d", "e"];
const SEGMENTS = ["One", "Two", "Three"];
/** Sessions before the one that is published, some of them where a carry limit or Starter's depth ends. */
const BACK = [0, 0, 0, 1, 1, 2, 3, 4, 5, 8, 12, 90, 91, 92, 95, 100, 140, 181, 200, 400];
const PRICES = ["1", "1.1", "2", "2.5", "0.37", "19.999999", "400"];
const TEXTS = ["", "", "", "", "New unit"];

/** A change of a level: of a row that the head has, or for a session that may have none. */
const change = fc.record({
  /** Chooses the row; null: no row. */
  row: fc.option(fc.nat(), { freq: 2 }),
  contract: fc.nat(),
  back: fc.constantFrom(...BACK),
  /** Null: withdrawn. */
  usd: fc.constantFrom(null, ...PRICES),
  text: fc.constantFrom(...TEXTS),
});
const catalogChange = fc.record({
  kind: fc.constantFrom(
    "rename",
    "rename",
    "rename",
    "remove",
    "return",
    "add",
    "delist",
    "relist",
    "segment",
    "segment",
    "segment",
    "rename-segment",
    "cadence",
    "limit",
    "reorder",
  ),
  contract: fc.nat(),
  id: fc.constantFrom(...IDS),
  segment: fc.constantFrom(...SEGMENTS),
  /** Sessions before or after that of the run. */
  session: fc.constantFrom(-6, -1, 0, 1, 4),
  cadence: fc.constantFrom("", "30", "31", "45.5", "90"),
  limit: fc.constantFrom("", "", "1", "3", "60"),
});
const restates = fc.constantFrom(false, false, false, false, true);
const step = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constant("publish" as const),
      /** Sessions after the head's; 0: a revision. */
      gap: fc.constantFrom(0, 0, 1, 1, 1, 1, 2, 3, 5, 100),
      changes: fc.array(change, { maxLength: 4 }),
      catalog: fc.array(catalogChange, { maxLength: 2 }),
      /** The carry limit of the run. */
      limitDays: fc.constantFrom(45, 45, 45, 45, 1, 2, 5, 70),
      /** Whether levels of 12:00 sessions come as daily closes. */
      asCloses: fc.boolean(),
      restates,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("rollback" as const),
      back: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("prune" as const), days: fc.nat(2) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("rerender" as const), restates: fc.boolean() }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Publish = Extract<Step, { kind: "publish" }>;
type CatalogChange = typeof catalogChange extends fc.Arbitrary<infer T> ? T : never;

type Row = Readonly<Record<string, string>>;

interface GivenRow {
  readonly id: string;
  readonly session: number;
  readonly usd: string | null;
  readonly text: string;
}

/** The market of a run. */
interface Market {
  readonly session: number;
  readonly catalog: readonly CatalogRow[];
  readonly limitDays: number;
}

/** A snapshot as its run left it. */
interface Published extends Market {
  readonly snapshot: string;
  readonly levels: readonly Row[];
  /** The states from which a revision of the session begins. */
  readonly began: SeriesStates;
  /** The states from which a later session begins. */
  readonly ended: SeriesStates;
  /** As the payload of each index lists them. */
  readonly restatements: ReadonlyMap<string, readonly unknown[]>;
  /** The files of series, as text. */
  readonly files: readonly string[];
}

/** What a run does beside its market. */
interface Manner {
  readonly asCloses: boolean;
  /** The new ids by the old ones. */
  readonly renamed: ReadonlyMap<string, string>;
  /** The reason; null: published closes stay. */
  readonly restates: string | null;
}

const PLAIN: Manner = { asCloses: false, renamed: new Map(), restates: null };

/** A store that goes through the steps. What its rules refuse is no step. */
class History {
  readonly store = new MemoryStore();
  readonly clock = new TestClock();
  readonly snapshots = new Map<string, Published>();
  head: Published | null = null;

  async begin(contracts: number, levels: readonly GivenRow[]): Promise<void> {
    const catalog = IDS.slice(0, contracts).map((id, at) => ({
      id,
      segment: SEGMENTS[at % 2] as string,
    }));
    const rows = levels.filter(({ id }) => catalog.some((row) => row.id === id));
    const market = { session: FIRST, catalog, limitDays: 45 };
    await this.#publish(market, PLAIN, rows);
  }

  async take(step: Step): Promise<void> {
    this.clock.ms += 7_200_000;
    if (this.head === null) return;
    if (step.kind === "publish") return this.#change(this.head, step);
    try {
      await this.#command(this.head, step);
    } catch (error) {
      if (!(error instanceof ChipboardError) || error.exitCode !== 2) throw error;
    }
  }

  async #command(head: Published, step: Exclude<Step, Publish>): Promise<void> {
    const { store, clock } = this;
    if (step.kind === "prune") {
      await prune(store, step.days, false, clock, NO_KEYS, ANY_TIME);
      return;
    }
    if (step.kind === "rollback") {
      await rollBack(store, `head~${step.back}`, "Wrong", clock, NO_KEYS, ANY_TIME);
      const snapshot = snapshotText((await readHead(store)) as never);
      this.head = this.snapshots.get(snapshot) as Published;
      expect(await this.#files(snapshot)).toEqual(this.head.files);
      return;
    }
    const renewal = {
      dryRun: false,
      timeGates: ANY_TIME,
      ...(step.restates ? { restates: true } : { attribution: `Levels of ${clock.ms}` }),
    };
    const { outcome } = await rerender("Anew", renewal, store, clock, () => {});
    const reason = step.restates ? "Anew" : null;
    if (outcome === "published") {
      await this.#compare(head, { ...PLAIN, restates: reason });
    } else {
      expect(step.restates).toBe(true);
      const contracts = contractsOf(head, head.levels);
      expect(changesCloses(head, contracts)).toBe(false);
    }
  }

  async #change(head: Published, step: Publish): Promise<void> {
    const session = head.session + step.gap;
    const { catalog, renamed } = changedCatalog(head.catalog, step.catalog, session);
    const rows = new Map<string, GivenRow>();
    for (const { row, contract, back, usd, text } of step.changes) {
      const stands = row === null ? undefined : head.levels[row % head.levels.length];
      const listed = head.catalog[contract % head.catalog.length] as CatalogRow;
      const old = stands?.["contract_id"] ?? listed.id;
      const id = renamed.get(old) ?? old;
      const at = stands === undefined ? session - back : indexOf(stands["session_utc"] as string);
      const isListed = catalog.some((item) => item.id === id);
      if (!isListed || (usd === null && stands === undefined)) continue;
      // A restatement is no revision, so it changes no level.
      if (step.restates && step.gap > 0 && (stands !== undefined || at <= head.session)) continue;
      rows.set(`${id} ${at}`, { id, session: at, usd, text: usd === null ? "" : text });
    }
    const { limitDays, asCloses } = step;
    const restates = step.restates && step.gap > 0 ? "Wrong closes" : null;
    await this.#publish({ session, catalog, limitDays }, { asCloses, renamed, restates }, [
      ...rows.values(),
    ]);
  }

  async #publish(market: Market, manner: Manner, rows: readonly GivenRow[]): Promise<void> {
    const { session, catalog, limitDays } = market;
    this.clock.ms = Math.max(this.clock.ms, Date.parse(utcOf(session)) + 300_000);
    const formerly = new Map([...manner.renamed].map(([old, id]) => [id, old]));
    const isClose = ({ session: at, usd }: GivenRow): boolean =>
      manner.asCloses && at % 2 === 1 && usd !== null;
    const run: Run = {
      session: utcOf(session),
      catalog: catalogOf(catalog.map((row) => ({ ...row, formerly: formerly.get(row.id) ?? "" }))),
      quotes: quotesOf(rows.filter((row) => !isClose(row))),
      closes: closesCsv(rows.filter(isClose)),
      ...(manner.restates === null ? { revise: "Changed" } : { restateSeries: manner.restates }),
      nowMs: this.clock.ms,
      maxCarryDays: limitDays,
      minCoverageMicros: 0,
      maxUnchangedSessions: 1_000_000,
      maxGapSessions: 1_000_000,
      acceptMoves: true,
      allowSparse: true,
    };
    let ended = await tryPublish(this.store, run);
    if (ended.code === 3) {
      const named = ended.said.flatMap((line) => /--accept (\w+)/.exec(line)?.[1] ?? []);
      const accept = named.map((gate) => ({ gate: gate as GateName, ids: null }));
      ended = await tryPublish(this.store, { ...run, accept });
    }
    // 2: a rule of contracts or levels forbids it. 4: it needs --revise, which a restatement cannot have.
    expect(manner.restates === null ? [0, 2] : [0, 2, 4]).toContain(ended.code);
    if (ended.result?.outcome === "published") await this.#compare(market, manner);
  }

  /** Compares the files of the new head with the calculation, and notes them. */
  async #compare(market: Market, { renamed, restates: asked }: Manner): Promise<void> {
    const entry = await readHead(this.store);
    if (entry === null) throw new Error("The store is empty");
    const snapshot = snapshotText(entry);
    const { session } = market;
    const before = this.head;
    const isRevision = before?.session === session;
    const began = withNewNames((isRevision ? before.began : before?.ended) ?? new Map(), renamed);
    const levels = await this.#rows(snapshot, "pro/levels.csv");
    const contracts = contractsOf(market, levels);
    const found = closesByIndex(await this.#rows(snapshot, "pro/indices.csv"));
    expect([...found.keys()].filter((index) => !contracts.has(index))).toEqual([]);

    // A restatement that changes no published close is none.
    const isRestated = before !== null && changesCloses(before, contracts);
    const restates = isRestated ? asked : null;
    const restatements = new Map(before?.restatements);
    const stands = new Map(began);
    const ended = new Map(began);
    for (const [index, members] of contracts) {
      const closes = found.get(index) ?? new Map<number, string>();
      const published = (day: number, calculated: bigint): bigint =>
        nearBy(closes.get(day), calculated, `${snapshot} ${index} ${utcOf(2 * day)}`);
      // A revision of this session may change what it publishes first, and no close before.
      const known = stands.get(index);
      if (restates !== null && known !== undefined) {
        const last = known.base + known.closes.length - 1;
        const again = stepped(undefined, members, last, published);
        if (again === undefined) stands.delete(index);
        else stands.set(index, again);
      }
      const state = stepped(stands.get(index), members, lastDayOf(session), published);
      if (state === undefined) ended.delete(index);
      else ended.set(index, state);
      expect([...closes], `${snapshot} ${index}`).toEqual(closesOf(state));
      // An index that is new in this session is not restated.
      if (restates !== null && before?.ended.has(index) === true) {
        const item = { publication: `#${entry.number}`, reason: restates };
        restatements.set(index, [...(restatements.get(index) ?? []), item]);
      }
      await this.#expectPayloads(snapshot, index, state, session, restatements.get(index) ?? []);
    }
    const files = await this.#files(snapshot);
    this.head = {
      ...market,
      snapshot,
      levels,
      began: stands,
      ended,
      restatements,
      files,
    };
    this.snapshots.set(snapshot, this.head);
  }

  async #expectPayloads(
    snapshot: string,
    index: string,
    state: SeriesState | undefined,
    session: number,
    restatements: readonly unknown[],
  ): Promise<void> {
    const all = closesOf(state).map(([day, close]) => [utcOf(2 * day).slice(0, 10), `#${close}`]);
    for (const [tier, seen] of [
      ["pro", session],
      ["starter", session - 1],
    ] as const) {
      const text = await this.#text(snapshot, `${tier}/indices/${index}.json`);
      const series = exactJson(text)["series"] as Record<string, unknown>;
      const isDeep = (date: string): boolean =>
        tier === "pro" || Date.parse(date) > (Math.floor(seen / 2) - 90) * 86_400_000;
      const known = all.slice(0, Math.max(0, lastDayOf(seen) - (state?.base ?? 0) + 1));
      const history = known.filter(([date]) => isDeep(date as string));
      const about = `${snapshot} ${tier} ${index}`;
      const points = series["history"] as { date: string; close: string }[];
      expect(
        points.map(({ date, close }) => [date, close]),
        about,
      ).toEqual(history);
      const base = known.length === 0 ? null : { date: known[0]?.[0], level: "#100" };
      expect(series["base"], about).toEqual(base);
      expect(series["restatements"], about).toEqual(restatements);
      const used = [...(state?.used ?? [])].map(([id, use]) => {
        return { id, session_utc: utcOf(use.session), usd: `#${use.usd}` };
      });
      const shown = series["last_used"] as typeof used | undefined;
      if (tier === "starter") expect(shown, about).toBe(undefined);
      else expect(shown?.toSorted(byId), about).toEqual(used.toSorted(byId));
    }
  }

  #files = (snapshot: string): Promise<string[]> =>
    Promise.all(
      ["pro/indices.csv", "pro/indices/composite.json", "starter/indices.csv"].map((path) =>
        this.#text(snapshot, path),
      ),
    );

  #rows = async (snapshot: string, path: string): Promise<Row[]> =>
    parse(await this.#text(snapshot, path), { columns: true, record_delimiter: "\r\n" });

  #text = async (snapshot: string, path: string): Promise<string> =>
    String(await plainBytes(this.store, `sessions/${snapshot}/${path}`));
}

const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);

/** The contracts of each index of the market. */
function contractsOf(
  { catalog, limitDays }: Market,
  rows: readonly Row[],
): Map<string, SeriesContract[]> {
  const found = new Map<string, SeriesContract[]>([["composite", []]]);
  for (const row of catalog) {
    const cadence = Number(row.cadence_days || "0.5");
    const ofCadence = cadence > 30 ? Math.max(limitDays, Math.ceil(1.5 * cadence)) : limitDays;
    const levels = rows.flatMap(({ contract_id: id, session_utc: utc, spot_usd, break_reason }) => {
      if (id !== row.id) return [];
      const session = indexOf(utc as string);
      return [
        { session, usd: spot_usd as string, isBreak: break_reason !== "" } satisfies SeriesLevel,
      ];
    });
    const contract: SeriesContract = {
      id: row.id,
      index: (row.segment as string).toLowerCase(),
      delistedDay: row.delisted_on ? Date.parse(row.delisted_on) / 86_400_000 : null,
      limitDays: row.max_carry_days ? Number(row.max_carry_days) : ofCadence,
      levels: levels.toSorted((a, b) => a.session - b.session),
    };
    found.get("composite")?.push(contract);
    found.set(contract.index, [...(found.get(contract.index) ?? []), contract]);
  }
  return found;
}

/** The texts of closes by day, for each index. */
function closesByIndex(rows: readonly Row[]): Map<string, Map<number, string>> {
  const found = new Map<string, Map<number, string>>();
  for (const { index_id: index = "", date = "", close = "" } of rows) {
    const closes = found.get(index) ?? new Map<number, string>();
    found.set(index, closes.set(Date.parse(date) / 86_400_000, close));
  }
  return found;
}

const closesOf = (state: SeriesState | undefined): [day: number, close: string][] =>
  (state?.closes ?? []).map((close, at) => [(state?.base ?? 0) + at, textOf(close)]);

function textOf(close: bigint): string {
  const digits = close.toString().padStart(5, "0");
  return `${digits.slice(0, -4)}.${digits.slice(-4)}`.replace(/\.?0+$/, "");
}

/** The published close, which is the calculated one but for 0.0001, or 0.000001 of it. */
function nearBy(text: string | undefined, calculated: bigint, about: string): bigint {
  if (text === undefined) return expect.fail(`${about}: no close, expected ${textOf(calculated)}`);
  const [whole = "", decimals = ""] = text.split(".");
  const close = BigInt(whole + decimals.padEnd(4, "0"));
  const distance = close < calculated ? calculated - close : close - calculated;
  if (distance <= 1n || distance * 1_000_000n <= calculated) return close;
  return expect.fail(`${about}: ${text}, expected ${textOf(calculated)}`);
}

/** Whether stepping again from the base date changes a close that the head has. */
const changesCloses = (
  { ended, session }: Published,
  contracts: ReadonlyMap<string, readonly SeriesContract[]>,
): boolean =>
  [...contracts].some(([index, members]) => {
    const known = ended.get(index);
    const again = known && stepped(undefined, members, lastDayOf(session));
    return String(closesOf(again)) !== String(closesOf(known));
  });

/** The catalog with the changes, as far as they are some. */
function changedCatalog(
  catalog: readonly CatalogRow[],
  changes: readonly CatalogChange[],
  session: number,
): { catalog: readonly CatalogRow[]; renamed: ReadonlyMap<string, string> } {
  let rows = catalog;
  const renamed = new Map<string, string>();
  for (const wanted of changes) {
    const { kind, contract, id, segment } = wanted;
    const chosen = rows[contract % rows.length] as CatalogRow;
    const others = rows.filter((row) => row !== chosen);
    const hasId = (wantedId: string): boolean =>
      renamed.has(wantedId) || [...rows, ...catalog].some((row) => row.id === wantedId);
    const replace = (fields: Partial<CatalogRow>): void => {
      rows = rows.map((row) => (row === chosen ? { ...row, ...fields } : row));
    };
    const gone = IDS[contract % IDS.length] as string;
    if (kind === "rename" && !hasId(id) && !renamed.has(chosen.id)) {
      renamed.set(chosen.id, id);
      replace({ id });
    } else if (kind === "return" && !hasId(id) && !hasId(gone) && gone !== id) {
      renamed.set(gone, id);
      rows = [...rows, { id, segment }];
    } else if (kind === "add" && !hasId(id)) {
      rows = [{ id, segment }, ...rows];
    } else if (kind === "remove" && others.length > 0) {
      rows = others;
    } else if (kind === "delist") {
      replace({ delisted_on: utcOf(session + wanted.session).slice(0, 10) });
    } else if (kind === "relist") {
      rows = rows.map((row) => ({ ...row, delisted_on: "" }));
    } else if (kind === "segment") {
      replace({ segment });
    } else if (kind === "rename-segment") {
      rows = rows.map((row) => (row.segment === chosen.segment ? { ...row, segment } : row));
    } else if (kind === "cadence") {
      replace({ cadence_days: wanted.cadence });
    } else if (kind === "limit") {
      replace({ max_carry_days: wanted.limit });
    } else if (kind === "reorder") {
      rows = [...others, chosen];
    }
  }
  return { catalog: rows, renamed };
}

const quotesOf = (rows: readonly GivenRow[]): string =>
  stringify(
    rows.map(({ id, session, usd, text }) => [
      id,
      utcOf(session),
      usd,
      usd === null ? "withdrawn" : "",
      text,
    ]),
    { header: true, columns: ["id", "session_utc", "spot_usd", "basis", "break"] },
  );

const closesCsv = (rows: readonly GivenRow[]): string =>
  stringify(
    rows.map(({ id, session, usd, text }) => [id, utcOf(session).slice(0, 10), usd, text]),
    { header: true, columns: ["id", "date", "close_usd", "break"] },
  );

const histories = fc.record({
  contracts: fc.integer({ min: 2, max: 4 }),
  levels: fc.uniqueArray(
    fc.record({
      id: fc.constantFrom(...IDS),
      session: fc.constantFrom(...BACK).map((back) => FIRST - back),
      usd: fc.constantFrom(...PRICES),
      text: fc.constantFrom(...TEXTS),
    }),
    { minLength: 4, maxLength: 12, selector: ({ id, session }) => `${id} ${session}` },
  ),
  steps: fc.array(step, { minLength: 8, maxLength: 16 }),
});

test.prop([histories], runs(100))(
  "each close is stepped from the published one before, and stays",
  async ({ contracts, levels, steps }) => {
    const history = new History();
    await history.begin(contracts, levels);
    for (const each of steps) await history.take(each);
  },
);

test("an index that a restatement leaves without closes lists it", async () => {
  const store = new MemoryStore();
  const [first, next] = ["2026-11-21T00Z", "2026-11-22T12Z"];
  const [between, last] = ["2026-11-23T00Z", "2026-11-23T12Z"];
  const nowMs = Date.parse("2026-11-23T12:05:00.000Z");
  const run = { nowMs, allowSparse: true, accept: [] };
  const catalog = catalogOf(["a", "b"]);
  const closes = "id,date,close_usd\na,2026-11-20,1\n";
  await mustPublish(store, { ...run, session: first, catalog, closes });
  const accept = (["delisting", "free"] as const).map((gate) => ({ gate, ids: null }));
  await mustPublish(store, { ...run, session: next, catalog: catalogOf(["b"]), accept });
  const series = async (id = "composite") =>
    (await headJson(store, `pro/indices/${id}.json`)).series;
  expect((await series()).history).toHaveLength(3);

  const renewal = { dryRun: false, timeGates: ANY_TIME, restates: true };
  const { outcome } = await rerender("Taken out", renewal, store, { now: () => nowMs }, () => {});
  expect(outcome).toBe("published");
  const restatements = [{ publication: 3, reason: "Taken out" }];
  for (const id of ["composite", "dram"]) {
    expect(await series(id), id).toMatchObject({ base: null, history: [], restatements });
  }
  // For a session the catalog has no contract of the index.
  const moved = catalogOf([{ id: "b", segment: "NAND" }]);
  await mustPublish(store, { ...run, session: between, catalog: moved });
  const quotes = "id,spot_usd\nb,2\n";
  await mustPublish(store, { ...run, session: last, catalog: catalogOf(["b"]), quotes });
  const base = { date: "2026-11-23", level: 100 };
  for (const id of ["composite", "dram"]) {
    expect(await series(id), id).toMatchObject({ base, restatements });
  }
});

/**
 * A store whose closes of index series and levels last used are compared after each publication with a calculation that
 * steps from the published close before.
 */
import { parse } from "csv-parse/sync";
import { expect } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import type { GateName } from "../../src/feed/gates.ts";
import { rerender } from "../../src/publish/rerender.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { catalogOf, tryPublish, type CatalogRow, type Run } from "../cli/small-market.ts";
import { TestClock } from "../http/fixture.ts";
import { ANY_TIME, readHead } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { plainBytes } from "../store/stored-file.ts";
import { closesCsv, quotesCsv, type GivenRow } from "./given-rows.ts";
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

/** A row of a file, by the names of its columns. */
export type Row = Readonly<Record<string, string>>;

/** The market of a run. */
export interface RunMarket {
  readonly session: number;
  readonly catalog: readonly CatalogRow[];
  readonly limitDays: number;
}

/** A snapshot as its run left it. */
export interface SteppedSnapshot extends RunMarket {
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
export interface RunManner {
  readonly asCloses: boolean;
  /** The new ids by the old ones. */
  readonly renamed: ReadonlyMap<string, string>;
  /** The reason; null: published closes stay. */
  readonly restates: string | null;
}

export const PLAIN: RunManner = { asCloses: false, renamed: new Map(), restates: null };

/** A store that publishes, goes back and renders anew, and is compared each time. */
export class SteppedHistory {
  readonly store = new MemoryStore();
  readonly clock = new TestClock();
  head: SteppedSnapshot | null = null;
  readonly #snapshots = new Map<string, SteppedSnapshot>();

  /** Publishes the rows with every gate open. Returns false if the rules refuse them, or there is nothing to do. */
  async publish(market: RunMarket, manner: RunManner, rows: readonly GivenRow[]): Promise<boolean> {
    const { session, catalog, limitDays } = market;
    this.clock.ms = Math.max(this.clock.ms, Date.parse(utcOf(session)) + 300_000);
    const formerly = new Map([...manner.renamed].map(([old, id]) => [id, old]));
    const isClose = ({ session: at, usd }: GivenRow): boolean =>
      manner.asCloses && at % 2 === 1 && usd !== null;
    const run: Run = {
      session: utcOf(session),
      catalog: catalogOf(catalog.map((row) => ({ ...row, formerly: formerly.get(row.id) ?? "" }))),
      quotes: quotesCsv(rows.filter((row) => !isClose(row))),
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
    const isPublished = ended.result?.outcome === "published";
    if (isPublished) await this.#compare(market, manner);
    return isPublished;
  }

  /** Rolls back to a snapshot, whose files are as they were. */
  async rollBack(reference: string): Promise<void> {
    const { store, clock } = this;
    await rollBack(store, reference, "Wrong", clock, NO_KEYS, ANY_TIME);
    const snapshot = snapshotText((await readHead(store)) as never);
    this.head = this.#snapshots.get(snapshot) as SteppedSnapshot;
    expect(await this.#files(snapshot)).toEqual(this.head.files);
  }

  /** Renders the head anew, with all closes calculated again or with another credit line. Returns whether it did. */
  async renew(restates: boolean): Promise<boolean> {
    const { store, clock } = this;
    const head = this.head as SteppedSnapshot;
    const renewal = {
      dryRun: false,
      timeGates: ANY_TIME,
      ...(restates
        ? { restates: { from: null, members: true } }
        : { attribution: `Levels of ${clock.ms}` }),
    };
    const { outcome } = await rerender("Anew", renewal, store, clock, () => {});
    const isPublished = outcome === "published";
    if (isPublished) {
      await this.#compare(head, { ...PLAIN, restates: restates ? "Anew" : null });
    } else {
      expect(restates).toBe(true);
      expect(changesCloses(head, contractsOf(head, head.levels))).toBe(false);
    }
    return isPublished;
  }

  /** Compares the files of the new head with the calculation, and notes them. */
  async #compare(market: RunMarket, { renamed, restates: asked }: RunManner): Promise<void> {
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
      // A revision of this session may change closes that the session publishes first, and no earlier ones.
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
    this.#snapshots.set(snapshot, this.head);
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
  { catalog, limitDays }: RunMarket,
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
  { ended, session }: SteppedSnapshot,
  contracts: ReadonlyMap<string, readonly SeriesContract[]>,
): boolean =>
  [...contracts].some(([index, members]) => {
    const known = ended.get(index);
    const again = known && stepped(undefined, members, lastDayOf(session));
    return String(closesOf(again)) !== String(closesOf(known));
  });

/**
 * A store whose index series, members, settlements and notes for readers are compared after each publication with the
 * naive calculation. Only a revision of its session, a rollback or a restatement changes a published close. The levels come
 * from /levels.csv, which known-when.test.ts and numbers.test.ts compare.
 */
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { parse } from "csv-parse/sync";
import { expect } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import type { GateName } from "../../src/feed/gates.ts";
import { rerender } from "../../src/publish/rerender.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { catalogOf, tryPublish, type CatalogRow, type Run } from "../cli/small-market.ts";
import { TestClock } from "../http/fixture.ts";
import { ANY_TIME, readEntries, readHead } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { plainBytes } from "../store/stored-file.ts";
import { closesCsv, quotesCsv, type GivenRow } from "./given-rows.ts";
import { fractionOf, rounded } from "./naive-fraction.ts";
import {
  adjustmentsOf,
  closeText,
  firstOf,
  indicesOf,
  isNear,
  lastDayOf,
  lastUsedOf,
  linkedSeries,
  measured,
  memberLines,
  renamedIndices,
  underNewIndices,
  membersOn,
  publishedSeries,
  withNewIds,
  type IndexSeries,
  type Ledger,
  type Restating,
  type SeriesByIndex,
  type SeriesContract,
  type SeriesLevel,
} from "./naive-series.ts";
import {
  inFileOrder,
  settledAfter,
  withSettledIds,
  type NaiveFigures,
  type NaiveSettlement,
  type NaiveSettlements,
} from "./naive-settlements.ts";
import { exactJson } from "./published.ts";
import { indexOf, utcOf } from "./raw-markets.ts";

/** A row of a file, by the names of its columns. */
type Row = Readonly<Record<string, string>>;

/** The market of a run. */
export interface RunMarket {
  readonly session: number;
  readonly catalog: readonly CatalogRow[];
  readonly limitDays: number;
}

/** A snapshot as its run left it. */
export interface SeriesSnapshot extends RunMarket {
  readonly snapshot: string;
  readonly ledger: Ledger;
  /** The rows of Pro's /levels.csv. */
  readonly levels: readonly Row[];
  /** Null: an older program wrote the snapshot. */
  readonly series: SeriesByIndex | null;
  readonly settlements: NaiveSettlements;
  /** The rows of /superseded.csv that ended because their contract left the catalog, by its present id. */
  readonly left: ReadonlyMap<string, ReadonlySet<string>>;
  /** By index and day: each published close, with the session whose publication first published it. */
  readonly closes: ReadonlyMap<string, PublishedClose>;
  /** The files of series, as text. */
  readonly files: readonly string[];
}

interface PublishedClose {
  readonly text: string;
  /** Null: an older program published it. */
  readonly session: number | null;
}

/** What a run does beside its market. */
export interface RunManner {
  readonly asCloses: boolean;
  /** The new ids by the old ones. */
  readonly renamed: ReadonlyMap<string, string>;
  readonly restates: Restating | null;
}

export const PLAIN: RunManner = { asCloses: false, renamed: new Map(), restates: null };

const dayText = (day: number): string => utcOf(2 * day).slice(0, 10);
const dayOf = (date: string): number => Date.parse(date) / 86_400_000;

/** A store that publishes, goes back and renders anew, and is compared each time. */
export class SeriesStore {
  readonly store = new MemoryStore();
  readonly clock = new TestClock();
  head: SeriesSnapshot | null = null;
  readonly #snapshots = new Map<string, SeriesSnapshot>();

  /** Publishes the rows with every gate open. Returns false if the rules refuse them, or there is nothing to do. */
  async publish(market: RunMarket, manner: RunManner, rows: readonly GivenRow[]): Promise<boolean> {
    const { session, catalog, limitDays } = market;
    const { restates } = manner;
    this.clock.ms = Math.max(this.clock.ms, Date.parse(utcOf(session)) + 300_000);
    const formerly = new Map([...manner.renamed].map(([old, id]) => [id, old]));
    const isClose = ({ session: at, usd }: GivenRow): boolean =>
      manner.asCloses && at % 2 === 1 && usd !== null;
    const run: Run = {
      session: utcOf(session),
      catalog: catalogOf(catalog.map((row) => ({ ...row, formerly: formerly.get(row.id) ?? "" }))),
      quotes: quotesCsv(rows.filter((row) => !isClose(row))),
      closes: closesCsv(rows.filter(isClose)),
      ...(restates === null ? { revise: "Changed" } : { restateSeries: restates }),
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
    // 2: a rule of contracts or levels forbids it. 3: no --accept lets another unit without a break through.
    const codes = ended.said.some((line) => line.includes("does not let")) ? [0, 2, 3] : [0, 2];
    // 4: it needs --revise, which a restatement cannot have.
    expect(restates === null ? codes : [...codes, 4], ended.said.join("\n")).toContain(ended.code);
    const isPublished = ended.result?.outcome === "published";
    if (this.#isBeforeLink(contractsOf(market), restates)) expect(isPublished).toBe(false);
    if (isPublished) await this.#compare(market, manner, true);
    return isPublished;
  }

  /** Rolls back to a snapshot, whose files are as they were. */
  async rollBack(reference: string): Promise<void> {
    const { store, clock } = this;
    await rollBack(store, reference, "Wrong", clock, NO_KEYS, ANY_TIME);
    const snapshot = await this.#headName();
    this.head = this.#snapshots.get(snapshot) as SeriesSnapshot;
    expect(await this.#files(snapshot)).toEqual(this.head.files);
  }

  /** Renders the head anew, with closes calculated again or with another credit line. Returns whether it did. */
  async renew(restates: Restating | null): Promise<boolean> {
    const { store, clock } = this;
    const head = this.head as SeriesSnapshot;
    const renewal = {
      dryRun: false,
      timeGates: ANY_TIME,
      ...(restates === null ? { attribution: `Levels of ${clock.ms}` } : { restates }),
    };
    const isRefused = this.#isBeforeLink(contractsOf(head), restates);
    const { outcome } = await rerender("Anew", renewal, store, clock, () => {});
    expect(isRefused).toBe(false);
    const isPublished = outcome === "published";
    const manner = { ...PLAIN, restates };
    if (isPublished) {
      await this.#compare(head, manner, false);
    } else {
      // Nothing is to do: no published close is another one.
      expect(restates).not.toBeNull();
      const parent = this.#parentSeries(0);
      const run = {
        number: 0,
        session: head.session,
        contracts: contractsOf(head),
        ledger: head.ledger,
        calculates: false,
        restates,
      };
      const after = publishedSeries(parent, true, run, (_index, _day, value) => closeText(value));
      expect([...after.values()].flatMap((series) => series.restatements)).toEqual(
        [...parent.values()].flatMap((series) => series.restatements),
      );
    }
    return isPublished;
  }

  /** Takes over a store that an older program wrote: one of test/released. */
  async takeRelease(version: string): Promise<void> {
    const folder = join(import.meta.dirname, "../released", version, "store");
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      await this.store.create(relative(folder, path), await readFile(path));
    }
    const names = (await readEntries(this.store)).flatMap((entry) =>
      entry.action === "publish" ? [snapshotText(entry)] : [],
    );
    for (const snapshot of names) {
      if ((await this.store.get(`sessions/${snapshot}/manifest.json`)) === null) continue;
      const levels = await this.#rows(snapshot, "pro/levels.csv");
      this.#snapshots.set(snapshot, {
        snapshot,
        session: indexOf(`${snapshot.slice(0, 13)}:00:00.000Z`),
        catalog: await this.#catalog(snapshot),
        limitDays: 45,
        ledger: ledgerOf(levels),
        levels,
        series: null,
        settlements: new Map(),
        left: new Map(),
        closes: publishedCloses(await this.#rows(snapshot, "pro/indices.csv"), null),
        files: await this.#files(snapshot),
      });
    }
    this.head = this.#snapshots.get(await this.#headName()) as SeriesSnapshot;
  }

  /** Whether a restatement wants closes as known now of days for which no members are known. */
  #isBeforeLink(contracts: readonly SeriesContract[], restates: Restating | null): boolean {
    if (restates === null || restates.members || restates.from === null) return false;
    const { from } = restates;
    const parent = this.#parentSeries(0);
    return [...indicesOf(contracts).keys()].some(
      (index) => (parent.get(index)?.link?.day ?? -Infinity) >= from,
    );
  }

  /** The series that a run of this entry begins with: of an older program's head, those that it links. */
  #parentSeries(number: number): SeriesByIndex {
    const { head } = this;
    if (head === null) return new Map();
    if (head.series !== null) return head.series;
    const [csv = "", states = ""] = head.files;
    const closes = closesByIndex(rowsIn(csv));
    const kept = JSON.parse(states) as OldState[];
    return new Map(
      [...indicesOf(contractsOf(head))].flatMap(([index, contracts]) => {
        const published = closes.get(index);
        if (published === undefined) return [];
        const day = Math.max(...published.keys());
        const members = membersOn(contracts, head.ledger, day);
        const state = kept.find(({ id }) => id === index);
        const used = new Map(state?.ended.used.map((use) => [use.id, use]));
        const levels = new Map(
          [...members.keys()].map((id): [string, SeriesLevel] => {
            const now = head.ledger.get(id)?.findLast((level) => level.session <= 2 * day + 1);
            const use = used.get(id);
            if (use === undefined) return [id, now as SeriesLevel];
            const session = indexOf(use.session_utc);
            const isBreak = head.ledger
              .get(id)
              ?.find((level) => level.session === session)?.isBreak;
            return [id, { session, usd: String(use.usd), isBreak: isBreak ?? false }];
          }),
        );
        const restatements = (state?.restatements ?? []).map((each) => ({ ...each, how: null }));
        return [[index, linkedSeries(published, number, members, levels, restatements)]];
      }),
    );
  }

  /** Compares the files of the new head with the calculation, and notes them. */
  async #compare(
    market: RunMarket,
    { renamed, restates }: RunManner,
    calculates: boolean,
  ): Promise<void> {
    const entry = await readHead(this.store);
    if (entry === null) throw new Error("The store is empty");
    const snapshot = snapshotText(entry);
    const { session } = market;
    const { number } = entry;
    const before = this.head;
    const isRevision = before?.session === session;
    const levels = await this.#rows(snapshot, "pro/levels.csv");
    const ledger = ledgerAfter(before?.ledger ?? new Map(), renamed, market.catalog, levels);

    const contracts = contractsOf(market);
    const closeRows = await this.#rows(snapshot, "pro/indices.csv");
    const found = closesByIndex(closeRows);
    const written = (index: string, day: number, value: number): string => {
      const text = found.get(index)?.get(day);
      if (text !== undefined && isNear(text, value)) return text;
      return expect.fail(`${snapshot} ${index} ${dayText(day)}: ${text}, expected ${value}`);
    };
    const moved = renamedIndices(before === null ? [] : contractsOf(before), contracts, renamed);
    const parent = underNewIndices(withNewIds(this.#parentSeries(number), renamed), moved);
    const run = { number, session, contracts, ledger, calculates, restates };
    const series = publishedSeries(parent, isRevision, run, written);
    const left = leftNow(before, market.catalog, renamed, number);
    await this.#expectFiles(snapshot, series, run);
    const parentSettlements = withSettledIds(before?.settlements ?? new Map(), renamed, moved);
    const settlements = settledAfter(parentSettlements, run, series, await this.#terms(snapshot));
    await this.#expectSettlements(snapshot, inFileOrder(settlements, run), session);
    // A contract without rows may take the id of one that left: then two rows of the id can be the same.
    const sameRows = Map.groupBy(
      await this.#rows(snapshot, "pro/superseded.csv"),
      (row) => `${row["contract_id"]} ${rowOf(row, row["known_to"])}`,
    );
    for (const [name, [row, ...others]] of sameRows) {
      const { contract_id: id = "", known_to: end } = row as Row;
      const leaving = [row as Row, ...others].filter((each) => each["left"] === "true");
      const isLeft = left.get(id)?.has(rowOf(row as Row, end)) ?? false;
      expect([name, leaving.length]).toEqual([name, Number(isLeft)]);
    }
    const mayChange = (close: PublishedClose): boolean =>
      restates !== null || (calculates && isRevision && close.session === session);
    const published = publishedCloses(closeRows, session);
    const closes = this.#closesAfter(series, published, moved, mayChange);
    const files = await this.#files(snapshot);
    this.head = { ...market, snapshot, ledger, levels, series, settlements, left, closes, files };
    this.#snapshots.set(snapshot, this.head);
  }

  /** The published closes after a run, which keeps those that may not change. */
  #closesAfter(
    series: SeriesByIndex,
    published: ReadonlyMap<string, PublishedClose>,
    moved: ReadonlyMap<string, string>,
    mayChange: (close: PublishedClose) => boolean,
  ): Map<string, PublishedClose> {
    const closes = new Map(published);
    const listed = new Set([...published.keys()].map((key) => key.split(" ")[0]));
    for (const [old, close] of this.head?.closes ?? []) {
      const [former = "", date = ""] = old.split(" ");
      if (!moved.has(former) && [...moved.values()].includes(former)) continue;
      const index = moved.get(former) ?? former;
      const key = `${index} ${date}`;
      const now = published.get(key);
      // An index that is not listed keeps its closes; a renamed segment has them under its new id.
      const isKept = series.get(index)?.closes.has(dayOf(date)) ?? false;
      if (!listed.has(index) && isKept) closes.set(key, close);
      if (listed.has(index) && !mayChange(close))
        expect([key, now?.text]).toEqual([key, close.text]);
      if (now !== undefined) closes.set(key, { ...now, session: close.session });
    }
    return closes;
  }

  async #expectFiles(
    snapshot: string,
    series: SeriesByIndex,
    run: Parameters<typeof publishedSeries>[2],
  ): Promise<void> {
    const { session, contracts, ledger } = run;
    const closeRows: Row[] = [];
    const memberRows: Row[] = [];
    for (const [index, members] of indicesOf(contracts)) {
      const each = series.get(index) as IndexSeries;
      for (const [day, { text, knownFrom }] of sortedDays(each.closes)) {
        const known_from = String(knownFrom ?? "");
        closeRows.push({ index_id: index, date: dayText(day), close: text, known_from });
      }
      for (const { id, from, to, limitDays } of memberLines(each, contracts)) {
        memberRows.push({
          index_id: index,
          contract_id: id,
          from: dayText(from),
          to: to === null ? "" : dayText(to),
          max_carry_days: String(limitDays),
        });
      }
      await this.#expectPayloads(snapshot, index, each, { contracts: members, ledger, session });
    }
    expect(await this.#rows(snapshot, "pro/indices.csv"), snapshot).toEqual(closeRows);
    expect(await this.#rows(snapshot, "pro/members.csv"), snapshot).toEqual(memberRows);
    const starters = closeRows
      .filter(({ date = "" }) => isSeenBy("starter", session, dayOf(date)))
      .map(({ known_from: _from, ...row }) => row);
    expect(await this.#rows(snapshot, "starter/indices.csv"), snapshot).toEqual(starters);
  }

  async #expectSettlements(
    snapshot: string,
    expected: readonly NaiveSettlement[],
    session: number,
  ): Promise<void> {
    const rows = await this.#rows(snapshot, "pro/settlements.csv");
    expect(rows.length, snapshot).toBe(expected.length);
    for (const [at, item] of expected.entries()) {
      expectSettled(rows[at] as Row, item, `${snapshot} settlements ${at}`);
    }
    const today = Math.floor((session - 1) / 2);
    const starters = rows.filter(({ month = "" }) => {
      const [year, number] = month.split("-").map(Number);
      return Date.UTC(year as number, number as number, 0) / 86_400_000 > today - 90;
    });
    expect(await this.#rows(snapshot, "starter/settlements.csv"), snapshot).toEqual(starters);
    const { catalog } = this.head ?? {};
    for (const { id } of catalog ?? []) {
      const path = `pro/settlements/contracts/${id}.json`;
      if (!(await this.#isThere(snapshot, path))) continue;
      const body = exactJson(await this.#text(snapshot, path));
      const own = rows.filter((row) => row["kind"] === "contract" && row["id"] === id);
      expect([body["kind"], body["id"]], snapshot).toEqual(["contract", id]);
      expect(
        (body["settlements"] as Row[]).map((each) => Object.values(each).map(cellOf)),
        snapshot,
      ).toEqual(own.map(({ kind: _kind, id: _id, ...row }) => Object.values(row)));
    }
  }

  async #expectPayloads(
    snapshot: string,
    index: string,
    series: IndexSeries,
    run: Parameters<typeof lastUsedOf>[1],
  ): Promise<void> {
    for (const tier of ["pro", "starter"] as const) {
      const about = `${snapshot} ${tier} ${index}`;
      const text = await this.#text(snapshot, `${tier}/indices/${index}.json`);
      const shown = exactJson(text)["series"] as Shown;
      const last = lastDayOf(tier === "pro" ? run.session : run.session - 1);
      const known = sortedDays(series.closes).filter(([day]) => day <= last);
      const seen = known.filter(([day]) => isSeenBy(tier, run.session, day));
      expect(
        shown.history.map(({ date, close }) => [date, close]),
        about,
      ).toEqual(seen.map(([day, { text: close }]) => [dayText(day), `#${close}`]));
      const base =
        known.length === 0 ? null : { date: dayText(firstOf(series.closes)), level: "#100" };
      expect(shown.base, about).toEqual(base);
      const restated = series.restatements.map(({ publication, reason, how }) => ({
        publication: `#${publication}`,
        reason,
        ...(how && { ...how, from: dayText(how.from) }),
      }));
      expect(shown.restatements, about).toMatchObject(restated);
      expect(shown.restatements, about).toHaveLength(restated.length);
      const adjusted = adjustmentsOf(series).filter(({ day }) => isSeenBy(tier, run.session, day));
      expect(
        shown.adjustments.map(({ date, publication }) => [date, publication]),
        about,
      ).toEqual(adjusted.map(({ day, publication }) => [dayText(day), `#${publication}`]));
      adjusted.forEach(({ factor }, at) =>
        expectNear(shown.adjustments[at]?.factor, factor, about),
      );
      expectLink(shown.link, series, tier, about);
      if (tier === "starter") {
        expect([shown.value, shown.last_used], about).toEqual([undefined, undefined]);
      } else {
        expectUsed(shown, series, run, about);
      }
    }
  }

  #headName = async (): Promise<string> => snapshotText((await readHead(this.store)) as never);

  #files = (snapshot: string): Promise<string[]> =>
    Promise.all(
      ["pro/indices.csv", "states.json", "pro/indices/composite.json", "starter/indices.csv"].map(
        async (path) => {
          const isThere = path !== "states.json" || (await this.#isThere(snapshot, path));
          return isThere ? this.#text(snapshot, path) : "[]";
        },
      ),
    );

  #isThere = async (snapshot: string, path: string): Promise<boolean> =>
    (await this.store.get(`sessions/${snapshot}/${path}.gz`)) !== null;

  /** The unit and the capacity of each contract at a session: of its next break, or else of the catalog. */
  async #terms(snapshot: string): Promise<Parameters<typeof settledAfter>[3]> {
    const catalog = exactJson(await this.#text(snapshot, "catalog.json")) as unknown as Terms[];
    const breaks = new Map<string, readonly Terms[]>();
    for (const { id } of catalog) {
      const path = `pro/contracts/${id}.json`;
      if (!(await this.#isThere(snapshot, path))) continue;
      breaks.set(id, exactJson(await this.#text(snapshot, path))["breaks"] as Terms[]);
    }
    return (id, lastNoon) => {
      const next = breaks.get(id)?.find(({ session_utc }) => indexOf(session_utc) > lastNoon);
      const terms = next ?? catalog.find((each) => each.id === id);
      return [terms?.unit ?? "", cellOf(terms?.capacity_gb ?? null)];
    };
  }

  #catalog = async (snapshot: string): Promise<CatalogRow[]> => {
    const stored = JSON.parse(await this.#text(snapshot, "catalog.json")) as Record<
      string,
      string | number | boolean | null
    >[];
    return stored.map((row) => {
      const cells = Object.entries(row).map(([name, value]) => [name, String(value ?? "")]);
      return Object.fromEntries(cells);
    });
  };

  #rows = async (snapshot: string, path: string): Promise<Row[]> =>
    rowsIn(await this.#text(snapshot, path));

  #text = async (snapshot: string, path: string): Promise<string> =>
    String(await plainBytes(this.store, `sessions/${snapshot}/${path}`));
}

/** What 0.3.0 kept of an index, beside its closes: the levels that its last close used. */
interface OldState {
  readonly id: string;
  readonly restatements: readonly { publication: number; reason: string }[];
  readonly ended: { readonly used: readonly { id: string; session_utc: string; usd: number }[] };
}

/** `series` of an index's payload, with numbers as `#` and their text. */
interface Shown {
  readonly base: unknown;
  readonly restatements: readonly object[];
  readonly adjustments: readonly { date: string; publication: string; factor: string }[];
  readonly link: ShownLink | null;
  readonly history: readonly { date: string; close: string }[];
  readonly value?: string | null;
  readonly last_used?: readonly {
    id: string;
    session_utc: string;
    usd: string;
    reference_usd: string;
    away: boolean;
  }[];
}

interface ShownLink {
  readonly date: string;
  readonly publication: string;
  readonly levels?: readonly { id: string; session_utc: string; usd: string; break: boolean }[];
}

const rowsIn = (text: string): Row[] => parse(text, { columns: true, record_delimiter: "\r\n" });

const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);

const sortedDays = <T>(days: ReadonlyMap<number, T>): [number, T][] =>
  [...days].toSorted(([a], [b]) => a - b);

/** Numbers of readers have twelve significant digits. */
function expectNear(text: string | null | undefined, value: number, about: string): void {
  const found = Number(text?.slice("#".length));
  if (!(Math.abs(found - value) <= 1e-11 * Math.abs(value))) {
    expect.fail(`${about}: ${text}, expected ${value}`);
  }
}

/** Whether the tier's files show the day of a series, in the snapshot of a session. */
function isSeenBy(tier: "pro" | "starter", session: number, day: number): boolean {
  if (tier === "pro") return day <= lastDayOf(session);
  return day <= lastDayOf(session - 1) && day > Math.floor((session - 1) / 2) - 90;
}

function expectLink(
  shown: ShownLink | null,
  { link }: IndexSeries,
  tier: "pro" | "starter",
  about: string,
): void {
  if (link === null) return expect(shown, about).toBeNull();
  const { levels, ...rest } = shown as ShownLink;
  expect(rest, about).toEqual({ date: dayText(link.day), publication: `#${link.publication}` });
  if (tier === "starter") return expect(levels, about).toBe(undefined);
  const kept = [...link.levels].map(([id, level]) => ({
    id,
    session_utc: utcOf(level.session),
    usd: usdText(level),
    break: level.isBreak,
  }));
  expect(levels?.toSorted(byId), about).toEqual(kept.toSorted(byId));
}

function expectUsed(
  { value, last_used: used = [] }: Shown,
  series: IndexSeries,
  run: Parameters<typeof lastUsedOf>[1],
  about: string,
): void {
  const { values } = measured(series, run.ledger);
  const last = sortedDays(values).at(-1)?.[1];
  if (last === undefined) expect(value, about).toBeNull();
  else expectNear(value, last, about);
  const expected = lastUsedOf(series, run);
  const plain = expected.map(({ id, level, isAway }) => ({
    id,
    session_utc: utcOf(level.session),
    usd: usdText(level),
    away: isAway,
  }));
  const shown = used.map(({ reference_usd: _reference, ...rest }) => rest);
  expect(shown.toSorted(byId), about).toEqual(plain.toSorted(byId));
  for (const { id, reference } of expected) {
    expectNear(used.find((each) => each.id === id)?.reference_usd, reference, `${about} ${id}`);
  }
}

/** As JSON has it. */
const usdText = ({ usd }: SeriesLevel): string => rounded(fractionOf(usd), 6);

/** The contracts of a market as series need them, in the order of the boards. */
function contractsOf({ catalog, limitDays }: RunMarket): SeriesContract[] {
  const onBoard = (board: string) => catalog.filter((row) => (row.board || "memory") === board);
  return [...onBoard("memory"), ...onBoard("semiconductor")].map((row) => {
    const cadence = Number(row.cadence_days || "0.5");
    const ofCadence = cadence > 30 ? Math.max(limitDays, Math.ceil(1.5 * cadence)) : limitDays;
    return {
      id: row.id,
      index: (row.segment as string).toLowerCase(),
      delistedDay: row.delisted_on ? dayOf(row.delisted_on) : null,
      limitDays: row.max_carry_days ? Number(row.max_carry_days) : ofCadence,
    };
  });
}

/** The levels that stand: of the catalog's contracts as published, of those that left it as they were. */
const ledgerAfter = (
  before: Ledger,
  renamed: ReadonlyMap<string, string>,
  catalog: readonly CatalogRow[],
  rows: readonly Row[],
): Ledger => {
  const kept = [...before].map(([id, levels]) => [renamed.get(id) ?? id, levels] as const);
  const gone = kept.filter(([id]) => !catalog.some((row) => row.id === id));
  return new Map([...gone, ...ledgerOf(rows)]);
};

const ledgerOf = (rows: readonly Row[]): Ledger =>
  new Map(
    [...Map.groupBy(rows, (row) => row["contract_id"] as string)].map(([id, levels]) => [
      id,
      levels.map(({ session_utc, spot_usd, break_reason }) => ({
        session: indexOf(session_utc as string),
        usd: spot_usd as string,
        isBreak: break_reason !== "",
      })),
    ]),
  );

/** A row of a contract, and the entry that ended it. */
const rowOf = ({ session_utc, known_from }: Row, knownTo: string | number | undefined): string =>
  `${session_utc} ${known_from} ${knownTo}`;

/** The rows of contracts that left, with those that the run takes out. */
function leftNow(
  before: SeriesSnapshot | null,
  catalog: readonly CatalogRow[],
  renamed: ReadonlyMap<string, string>,
  number: number,
): Map<string, Set<string>> {
  const left = new Map<string, Set<string>>();
  const add = (id: string, rows: Iterable<string>): void => {
    left.set(id, new Set([...(left.get(id) ?? []), ...rows]));
  };
  // A contract may have the id that one that left had before.
  for (const [id, rows] of before?.left ?? []) add(renamed.get(id) ?? id, rows);
  for (const { id: old } of before?.catalog ?? []) {
    const id = renamed.get(old) ?? old;
    if (catalog.some((row) => row.id === id)) continue;
    const rows = before?.levels.filter((row) => row["contract_id"] === old) ?? [];
    add(
      id,
      rows.map((row) => rowOf(row, number)),
    );
  }
  return left;
}

/** A contract's terms: in the catalog, or before a break. */
interface Terms {
  readonly id: string;
  readonly session_utc: string;
  readonly unit: string;
  readonly capacity_gb: string | null;
}

/** A value of exact JSON as CSV has it. */
const cellOf = (value: string | null): string => value?.replace(/^#/, "") ?? "";

function expectSettled(
  row: Row,
  { kind, id, month, settled, now, settledBy, terms }: NaiveSettlement,
  about: string,
): void {
  const expectFigures = ({ days, figures }: NaiveFigures, suffix: string): void => {
    expect(row[`days${suffix}`], about).toBe(String(days));
    for (const name of ["average", "last", "high", "low"] as const) {
      const cell = row[`${name}${suffix}`] as string;
      const value = figures?.[name] ?? "";
      if (typeof value === "string") expect([name, cell], about).toEqual([name, value]);
      else expect(isNear(cell, value), `${about} ${name}: ${cell}, expected ${value}`).toBe(true);
    }
  };
  expectFigures(settled, "");
  expectFigures(now, "_now");
  const [unit, capacity_gb] = terms;
  const reason = settled.figures === null ? "break" : "";
  const settled_by = String(settledBy);
  expect(row, about).toMatchObject({ kind, id, month, unit, capacity_gb, settled_by, reason });
}

const publishedCloses = (rows: readonly Row[], session: number | null) =>
  new Map(
    rows.map(({ index_id, date, close = "" }): [string, PublishedClose] => [
      `${index_id} ${date}`,
      { text: close, session },
    ]),
  );

/** The texts of closes by day, for each index. */
function closesByIndex(rows: readonly Row[]): Map<string, Map<number, string>> {
  const found = new Map<string, Map<number, string>>();
  for (const { index_id: index = "", date = "", close = "" } of rows) {
    const closes = found.get(index) ?? new Map<number, string>();
    found.set(index, closes.set(dayOf(date), close));
  }
  return found;
}

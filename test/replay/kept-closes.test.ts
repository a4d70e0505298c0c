/**
 * Real series go through what happens to a store: corrections, withdrawals, revisions, rollbacks, renames, contracts off
 * the boards, prunes, skipped sessions, changed limits, backfill and restatements. After each publication published closes
 * stand, and the numbers of entries tell which rows were known.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import type { CatalogRow } from "../cli/small-market.ts";
import type { GivenRow } from "../property/given-rows.ts";
import { expectAnswers, expectKnown, KnownEntries } from "../property/known-entries.ts";
import { indexOf, utcOf } from "../property/raw-markets.ts";
import {
  PLAIN,
  SeriesStore,
  type RunManner,
  type SeriesSnapshot,
} from "../property/series-store.ts";
import { ANY_TIME } from "../store/log-entries.ts";
import { hasSeries, isPriced, readSeries, type PriceRow } from "./real-prices.ts";

interface Case {
  /** Five series. The last one enters later, the one before is delisted. */
  readonly series: readonly [string, string, string, string, string];
  /** The date of the first level, and the date of the first publication. */
  readonly from: string;
  readonly begin: string;
}

const CASES: readonly Case[] = [
  // Without levels at weekends. The rouble ends on 2022-03-01.
  {
    series: ["eia-brent", "eia-wti", "eia-henryhub", "fx-eurrub", "fx-eurusd"],
    from: "2021-06-01",
    begin: "2022-02-11",
  },
  // With days of zero and below, which have no level. North Macedonia begins on 2023-05-10.
  {
    series: ["power-deu", "power-fra", "power-mkd", "power-che", "power-nld"],
    from: "2022-10-01",
    begin: "2023-04-28",
  },
];

/** What a run does, beside giving the levels since the head. */
interface Change extends Partial<Pick<RunManner, "renamed" | "restates">> {
  readonly catalog?: readonly CatalogRow[];
  readonly limitDays?: number;
  /** In place of the levels that the series have. */
  readonly rows?: readonly GivenRow[];
}

const noonOf = (date: string): number => indexOf(`${date}T12:00:00.000Z`);

/** A store with its head, which takes the levels of the series by their ids in the catalog. */
class Walk {
  readonly history = new SeriesStore();
  readonly known = new KnownEntries(this.history.store);
  readonly #rows: ReadonlyMap<string, readonly PriceRow[]>;
  readonly #from: number;
  /** The series of a contract with another id. */
  readonly seriesOf = new Map<string, string>();

  constructor(rows: readonly PriceRow[], from: string) {
    this.#rows = Map.groupBy(rows.filter(isPriced), ({ id }) => id);
    this.#from = noonOf(from);
  }

  get head(): SeriesSnapshot {
    return this.history.head as SeriesSnapshot;
  }

  /** The levels of a contract, ascending. */
  levelsOf(id: string): GivenRow[] {
    const rows = this.#rows.get(this.seriesOf.get(id) ?? id) ?? [];
    return rows.map(({ date, close }) => ({ id, session: noonOf(date), usd: close, text: "" }));
  }

  /** The level that a contract has at a session, or the last one before. */
  levelAt(id: string, session: number): GivenRow {
    return this.levelsOf(id).findLast((row) => row.session <= session) as GivenRow;
  }

  /** Publishes the session so many days after the head's. */
  async publish(days: number, change: Change = {}): Promise<void> {
    const { catalog = this.head.catalog, limitDays = this.head.limitDays } = change;
    const session = this.head.session + 2 * days;
    await this.#publish({ session, catalog, limitDays }, change);
  }

  begin(date: string, catalog: readonly CatalogRow[]): Promise<void> {
    return this.#publish({ session: noonOf(date), catalog, limitDays: 45 }, {});
  }

  async #publish(
    market: { session: number; catalog: readonly CatalogRow[]; limitDays: number },
    { rows = [], ...change }: Change,
  ): Promise<void> {
    const { history, known } = this;
    const listed = new Set(history.head?.catalog.map(({ id }) => id));
    for (const [old, id] of change.renamed ?? []) if (listed.has(old)) listed.add(id);
    const given = new Map<string, GivenRow>();
    for (const { id, delisted_on } of market.catalog) {
      const after = listed.has(id) ? (history.head?.session ?? 0) : this.#from - 1;
      const until = delisted_on ? indexOf(`${delisted_on}T00:00:00.000Z`) - 1 : market.session;
      for (const row of this.levelsOf(id)) {
        if (row.session > after && row.session <= Math.min(until, market.session)) {
          given.set(`${id} ${row.session}`, row);
        }
      }
    }
    for (const row of rows) given.set(`${row.id} ${row.session}`, row);
    history.clock.ms += 7_200_000;
    const { renamed = PLAIN.renamed, restates = null } = change;
    expect(
      await history.publish(market, { asCloses: true, renamed, restates }, [...given.values()]),
    ).toBe(true);
    await known.read({ ...market, renamed });
    expectKnown(known);
  }

  async rollBack(back: number): Promise<void> {
    this.history.clock.ms += 7_200_000;
    await this.history.rollBack(`head~${back}`);
    await this.known.read();
    expectKnown(this.known);
  }

  /** A restatement of the head's session alone. */
  async restate(): Promise<void> {
    this.history.clock.ms += 7_200_000;
    const { session, catalog } = this.head;
    expect(await this.history.renew({ reason: "Anew", from: null, members: false })).toBe(true);
    await this.known.read({ session, catalog, renamed: new Map() });
    expectKnown(this.known);
  }

  async prune(days: number): Promise<void> {
    this.history.clock.ms += 7_200_000;
    const { store, clock } = this.history;
    await prune(store, days, false, clock, NO_KEYS, ANY_TIME);
  }
}

describe.runIf(hasSeries("kept-closes.test.ts"))("real series over 16 publications", () => {
  let rows: PriceRow[];
  beforeAll(() => {
    rows = readSeries();
  });

  test.each(CASES)("keep closes and known rows: $series", async ({ series, from, begin }) => {
    const [a, b, c, d, late] = series;
    const walk = new Walk(rows, from);
    const at = (id: string, segment: string, fields: Partial<CatalogRow> = {}): CatalogRow => ({
      id,
      segment,
      ...fields,
    });
    const first = [at(a, "One"), at(b, "One"), at(c, "Two"), at(d, "Two")];
    await walk.begin(begin, first);
    await walk.publish(1);

    // Skipped sessions; the last level of `a` is a misprint, which a revision mends.
    const misprint = walk.levelAt(a, walk.head.session + 12);
    await walk.publish(6, { rows: [{ ...misprint, usd: "12345.67" }] });
    await walk.publish(0, { rows: [misprint] });

    // A correction and a withdrawal of past levels, which a rollback takes back.
    const corrected = { ...walk.levelAt(b, walk.head.session - 20), usd: "77.7" };
    const withdrawn = { ...walk.levelAt(d, walk.head.session - 4), usd: null };
    await walk.publish(1, { rows: [corrected, withdrawn] });
    await walk.rollBack(1);
    await walk.publish(1, { rows: [corrected], limitDays: 2 });
    await walk.publish(1, { rows: [withdrawn] });

    // A rename, another segment, another cadence, and a contract that comes with its history.
    const renamed = new Map([[c, "renamed"]]);
    walk.seriesOf.set("renamed", c);
    const second = [
      at(late, "Two"),
      at("renamed", "Two"),
      at(a, "One", { cadence_days: "31" }),
      at(b, "Two"),
    ];
    await walk.publish(3, { catalog: [...second, at(d, "Two")], renamed });
    await walk.publish(20, { limitDays: 1 });
    const delisted = { delisted_on: utcOf(walk.head.session + 4).slice(0, 10) };
    await walk.publish(1, { catalog: [...second, at(d, "Two", delisted)] });
    await walk.publish(2, { rows: [{ ...walk.levelAt(b, walk.head.session + 4), text: "Lots" }] });
    await walk.prune(3);

    // Levels of before the first ones, and then a restatement by a revision.
    const older = walk.levelsOf(a).filter(({ session }) => session < noonOf(from));
    await walk.publish(1, { rows: older.slice(-30) });
    await walk.restate();
    const third = [at(late, "Two"), at("renamed", "Three"), at(a, "Three"), at(b, "Two")];
    await walk.publish(1, { catalog: third });
    await walk.rollBack(2);
    // With a new session, also after a rollback.
    await walk.publish(4, {
      catalog: third,
      restates: { reason: "Members of now", from: null, members: true },
    });
    await walk.publish(1, { catalog: second, limitDays: 45 });

    const { store, clock } = walk.history;
    await expectAnswers(walk.known, store, clock);
    expect(walk.known.heads).toHaveLength(18);
  });
});

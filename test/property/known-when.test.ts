/**
 * Pro's `/levels.csv` and `/superseded.csv` together have the rows that each entry of the log published: over
 * random histories of a store, compared with what `?publication=N` answers.
 */
import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import type { GateName } from "../../src/feed/gates.ts";
import { ChipboardError } from "../../src/lib/errors.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { catalogOf, tryPublish, type CatalogRow, type Run } from "../cli/small-market.ts";
import { TestClock } from "../http/fixture.ts";
import { ANY_TIME } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { quotesCsv, type GivenRow } from "./given-rows.ts";
import {
  expectAnswers,
  expectKnown,
  expectNumbered,
  KnownEntries,
  type Head,
  type PublishedMarket,
} from "./known-entries.ts";
import { indexOf, utcOf } from "./raw-markets.ts";
import { runs } from "./runs.ts";

const FIRST = indexOf("2026-11-21T00:00:00.000Z");
const IDS = ["a", "b", "c", "d", "e"];
/** Sessions before the one that is published: near ones, and those where five years end. */
const BACK = [0, 0, 1, 2, 3, 3_650, 3_651, 3_652, 3_653, 3_654, 3_660];
const TEXTS = ["", "", "", "New unit", '=Lot of "10", not 12', "Two\nlines"];

/** A change of a level: of a row that the head has, or for a session that may have none. */
const change = fc.record({
  /** Chooses the row; null: no row. */
  row: fc.option(fc.nat(), { freq: 2 }),
  contract: fc.nat(),
  back: fc.constantFrom(...BACK),
  /** Null: withdrawn. */
  usd: fc.constantFrom(null, "1", "2", "2.5"),
  text: fc.constantFrom(...TEXTS),
});
const catalogChange = fc.record({
  kind: fc.constantFrom(
    "rename",
    "rename",
    "remove",
    "return",
    "add",
    "delist",
    "board",
    "reorder",
  ),
  contract: fc.nat(),
  id: fc.constantFrom(...IDS),
});
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("publish" as const),
      /** Sessions after the head's; 0: a revision. */
      gap: fc.constantFrom(0, 1, 1, 1, 2, 5),
      changes: fc.array(change, { maxLength: 4 }),
      catalog: fc.option(catalogChange, { freq: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("rollback" as const),
      back: fc.integer({ min: 1, max: 5 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("prune" as const), days: fc.nat(2) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Publish = Extract<Step, { kind: "publish" }>;

/** A store that goes through the steps. What its rules refuse is no step. */
class History {
  readonly store = new MemoryStore();
  readonly clock = new TestClock();
  readonly known = new KnownEntries(this.store);

  /** The first publish. */
  async begin(contracts: number, backs: readonly number[]): Promise<void> {
    const ids = IDS.slice(0, contracts);
    const rows = backs.map((back, at) => {
      return { id: ids[at % contracts] as string, session: FIRST - back, usd: "1", text: "" };
    });
    const catalog = ids.map((id) => ({ id }));
    await this.#attempt({ session: FIRST, catalog, renamed: new Map() }, rows);
  }

  async take(step: Step): Promise<void> {
    this.clock.ms += 1_000;
    if (step.kind === "publish") return this.#publish(step);
    const [reference, gates] = [`head~${"back" in step ? step.back : 0}`, ANY_TIME];
    try {
      if (step.kind === "prune") {
        await prune(this.store, step.days, false, this.clock, NO_KEYS, gates);
      } else {
        await rollBack(this.store, reference, "Wrong", this.clock, NO_KEYS, gates);
      }
    } catch (error) {
      if (!(error instanceof ChipboardError) || error.exitCode !== 2) throw error;
    }
    await this.known.read();
  }

  async #publish({ gap, changes, catalog: wanted }: Publish): Promise<void> {
    const head = this.known.heads.at(-1) as Head;
    const before = this.known.published(head);
    const session = before.session + gap;
    const { catalog, renamed } = changedCatalog(before.catalog, wanted, session);
    const rows = new Map<string, GivenRow>();
    for (const { row, contract, back, usd, text } of changes) {
      const stands = row === null ? undefined : head.levels[row % head.levels.length];
      const listed = before.catalog[contract % before.catalog.length] as CatalogRow;
      const old = stands?.["contract_id"] ?? listed.id;
      const id = renamed.get(old) ?? old;
      const at = stands === undefined ? session - back : indexOf(stands["session_utc"] as string);
      const isListed = catalog.some((row) => row.id === id);
      if (!isListed || (usd === null && stands === undefined)) continue;
      rows.set(`${id} ${at}`, { id, session: at, usd, text: usd === null ? "" : text });
    }
    await this.#attempt({ session, catalog, renamed }, [...rows.values()]);
  }

  async #attempt(wanted: PublishedMarket, rows: readonly GivenRow[]): Promise<void> {
    const { session, catalog, renamed } = wanted;
    this.clock.ms = Math.max(this.clock.ms, Date.parse(utcOf(session)) + 300_000);
    const formerly = new Map([...renamed].map(([old, id]) => [id, old]));
    const run: Run = {
      session: utcOf(session),
      catalog: catalogOf(catalog.map((row) => ({ ...row, formerly: formerly.get(row.id) ?? "" }))),
      quotes: quotesCsv(rows),
      revise: "Changed",
      nowMs: this.clock.ms,
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
    // 2: a rule of contracts or levels forbids it.
    expect([0, 2]).toContain(ended.code);
    if (ended.result?.outcome === "published") await this.known.read(wanted);
  }
}

/** The catalog with the change, as far as that is one. */
function changedCatalog(
  catalog: readonly CatalogRow[],
  wanted: Publish["catalog"],
  session: number,
): Pick<PublishedMarket, "catalog" | "renamed"> {
  const renamed = new Map<string, string>();
  if (wanted === null) return { catalog, renamed };
  const { kind, contract, id } = wanted;
  const chosen = catalog[contract % catalog.length] as CatalogRow;
  const others = catalog.filter((row) => row !== chosen);
  const hasId = (wantedId: string): boolean => catalog.some((row) => row.id === wantedId);
  const replaced = (fields: Partial<CatalogRow>): CatalogRow[] =>
    catalog.map((row) => (row === chosen ? { ...row, ...fields } : row));
  switch (kind) {
    case "rename": {
      if (chosen.id === id) break;
      renamed.set(chosen.id, id);
      // A contract without levels gives its id away.
      return {
        catalog: replaced({ id }).filter((row) => row.id !== id || !catalog.includes(row)),
        renamed,
      };
    }
    case "return": {
      const gone = IDS[contract % IDS.length] as string;
      if (hasId(id) || hasId(gone) || gone === id) break;
      renamed.set(gone, id);
      return { catalog: [...catalog, { id }], renamed };
    }
    case "add":
      if (!hasId(id)) return { catalog: [{ id }, ...catalog], renamed };
      break;
    case "remove":
      if (others.length > 0) return { catalog: others, renamed };
      break;
    case "delist":
      return { catalog: replaced({ delisted_on: utcOf(session).slice(0, 10) }), renamed };
    case "board":
      return { catalog: replaced({ board: "semiconductor" }), renamed };
    case "reorder":
      return { catalog: [...others, chosen], renamed };
  }
  return { catalog, renamed };
}

const histories = fc.record({
  contracts: fc.integer({ min: 2, max: 4 }),
  backs: fc.uniqueArray(fc.constantFrom(...BACK, 4, 5, 6, 7), { minLength: 3 }),
  steps: fc.array(step, { minLength: 5, maxLength: 16 }),
});

test.prop([histories], runs(100))(
  "the rows known at each entry are those that it published",
  async ({ contracts, backs, steps }) => {
    const history = new History();
    await history.begin(contracts, backs);
    for (const each of steps) {
      await history.take(each);
      expectKnown(history.known);
      expectNumbered(history.known);
    }
    await expectAnswers(history.known, history.store, history.clock);
  },
);

/**
 * Pro's `/levels.csv` and `/superseded.csv` together have the rows that each entry of the log published: over
 * random histories of a store, compared with what `?publication=N` answers.
 */
import { fc, test } from "@fast-check/vitest";
import { parse } from "csv-parse/sync";
import { stringify } from "csv-stringify/sync";
import { expect } from "vitest";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import type { GateName } from "../../src/feed/gates.ts";
import { ChipboardError } from "../../src/lib/errors.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { catalogOf, tryPublish, type CatalogRow, type Run } from "../cli/small-market.ts";
import { startTestProxy, TestClock } from "../http/fixture.ts";
import { ANY_TIME, readHead } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { plainBytes } from "../store/stored-file.ts";
import { isWithinDepth } from "./naive-market.ts";
import { indexOf, utcOf } from "./raw-markets.ts";

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

/** A row of a file, by the names of its columns. */
type Row = Readonly<Record<string, string>>;

interface GivenRow {
  readonly id: string;
  readonly session: number;
  readonly usd: string | null;
  readonly text: string;
}

/** An entry of the log that made a head, with the files that readers then had. */
interface Head {
  readonly number: number;
  readonly isRollback: boolean;
  readonly snapshot: string;
  readonly levels: readonly Row[];
  readonly superseded: readonly Row[];
  readonly corrections: readonly CorrectionItem[];
  /** How many of them its entry of the log counts as its own. */
  readonly corrected: number;
}

/** A correction in corrections.json. */
interface CorrectionItem {
  readonly contract: string;
  readonly session_utc: string;
  readonly corrected_in: string;
  readonly publication: number | null;
}

/** A snapshot as its run left it. */
interface Published {
  readonly session: number;
  readonly catalog: readonly CatalogRow[];
  /** The contracts that its run renamed: the new ids by the old ones. */
  readonly renamed: ReadonlyMap<string, string>;
}

/** A store that goes through the steps. What its rules refuse is no step. */
class History {
  readonly store = new MemoryStore();
  readonly clock = new TestClock();
  readonly heads: Head[] = [];
  readonly snapshots = new Map<string, Published>();

  published({ snapshot }: Head): Published {
    return this.snapshots.get(snapshot) as Published;
  }

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
    await this.#read();
  }

  async #publish({ gap, changes, catalog: wanted }: Publish): Promise<void> {
    const head = this.heads.at(-1) as Head;
    const before = this.published(head);
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

  async #attempt(wanted: Published, rows: readonly GivenRow[]): Promise<void> {
    const { session, catalog, renamed } = wanted;
    this.clock.ms = Math.max(this.clock.ms, Date.parse(utcOf(session)) + 300_000);
    const formerly = new Map([...renamed].map(([old, id]) => [id, old]));
    const run: Run = {
      session: utcOf(session),
      catalog: catalogOf(catalog.map((row) => ({ ...row, formerly: formerly.get(row.id) ?? "" }))),
      quotes: quotesOf(rows),
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
    if (ended.result?.outcome !== "published") return;
    this.snapshots.set(snapshotText(ended.result.snapshot), wanted);
    await this.#read();
  }

  /** Notes the head if it is new. */
  async #read(): Promise<void> {
    const head = await readHead(this.store);
    if (head === null || head.number === this.heads.at(-1)?.number) return;
    const snapshot = snapshotText(head);
    const rowsOf = async (name: string): Promise<Row[]> =>
      rowsIn(String(await plainBytes(this.store, `sessions/${snapshot}/pro/${name}`)));
    this.heads.push({
      number: head.number,
      isRollback: head.action === "rollback",
      snapshot,
      levels: await rowsOf("levels.csv"),
      superseded: await rowsOf("superseded.csv"),
      corrections: JSON.parse(
        String(await plainBytes(this.store, `sessions/${snapshot}/corrections.json`)),
      ),
      corrected: head.corrections,
    });
  }

  /** The entry and those before it that no rollback withdrew from it, newest first. */
  lineOf(head: Head): Head[] {
    const line: Head[] = [];
    for (let at = this.heads.indexOf(head); at >= 0;) {
      const entry = this.heads[at] as Head;
      line.push(entry);
      const isItsPublish = ({ snapshot, isRollback }: Head): boolean =>
        snapshot === entry.snapshot && !isRollback;
      at = entry.isRollback ? this.heads.findIndex(isItsPublish) : at - 1;
    }
    return line;
  }
}

/** The catalog with the change, as far as that is one. */
function changedCatalog(
  catalog: readonly CatalogRow[],
  wanted: Publish["catalog"],
  session: number,
): Pick<Published, "catalog" | "renamed"> {
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

const rowsIn = (text: string): Row[] => parse(text, { columns: true, record_delimiter: "\r\n" });

/** The row without the numbers of entries, as text, under the present id. */
function textOf(row: Row, idOf: (id: string) => string): string {
  const { known_from: _from, known_to: _to, contract_id, ...cells } = row;
  return JSON.stringify([idOf(contract_id as string), ...Object.values(cells)]);
}

/** What the contract says of the two files of a head. Returns how many entries it compared. */
function expectKnown(history: History, head: Head): number {
  const line = history.lineOf(head);
  const { session, catalog } = history.published(head);
  const isDeep = (row: Row, at: number): boolean =>
    isWithinDepth((row["session_utc"] as string).slice(0, 10), utcOf(at), "pro");
  const rows = [...head.levels, ...head.superseded];
  const numbers = new Set(line.filter(({ isRollback }) => !isRollback).map(({ number }) => number));
  for (const { known_from, known_to } of rows) {
    expect(numbers).toContain(Number(known_from));
    if (known_to === undefined) continue;
    expect(numbers).toContain(Number(known_to));
    expect(Number(known_to)).toBeGreaterThan(Number(known_from));
  }
  expect(head.superseded.filter((row) => !isDeep(row, session))).toEqual([]);

  const order = ["memory", "semiconductor"].flatMap((board) =>
    catalog.filter((row) => (row.board ?? "memory") === board).map(({ id }) => id),
  );
  const keyOf = ({ contract_id: id = "", session_utc, known_from = "" }: Row): string => {
    const place = order.indexOf(id);
    const of = place < 0 ? `z${id}` : String(place);
    return `${of} ${session_utc} ${known_from.padStart(9, "0")}`;
  };
  const keys = head.superseded.map(keyOf);
  expect(keys).toEqual(keys.toSorted());

  let idOf = (id: string): string => id;
  for (const entry of line) {
    const published = history.published(entry);
    const within = (row: Row): boolean => isDeep(row, session) && isDeep(row, published.session);
    const known = rows.filter(
      ({ known_from, known_to = Infinity }) =>
        Number(known_from) <= entry.number && Number(known_to) > entry.number,
    );
    const found = known.filter(within).map((row) => textOf(row, (id) => id));
    const expected = entry.levels.filter(within).map((row) => textOf(row, idOf));
    expect([...new Set(found)].sort()).toEqual([...new Set(expected)].sort());
    const presentOf = idOf;
    if (!entry.isRollback) idOf = (id) => presentOf(published.renamed.get(id) ?? id);
  }
  return line.length;
}

/** A publish adds its corrections with its own number to those of the entry before; a rollback has those of then. */
function expectNumbered(history: History, head: Head): void {
  const [, parent] = history.lineOf(head);
  const older = head.isRollback
    ? (history.heads.find(({ snapshot }) => snapshot === head.snapshot) as Head).corrections
    : (parent?.corrections ?? []);
  const { renamed } = history.published(head);
  const renamedOlder = older.map((item) => ({
    ...item,
    contract: renamed.get(item.contract) ?? item.contract,
  }));
  const kept = head.corrections.slice(0, older.length);
  expect(kept).toEqual(head.isRollback ? older : renamedOlder);
  const fresh = head.corrections.slice(older.length);
  expect(fresh.length).toBe(head.isRollback ? 0 : head.corrected);
  for (const { publication, corrected_in } of fresh) {
    expect([publication, corrected_in]).toEqual([head.number, head.snapshot]);
  }
  const order = fresh.map(({ contract, session_utc }) => `${contract} ${session_utc}`);
  expect(order).toEqual(order.toSorted());
}

const histories = fc.record({
  contracts: fc.integer({ min: 2, max: 4 }),
  backs: fc.uniqueArray(fc.constantFrom(...BACK, 4, 5, 6, 7), { minLength: 3 }),
  steps: fc.array(step, { minLength: 5, maxLength: 16 }),
});

test.prop([histories], { numRuns: 20 })(
  "the rows known at each entry are those that it published",
  async ({ contracts, backs, steps }) => {
    const history = new History();
    await history.begin(contracts, backs);
    for (const each of steps) {
      await history.take(each);
      const head = history.heads.at(-1) as Head;
      expectKnown(history, head);
      expectNumbered(history, head);
    }
    const { store, clock, heads } = history;
    const proxy = await startTestProxy({ store, clock });
    try {
      const ask = async (name: string, number: number) =>
        proxy.get(`/api/public/v1/${name}?publication=${number}`, { key: proxy.pro });
      for (const { number, levels, superseded } of heads) {
        const answer = await ask("levels.csv", number);
        if (answer.status === 410) continue;
        expect(rowsIn(answer.text)).toEqual(levels);
        expect(rowsIn((await ask("superseded.csv", number)).text)).toEqual(superseded);
      }
    } finally {
      await proxy.close();
    }
  },
);

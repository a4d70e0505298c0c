/**
 * Pro's `/levels.csv` and `/superseded.csv` of each head of a store, and what must hold of their numbers of entries:
 * both together have the rows that each entry of the log published.
 */
import { parse } from "csv-parse/sync";
import { expect } from "vitest";
import type { ObjectStore } from "../../src/ports/store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import type { CatalogRow } from "../cli/small-market.ts";
import { startTestProxy, type TestClock } from "../http/fixture.ts";
import { readHead } from "../store/log-entries.ts";
import { plainBytes } from "../store/stored-file.ts";
import { isWithinDepth } from "./naive-market.ts";
import { utcOf } from "./raw-markets.ts";

/** A row of a file, by the names of its columns. */
export type Row = Readonly<Record<string, string>>;

/** An entry of the log that made a head, with the files that readers then had. */
export interface Head {
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

/** The market of a snapshot, and what its run did to the catalog. */
export interface PublishedMarket {
  readonly session: number;
  readonly catalog: readonly CatalogRow[];
  /** The contracts that its run renamed: the new ids by the old ones. */
  readonly renamed: ReadonlyMap<string, string>;
}

/** The heads that a store had, oldest first. */
export class KnownEntries {
  readonly heads: Head[] = [];
  readonly #store: ObjectStore;
  readonly #published = new Map<string, PublishedMarket>();

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  published({ snapshot }: Head): PublishedMarket {
    return this.#published.get(snapshot) as PublishedMarket;
  }

  /** Notes the head if it is new. `published` is the market that a run has just published. */
  async read(published?: PublishedMarket): Promise<void> {
    const head = await readHead(this.#store);
    if (head === null || head.number === this.heads.at(-1)?.number) return;
    const snapshot = snapshotText(head);
    if (published !== undefined) this.#published.set(snapshot, published);
    const rowsOf = async (name: string): Promise<Row[]> =>
      rowsIn(String(await plainBytes(this.#store, `sessions/${snapshot}/pro/${name}`)));
    this.heads.push({
      number: head.number,
      isRollback: head.action === "rollback",
      snapshot,
      levels: await rowsOf("levels.csv"),
      superseded: await rowsOf("superseded.csv"),
      corrections: JSON.parse(
        String(await plainBytes(this.#store, `sessions/${snapshot}/corrections.json`)),
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

/** What the contract says of the two files of a head, by default of the newest one. */
export function expectKnown(entries: KnownEntries, head = entries.heads.at(-1) as Head): void {
  const line = entries.lineOf(head);
  const { session, catalog } = entries.published(head);
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
    const published = entries.published(entry);
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
}

/**
 * A publish adds its corrections, with its own number, to the corrections of the entry before. A rollback has
 * the corrections of its snapshot.
 */
export function expectNumbered(entries: KnownEntries, head = entries.heads.at(-1) as Head): void {
  const [, parent] = entries.lineOf(head);
  const older = head.isRollback
    ? (entries.heads.find(({ snapshot }) => snapshot === head.snapshot) as Head).corrections
    : (parent?.corrections ?? []);
  const { renamed } = entries.published(head);
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

/** A proxy answers with the files of each entry whose snapshot no prune has taken. */
export async function expectAnswers(
  { heads }: KnownEntries,
  store: ObjectStore,
  clock: TestClock,
): Promise<void> {
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
}

const rowsIn = (text: string): Row[] => parse(text, { columns: true, record_delimiter: "\r\n" });

/** The row without its columns of entries, as text, under the present id. */
function textOf(row: Row, idOf: (id: string) => string): string {
  const { known_from: _from, known_to: _to, left: _left, contract_id, ...cells } = row;
  return JSON.stringify([idOf(contract_id as string), ...Object.values(cells)]);
}

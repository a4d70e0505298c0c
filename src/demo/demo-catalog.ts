/**
 * The contracts of the demonstration, and how the generator prices them. `catalog.csv` is as `publish` reads
 * it, `anchors.csv` has the level and the schedule of each contract, `cycles.csv` how segments go up and down, and
 * `events.csv` the events of some contracts.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { csvRecords } from "../feed/csv-reader.ts";
import type { Basis } from "../market/series.ts";
import { MAX_LEVEL_USD, parseMicros, type Micros } from "../market/decimal.ts";
import {
  closeSessionOf,
  parseDate,
  parseSession,
  type Day,
  type Session,
} from "../market/session.ts";
import type { Schedule } from "./schedule.ts";

/** The catalog file, in the format of `publish --catalog`. */
export const demoCatalogPath = fileURLToPath(new URL("./catalog.csv", import.meta.url));

/** Where a contract's price comes from. */
type Origin =
  | {
      /** A level that was once published, and its day: the middle if only a year or a month is known. */
      readonly level: Micros;
      readonly day: Day;
    }
  /** Of a module, card or drive: so many times the price of its chip or die. */
  | { readonly of: string; readonly times: number };

/** The generator's parameters of a contract. */
export interface DemoContract {
  readonly id: string;
  readonly segment: string;
  readonly priceType: string;
  readonly origin: Origin;
  readonly basis: Basis;
  readonly schedule: Schedule;
  /** The session of its launch; null: it is older than the market. */
  readonly listed: Session | null;
  /** The first day without a level; null: it still gets levels. */
  readonly delistedOn: Day | null;
  readonly breaks: readonly DemoEvent[];
}

export function readDemoContracts(): DemoContract[] {
  const anchors = new Map(readRows("anchors.csv").map((row) => [row("id"), row]));
  const breaks = readDemoEvents().filter(({ what }) => what === "break");
  return readRows("catalog.csv").map((listing) => {
    const id = listing("id");
    const priced = anchors.get(id) as CellReader;
    return {
      id,
      segment: listing("segment"),
      priceType: listing("price_type"),
      origin: originOf(priced),
      basis: priced("basis") as Basis,
      schedule: priced("schedule") as Schedule,
      listed: parseSession(priced("listed")),
      delistedOn: parseDate(listing("delisted_on")),
      breaks: breaks.filter((event) => event.id === id),
    };
  });
}

const originOf = (row: CellReader): Origin =>
  row("of") === ""
    ? {
        level: parseMicros(row("level"), MAX_LEVEL_USD) as Micros,
        day: parseDate(row("date")) as Day,
      }
    : { of: row("of"), times: Number(row("times")) };

/** How a segment's prices go up and down over the years: factors by ascending session. */
export type Cycle = readonly { readonly session: Session; readonly factor: number }[];

/** The cycles of cycles.csv by segment. */
export function readDemoCycles(): Map<string, Cycle> {
  const rows = readRows("cycles.csv").map((row) => ({
    segment: row("segment"),
    session: closeSessionOf(parseDate(row("date")) as Day),
    factor: Number(row("factor")),
  }));
  return Map.groupBy(rows, ({ segment }) => segment);
}

/** A row of events.csv. `session` null: the second that is published. */
export type DemoEvent = ReturnType<typeof readDemoEvents>[number];

/** The rows of events.csv, which says what its columns mean. */
export const readDemoEvents = () =>
  readRows("events.csv").map((row) => ({
    session: parseSession(row("session")),
    id: row("id"),
    what: row("what"),
    ratio: Number(row("ratio")),
    text: row("text"),
  }));

/** Gives the text of a column. */
type CellReader = (column: string) => string;

function readRows(name: string): CellReader[] {
  const text = readFileSync(new URL(name, import.meta.url), "utf8");
  const [header = [], ...records] = csvRecords(text);
  return records.map((record) => (column) => record[header.indexOf(column)] as string);
}

/**
 * The contracts of the demonstration, and how the generator prices them. `catalog.csv` is as `publish` reads
 * it, `anchors.csv` has the level and the schedule of each contract, `events.csv` the events of some.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { csvRecords } from "../feed/csv-reader.ts";
import type { Basis } from "../market/series.ts";
import { MAX_LEVEL_USD, parseMicros, type Micros } from "../market/decimal.ts";
import { parseDate, parseSession, type Day, type Session } from "../market/session.ts";

/** The catalog file, in the format of `publish --catalog`. */
export const demoCatalogPath = fileURLToPath(new URL("./catalog.csv", import.meta.url));

/**
 * When a contract gets a level:
 * `every-session`: at 00:00 and 12:00.
 * `overnight`: the same, but the level of 00:00 is the assessment of the day before.
 * `daily`: at 12:00 only.
 * `weekdays`: not on Saturdays and Sundays.
 * `irregular`: in seven of eight sessions, at random.
 */
export type Schedule = "every-session" | "overnight" | "daily" | "weekdays" | "irregular";

/** The generator's parameters of a contract. */
export interface DemoContract {
  readonly id: string;
  readonly segment: string;
  readonly priceType: string;
  /** A level that was once published, and its day: the middle if only a year or a month is known. */
  readonly anchor: Micros;
  readonly anchorDay: Day;
  readonly basis: Basis;
  readonly schedule: Schedule;
  /** The first session with a level; null: the market's first. */
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
      anchor: parseMicros(priced("level"), MAX_LEVEL_USD) as Micros,
      anchorDay: parseDate(priced("date")) as Day,
      basis: priced("basis") as Basis,
      schedule: priced("schedule") as Schedule,
      listed: parseSession(priced("listed")),
      delistedOn: parseDate(listing("delisted_on")),
      breaks: breaks.filter((event) => event.id === id),
    };
  });
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

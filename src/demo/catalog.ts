/**
 * The contracts of the demonstration: `catalog.csv`, as `publish` reads it, and `anchors.csv`, with the
 * level and the schedule by which the generator prices each contract.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { csvRecords } from "../feed/csv.ts";
import { BASES, type Basis } from "../market/series.ts";
import { MAX_LEVEL_USD, parseMicros, type Micros } from "../market/decimal.ts";
import { parseDate, parseSession, type Day, type Session } from "../market/session.ts";

/** The catalog file, in the format of `publish --catalog`. */
export const demoCatalogPath = fileURLToPath(new URL("./catalog.csv", import.meta.url));
const anchorsPath = fileURLToPath(new URL("./anchors.csv", import.meta.url));

/**
 * When a contract gets a level:
 * `every-session`: at 00:00 and 12:00.
 * `overnight`: the same, but the level of 00:00 is the assessment of the day before.
 * `daily`: at 12:00 only.
 * `weekdays`: not on Saturdays and Sundays.
 * `irregular`: in seven of eight sessions, at random.
 */
const SCHEDULES = ["every-session", "overnight", "daily", "weekdays", "irregular"] as const;
type Schedule = (typeof SCHEDULES)[number];

/** The generator's parameters of a contract. */
export interface DemoContract {
  readonly id: string;
  readonly segment: string;
  /** A level that was once published, and its day: the middle if only a year or a month is known. */
  readonly anchor: Micros;
  readonly anchorDay: Day;
  readonly basis: Basis;
  readonly schedule: Schedule;
  /** The first session with a level; null: the market's first. */
  readonly listed: Session | null;
  /** The last session with a level; null: it still gets levels. */
  readonly ended: Session | null;
}

/** The contracts in catalog order. Throws if the two files do not belong together. */
export function readDemoContracts(): DemoContract[] {
  const anchors = new Map(readRows(anchorsPath).map((row) => [row["id"], row]));
  const catalog = readRows(demoCatalogPath);
  if (anchors.size !== catalog.length) {
    throw new Error(`anchors.csv has ${anchors.size} contracts, catalog.csv ${catalog.length}`);
  }
  return catalog.map((row) => demoContract({ ...row, ...anchors.get(row["id"]) }));
}

type Row = Partial<Record<string, string>>;

function readRows(path: string): Row[] {
  const [header = [], ...records] = csvRecords(readFileSync(path, "utf8"));
  return records.map((record) => Object.fromEntries(header.map((name, at) => [name, record[at]])));
}

function demoContract(row: Row): DemoContract {
  const { id = "", segment = "", level = "", date = "", listed = "", ended = "" } = row;
  const expect = <T>(value: T | null | undefined, column: string): T => {
    if (value !== null && value !== undefined) return value;
    throw new Error(`anchors.csv ${id} ${column} ${JSON.stringify(row[column])}: not valid`);
  };
  return {
    id,
    segment,
    anchor: expect(parseMicros(level, MAX_LEVEL_USD), "level"),
    anchorDay: expect(parseDate(date), "date"),
    basis: expect(
      BASES.find((basis) => basis === row["basis"]),
      "basis",
    ),
    schedule: expect(
      SCHEDULES.find((schedule) => schedule === row["schedule"]),
      "schedule",
    ),
    listed: listed === "" ? null : expect(parseSession(listed), "listed"),
    ended: ended === "" ? null : expect(parseSession(ended), "ended"),
  };
}

/** Reads quotes (levels for a session) and closes (daily history). */
import { closeSessionOf, dateText, dayOf, sessionKey, type Session } from "../market/session.ts";
import type { Complaints } from "./complaints.ts";
import {
  basisField,
  dateField,
  levelField,
  sessionField,
  textField,
  urlField,
  type Field,
} from "./fields.ts";
import { GivenLevels, type GivenExtras } from "./given-levels.ts";
import type { Source } from "./source.ts";
import { readTable, type TableShape, type Where } from "./table.ts";

/** What a set of files names, by contract id. Ids are not checked against a catalog yet. */
export interface LevelTable {
  readonly kind: "quotes" | "closes";
  readonly byContract: Map<string, GivenLevels>;
  rows: number;
}

const QUOTES: TableShape = {
  columns: ["id", "spot_usd", "session_utc", "basis", "as_of", "source", "source_url", "break"],
  required: ["id", "spot_usd"],
};

const CLOSES: TableShape = {
  columns: ["id", "date", "close_usd", "break"],
  required: ["id", "date", "close_usd"],
};

const NOTHING_MORE: GivenExtras = {};

/** Reads one file of quotes into the table. Rows without a session belong to `published`. */
export async function readQuotes(
  source: Source,
  published: Session,
  table: LevelTable,
  complaints: Complaints,
): Promise<void> {
  await readTable(source, QUOTES, complaints, (where) => (cells, position) => {
    const [id = "", , sessionText = "", basisText = ""] = cells;
    const before = complaints.count;
    const read = reader(cells, QUOTES, where, position, complaints);
    const session = sessionText === "" ? published : read("session_utc", sessionField);
    const basis = basisText === "" ? undefined : read("basis", basisField);
    const withdrawn = basis === "withdrawn";
    if (withdrawn) {
      for (const name of ["spot_usd", "break"]) {
        const text = cells[QUOTES.columns.indexOf(name)] ?? "";
        if (text !== "")
          complaints.cell(where(position), name, text, "nothing beside basis withdrawn");
      }
    }
    const usd = withdrawn ? null : read("spot_usd", levelField);
    const extras: GivenExtras = {
      ...(basis === undefined || withdrawn ? {} : { basis }),
      ...(cells[4] === "" ? {} : { asOf: read("as_of", dateField) }),
      ...(cells[5] === "" ? {} : { source: read("source", textField) }),
      ...(cells[6] === "" ? {} : { sourceUrl: read("source_url", urlField) }),
      ...(cells[7] === "" ? {} : { breakReason: read("break", textField) }),
    };
    if (complaints.count > before) return;
    if (session > published) {
      complaints.cell(where(position), "session_utc", sessionText, notLater(published));
    } else if (extras.asOf !== undefined && extras.asOf > dayOf(session)) {
      complaints.cell(
        where(position),
        "as_of",
        cells[4] ?? "",
        `a date not after the session's, ${dateText(dayOf(session))}`,
      );
    } else {
      add(table, id, session, usd, extras, where, position);
    }
  });
}

/** Reads one file of daily closes into the table. The close of a day is its 12:00 session's level. */
export async function readCloses(
  source: Source,
  published: Session,
  table: LevelTable,
  complaints: Complaints,
): Promise<void> {
  await readTable(source, CLOSES, complaints, (where) => (cells, position) => {
    const [id = "", , , breakText = ""] = cells;
    const before = complaints.count;
    const read = reader(cells, CLOSES, where, position, complaints);
    const date = read("date", dateField);
    const usd = read("close_usd", levelField);
    const extras = breakText === "" ? NOTHING_MORE : { breakReason: read("break", textField) };
    if (complaints.count > before) return;
    const session = closeSessionOf(date);
    if (session > published) {
      const expected = `a date whose 12:00 session is ${notLater(published).slice("a session ".length)}`;
      complaints.cell(where(position), "date", cells[1] ?? "", expected);
    } else {
      add(table, id, session, usd, extras, where, position);
    }
  });
}

/** Complains of every row whose contract `isKnown` does not know. */
export function requireKnownContracts(
  table: LevelTable,
  isKnown: (id: string) => boolean,
  complaints: Complaints,
): void {
  for (const [id, levels] of table.byContract) {
    if (isKnown(id)) continue;
    for (let place = 0; place < levels.length; place += 1) {
      complaints.cell(levels.at(place).where, "id", id, "a contract of the catalog");
    }
  }
}

const notLater = (published: Session): string =>
  `a session not later than the one published, ${sessionKey(published)}`;

function reader(
  cells: readonly string[],
  shape: TableShape,
  where: Where,
  position: number,
  complaints: Complaints,
): <T>(name: string, field: Field<T>) => T {
  return <T>(name: string, field: Field<T>): T => {
    const text = cells[shape.columns.indexOf(name)] ?? "";
    const value = field.parse(text);
    if (value === undefined) complaints.cell(where(position), name, text, field.expected);
    // With a complaint the row is dropped by the caller, so the missing value is never seen.
    return value as T;
  };
}

function add(
  table: LevelTable,
  id: string,
  session: Session,
  usd: number | null,
  extras: GivenExtras,
  where: Where,
  position: number,
): void {
  let levels = table.byContract.get(id);
  if (levels === undefined) table.byContract.set(id, (levels = new GivenLevels()));
  levels.push(session, usd, extras, where, position);
  table.rows += 1;
}

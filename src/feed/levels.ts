/** Reads quotes (levels for a session) and closes (daily history). */
import { closeSessionOf, dateText, dayOf, sessionKey, type Session } from "../market/session.ts";
import type { Complaints } from "./complaints.ts";
import {
  basisField,
  cellReader,
  dateField,
  levelField,
  sessionField,
  textField,
  urlField,
} from "./fields.ts";
import type { GivenLevels, Origin } from "./given-levels.ts";
import type { Source } from "./source.ts";
import { readTable, type TableShape } from "./table.ts";

const QUOTES: TableShape = {
  columns: ["id", "spot_usd", "session_utc", "basis", "as_of", "source", "source_url", "break"],
  required: ["id", "spot_usd"],
};

const CLOSES: TableShape = {
  columns: ["id", "date", "close_usd", "break"],
  required: ["id", "date", "close_usd"],
};

/** Reads one file of quotes into `given`. Rows without a session belong to `published`. */
export async function readQuotes(
  source: Source,
  published: Session,
  given: GivenLevels,
  complaints: Complaints,
): Promise<void> {
  await readTable(source, QUOTES, complaints, (where) => {
    const origin: Origin = { kind: "quotes", where };
    return (cells, position) => {
      const [id = "", , sessionText = "", basisText = ""] = cells;
      const before = complaints.count;
      const read = cellReader(cells, QUOTES, where, position, complaints);
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
      const named = {
        ...(basis === undefined || withdrawn ? {} : { basis }),
        ...(cells[4] === "" ? {} : { asOf: read("as_of", dateField) }),
        ...(cells[5] === "" ? {} : { source: read("source", textField) }),
        ...(cells[6] === "" ? {} : { sourceUrl: read("source_url", urlField) }),
        ...(cells[7] === "" ? {} : { breakReason: read("break", textField) }),
      };
      if (complaints.count > before) return;
      if (session > published) {
        complaints.cell(where(position), "session_utc", sessionText, notLater(published));
      } else if (named.asOf !== undefined && named.asOf > dayOf(session)) {
        complaints.cell(
          where(position),
          "as_of",
          cells[4] ?? "",
          `a date not after the session's, ${dateText(dayOf(session))}`,
        );
      } else {
        given.add(id, { session, usd, ...named, origin, position });
      }
    };
  });
}

/** Reads one file of daily closes into `given`. The close of a day is its 12:00 session's level. */
export async function readCloses(
  source: Source,
  published: Session,
  given: GivenLevels,
  complaints: Complaints,
): Promise<void> {
  await readTable(source, CLOSES, complaints, (where) => {
    const origin: Origin = { kind: "closes", where };
    return (cells, position) => {
      const [id = "", dateCell = "", usdCell = "", breakCell = ""] = cells;
      const date = dateField.parse(dateCell);
      const usd = levelField.parse(usdCell);
      const breakReason = breakCell === "" ? null : textField.parse(breakCell);
      if (date === undefined || usd === undefined || breakReason === undefined) {
        const read = cellReader(cells, CLOSES, where, position, complaints);
        read("date", dateField);
        read("close_usd", levelField);
        if (breakReason === undefined) read("break", textField);
        return;
      }
      const session = closeSessionOf(date);
      if (session > published) {
        const expected = `a date whose 12:00 session is ${notLater(published).slice("a session ".length)}`;
        complaints.cell(where(position), "date", dateCell, expected);
      } else {
        const level = { session, usd, origin, position };
        given.add(id, breakReason === null ? level : { ...level, breakReason });
      }
    };
  });
}

const notLater = (published: Session): string =>
  `a session not later than the one published, ${sessionKey(published)}`;

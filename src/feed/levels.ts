/** Reads quotes (levels for a session) and closes (daily history). */
import { closeSessionOf, dateText, dayOf, sessionKey, type Session } from "../market/session.ts";
import type { Complaints } from "./complaints.ts";
import { basisField, dateField, levelField, sessionField, textField, urlField } from "./fields.ts";
import type { GivenLevels } from "./given-levels.ts";
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

const NOT_LATER = "not later than the one published,";

/** Reads one file of quotes into `given`. Rows without a session get the session `published`. */
export async function readQuotes(
  source: Source,
  published: Session,
  given: GivenLevels,
  complaints: Complaints,
): Promise<void> {
  await readTable(source, QUOTES, complaints, (where) => {
    const start = given.begin(where);
    return (row) => {
      const withdrawn = row.text("basis") === "withdrawn";
      const requireNone = (name: string): void => {
        if (row.text(name) !== "") row.refuse(name, "an empty cell beside basis withdrawn");
      };
      if (withdrawn) requireNone("spot_usd");
      const usd = withdrawn ? null : row.read("spot_usd", levelField);
      const session = row.optional("session_utc", sessionField) ?? published;
      const basis = row.optional("basis", basisField);
      const asOf = row.optional("as_of", dateField);
      const sourceName = row.optional("source", textField);
      const sourceUrl = row.optional("source_url", urlField);
      const breakReason = row.optional("break", textField);
      if (withdrawn) requireNone("break");
      if (!row.isFaultless) return;
      if (session > published) {
        row.refuse("session_utc", `a session ${NOT_LATER} ${sessionKey(published)}`);
      } else if (asOf !== null && asOf > dayOf(session)) {
        row.refuse("as_of", `a date not after the session's, ${dateText(dayOf(session))}`);
      } else {
        given.add("quotes", row.text("id"), {
          session,
          usd,
          ...(basis === null || basis === "withdrawn" ? {} : { basis }),
          ...(asOf === null ? {} : { asOf }),
          ...(sourceName === null ? {} : { source: sourceName }),
          ...(sourceUrl === null ? {} : { sourceUrl }),
          ...(breakReason === null ? {} : { breakReason }),
          place: start + row.position,
        });
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
    const start = given.begin(where);
    return (row) => {
      const date = row.read("date", dateField);
      const usd = row.read("close_usd", levelField);
      const breakReason = row.optional("break", textField);
      if (!row.isFaultless) return;
      const session = closeSessionOf(date);
      if (session > published) {
        row.refuse("date", `a date whose 12:00 session is ${NOT_LATER} ${sessionKey(published)}`);
      } else {
        const level = { session, usd, place: start + row.position };
        given.add(
          "closes",
          row.text("id"),
          breakReason === null ? level : { ...level, breakReason },
        );
      }
    };
  });
}

/** Reads quotes (levels for a session) and closes (daily history). */
import { closeSessionOf, dateText, dayOf, sessionKey, type Session } from "../market/session.ts";
import { formatMicros, type Micros } from "../market/decimal.ts";
import type { Complaints } from "./complaints.ts";
import {
  basisField,
  dateField,
  hasMoreDecimals,
  levelField,
  rationaleField,
  roundedLevelField,
  sessionField,
  textField,
  urlField,
  wholeNumberField,
  type Field,
} from "./fields.ts";
import type { GivenLevel, GivenLevels } from "./given-levels.ts";
import type { Source } from "./source.ts";
import { readTable, type Row, type TableShape, type Where } from "./table.ts";

const QUOTES: TableShape = {
  columns: [
    "id",
    "spot_usd",
    "session_utc",
    "basis",
    "as_of",
    "source",
    "source_url",
    "break",
    "low_usd",
    "high_usd",
    "inputs",
    "rationale",
  ],
  required: ["id", "spot_usd"],
};

const CLOSES: TableShape = {
  columns: ["id", "date", "close_usd", "break", "low_usd", "high_usd"],
  required: ["id", "date", "close_usd"],
};

const EMPTY_IF_WITHDRAWN = ["spot_usd", "low_usd", "high_usd", "inputs", "break", "rationale"];

/** How many prices may be behind a level. */
const inputsField = wholeNumberField(1, 1_000_000);

const NOT_LATER = "not later than the one published,";

/** Reads one file of quotes into `given`. Rows without a session get the session `published`. */
export async function readQuotes(
  source: Source,
  published: Session,
  given: GivenLevels,
  complaints: Complaints,
): Promise<void> {
  const begin = (where: Where): ((row: Row) => void) => {
    const start = given.begin(where);
    const field = given.rules.round ? roundedLevelField : levelField;
    return (row) => {
      const withdrawn = row.text("basis") === "withdrawn";
      const requireNone = (name: string): void => {
        if (row.text(name) !== "") row.refuse(name, "an empty cell beside basis withdrawn");
      };
      if (withdrawn) EMPTY_IF_WITHDRAWN.forEach(requireNone);
      const usd = withdrawn ? null : row.read("spot_usd", field);
      const range = usd === null ? {} : rangeOf(row, field, usd);
      const inputs = withdrawn ? null : row.optional("inputs", inputsField);
      const rationale = withdrawn ? null : row.optional("rationale", rationaleField);
      const named = row.optional("session_utc", sessionField);
      const session = named ?? published;
      const basis = row.optional("basis", basisField);
      const asOf = row.optional("as_of", dateField);
      const sourceName = row.optional("source", textField);
      const sourceUrl = row.optional("source_url", urlField);
      const breakReason = row.optional("break", textField);
      if (!row.isFaultless) return;
      if (session > published) {
        row.refuse("session_utc", `a session ${NOT_LATER} ${sessionKey(published)}`);
      } else if (asOf !== null && asOf > dayOf(session)) {
        row.refuse("as_of", `a date not after the session's, ${dateText(dayOf(session))}`);
      } else {
        if (named === null) given.hasUndated = true;
        if (isRounded(row, "spot_usd")) given.rounded += 1;
        given.add("quotes", row.text("id"), {
          session,
          usd,
          ...(basis === null || basis === "withdrawn" ? {} : { basis }),
          ...(asOf === null ? {} : { asOf }),
          ...range,
          ...(inputs === null ? {} : { inputs }),
          ...(rationale === null ? {} : { rationale }),
          ...(sourceName === null ? {} : { source: sourceName }),
          ...(sourceUrl === null ? {} : { sourceUrl }),
          ...(breakReason === null ? {} : { breakReason }),
          place: start + row.position,
        });
      }
    };
  };
  await readTable(source, QUOTES, complaints, begin, (id) => given.leavesOut(id));
}

/** Reads one file of daily closes into `given`. The close of a day is its 12:00 session's level. */
export async function readCloses(
  source: Source,
  published: Session,
  given: GivenLevels,
  complaints: Complaints,
): Promise<void> {
  const begin = (where: Where): ((row: Row) => void) => {
    const start = given.begin(where);
    const field = given.rules.round ? roundedLevelField : levelField;
    return (row) => {
      const date = row.read("date", dateField);
      const usd = row.read("close_usd", field);
      const range = rangeOf(row, field, usd);
      const breakReason = row.optional("break", textField);
      if (!row.isFaultless) return;
      const session = closeSessionOf(date);
      if (session > published) {
        row.refuse("date", `a date whose 12:00 session is ${NOT_LATER} ${sessionKey(published)}`);
      } else {
        if (isRounded(row, "close_usd")) given.rounded += 1;
        const level = { session, usd, ...range, place: start + row.position };
        given.add(
          "closes",
          row.text("id"),
          breakReason === null ? level : { ...level, breakReason },
        );
      }
    };
  };
  await readTable(source, CLOSES, complaints, begin, (id) => given.leavesOut(id));
}

/** `low_usd` and `high_usd`: both or neither, around the level. Complains of the row otherwise. */
function rangeOf(
  row: Row,
  field: Field<Micros>,
  usd: Micros,
): Pick<GivenLevel, "lowUsd" | "highUsd"> {
  const lowUsd = row.optional("low_usd", field);
  const highUsd = row.optional("high_usd", field);
  if (lowUsd === null && highUsd === null) return {};
  if (lowUsd === null) row.refuse("low_usd", "a level, because high_usd has one");
  else if (highUsd === null) row.refuse("high_usd", "a level, because low_usd has one");
  else {
    if (lowUsd > usd) row.refuse("low_usd", `at most the level, ${formatMicros(usd)}`);
    if (highUsd < usd) row.refuse("high_usd", `at least the level, ${formatMicros(usd)}`);
  }
  return { lowUsd: lowUsd as Micros, highUsd: highUsd as Micros };
}

/** Whether a price of the row has more decimals than levels have. */
const isRounded = (row: Row, column: string): boolean =>
  [column, "low_usd", "high_usd"].some((name) => hasMoreDecimals(row.text(name)));

/** Reads quotes (levels for a session) and closes (daily history). */
import { closeSessionOf, dateText, dayOf, sessionKey, type Session } from "../market/session.ts";
import { formatMicros, type Micros } from "../market/decimal.ts";
import type { Basis } from "../market/series.ts";
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
import type { GivenKind, GivenLevel, GivenLevels } from "./given-levels.ts";
import type { FeedMap } from "./map.ts";
import type { InputSource } from "./source.ts";
import type { TableRow } from "./table-row.ts";
import { CLOSES, QUOTES, type TableShape } from "./table-shape.ts";
import { readTable } from "./table.ts";

const EMPTY_IF_WITHDRAWN = ["spot_usd", "low_usd", "high_usd", "inputs", "break", "rationale"];

/** How many prices may be behind a level. */
const inputsField = wholeNumberField(1, 1_000_000);

const PRICES = ["spot_usd", "close_usd", "low_usd", "high_usd"];

const NOT_LATER = "not later than the one published,";

/** Reads a row as a level. It refuses the cells that it cannot use. */
type ReadRow = (
  row: TableRow,
  field: Field<Micros>,
  place: number,
  published: Session,
  given: GivenLevels,
) => GivenLevel;

/** A row without a session gets the session `published`. */
const quoteOf: ReadRow = (row, field, place, published, given) => {
  const withdrawn = row.text("basis") === "withdrawn";
  const requireNone = (name: string): void => {
    if (row.text(name) !== "") row.refuse(name, "an empty cell beside basis withdrawn");
  };
  if (withdrawn) EMPTY_IF_WITHDRAWN.forEach(requireNone);
  const usd = withdrawn ? null : row.read("spot_usd", field);
  const range = usd === null ? {} : rangeOf(row, field, usd);
  const inputs = withdrawn ? null : row.optional("inputs", inputsField);
  const rationale = withdrawn ? null : row.optional("rationale", rationaleField);
  const session = row.optional("session_utc", sessionField) ?? published;
  const basis = markedBasis(row, "spot_usd", withdrawn) ?? row.optional("basis", basisField);
  const asOf = row.optional("as_of", dateField);
  const sourceName = row.optional("source", textField);
  const sourceUrl = row.optional("source_url", urlField);
  const breakReason = row.optional("break", textField);
  if (session > published) {
    row.refuse("session_utc", `a session ${NOT_LATER} ${sessionKey(published)}`);
  } else if (row.isFaultless && asOf !== null && asOf > dayOf(session)) {
    const expected = "a date not after the session's";
    row.refuse("as_of", `${expected}, ${dateText(dayOf(session))}`, expected);
  }
  if (row.isFaultless && row.text("session_utc") === "") given.hasUndated = true;
  return {
    session,
    usd,
    place,
    ...(basis === null || basis === "withdrawn" ? {} : { basis }),
    ...(asOf === null ? {} : { asOf }),
    ...range,
    ...(inputs === null ? {} : { inputs }),
    ...(rationale === null ? {} : { rationale }),
    ...(sourceName === null ? {} : { source: sourceName }),
    ...(sourceUrl === null ? {} : { sourceUrl }),
    ...(breakReason === null ? {} : { breakReason }),
  };
};

/**
 * The basis that marks of the level tell; null: none. It goes before a constant of the map, and not before another basis
 * in the row's own cell.
 */
function markedBasis(row: TableRow, column: string, withdrawn = false): Basis | null {
  const [marked, ...others] = new Set(row.markedBases(column));
  if (marked === undefined || withdrawn) return null;
  const cell = row.isConstant("basis") ? "" : row.text("basis");
  if (others.length > 0)
    row.refuse(column, `marks of one basis, not of ${marked} and ${others.join()}`);
  else if (cell !== "" && cell !== marked)
    row.refuse("basis", `${marked}, as the mark in ${column} says`);
  return basisField.parse(marked) as Basis;
}

/** The close of a day is its 12:00 session's level. */
const closeOf: ReadRow = (row, field, place, published) => {
  const date = row.read("date", dateField);
  const usd = row.read("close_usd", field);
  const range = rangeOf(row, field, usd);
  const breakReason = row.optional("break", textField);
  const basis = markedBasis(row, "close_usd");
  const session = closeSessionOf(date);
  if (session > published) {
    row.refuse("date", `a date whose 12:00 session is ${NOT_LATER} ${sessionKey(published)}`);
  }
  // Most closes have no other field: there are millions, and a spread would take room for some.
  const level = { session, usd, place };
  return Object.assign(level, range, breakReason && { breakReason }, basis && { basis });
};

const TABLES: Readonly<
  Record<GivenKind, { readonly shape: TableShape; readonly levelOf: ReadRow }>
> = {
  quotes: { shape: QUOTES, levelOf: quoteOf },
  closes: { shape: CLOSES, levelOf: closeOf },
};

/** Reads one file of quotes, or of daily closes, into `given`. A row counts only if there is no complaint of it. */
export async function readLevels(
  kind: GivenKind,
  source: InputSource,
  published: Session,
  given: GivenLevels,
  complaints: Complaints,
  map: FeedMap | null,
): Promise<void> {
  const { shape, levelOf } = TABLES[kind];
  const field = given.rules.round ? roundedLevelField : levelField;
  let start: number | null = null;
  const take = (row: TableRow): void => {
    start ??= given.begin(row.whereOf);
    const place = start + row.position;
    const read = row.isFaultless ? levelOf(row, field, place, published, given) : null;
    const level = row.isFaultless ? read : null;
    const isLater = read !== null && read.session > published;
    if (level !== null && PRICES.some((name) => hasMoreDecimals(row.text(name))))
      given.rounded += 1;
    given.add(kind, row, place, level, complaints, isLater);
  };
  await readTable(source, shape, complaints, take, given, map);
}

/** `low_usd` and `high_usd`: both or neither, around the level. Complains of the row otherwise. */
function rangeOf(
  row: TableRow,
  field: Field<Micros>,
  usd: Micros,
): Pick<GivenLevel, "lowUsd" | "highUsd"> {
  const lowUsd = row.optional("low_usd", field);
  const highUsd = row.optional("high_usd", field);
  if (lowUsd === null && highUsd === null) return {};
  if (lowUsd === null) row.refuse("low_usd", "a level, because high_usd has one");
  else if (highUsd === null) row.refuse("high_usd", "a level, because low_usd has one");
  else {
    const level = formatMicros(usd);
    if (lowUsd > usd) row.refuse("low_usd", `at most the level, ${level}`, "at most");
    if (highUsd < usd) row.refuse("high_usd", `at least the level, ${level}`, "at least");
  }
  return { lowUsd: lowUsd as Micros, highUsd: highUsd as Micros };
}

/** Levels that a run gives, as its input files. */
import { stringify } from "csv-stringify/sync";
import { utcOf } from "./raw-markets.ts";

/** A level that a run gives. */
export interface GivenRow {
  readonly id: string;
  /** Half days since 1970, as in a market. */
  readonly session: number;
  /** Null: withdrawn. */
  readonly usd: string | null;
  /** Of a break; empty: none. */
  readonly text: string;
}

/** As quotes, each with its session. */
export const quotesCsv = (rows: readonly GivenRow[]): string =>
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

/** As daily closes; a row of another session than one at 12:00 is none. */
export const closesCsv = (rows: readonly GivenRow[]): string =>
  stringify(
    rows.map(({ id, session, usd, text }) => [id, utcOf(session).slice(0, 10), usd, text]),
    { header: true, columns: ["id", "date", "close_usd", "break"] },
  );

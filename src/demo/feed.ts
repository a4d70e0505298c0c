/** The demonstration market as an input of `publish`: rows of quotes, and the same rows as CSV. */
import { stringify } from "csv-stringify/sync";
import { formatMicros } from "../market/decimal.ts";
import { SESSIONS_PER_DAY, dateText, dayOf, sessionUtc, type Session } from "../market/session.ts";
import { readDemoContracts, type DemoContract } from "./catalog.ts";
import { seedOf, uniformAt } from "./random.ts";
import { DEMO_BREAK, DEMO_FIRST_SESSION, DemoSeries } from "./series.ts";

/** A row of a quotes file, as text. `as_of` is left out if it is the session's date. */
export interface DemoQuote {
  readonly id: string;
  readonly session_utc: string;
  readonly spot_usd: string;
  readonly basis: string;
  readonly as_of?: string;
  readonly break?: string;
}

/**
 * The rows of the sessions `from` to `to`, both included, by session, then in catalog order. There are
 * none before DEMO_FIRST_SESSION. The generator makes them one by one, so any range fits in memory. The
 * rows of a session are the same in every range.
 */
export function* demoHistory(from: Session, to: Session): Generator<DemoQuote> {
  const market = readDemoContracts().map((contract) => new DemoSeries(contract));
  for (let session = Math.max(from, DEMO_FIRST_SESSION); session <= to; session += 1) {
    const texts = { utc: sessionUtc(session), dayBefore: dateText(dayOf(session) - 1) };
    for (const series of market) {
      if (isPriced(series.contract, session)) yield quote(series, session, texts);
    }
  }
}

/** Writes rows as a quotes file in CSV (RFC 4180): the header, then chunks of many rows. */
export function* demoCsv(rows: Iterable<DemoQuote>): Generator<string> {
  const columns = ["id", "session_utc", "spot_usd", "basis", "as_of", "break"];
  const write = (records: readonly (DemoQuote | string[])[]): string =>
    stringify([...records], { columns, record_delimiter: "windows" });
  yield write([columns]);
  let chunk: DemoQuote[] = [];
  for (const row of rows) {
    chunk.push(row);
    if (chunk.length < ROWS_PER_CHUNK) continue;
    yield write(chunk);
    chunk = [];
  }
  if (chunk.length > 0) yield write(chunk);
}

const ROWS_PER_CHUNK = 1_000;
const ONE_IN_EIGHT = 1 / 8;

function quote(
  series: DemoSeries,
  session: Session,
  texts: { utc: string; dayBefore: string },
): DemoQuote {
  const { id, basis, schedule } = series.contract;
  const isDayBefores = schedule === "overnight" && isMidnight(session);
  const isBreak = id === DEMO_BREAK.id && session === DEMO_BREAK.session;
  return {
    id,
    session_utc: texts.utc,
    spot_usd: formatMicros(series.at(session)),
    basis,
    ...(isDayBefores ? { as_of: texts.dayBefore } : {}),
    ...(isBreak ? { break: DEMO_BREAK.reason } : {}),
  };
}

function isPriced(contract: DemoContract, session: Session): boolean {
  if (contract.listed !== null && session < contract.listed) return false;
  if (contract.ended !== null && session > contract.ended) return false;
  switch (contract.schedule) {
    case "every-session":
    case "overnight":
      return true;
    case "daily":
      return !isMidnight(session);
    case "weekdays":
      return !isWeekend(session);
    case "irregular":
      return uniformAt(seedOf(`schedule ${contract.id}`), session) >= ONE_IN_EIGHT;
  }
}

const isMidnight = (session: Session): boolean => session % SESSIONS_PER_DAY === 0;

/** Day 0, 1970-01-01, was a Thursday, so Saturday is 2 and Sunday is 3 modulo 7. */
const isWeekend = (session: Session): boolean => [2, 3].includes(dayOf(session) % 7);

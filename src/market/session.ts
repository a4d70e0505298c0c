/**
 * The 12-hour session clock and calendar days, as plain integers. No function here asks for the time.
 */

/** Ticks of 12 hours since 1970-01-01T00:00Z: even ones are 00:00 UTC, odd ones 12:00 UTC. */
export type Session = number;
/** Days since 1970-01-01 (UTC). */
export type Day = number;

/** A session, in milliseconds. */
export const SESSION_MS = 12 * 3_600_000;
/** 00:00 and 12:00 UTC. */
export const SESSIONS_PER_DAY = 2;
/** A day, in milliseconds. */
export const DAY_MS = 24 * 3_600_000;

/** The session of the instant `ms` (epoch milliseconds). */
export const sessionAt = (ms: number): Session => Math.floor(ms / SESSION_MS);

/** The first instant of a session, in epoch milliseconds. */
export const sessionStartMs = (session: Session): number => session * SESSION_MS;

export const dayOf = (session: Session): Day => Math.floor(session / SESSIONS_PER_DAY);

/** The session of a daily close: 12:00 UTC of its day. */
export const closeSessionOf = (day: Day): Session => day * SESSIONS_PER_DAY + 1;

/** `2026-11-21T00:00:00.000Z`, the form of payloads. */
export const sessionUtc = (session: Session): string =>
  `${dateText(dayOf(session))}T${hourText(session)}:00:00.000Z`;

/** `2026-11-21T00Z`, the form of paths and of the command line. */
export const sessionKey = (session: Session): string =>
  `${dateText(dayOf(session))}T${hourText(session)}Z`;

const hourText = (session: Session): string => (session % SESSIONS_PER_DAY === 0 ? "00" : "12");

/** By day: histories have the same dates, and a text takes longer to make than all else of a row. */
const DATE_TEXTS = new Map<Day, string>();

/** `2026-11-21`. */
export function dateText(day: Day): string {
  let text = DATE_TEXTS.get(day);
  if (text === undefined) {
    text = new Date(day * DAY_MS).toISOString().slice(0, "2026-11-21".length);
    DATE_TEXTS.set(day, text);
  }
  return text;
}

/** The earliest date of a price history. An earlier one is a typing error. */
export const FIRST_DATE = "1900-01-01";

/** Reads `YYYY-MM-DD`; null for anything but a date from FIRST_DATE to 9999-12-31. */
export function parseDate(text: string): Day | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text < FIRST_DATE) return null;
  const month = Number(text.slice(5, 7)) - 1;
  const date = Number(text.slice(8));
  const day = new Date(Date.UTC(Number(text.slice(0, 4)), month, date));
  // Date.UTC turns 30 February into a day of March.
  if (day.getUTCMonth() !== month || day.getUTCDate() !== date) return null;
  // Without `| 0` V8 holds it as a double, in memory of its own: 35 MB for two million levels.
  return (day.getTime() / DAY_MS) | 0;
}

/** Reads `2026-11-21T00Z` or `2026-11-21T00:00:00.000Z` (hour 00 or 12); null for anything else. */
export function parseSession(text: string): Session | null {
  const parts = /^(\d{4}-\d{2}-\d{2})T(00|12)(?::00:00\.000)?Z$/.exec(text);
  if (parts === null) return null;
  const day = parseDate(parts[1] as string);
  return day === null ? null : day * SESSIONS_PER_DAY + (parts[2] === "12" ? 1 : 0);
}

/** A calendar month, UTC: `2026-11`. */
export type Month = string;

/** The month of a day. */
export const monthOf = (day: Day): Month => dateText(day).slice(0, "2026-11".length);

/** Reads `YYYY-MM`; null for anything but a month from 1900-01 to 9999-12. */
export const parseMonth = (text: string): Month | null =>
  parseDate(`${text}-01`) === null ? null : text;

/** The first day of a month. */
export const firstDayOf = (month: Month): Day => parseDate(`${month}-01`) as Day;

/** The last day of a month. */
export const lastDayOf = (month: Month): Day =>
  Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0) / DAY_MS;

/** The same calendar day `years` earlier; 29 February becomes 28 February. */
export function yearsBefore(day: Day, years: number): Day {
  const date = new Date(day * DAY_MS);
  const year = date.getUTCFullYear() - years;
  const month = date.getUTCMonth();
  const lastOfMonth = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  return Date.UTC(year, month, Math.min(date.getUTCDate(), lastOfMonth)) / DAY_MS;
}

/** The session one calendar year earlier, at the same hour. */
export const sessionYearBefore = (session: Session): Session =>
  session + (yearsBefore(dayOf(session), 1) - dayOf(session)) * SESSIONS_PER_DAY;

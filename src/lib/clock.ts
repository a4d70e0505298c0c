/**
 * The only module that asks for the time. `CHIPBOARD_NOW` sets the instant at which the clock starts;
 * from there it runs at the real speed. So rehearsals and tests can take place on any day.
 */
import { InputError } from "./errors.ts";

/** Gives the time. Code that needs the time takes a clock as a parameter. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
/** A day in milliseconds. Days are UTC days, so they all have 24 hours. */
export const DAY_MS = 24 * HOUR_MS;

/** Epoch milliseconds as an ISO 8601 instant, as stored and shown: `2026-11-21T00:05:00.000Z`. */
export const instantText = (ms: number): string => new Date(ms).toISOString();

/**
 * The clock of this process. `startAt` is an ISO 8601 instant with a zone, or undefined for the
 * real time. Throws InputError for any other text.
 */
export function createClock(startAt: string | undefined): Clock {
  if (startAt === undefined || startAt === "") return { now: () => Date.now() };
  const start = Date.parse(startAt);
  if (Number.isNaN(start) || !/(Z|[+-]\d\d:\d\d)$/.test(startAt)) {
    throw new InputError(
      `CHIPBOARD_NOW ${JSON.stringify(startAt)}: expected an instant such as 2026-11-21T00:05:00Z`,
    );
  }
  const offset = start - Date.now();
  return { now: () => Date.now() + offset };
}

/** What a server said of the time with an answer, and the machine's clock when it came. Epoch milliseconds. */
export interface ServerTime {
  /** Who said it, for messages. */
  readonly by: string;
  readonly saidMs: number;
  readonly machineMs: number;
}

/**
 * The time of an answer that has just come: its `Date`, and its `Age` (in seconds) if a cache kept it (RFC
 * 9111, 4.2.3). Null: it has no `Date`. It is compared with the machine's clock, which CHIPBOARD_NOW leaves
 * alone.
 */
export function parseServerTime(
  by: string,
  { date = "", age = "" }: { date?: string | undefined; age?: string | undefined },
): ServerTime | null {
  const dateMs = date.endsWith(" GMT") ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(dateMs)) return null;
  const ageMs = /^\d{1,10}$/.test(age) ? Number(age) * 1_000 : 0;
  return { by, saidMs: dateMs + ageMs, machineMs: Date.now() };
}

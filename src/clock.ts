/**
 * The only place that asks for the time. `CHIPBOARD_NOW` sets where the clock starts; it runs on
 * from there at the speed of the real one, so that rehearsals and tests can live on any day.
 */
import { InputError } from "./errors.ts";

/** Gives the time. Whatever depends on it is given one, so that a test can be on any day. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
}

/** An hour in milliseconds. */
export const HOUR_MS = 3_600_000;
/** A day in milliseconds: 24 hours, since days here are those of UTC. */
export const DAY_MS = 24 * HOUR_MS;

/** Epoch milliseconds as an ISO 8601 instant, `2026-11-21T00:05:00.000Z`: the form that is stored and shown. */
export const instantText = (ms: number): string => new Date(ms).toISOString();

/** The machine's time (epoch milliseconds), for what must not follow CHIPBOARD_NOW. */
export const machineNowMs = (): number => Date.now();

/**
 * The clock of this process. `startAt` is an ISO 8601 instant with a zone, or undefined for the
 * real time. Throws InputError where it is neither.
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

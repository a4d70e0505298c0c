/**
 * Structured logs (NDJSON): what happened to the service, and one line a request. No key, query or
 * full address is ever in them. Lines are buffered and written together, so that a line costs a
 * request a few microseconds; what is buffered is written on exit.
 */
import { destination, pino, type Logger as PinoLogger } from "pino";
import type { Clock } from "../clock.ts";

export type Logger = Pick<PinoLogger, "error" | "warn" | "info" | "debug" | "isLevelEnabled">;

export const LOG_LEVELS = ["silent", "error", "warn", "info"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const BUFFER_BYTES = 8 * 1024;
const FLUSH_MS = 250;

/** A log on standard error; `time` is the clock's, in epoch milliseconds. */
export function createLogger(level: LogLevel, clock: Clock): Logger {
  const stderr = destination({
    fd: 2,
    sync: false,
    minLength: BUFFER_BYTES,
    periodicFlush: FLUSH_MS,
  });
  return pino({ level, base: null, timestamp: () => `,"time":${clock.now()}` }, stderr);
}

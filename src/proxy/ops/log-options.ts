/** What the proxy may be told to log; see log.ts. */

/** From nothing to everything. */
export const LOG_LEVELS = ["silent", "error", "warn", "info"] as const;
/** Lines of this level and of those before it are written. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Which requests get a line: it costs a quarter of the throughput to write one for each. */
export const REQUEST_LOGS = ["all", "problems", "none"] as const;
/** One of REQUEST_LOGS. */
export type RequestLog = (typeof REQUEST_LOGS)[number];

/** How much is logged. */
export interface LogOptions {
  readonly level: LogLevel;
  /** Only from level info on. */
  readonly requests: RequestLog;
  /** How many lines about requests with a problem are written in a second; 50 unless a test says more. */
  readonly problemsPerSecond?: number;
}

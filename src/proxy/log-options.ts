/** What the proxy may be told to log; see log.ts. */

export const LOG_LEVELS = ["silent", "error", "warn", "info"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Which requests get a line: it costs a quarter of the throughput to write one for each. */
export const REQUEST_LOGS = ["all", "problems", "none"] as const;
export type RequestLog = (typeof REQUEST_LOGS)[number];

export interface LogOptions {
  readonly level: LogLevel;
  /** Only from level info on. */
  readonly requests: RequestLog;
}

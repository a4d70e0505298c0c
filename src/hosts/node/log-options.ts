/** The options of the proxy's log; see request-log.ts. */

/** From nothing to everything: each level includes those before it. */
export const LOG_LEVELS = ["silent", "error", "warn", "info"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Which requests get a line; a line for each costs a quarter of the throughput. */
export const REQUEST_LOGS = ["all", "problems", "none"] as const;
export type RequestLog = (typeof REQUEST_LOGS)[number];

/** What the core tells its host: each answer, and each failure. It never tells a path, a query or a key as sent. */

export interface Answered {
  readonly method: string;
  /** The route's path template, never the path sent. */
  readonly route: string;
  readonly status: number;
  /** Undefined: no problem. */
  readonly code: string | undefined;
  readonly account: string | null;
  /** The id of its key, or of its link. */
  readonly key: string | null;
  /** How many calls the answer cost: 0 or 1. */
  readonly calls: number;
  /** `none`: a key that names no account. */
  readonly tier: string;
  /** The group of the client's address. */
  readonly address: string;
  /** The same as in the answer. */
  readonly requestId: string;
  /** See Ask. */
  readonly arrivedMs: number;
}

/** Events of the service, each with its fields. An error stands in the field `err`. */
export interface EventLog {
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export interface Observer {
  answered(answer: Answered): void;
  /** Something failed that the caller cannot mend. */
  failed(error: unknown, route: string, requestId: string, what: string): void;
}

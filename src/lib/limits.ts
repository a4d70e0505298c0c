/**
 * The limits of every mouth: what a stranger at the other end may take of connections, time, memory and work. Servers
 * (the proxy, `mcp --http`, metrics) and readers (`check`, feeds, the questions of `mcp`) use them.
 */

/** Of a server's connections, in milliseconds and bytes, unless a test sets others. */
export const CONNECTION_LIMITS = {
  /** Request line and header fields together; a key and the largest basket fit. */
  headerBytes: 16 * 1024,
  /** From the first byte of a request to the end of its header; also for a TLS handshake. */
  headersMs: 15_000,
  /** From the first byte of a request to its end. */
  requestMs: 30_000,
  /** Between requests. Longer than most load balancers', so that they close first. */
  keepAliveMs: 65_000,
  /** Without a byte in either direction while an answer is sent. */
  stalledMs: 60_000,
  /** For answers in flight to finish when the proxy stops. */
  shutdownMs: 30_000,
  /** When the proxy stops and another process listens on: for requests on connections that are open without one. */
  lingerMs: 1_000,
  /** What waits for readers in memory, over all connections. */
  waitingBytes: 64_000_000,
};
export type ConnectionLimits = Readonly<typeof CONNECTION_LIMITS>;

/** How many connections may be open at once, unless an option says otherwise: of all, and of one address. */
export const CONNECTIONS_MAX = 2_000;
export const CONNECTIONS_PER_ADDRESS = 128;
/** How many times as many an IPv6 /56, a home, may have as one of its /64s. */
export const CONNECTIONS_PER_HOME = 2;
/** The share of all places that is kept for networks that have none. */
export const CONNECTIONS_KEPT = 1 / 10;
/** Of the metrics port. */
export const METRICS_CONNECTIONS_MAX = 100;

/** Places of one caller in the queue for work, with those that run (turns.ts). */
export const PLACES = 8;
/** Pieces of work that run at once, of all callers and of one. */
export const WORK_AT_ONCE = 4;
export const WORK_AT_ONCE_EACH = 2;
/**
 * The bytes of bodies that are made or read for one request, of one caller and of all callers. A caller without any
 * gets one body of whatever size.
 */
export const HELD_BYTES_EACH = 64_000_000;
export const HELD_BYTES_MAX = 256_000_000;

/** The most items of a list in a request, and the most segments. */
export const MAX_ITEMS = 100;
export const MAX_SEGMENTS = 20;

/** Of a question to `mcp --http`: a basket of 100 contracts has a tenth of these bytes. */
export const QUESTION_BYTES_MAX = 100_000;
export const QUESTION_MS = 10_000;
/** Elements of all its lists and objects, counted by commas and brackets before it is parsed; a basket has 200. */
export const ELEMENTS_MAX = 2_500;
/** Messages in a batch, and the faults of its arguments that an answer tells. */
export const MESSAGES_MAX = 10;
export const ISSUES_MAX = 20;
/** What `mcp` asks the service at once: of all callers, and of one. */
export const ASKED_AT_ONCE = 16;
export const ASKED_AT_ONCE_EACH = 4;

/** Of an answer of another service: the time for one that agents ask for, for one that `check` reads, and for a feed. */
export const ANSWER_MS = 30_000;
export const CHECKED_ANSWER_MS = 60_000;
export const FEED_MS = 60_000;
/** The time for a whole check, and its connections. */
export const CHECK_MS = 15 * 60_000;
export const CHECK_CONNECTIONS = 8;
/** Larger than any answer that an agent can read. */
export const ANSWER_BYTES_MAX = 32_000_000;
/** What `doctor` and `guard` read of an answer. */
export const LOOKED_AT_BYTES_MAX = 1_000_000;
/** A refusal is short. One that is read as JSON can take fifty times its size in memory. */
export const REFUSAL_BYTES_MAX = 60_000;
/** What `check` reads of a file, and of a tier's digests. */
export const CHECKED_FILE_BYTES_MAX = 100_000_000;
export const SUMS_BYTES_MAX = 20_000_000;

/** The largest input of a publish, unpacked. A larger one is refused, because its rows may not fit in memory. */
export const MAX_INPUT_MEGABYTES = 256;
/** The most rows of an input: each kept row takes memory. */
export const MAX_INPUT_ROWS = 2_000_000;
/** The longest row: a record of CSV, a line of NDJSON, an item of JSON. */
export const MAX_ROW_CHARACTERS = 1_000_000;

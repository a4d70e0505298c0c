/**
 * The log: events of the service and, if wanted, requests. It never holds a key, a query or a full
 * client address. Its lines have two forms with the same content: JSON for programs, text for a person.
 */
import { instantText, type Clock } from "../../lib/clock.ts";
import { plainText } from "../../lib/terminal.ts";
import { LOG_LEVELS, type LogLevel, type RequestLog } from "./log-options.ts";
import { perSecond } from "./per-second.ts";
import { StandardError } from "./standard-error.ts";

/** `err` is an error, or a text in its place. */
type Fields = Readonly<Record<string, unknown>>;
type WriteLine = (fields: Fields, message: string) => void;

export interface Logger extends Readonly<Record<LineLevel, WriteLine>> {
  /** Whether a request with this problem (undefined: without one) gets a line. */
  wantsRequest(code: string | undefined): boolean;
  /** Writes a line about a request at level info; limits the lines about problems per second. */
  request(line: RequestLine): void;
  readonly droppedLines: number;
}

interface LogOptions {
  readonly level: LogLevel;
  /** Takes effect only at level info. */
  readonly requests: RequestLog;
  /** JSON unless it is given. */
  readonly form?: LineForm;
  /** The most lines per second about requests with a problem; 50 unless a test sets another. */
  readonly problemsPerSecond?: number;
}

/** Makes the log. The times in its lines are the clock's. */
export function createLogger(
  { level, requests, form = jsonLine, problemsPerSecond = PROBLEM_LINES_PER_SECOND }: LogOptions,
  clock: Clock,
  sink: Pick<StandardError, "write" | "droppedLines"> = new StandardError((dropped) =>
    form("warn", clock.now(), { dropped }, `${dropped} lines were dropped`),
  ),
): Logger {
  const isWanted = (other: LineLevel): boolean =>
    LOG_LEVELS.indexOf(other) <= LOG_LEVELS.indexOf(level);
  const writeAt = (at: LineLevel): WriteLine => {
    if (!isWanted(at)) return () => undefined;
    return (fields, message) => sink.write(form(at, clock.now(), fields, message));
  };
  const info = writeAt("info");
  const passes = perSecond(problemsPerSecond, (more) =>
    info({ more }, `and ${more} more requests with a problem`),
  );
  return {
    error: writeAt("error"),
    warn: writeAt("warn"),
    info,
    wantsRequest: (code) =>
      isWanted("info") && (requests === "all" || (requests === "problems" && code !== undefined)),
    request: (line) => {
      if (line.code !== undefined && !passes()) return;
      const { durationMs, ...fields } = line;
      const ms = Math.round(durationMs * 1000) / 1000;
      sink.write(form("info", clock.now(), { ...fields, ms }, "request"));
    },
    get droppedLines() {
      return sink.droppedLines;
    },
  };
}

/** Anybody can cause problems and must not fill the disk with lines about them. */
const PROBLEM_LINES_PER_SECOND = 50;

type LineLevel = Exclude<LogLevel, "silent">;

interface RequestLine {
  readonly method: string | undefined;
  /** The route's path template, never the path sent. */
  readonly route: string;
  readonly status: number;
  /** Undefined: no problem. */
  readonly code: string | undefined;
  readonly account: string | null;
  /** The id of its key without the prefix, or of its link. */
  readonly key: string | null;
  /** How many calls it cost: 0 or 1. */
  readonly calls: number;
  readonly tier: string;
  /** The client's network, not its full address. */
  readonly from: string;
  /** The same as in the answer. */
  readonly request_id: string;
  /** From the end of the request's header until Node takes the answer. */
  readonly durationMs: number;
}

/** Makes a line, with its line break. `timeMs` is epoch milliseconds. */
type LineForm = (level: LineLevel, timeMs: number, fields: Fields, message: string) => string;

const LEVEL_NUMBERS: { readonly [L in LineLevel]: number } = { error: 50, warn: 40, info: 30 };

export const jsonLine: LineForm = (level, time, { err, ...fields }, msg) => {
  const error = err instanceof Error ? errorFields(err) : err;
  return `${JSON.stringify({ level: LEVEL_NUMBERS[level], time, err: error, ...fields, msg })}\n`;
};

/** Text for a person: the time of the day (UTC), the level, what happened, and the fields. */
export const textLine: LineForm = (level, timeMs, { err, ...fields }, message) => {
  const isError = err instanceof Error;
  const given = Object.entries(isError ? fields : { err, ...fields });
  const details = given.flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${JSON.stringify(value)}`],
  );
  const words = [`${instantText(timeMs).slice(11, 19)}Z`, level.padEnd(5), message, ...details];
  const trace = isError ? stackOf(err).split("\n") : [];
  return [words.join("  "), ...trace].map((line) => `${plainText(line)}\n`).join("");
};

/** Leaves out extra members: a library may put secrets there. */
const errorFields = (error: Error): object => ({
  type: error.name,
  message: error.message,
  stack: stackOf(error),
});

function stackOf({ stack = "", cause }: Error): string {
  return cause instanceof Error ? `${stack}\ncaused by: ${stackOf(cause)}` : stack;
}

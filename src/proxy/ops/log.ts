/**
 * Structured logs (NDJSON): events of the service and, if wanted, requests. They never hold a key,
 * a query or a full client address.
 */
import type { Clock } from "../../lib/clock.ts";
import type { ProblemCode } from "../problems.ts";
import { LOG_LEVELS, type LogLevel, type LogOptions, type RequestLog } from "./log-options.ts";
import { PerSecond } from "./per-second.ts";
import { StandardError, type LogSink } from "./standard-error.ts";

type LineLevel = Exclude<LogLevel, "silent">;
type WriteLine = (fields: object, message: string) => void;

/** The log of one process. */
export interface Logger extends Readonly<Record<LineLevel, WriteLine>> {
  /** Whether a request with this problem (undefined: without one) gets a line. */
  wantsRequest(code: ProblemCode | undefined): boolean;
  /** Writes a line about a request at level info; limits the lines about problems per second. */
  request(line: RequestLine): void;
  /** How many lines could not be written so far. */
  readonly droppedLines: number;
}

interface RequestLine {
  readonly method: string | undefined;
  /** The route's path template, never the path sent. */
  readonly route: string;
  readonly status: number;
  /** Undefined: no problem. */
  readonly code: ProblemCode | undefined;
  readonly account: string | null;
  readonly tier: string;
  /** The client's network, not its full address. */
  readonly from: string;
  /** From the end of the request's header until Node takes the answer. */
  readonly durationMs: number;
}

/** Makes the log. `time` in its lines is the clock's, in epoch milliseconds. */
export function createLogger(
  { level, requests, problemsPerSecond = PROBLEM_LINES_PER_SECOND }: LogOptions,
  clock: Clock,
  sink: LogSink = new StandardError((dropped) =>
    lineText("warn", clock.now(), { dropped }, `${dropped} lines were dropped`),
  ),
): Logger {
  const isWanted = (other: LineLevel): boolean =>
    LOG_LEVELS.indexOf(other) <= LOG_LEVELS.indexOf(level);
  const writeAt = (at: LineLevel): WriteLine => {
    if (!isWanted(at)) return () => undefined;
    return (fields, message) => sink.write(lineText(at, clock.now(), fields, message));
  };
  const info = writeAt("info");
  const problems = new PerSecond(problemsPerSecond, (more) =>
    info({ more }, `and ${more} more requests with a problem`),
  );
  return {
    error: writeAt("error"),
    warn: writeAt("warn"),
    info,
    wantsRequest: isWanted("info") ? WANTS[requests] : WANTS.none,
    request: (line) => {
      if (line.code === undefined || problems.passes()) sink.write(requestText(line, clock.now()));
    },
    get droppedLines() {
      return sink.droppedLines;
    },
  };
}

const LEVEL_NUMBERS: { readonly [L in LineLevel]: number } = { error: 50, warn: 40, info: 30 };

function lineText(level: LineLevel, time: number, fields: object, msg: string): string {
  const line = { level: LEVEL_NUMBERS[level], time, ...fields, msg };
  return `${JSON.stringify(line, (_name, value) => (value instanceof Error ? shown(value) : value))}\n`;
}

/** Leaves out extra members: a library may put secrets there. */
const shown = (error: Error): object => ({
  type: error.name,
  message: error.message,
  stack: stackOf(error),
});

function stackOf({ stack = "", cause }: Error): string {
  return cause instanceof Error ? `${stack}\ncaused by: ${stackOf(cause)}` : stack;
}

const WANTS: { readonly [R in RequestLog]: Logger["wantsRequest"] } = {
  all: () => true,
  problems: (code) => code !== undefined,
  none: () => false,
};

/** Anybody can cause problems and must not fill the disk with lines about them. */
const PROBLEM_LINES_PER_SECOND = 50;

const PLAIN = /^[\w.:/{}()-]*$/;

/** Builds the JSON by hand for speed: this runs for each request. */
function requestText(line: RequestLine, timeMs: number): string {
  const { method = "", route, status, code, account, tier, from, durationMs } = line;
  const ms = Math.round(durationMs * 1000) / 1000;
  return (
    `{"level":${LEVEL_NUMBERS.info},"time":${timeMs},"method":${json(method)},"route":${json(route)}` +
    `,"status":${status}${code === undefined ? "" : `,"code":"${code}"`}` +
    `,"account":${account === null ? "null" : json(account)},"tier":"${tier}","from":${json(from)}` +
    `,"ms":${ms},"msg":"request"}\n`
  );
}

const json = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

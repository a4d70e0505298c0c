/**
 * The log: events of the service and, if wanted, requests. It never holds a key, a query or a full
 * client address. Its lines have two forms: JSON for programs, aligned text for a person at a terminal.
 * The text has nothing that the JSON does not have.
 */
import { instantText, type Clock } from "../../lib/clock.ts";
import { plainText } from "../../lib/terminal.ts";
import { PROBLEMS, type ProblemCode } from "../problems.ts";
import { DATA_ROUTES } from "../routes.ts";
import { LOG_LEVELS, type LogLevel, type RequestLog } from "./log-options.ts";
import { perSecond } from "./per-second.ts";
import { StandardError } from "./standard-error.ts";

type WriteLine = (fields: object, message: string) => void;

export interface Logger extends Readonly<Record<LineLevel, WriteLine>> {
  /** Whether a request with this problem (undefined: without one) gets a line. */
  wantsRequest(code: ProblemCode | undefined): boolean;
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
  { level, requests, form = JSON_LINES, problemsPerSecond = PROBLEM_LINES_PER_SECOND }: LogOptions,
  clock: Clock,
  sink: Pick<StandardError, "write" | "droppedLines"> = new StandardError((dropped) =>
    form.event("warn", clock.now(), { dropped }, `${dropped} lines were dropped`),
  ),
): Logger {
  const isWanted = (other: LineLevel): boolean =>
    LOG_LEVELS.indexOf(other) <= LOG_LEVELS.indexOf(level);
  const writeAt = (at: LineLevel): WriteLine => {
    if (!isWanted(at)) return () => undefined;
    return (fields, message) => sink.write(form.event(at, clock.now(), fields, message));
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
      if (line.code === undefined || passes()) sink.write(form.request(line, clock.now()));
    },
    get droppedLines() {
      return sink.droppedLines;
    },
  };
}

/** Anybody can cause problems and must not fill the disk with lines about them. */
const PROBLEM_LINES_PER_SECOND = 50;

/** The level of one line. */
export type LineLevel = Exclude<LogLevel, "silent">;

/** What a line about a request says. */
export interface RequestLine {
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

/** Makes lines, each with its line break. Times are epoch milliseconds. */
export interface LineForm {
  event(level: LineLevel, timeMs: number, fields: object, message: string): string;
  request(line: RequestLine, timeMs: number): string;
}

const LEVEL_NUMBERS: { readonly [L in LineLevel]: number } = { error: 50, warn: 40, info: 30 };

export const JSON_LINES: LineForm = {
  event(level, time, fields, msg) {
    const line = { level: LEVEL_NUMBERS[level], time, ...fields, msg };
    return `${JSON.stringify(line, (_name, value) => (value instanceof Error ? shown(value) : value))}\n`;
  },

  request({ method = "", route, status, code, account, tier, from, durationMs }, time) {
    const level = LEVEL_NUMBERS.info;
    const line = { level, time, method, route, status, code, account, tier, from };
    const ms = Math.round(durationMs * 1000) / 1000;
    return `${JSON.stringify({ ...line, ms, msg: "request" })}\n`;
  },
};

/** Leaves out extra members: a library may put secrets there. */
const shown = (error: Error): object => ({
  type: error.name,
  message: error.message,
  stack: stackOf(error),
});

function stackOf({ stack = "", cause }: Error): string {
  return cause instanceof Error ? `${stack}\ncaused by: ${stackOf(cause)}` : stack;
}

const widest = (texts: readonly string[]): number => Math.max(...texts.map((text) => text.length));
const ROUTE_WIDTH = widest(Object.values(DATA_ROUTES).map(({ path }) => path));
const CODE_WIDTH = widest(Object.keys(PROBLEMS));
/** Longer names of accounts move the duration to the right. */
const ACCOUNT_WIDTH = 12;
const LEVEL_WIDTH = 5;
const DURATION_WIDTH = 8;

/** Text for a person: the time of the day (UTC), the level or the status, and what happened. */
export const TEXT_LINES: LineForm = {
  event(level, timeMs, fields, message) {
    const details = Object.entries(fields).flatMap(([name, value]) =>
      wordsOf(name, value, message),
    );
    const text = details.length === 0 ? message : `${message}: ${details.join(", ")}`;
    const errors = Object.values(fields).filter((value) => value instanceof Error);
    const traces = errors.flatMap((error) => stackOf(error).split("\n"));
    return lineOf(timeMs, level, text) + traces.map((line) => `  ${plainText(line)}\n`).join("");
  },

  request({ route, status, code = "", account, durationMs }, timeMs) {
    const columns = [
      route.padEnd(ROUTE_WIDTH),
      code.padEnd(CODE_WIDTH),
      (account ?? "").padEnd(ACCOUNT_WIDTH),
      `${durationMs.toFixed(1).padStart(DURATION_WIDTH)} ms`,
    ];
    return lineOf(timeMs, String(status), columns.join("  "));
  },
};

const lineOf = (timeMs: number, kind: string, text: string): string =>
  `${instantText(timeMs).slice(11, 19)}Z  ${kind.padEnd(LEVEL_WIDTH)}  ${plainText(text)}\n`;

/** A field of an event in words; none for a number that the message names, or an error with a stack. */
function wordsOf(name: string, value: unknown, message: string): string[] {
  if (value instanceof Error) return [];
  if (typeof value === "number" && message.includes(String(value))) return [];
  if (value === null) return [`${name} nothing`];
  if (typeof value === "object" && "message" in value) return [String(value.message)];
  return [`${name} ${typeof value === "string" ? value : JSON.stringify(value)}`];
}

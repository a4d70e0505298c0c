/**
 * The log: events of the service and, if wanted, requests. It never holds a key, a query or a full
 * client address.
 */
import type { Clock } from "../../lib/clock.ts";
import type { ProblemCode } from "../problems.ts";
import { JSON_LINES, type LineForm, type LineLevel, type RequestLine } from "./log-lines.ts";
import { LOG_LEVELS, type LogLevel, type RequestLog } from "./log-options.ts";
import { PerSecond } from "./per-second.ts";
import { StandardError, type LogSink } from "./standard-error.ts";

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

/** How much the proxy logs. */
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
  sink: LogSink = new StandardError((dropped) =>
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
  const problems = new PerSecond(problemsPerSecond, (more) =>
    info({ more }, `and ${more} more requests with a problem`),
  );
  return {
    error: writeAt("error"),
    warn: writeAt("warn"),
    info,
    wantsRequest: isWanted("info") ? WANTS[requests] : WANTS.none,
    request: (line) => {
      if (line.code === undefined || problems.passes()) sink.write(form.request(line, clock.now()));
    },
    get droppedLines() {
      return sink.droppedLines;
    },
  };
}

const WANTS: { readonly [R in RequestLog]: Logger["wantsRequest"] } = {
  all: () => true,
  problems: (code) => code !== undefined,
  none: () => false,
};

/** Anybody can cause problems and must not fill the disk with lines about them. */
const PROBLEM_LINES_PER_SECOND = 50;

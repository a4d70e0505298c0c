/**
 * Structured logs (NDJSON): what happened to the service, and requests as far as wanted. No key, query or
 * full address is ever in them. Lines are buffered and written together; what is buffered is
 * written on exit.
 */
import { destination, pino, type Logger as PinoLogger } from "pino";
import type { Clock } from "../../clock.ts";
import type { LogOptions, RequestLog } from "./log-options.ts";
import type { ProblemCode } from "../problems.ts";

/** The log of one process. */
export interface Logger extends Pick<PinoLogger, "error" | "warn" | "info"> {
  /** Whether a line about a request is wanted that was answered with data, or with this problem. */
  wantsRequest(code: ProblemCode | undefined): boolean;
  /** One line about a request, at level info. */
  request(line: RequestLine): void;
}

interface RequestLine {
  readonly method: string | undefined;
  /** The route's path template, never the path sent. */
  readonly route: string;
  readonly status: number;
  /** Of a problem. */
  readonly code: ProblemCode | undefined;
  readonly account: string | null;
  readonly tier: string;
  /** The client's network. */
  readonly from: string;
  /** From the request's header to its answer being handed over. */
  readonly durationMs: number;
}

const BUFFER_BYTES = 8 * 1024;
const FLUSH_MS = 250;

/** Where lines go, each with its line break. */
interface LogSink {
  write(lines: string): unknown;
}

/** `time` in the lines is the clock's, in epoch milliseconds. */
export function createLogger(
  { level, requests }: LogOptions,
  clock: Clock,
  sink: LogSink = bufferedStandardError(),
): Logger {
  const err = (error: unknown): unknown =>
    error instanceof Error ? pino.stdSerializers.err(error) : error;
  const log = pino(
    { level, base: null, serializers: { err }, timestamp: () => `,"time":${clock.now()}` },
    sink,
  );
  return {
    error: log.error.bind(log),
    warn: log.warn.bind(log),
    info: log.info.bind(log),
    wantsRequest: log.isLevelEnabled("info") ? WANTS[requests] : WANTS.none,
    request: (line) => sink.write(requestText(line, clock.now())),
  };
}

/** Lines are put together here: pino's own destination counts all it holds with each line. */
function bufferedStandardError(): LogSink {
  let held = "";
  const handOver = (): void => {
    if (held !== "") stderr.write(held);
    held = "";
  };
  // Before the destination's own listener, which writes what it was given.
  process.on("exit", handOver);
  const stderr = destination({ fd: 2, sync: false, minLength: BUFFER_BYTES });
  setInterval(() => {
    handOver();
    stderr.flush();
  }, FLUSH_MS).unref();
  return {
    write(lines) {
      held += lines;
      if (held.length >= BUFFER_BYTES) handOver();
    },
  };
}

const WANTS: { readonly [R in RequestLog]: Logger["wantsRequest"] } = {
  all: () => true,
  problems: (code) => code !== undefined,
  none: () => false,
};

const INFO = pino.levels.values["info"];
const PLAIN = /^[\w.:/{}()-]*$/;

/** As pino writes it; put together by hand, since it is done for each request. */
function requestText(line: RequestLine, timeMs: number): string {
  const { method = "", route, status, code, account, tier, from, durationMs } = line;
  const ms = Math.round(durationMs * 1000) / 1000;
  return (
    `{"level":${INFO},"time":${timeMs},"method":${json(method)},"route":${json(route)}` +
    `,"status":${status}${code === undefined ? "" : `,"code":"${code}"`}` +
    `,"account":${account === null ? "null" : json(account)},"tier":"${tier}","from":${json(from)}` +
    `,"ms":${ms},"msg":"request"}\n`
  );
}

const json = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

/**
 * The two forms of a line of the log: JSON for programs, aligned text for a person at a terminal.
 * The text has nothing that the JSON does not have.
 */
import { instantText } from "../../lib/clock.ts";
import { plainText } from "../../lib/terminal.ts";
import { PROBLEMS, type ProblemCode } from "../problems.ts";
import { DATA_ROUTES } from "../routes.ts";
import type { LogLevel } from "./log-options.ts";

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

const PLAIN = /^[\w.:/{}()-]*$/;
const json = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text));

/** NDJSON. */
export const JSON_LINES: LineForm = {
  event(level, time, fields, msg) {
    const line = { level: LEVEL_NUMBERS[level], time, ...fields, msg };
    return `${JSON.stringify(line, (_name, value) => (value instanceof Error ? shown(value) : value))}\n`;
  },

  /** Builds the JSON by hand for speed: this runs for each request. */
  request({ method = "", route, status, code, account, tier, from, durationMs }, timeMs) {
    const ms = Math.round(durationMs * 1000) / 1000;
    return (
      `{"level":${LEVEL_NUMBERS.info},"time":${timeMs},"method":${json(method)},"route":${json(route)}` +
      `,"status":${status}${code === undefined ? "" : `,"code":"${code}"`}` +
      `,"account":${account === null ? "null" : json(account)},"tier":"${tier}","from":${json(from)}` +
      `,"ms":${ms},"msg":"request"}\n`
    );
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

/** The options of `publish`, in groups, and what their texts stand for. */
import type { Option } from "commander";
import { createOption } from "../lib/config.ts";
import { InputError } from "../lib/errors.ts";
import { shownLocation } from "../lib/secrets.ts";
import { MAX_MOVE_PCT, USUAL_LIMITS } from "../feed/finding.ts";
import { USUAL_STILL_SESSIONS } from "../market/coverage.ts";
import { acceptanceOf, GATE_NAMES, type GateOptions } from "../feed/gates.ts";
import { DAY_MS } from "../lib/clock.ts";
import { MAX_CARRY_DAYS } from "../market/contract.ts";
import { parseMicros, type Micros } from "../market/decimal.ts";
import { parseDate, parseSession, type Day, type Session } from "../market/session.ts";
import { weekdays, type Weekday } from "./closed-days.ts";
import { jsonOption, type JsonOption } from "./every-command.ts";
import {
  durationMs,
  publicLine,
  lineUpTo,
  parsedBy,
  wholeNumber,
  type OptionParser,
} from "./option-values.ts";
import { signKeyOption, verifyKeyOption, type LogKeyOptions } from "./signing-options.ts";
import { storeOptions, type StoreOptions } from "./store-options.ts";
import { maxGapOption, wordsOf } from "./time-options.ts";

export interface PublishOptions extends StoreOptions, LogKeyOptions, JsonOption {
  readonly catalog?: string;
  readonly quotes?: readonly string[];
  readonly closes?: readonly string[];
  readonly map?: string;
  readonly feedHeader?: readonly string[];
  readonly allowHost?: readonly string[];
  /** In milliseconds. */
  readonly wait?: number;
  readonly hold?: readonly string[];
  readonly holdInvalid?: true;
  readonly ignoreUnknown?: true;
  readonly round?: true;
  readonly session?: Session;
  readonly attribution?: string;
  readonly revise?: string;
  readonly rerender?: string;
  readonly restateSeries?: string;
  readonly from?: Day;
  readonly restateMembers?: true;
  readonly by?: string;
  readonly why?: string;
  readonly dryRun?: true;
  readonly summary?: string;
  readonly accept?: readonly string[];
  readonly maxMove: Micros;
  readonly maxIndexMove: Micros;
  readonly maxBoardMove: Micros;
  readonly minCoverage: Micros;
  readonly maxUnchanged: number;
  readonly noticeStill: number;
  readonly maxGap: number;
  readonly maxCarryDays: number;
  readonly acceptMoves?: true;
  readonly allowSparse?: true;
  readonly closed?: readonly Weekday[];
  readonly holidays?: string;
}

/** The options of `publish`, by the headings of its help. */
export const publishOptions = (): Readonly<Record<string, Option[]>> => ({
  "Input:": [
    createOption(
      "--catalog <source>",
      "contracts: a file, - or an http(s) address (default: the last published catalog)",
    ),
    createOption("--quotes <sources...>", "levels of sessions"),
    createOption("--closes <sources...>", "daily history"),
    createOption(
      "--map <file>",
      "read quotes and closes as others write them, by this JSON file; chipboard map --try proposes one",
    ),
    createOption(
      "--feed-header <headers...>",
      "send this header ('Name: value') to http(s) addresses; messages never show it. Other users of the machine can see command lines, so set the variable instead, with one header per line",
    ),
    createOption(
      "--allow-host <hosts...>",
      "follow redirects of http(s) addresses to these hosts (HOST or HOST:PORT, separated by commas); they do not get --feed-header",
    ),
    createOption(
      "--wait <duration>",
      "retry every 30 seconds for this long (such as 25m) if a feed is unreachable, incomplete, or still shows the levels of the previous session (default: no retry)",
      durationMs("m", 1_000, DAY_MS),
    ),
    createOption(
      "--hold <ids...>",
      "leave out all rows of these contracts (ID,ID); their last level is carried",
    ),
    createOption(
      "--hold-invalid",
      "leave out invalid rows, and rows for later sessions; the last level of their contracts is carried",
    ),
    createOption("--ignore-unknown", "leave out rows of ids outside the catalog"),
    createOption("--round", "round levels with more than 6 decimals, half away from zero"),
  ],
  "Snapshot:": [
    createOption(
      "--session <session>",
      "session to publish, such as 2026-11-21T00Z (default: the current one)",
      session,
    ),
    createOption(
      "--attribution <text>",
      "credit line of all payloads (default: the last snapshot's)",
      publicLine,
    ),
    createOption(
      "--revise <reason>",
      "change published levels; the reason is published with the session",
      publicLine,
    ),
    createOption(
      "--rerender <reason>",
      "render the head's session again with this version of the program, or with another --attribution; takes no input; the reason is published with the session",
      publicLine,
    ),
    createOption(
      "--restate-series <reason>",
      "calculate published closes of index series again, with the members of then; the reason is published with the session. Without an input on the command line, publishes the head's session again",
      publicLine,
    ).conflicts(["revise", "rerender"]),
    createOption(
      "--from <date>",
      "with --restate-series: the first day whose close is calculated again (default: the base, or the day after a link)",
      day,
    ),
    createOption(
      "--restate-members",
      "with --restate-series: give the members of these days anew, by the present catalog and carry limits",
    ),
    createOption(
      "--by <name>",
      "name of the person who publishes; stored with the inputs and in each judgement, never published",
      lineUpTo(100),
    ),
    createOption(
      "--why <text>",
      "why the findings were accepted; stored with --by, never published",
      lineUpTo(500),
    ),
    createOption("--dry-run", "do everything except writing"),
    createOption(
      "--summary <file>",
      "also write the result, or the refusal, to this file, as Markdown",
    ),
    jsonOption(),
  ],
  "Gates:": [
    createOption(
      "--accept <gates...>",
      `accept the findings of a gate: GATE, or GATE:ID,ID for these contracts or indices only (${GATE_NAMES.join(", ")})`,
    ),
    createOption(
      "--max-move <percent>",
      "moves: refuse larger moves from one level to the next, unless the catalog's max_move_pct sets a limit for the contract",
      percent(MAX_MOVE_PCT),
    ).default(USUAL_LIMITS.maxMoveMicros, "50"),
    createOption("--accept-moves", "moves: accept every move above --max-move"),
    createOption(
      "--max-index-move <percent>",
      "series: refuse a larger move of an index's series from one day to the next",
      percent(MAX_MOVE_PCT),
    ).default(USUAL_LIMITS.maxIndexMoveMicros, "25"),
    createOption(
      "--max-board-move <percent>",
      "board: refuse a larger median move of the contracts from levels of the last 7 days",
      percent(MAX_MOVE_PCT),
    ).default(USUAL_LIMITS.maxBoardMoveMicros, "15"),
    createOption(
      "--min-coverage <percent>",
      "sparse: refuse if a smaller part of the contracts has a level for the session",
      percent(100),
    ).default(USUAL_LIMITS.minCoverageMicros, "80"),
    createOption("--allow-sparse", "sparse: publish even if coverage is below --min-coverage"),
    createOption(
      "--max-unchanged <sessions>",
      "unchanged: refuse if no level has moved for more sessions",
      wholeNumber("expected a whole number of sessions, 0 to 99999", 0, 99_999),
    ).default(USUAL_LIMITS.maxUnchangedSessions),
    createOption(
      "--notice-still <sessions>",
      "name contracts with a cadence under a day whose given level has not moved for this many sessions; refuses nothing",
      wholeNumber("expected a whole number of sessions, 1 to 99999", 1, 99_999),
    ).default(USUAL_STILL_SESSIONS),
    createOption(
      "--closed <days>",
      "weekdays on which sources do not price (Sat,Sun); on these days sparse and unchanged refuse nothing, and a feed without rows publishes carried levels",
      weekdays,
    ),
    createOption(
      "--holidays <file>",
      "file of closed dates, one on each line, such as 2026-12-25; same effect as --closed",
    ),
    maxGapOption(),
    createOption(
      "--max-carry-days <days>",
      "carry a contract's last level for at most this many days",
      wholeNumber(
        `expected a whole number of days, at most ${MAX_CARRY_DAYS} days`,
        0,
        MAX_CARRY_DAYS,
      ),
    ).default(USUAL_LIMITS.maxCarryDays),
  ],
  "Signing:": [
    signKeyOption(),
    verifyKeyOption("continue only a log that one of these public keys has signed"),
  ],
  "Store:": storeOptions(),
});

/** The limits of the gates, and what the run lets through. Throws InputError for a wrong `--accept`. */
export const gatesFrom = (options: PublishOptions): Omit<GateOptions, "isClosedDay"> => ({
  maxMoveMicros: options.maxMove,
  maxIndexMoveMicros: options.maxIndexMove,
  maxBoardMoveMicros: options.maxBoardMove,
  minCoverageMicros: options.minCoverage,
  maxUnchangedSessions: options.maxUnchanged,
  maxGapSessions: options.maxGap,
  maxCarryDays: options.maxCarryDays,
  acceptMoves: options.acceptMoves ?? false,
  allowSparse: options.allowSparse ?? false,
  accept: wordsOf(options.accept ?? []).map(acceptanceOf),
});

/** The ids of `--hold`. Throws InputError for an empty one. */
export function heldFrom({ hold = [] }: PublishOptions): readonly string[] {
  const ids = hold.flatMap((text) => text.split(","));
  if (!ids.includes("")) return ids;
  throw new InputError(`--hold ${JSON.stringify(hold.join(" "))}: expected ID or ID,ID`);
}

/** The hosts of `--allow-host`. Throws InputError if a text names no host. */
export function allowedHostsFrom({ allowHost = [] }: PublishOptions): readonly string[] {
  const hosts = allowHost.flatMap((text) => text.split(","));
  for (const host of hosts) {
    if (/^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i.test(host)) continue;
    const expected = "expected HOST or HOST:PORT, without scheme and path, such as cdn.example";
    throw new InputError(`--allow-host ${JSON.stringify(shownLocation(host))}: ${expected}`);
  }
  return hosts;
}

/** A header's name and value (RFC 9110), in characters that HTTP/1.1 can send. */
const HEADER =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)[ \t]*$/;
/** The headers that say how the connection is used, which only the program knows. */
const OF_THE_CONNECTION =
  /^(?:connection|content-length|expect|host|te|trailer|transfer-encoding|upgrade)$/;

/** The headers of `--feed-header`, by lower-case name. Throws InputError, which shows none of them. */
export function feedHeadersFrom({
  feedHeader = [],
}: PublishOptions): Readonly<Record<string, string>> {
  const lines = feedHeader.flatMap((text) => text.split("\n")).filter((line) => line.trim() !== "");
  const headers = new Map<string, string>();
  for (const [at, line] of lines.entries()) {
    const [, name = "", value = ""] = HEADER.exec(line) ?? [];
    const key = name.toLowerCase();
    const fault =
      value === ""
        ? "is not 'Name: value', such as 'Authorization: Bearer TOKEN'"
        : OF_THE_CONNECTION.test(key)
          ? "is one that only the program can set"
          : headers.has(key)
            ? "has the name of an earlier one"
            : null;
    if (fault !== null) throw new InputError(`--feed-header: number ${at + 1} ${fault}`);
    headers.set(key, value);
  }
  return Object.fromEntries(headers);
}

const day = parsedBy(parseDate, "expected a date such as 2026-11-21");
const session = parsedBy(
  parseSession,
  "expected a session such as 2026-11-21T00Z or 2026-11-21T12:00:00.000Z",
);

function percent(max: number): OptionParser<Micros> {
  return parsedBy((text) => parseMicros(text, max), `expected a percentage from 0 to ${max}`);
}

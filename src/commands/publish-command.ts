/** `publish`: makes a session's snapshot from feeds, and makes it the head. */
import { Command, type Option } from "commander";
import { clockFromEnvironment } from "../lib/config.ts";
import { ChipboardError, InputError } from "../lib/errors.ts";
import { PRIVATE_FILE_MODE } from "../lib/modes.ts";
import { printJson, printLine, startProgress } from "../lib/terminal.ts";
import { MAX_INPUT_MEGABYTES, MAX_INPUT_ROWS, MAX_ROW_CHARACTERS } from "../lib/limits.ts";
import type { RestatementOrder } from "../market/published-series.ts";
import { sessionAt, type Session } from "../market/session.ts";
import type { PublishResult } from "../publish/release.ts";
import type { Progress, PublishRequest } from "../publish/request.ts";
import type { ObjectStore } from "../ports/store.ts";
import { isClosedDay } from "./closed-days.ts";
import { examples, withOptions } from "./every-command.ts";
import { notWritable } from "./option-files.ts";
import {
  allowedHostsFrom,
  feedHeadersFrom,
  gatesFrom,
  heldFrom,
  publishOptions,
  type PublishOptions,
} from "./publish-options.ts";
import { logKeysFrom } from "./signing-options.ts";
import { storeFromOptions } from "./store-options.ts";
import { timeGatesFrom } from "./time-options.ts";

const INPUT_HELP = `
Inputs are CSV, JSON (an array of objects) or NDJSON, in UTF-8. --map reads quotes and closes that others write in other
forms: {"delimiter": ";", "decimal": ",", "dates": "DD.MM.YYYY", "columns": {"id": "Code", "spot_usd": "Price"}}. An input has at most
${MAX_INPUT_MEGABYTES} MB, unpacked, and ${MAX_INPUT_ROWS} rows, and a row (a record of CSV, a line of NDJSON, an item
of JSON) at most ${MAX_ROW_CHARACTERS} characters. An address must answer with 200 within 60 seconds, must say where its
body ends (content-length or chunked coding), and can redirect only within its own origin and to hosts of --allow-host.
Requests go through the proxy that HTTP_PROXY or HTTPS_PROXY names, unless NO_PROXY names the host.

A gate refuses suspicious data (exit code 3), and names the --accept that accepts exactly these findings.
--accept of a gate that refuses nothing is an error (2).`;

export function publishCommand(): Command {
  const command = new Command("publish");
  for (const [heading, options] of Object.entries(publishOptions())) {
    withOptions(command.optionsGroup(heading), options);
  }
  return command
    .optionsGroup("Options:")
    .addHelpText(
      "after",
      examples(
        "publish --catalog catalog.csv --closes history.csv --quotes quotes.csv",
        "publish --quotes https://feed.example/quotes.json --wait 25m --store s3://prices/chipboard",
        "publish --quotes excel.csv --map map.json",
        "publish --quotes https://feed.example/latest.csv --allow-host files.feed.example",
        "publish --quotes quotes.csv --hold ddr5-16gb,n3-wafer --hold-invalid --ignore-unknown",
        "publish --quotes quotes.csv --accept moves:ddr5-16gb --accept sparse",
        "publish --quotes quotes.csv --closed Sat,Sun --holidays holidays.txt",
        'publish --quotes fix.csv --revise "source corrected DDR5"',
        'publish --quotes fix.csv --accept moves:a --by "A. Operator" --why "the source confirmed it"',
        'publish --rerender "new columns"',
        'publish --restate-series "levels of May were of another market"',
        "publish --quotes quotes.csv --sign-key signing.pem",
        "publish --quotes - --session 2026-11-21T00Z --dry-run < quotes.ndjson",
      ),
    )
    .addHelpText("after", INPUT_HELP)
    .action(publishFromOptions);
}

async function publishFromOptions(options: PublishOptions, command: Command): Promise<void> {
  const { failureMarkdown, resultView, summaryLines, summaryMarkdown } =
    await import("../publish/summary.ts");
  const summary = options.summary === undefined ? null : await openSummary(options.summary);
  const progress = startProgress();
  let store: ObjectStore | null = null;
  try {
    const run = await runOf(options, command);
    store = await storeFromOptions(options);
    const result = await run(store, progress.tell);
    progress.end();
    await summary?.write(summaryMarkdown(result, store.location));
    if (options.json) printJson(resultView(result, store.location));
    else summaryLines(result, store.location).forEach(printLine);
  } catch (error) {
    if (error instanceof ChipboardError) await summary?.write(failureMarkdown(error));
    throw error;
  } finally {
    progress.end();
    await summary?.close();
    await store?.close();
  }
}

type Run = (store: ObjectStore, progress: Progress) => Promise<PublishResult>;

/** The run that the options ask for. Throws InputError for options that make no sense together. */
async function runOf(options: PublishOptions, command: Command): Promise<Run> {
  const clock = clockFromEnvironment();
  const restateSeries = restatementFrom(options);
  const isAlone = restateSeries !== null && inputOptions(command).length === 0;
  const reason = isAlone ? restateSeries.reason : options.rerender;
  if (reason !== undefined) {
    if (!isAlone) requireNoInput(command);
    const { rerender } = await import("../publish/rerender.ts");
    const { maxGap } = options;
    const accept = isNamed(command, "accept") ? (options.accept ?? []) : [];
    const { dryRun = false, by = null, why = null } = options;
    const renewal = {
      dryRun,
      by,
      why,
      keys: await logKeysFrom(options),
      ...(isAlone && { restates: restateSeries }),
      timeGates: timeGatesFrom({ accept, maxGap }),
      ...(isNamed(command, "attribution") && { attribution: options.attribution as string }),
    };
    return (store, progress) => rerender(reason, renewal, store, clock, progress);
  }
  const { publish } = await import("../publish/publish.ts");
  const session = options.session ?? sessionAt(clock.now());
  const { closed = [], holidays } = options;
  const request = await requestFrom(options, session, await isClosedDay(session, closed, holidays));
  return (store, progress) => publish(request, store, clock, progress);
}

/**
 * The request for a session with the inputs that the options name. Throws InputError for options that make no sense
 * together, and for files of keys.
 */
export async function requestFrom(
  options: PublishOptions,
  session: Session,
  isClosedDay: boolean,
): Promise<PublishRequest> {
  const { sourceOf } = await import("../feed/source.ts");
  const { dryRun = false, by = null, why = null } = options;
  const words = [
    options.catalog,
    options.map,
    ...(options.quotes ?? []),
    ...(options.closes ?? []),
  ];
  const standardInputs = words.filter((word) => word === "-").length;
  if (standardInputs > 1) {
    throw new InputError(
      "Standard input (-) is given twice; give it once, and files or addresses for the other inputs",
    );
  }
  if (standardInputs > 0 && options.wait !== undefined) {
    throw new InputError("--wait cannot read standard input (-) again: give a file or an address");
  }
  const headers = feedHeadersFrom(options);
  const allowedHosts = allowedHostsFrom(options);
  const source = (location: string) => sourceOf(location, headers, allowedHosts);
  return {
    dryRun,
    by,
    why,
    keys: await logKeysFrom(options),
    catalog: options.catalog === undefined ? null : source(options.catalog),
    quotes: (options.quotes ?? []).map(source),
    closes: (options.closes ?? []).map(source),
    map: options.map === undefined ? null : source(options.map),
    session,
    attribution: options.attribution ?? null,
    revise: options.revise ?? null,
    restateSeries: restatementFrom(options),
    gates: { ...gatesFrom(options), isClosedDay },
    hold: heldFrom(options),
    holdInvalid: options.holdInvalid ?? false,
    ignoreUnknown: options.ignoreUnknown ?? false,
    round: options.round ?? false,
    noticeStillSessions: options.noticeStill,
    waitMs: options.wait ?? 0,
  };
}

/** Throws InputError if an option of restatements stands without `--restate-series`. */
function restatementFrom(options: PublishOptions): RestatementOrder | null {
  const { restateSeries: reason, from = null, restateMembers: members = false } = options;
  if (reason !== undefined) return { reason, from, members };
  if (from === null && !members) return null;
  const option = from === null ? "--restate-members" : "--from";
  throw new InputError(`${option} needs --restate-series "reason"`);
}

/** The options of a new publication's content. Without an input, the content is taken from the head. */
const OF_INPUT = [
  "catalog",
  "quotes",
  "closes",
  "map",
  "session",
  "revise",
  "hold",
  "holdInvalid",
  "ignoreUnknown",
  "round",
  "wait",
];

/**
 * The options of OF_INPUT on the command line. Options in the environment usually belong to the daily job,
 * and do not matter.
 */
const inputOptions = (command: Command): Option[] =>
  command.options.filter(
    (option) =>
      OF_INPUT.includes(option.attributeName()) && isNamed(command, option.attributeName()),
  );

/** Throws InputError if there are any. */
function requireNoInput(command: Command): void {
  const named = inputOptions(command);
  if (named.length === 0) return;
  throw new InputError(
    `--rerender takes everything but --attribution from the head: leave out ${named.map(({ long }) => long).join(", ")}`,
  );
}

const isNamed = (command: Command, attribute: string): boolean =>
  command.getOptionValueSource(attribute) === "cli";

/** Opens the file of the summary before the publish, so that a wrong path fails early. */
async function openSummary(
  path: string,
): Promise<{ write(text: string): Promise<void>; close(): Promise<void> }> {
  const { open } = await import("node:fs/promises");
  try {
    const file = await open(path, "a", PRIVATE_FILE_MODE);
    return {
      write: async (text) => {
        await file.truncate();
        await file.writeFile(text);
      },
      close: () => file.close(),
    };
  } catch (cause) {
    throw notWritable("--summary", path, cause);
  }
}

import { Command } from "commander";
import { clockFromEnvironment, setting } from "../lib/config.ts";
import { InputError } from "../lib/errors.ts";
import { USUAL_LIMITS } from "../feed/gates.ts";
import { MAX_INPUT_MEGABYTES, MAX_ROW_CHARACTERS } from "../feed/text.ts";
import { MAX_CARRY_DAYS } from "../market/contract.ts";
import { parseMicros, type Micros } from "../market/decimal.ts";
import { parseSession, sessionAt, type Session } from "../market/session.ts";
import { examples, jsonOption, type JsonOption } from "./every-command.ts";
import { notWritable } from "./option-files.ts";
import { lineOfText, parsedBy, wholeNumber, type OptionParser } from "./option-values.ts";
import {
  publishingKeysFrom,
  signKeyOption,
  verifyKeyOption,
  type PublishingKeyOptions,
} from "./signing-options.ts";
import { storeFromOptions, withStoreOptions, type StoreOptions } from "./store-options.ts";

interface PublishOptions extends StoreOptions, PublishingKeyOptions, JsonOption {
  readonly catalog?: string;
  readonly quotes?: readonly string[];
  readonly closes?: readonly string[];
  readonly session?: Session;
  readonly attribution?: string;
  readonly revise?: string;
  readonly dryRun?: true;
  readonly summary?: string;
  readonly maxMove: Micros;
  readonly minCoverage: Micros;
  readonly maxCarryDays: number;
  readonly acceptMoves?: true;
  readonly allowSparse?: true;
}

const INPUT_HELP = `
Inputs are CSV, JSON (an array of objects) or NDJSON, in UTF-8. An input has at most
${MAX_INPUT_MEGABYTES} MB, unpacked, and a row (a record of CSV, a line of NDJSON, an item of JSON) at most
${MAX_ROW_CHARACTERS} characters. An address must answer with 200 within 60 seconds, must say where its
body ends (content-length or chunked coding), and can redirect only within its own origin.`;

/** `publish`: make a session's snapshot from feeds, and make it the head. */
export function publishCommand(): Command {
  const command = new Command("publish")
    .addOption(
      setting(
        "--catalog <source>",
        "contracts: a file, - or an http(s) address (default: the last published catalog)",
      ),
    )
    .addOption(setting("--quotes <sources...>", "levels of sessions"))
    .addOption(setting("--closes <sources...>", "daily history"))
    .addOption(
      setting(
        "--session <session>",
        "session to publish, such as 2026-11-21T00Z (default: the current one)",
        session,
      ),
    )
    .addOption(
      setting(
        "--attribution <text>",
        "credit line of all payloads (default: that of the last snapshot)",
        lineOfText,
      ),
    )
    .addOption(setting("--revise <reason>", "change published levels, for this reason", lineOfText))
    .addOption(setting("--dry-run", "do everything except write"))
    .addOption(setting("--summary <file>", "also write the summary to this file, as Markdown"))
    .addOption(
      setting(
        "--max-move <percent>",
        "refuse larger moves from one level to the next",
        percent(1e9),
      ).default(USUAL_LIMITS.maxMoveMicros, "50"),
    )
    .addOption(setting("--accept-moves", "accept larger moves"))
    .addOption(
      setting(
        "--min-coverage <percent>",
        "refuse if fewer contracts have a level for the session",
        percent(100),
      ).default(USUAL_LIMITS.minCoverageMicros, "80"),
    )
    .addOption(setting("--allow-sparse", "accept fewer levels"))
    .addOption(
      setting(
        "--max-carry-days <days>",
        "how long a contract keeps its level without a new one",
        days,
      ).default(USUAL_LIMITS.maxCarryDays),
    )
    .addOption(signKeyOption())
    .addOption(verifyKeyOption("build only on a head that one of these public keys has signed"))
    .addOption(jsonOption());
  return withStoreOptions(command)
    .addHelpText(
      "after",
      examples(
        "publish --catalog catalog.csv --closes history.csv --quotes quotes.csv",
        "publish --quotes https://feed.example/quotes.json --store s3://prices/chipboard",
        'publish --quotes fix.csv --revise "source corrected DDR5"',
        "publish --quotes quotes.csv --sign-key signing.pem",
        "publish --quotes - --session 2026-11-21T00Z --dry-run < quotes.ndjson",
      ),
    )
    .addHelpText("after", INPUT_HELP)
    .action(publishFromOptions);
}

async function publishFromOptions(options: PublishOptions): Promise<void> {
  const { sourceOf } = await import("../feed/source.ts");
  const { publish } = await import("../publish/publish.ts");
  const { resultView, summaryLines, summaryMarkdown } = await import("../publish/summary.ts");
  const { printJson, printLine, progressTo } = await import("../lib/terminal.ts");
  const words = [options.catalog, ...(options.quotes ?? []), ...(options.closes ?? [])];
  if (words.filter((word) => word === "-").length > 1) {
    throw new InputError("Standard input (-) is named twice, but can be read only once");
  }
  const keys = await publishingKeysFrom(options);
  const clock = clockFromEnvironment();
  const summary = options.summary === undefined ? null : await openSummary(options.summary);
  const store = await storeFromOptions(options);
  const progress = progressTo(process.stderr);
  try {
    const result = await publish(
      {
        catalog: options.catalog === undefined ? null : sourceOf(options.catalog),
        quotes: (options.quotes ?? []).map(sourceOf),
        closes: (options.closes ?? []).map(sourceOf),
        session: options.session ?? sessionAt(clock.now()),
        attribution: options.attribution ?? null,
        revise: options.revise ?? null,
        dryRun: options.dryRun ?? false,
        gates: {
          maxMoveMicros: options.maxMove,
          minCoverageMicros: options.minCoverage,
          maxCarryDays: options.maxCarryDays,
          acceptMoves: options.acceptMoves ?? false,
          allowSparse: options.allowSparse ?? false,
        },
        ...keys,
      },
      store,
      clock,
      progress.tell,
    );
    progress.end();
    await summary?.write(summaryMarkdown(result, store.location));
    if (options.json) printJson(resultView(result, store.location));
    else summaryLines(result, store.location).forEach(printLine);
  } finally {
    progress.end();
    await summary?.close();
    await store.close();
  }
}

/** Opens the file of the summary before the publish, so that a wrong path fails early. */
async function openSummary(
  path: string,
): Promise<{ write(text: string): Promise<void>; close(): Promise<void> }> {
  const { open } = await import("node:fs/promises");
  try {
    const file = await open(path, "a");
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

const session = parsedBy(
  parseSession,
  "expected a session such as 2026-11-21T00Z or 2026-11-21T12:00:00.000Z",
);

const percent = (max: number): OptionParser<Micros> =>
  parsedBy((text) => parseMicros(text, max), `expected a percentage from 0 to ${max}`);

const days = wholeNumber(
  `expected a whole number of days, at most ${MAX_CARRY_DAYS} days`,
  0,
  MAX_CARRY_DAYS,
);

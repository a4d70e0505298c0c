/** `map`: shows how a file of levels would be read, and proposes a map for `publish --map`. */
import { Command } from "commander";
import { clockFromEnvironment, createOption } from "../lib/config.ts";
import { EXIT, PrintedError } from "../lib/errors.ts";
import { printJson, printLine, printNotice, tableLines } from "../lib/terminal.ts";
import { sessionAt } from "../market/session.ts";
import { examples, jsonOption, type JsonOption } from "./every-command.ts";
import { oneOf } from "./option-values.ts";

interface MapOptions extends JsonOption {
  readonly try: string;
  readonly with?: string;
  readonly catalog?: string;
  readonly as?: "quotes" | "closes";
}

const HELP = `
Prints the first ten levels as publish would read them, as comments, and below them a map. publish reads both:
save the output and give it as --map. The map is a proposal from the file alone: check the rows, and change the map
until they are right. Notes of what to decide, and errors in rows, are on standard error. Nothing is written.
`;

export const mapCommand = (): Command =>
  new Command("map")
    .addOption(
      createOption(
        "--try <source>",
        "the file to read: a file, - or an http(s) address, in CSV, JSON or NDJSON",
      ).makeOptionMandatory(),
    )
    .addOption(createOption("--with <map>", "read the file by this map, and propose none"))
    .addOption(
      createOption("--catalog <source>", "contracts, to find ids by their names and tickers"),
    )
    .addOption(
      createOption(
        "--as <kind>",
        "quotes or closes (default: closes if a column has dates)",
        oneOf(["quotes", "closes"]),
      ),
    )
    .addOption(jsonOption())
    .addHelpText(
      "after",
      HELP +
        examples(
          "map --try prices.csv",
          "map --try prices.json --catalog catalog.csv > map.json",
          "map --try prices.json --with map.json",
          "publish --closes prices.json --map map.json --dry-run",
        ),
    )
    .action(showTrial);

async function showTrial(options: MapOptions): Promise<void> {
  const { sourceOf } = await import("../feed/source.ts");
  const { tryMap } = await import("../feed/try-map.ts");
  const { kind, rows, count, map, questions, complaints } = await tryMap({
    file: sourceOf(options.try),
    catalog: options.catalog === undefined ? null : sourceOf(options.catalog),
    map: options.with === undefined ? null : sourceOf(options.with),
    kind: options.as ?? null,
    session: sessionAt(clockFromEnvironment().now()),
  });
  const isUsed = ({ low, basis }: (typeof rows)[number]) => [low !== null, basis !== null];
  const [hasRange, hasBasis] = [0, 1].map((at) => rows.some((row) => isUsed(row)[at]));
  const names = [
    "id",
    kind === "closes" ? "date" : "session_utc",
    kind === "closes" ? "close_usd" : "spot_usd",
    ...(hasRange ? ["low_usd", "high_usd"] : []),
    ...(hasBasis ? ["basis"] : []),
  ];
  const cells = rows.map(({ id, time, level, low, high, basis }) => [
    id,
    time,
    level,
    ...(hasRange ? [low, high] : []),
    ...(hasBasis ? [basis] : []),
  ]);
  if (options.json) {
    const shown = cells.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])));
    const errors = complaints.lines();
    printJson({ kind, levels: count, rows: shown, map, questions, errors });
    if (errors.length > 0) throw new PrintedError(EXIT.input);
  } else {
    for (const line of tableLines(names, cells)) printLine(`# ${line}`);
    printLine(`# ${count} levels for publish --${kind}`);
    printLine(JSON.stringify(map, null, 2));
  }
  if (!options.json) for (const question of questions) printNotice(`Check: ${question}`);
  complaints.raise();
}

/**
 * Makes the pages of docs/reference from the program: its command tree, its tables, and its messages about
 * wrong inputs. `write-reference.ts` writes them, `reference.test.ts` compares them.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Argument, Command, Option } from "commander";
import { USUAL_LIMITS } from "../../src/feed/finding.ts";
import type { GateName } from "../../src/feed/gates.ts";
import { EXIT } from "../../src/lib/errors.ts";
import { COMMANDS } from "../../src/main.ts";
import { MICROS_PER_UNIT } from "../../src/market/decimal.ts";
import { tierTable } from "../../src/public/tier-words.ts";
import { PROBLEMS } from "../../src/public/problems.ts";
import { COLUMNS } from "../../src/public/columns.ts";
import { createState } from "../../src/state/open.ts";
import { chipboard, Serving } from "../program/program.ts";
import { logMessages } from "./log-messages.ts";

type Row = readonly string[];

/** A table in Markdown. */
const table = (head: Row, rows: readonly Row[]): string =>
  [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");

const code = (text: string): string => `\`${text}\``;

/** The text of each page by its name in docs/reference. */
export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  const commands = await allCommands();
  const pages: Record<string, readonly [title: string, about: string, ...body: string[]]> = {
    "tiers.md": ["Tiers", "what each has", tierTable()],
    "commands.md": [
      "Commands",
      "what each does, and how it is called",
      table(
        ["command", "does"],
        commands.map((command) => [code(usageOf(command)), command.description()]),
      ),
    ],
    "options.md": [
      "Options and variables",
      "each option of each command, its variable, and its default",
      "An option with a variable can be set in the environment. The others act once, let something through, or change an account: give them on the command line. Any other `CHIPBOARD_…` variable that is not empty is an error (2). `CHIPBOARD_NOW` starts the clock at another instant.",
      table(["option", "variable", "default", "meaning", "commands"], optionRows(commands)),
    ],
    "inputs.md": ["Inputs", "the columns of catalog, quotes and closes", await inputs()],
    "gates.md": [
      "Gates",
      "what each refuses, and its limit",
      table(["gate", "refuses", "limit"], gateRows(commands)),
    ],
    "exit-codes.md": [
      "Exit codes",
      "how a command ends",
      table(
        ["code", "meaning"],
        Object.entries(EXIT).map(([name, exit]) => [
          String(exit),
          EXIT_MEANINGS[name as keyof typeof EXIT],
        ]),
      ),
    ],
    "columns.md": [
      "Columns",
      "of exports and records, in their order",
      table(
        ["column", "meaning"],
        COLUMNS.map(({ name, meaning }) => [code(name), meaning]),
      ),
    ],
    "refusals.md": [
      "Refusals",
      "each `code` of a problem document that callers can get",
      table(
        ["code", "status", "when", "what the caller can do"],
        Object.entries(PROBLEMS).map(([name, { status, meaning, remedy }]) => [
          code(name),
          String(status),
          meaning,
          remedy,
        ]),
      ),
    ],
    "log.md": [
      "Log messages",
      "messages that the proxy writes to standard error. Each request with a problem also has a line, `request`, whose `request_id` is the `x-request-id` of its answer",
      table(
        ["message", "level", "meaning", "what to do"],
        logMessages().map(({ text, level, meaning, remedy }) => [
          code(text),
          level,
          meaning,
          remedy,
        ]),
      ),
    ],
    "metrics.md": ["Metrics", "metrics of the proxy, for Prometheus", await metrics()],
  };
  const made = Object.entries(pages).map(([name, [title, about, ...body]]) => [
    name,
    `${["# " + title, `${about[0]?.toUpperCase()}${about.slice(1)}.`, ...body].join("\n\n")}\n`,
  ]);
  const index = Object.entries(pages).map(([name, [title, about]]) => [
    `[${title}](${name})`,
    about,
  ]);
  return Object.fromEntries([
    ...made,
    ["README.md", `${INTRODUCTION}\n\n${table(["page", "has"], index)}\n`],
  ]);
}

const INTRODUCTION = `# Reference

\`npm run regenerate\` makes these pages from the program, and a test compares them.`;

/** Every command that does something, with its place in the tree. */
async function allCommands(): Promise<readonly Command[]> {
  const leaves = (command: Command): readonly Command[] =>
    command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
  const loaded = await Promise.all(
    COMMANDS.map(async ({ description, load }) => (await load()).description(description)),
  );
  return loaded.flatMap(leaves);
}

function nameOf(command: Command): string {
  const parent = command.parent === null ? "" : `${nameOf(command.parent)} `;
  return `${parent}${command.name()}`;
}

const usageOf = (command: Command): string =>
  ["chipboard", nameOf(command), ...command.registeredArguments.map(argumentText)].join(" ");

const argumentText = (argument: Argument): string =>
  argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;

const defaultOf = ({ defaultValue, defaultValueDescription }: Option): string =>
  defaultValueDescription ?? (defaultValue === undefined ? "" : String(defaultValue));

/** A row for each option; commands that mean the same by it share the row. */
function optionRows(commands: readonly Command[]): readonly Row[] {
  const rows = new Map<string, { readonly cells: Row; readonly commands: string[] }>();
  for (const command of commands) {
    for (const option of command.options) {
      const choices = option.argChoices === undefined ? "" : `: ${option.argChoices.join(", ")}`;
      const cells = [
        code(option.flags),
        option.envVar === undefined ? "" : code(option.envVar),
        defaultOf(option),
        option.description + choices,
      ];
      const row = rows.get(cells.join("\n")) ?? { cells, commands: [] };
      row.commands.push(code(nameOf(command)));
      rows.set(cells.join("\n"), row);
    }
  }
  return [...rows.values()]
    .toSorted((a, b) => (a.cells[0] ?? "").localeCompare(b.cells[0] ?? "", "en"))
    .map((row) => [...row.cells, row.commands.join(", ")]);
}

const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  done: "done, or nothing to do",
  unexpected: "unexpected: a defect, or a failure that the program does not know",
  input: "the command line or an input is wrong; its author must change it",
  refused: "a gate or a limit refused the data; a person must check it, and can accept it",
  conflict: "the request contradicts the published data, or the content of a target",
  unreachable:
    "the store or the state does not answer, or lacks a required property; or a port is in use",
  damaged: "stored bytes differ from the bytes that were written, or lack a required signature",
};

const percent = (micros: number): string => `${micros / MICROS_PER_UNIT} percent`;

/** What each gate refuses, and the option of its limit. */
const GATES: Readonly<Record<GateName, readonly [refuses: string, option: string]>> = {
  moves: [
    `a move of more than ${percent(USUAL_LIMITS.maxMoveMicros)} from a level that is at most ${USUAL_LIMITS.maxCarryDays} days old`,
    "--max-move",
  ],
  sparse: [
    `fewer than ${percent(USUAL_LIMITS.minCoverageMicros)} of the contracts covered: with a level for the session or, if the catalog has a \`cadence_days\` above 0.5, with a level younger than that plus half a day`,
    "--min-coverage",
  ],
  units: ["another unit, capacity or price type without a `break` in the same run", ""],
  unchanged: [
    `levels for the session when none has moved for more than ${USUAL_LIMITS.maxUnchangedSessions} sessions, or the longest cadence among them: the feed may be stale`,
    "--max-unchanged",
  ],
  series: [
    `a move of an index's series of more than ${percent(USUAL_LIMITS.maxIndexMoveMicros)} from one day to the next, with two or more members, and a value of the last published day that corrections change by more than 1 percent. The first publication of an index passes`,
    "--max-index-move",
  ],
  board: [
    `a median move of more than ${percent(USUAL_LIMITS.maxBoardMoveMicros)} of the contracts whose level moves in the session: without a break, from a level that is at most 7 days old, if there are ten or more and a board is published before`,
    "--max-board-move",
  ],
  delisting: [
    "a catalog that lacks a contract on the boards. To delist it, keep its row and fill in `delisted_on`",
    "",
  ],
  free: ["a catalog that changes which contracts are free", ""],
  gap: [
    `a session more than ${USUAL_LIMITS.maxGapSessions} sessions after the head, and a clock as far from the newest entry of the log: the clock may be wrong. Rollbacks and prunes also have it`,
    "--max-gap",
  ],
  clock: [
    "a machine's clock more than 5 minutes away from the `Date` (plus `Age`) of an answer, of a feed's address or the S3 server: one of the two is wrong. Also checked by rollbacks and prunes",
    "",
  ],
};

function gateRows(commands: readonly Command[]): readonly Row[] {
  const options = commands.flatMap((command) => command.options.map(({ long }) => long));
  return Object.entries(GATES).map(([name, [refuses, option]]) => {
    if (option !== "" && !options.includes(option)) throw new Error(`no option ${option}`);
    return [code(name), refuses, option === "" ? "" : code(option)];
  });
}

/** The meaning of the columns of inputs, where the name and the expected form do not say it. */
const INPUT_MEANINGS: Readonly<Record<string, string>> = {
  "catalog free":
    "whether callers without a key see it: `true` on ten rows; if on none, the first ten are free",
  "catalog capacity_gb": "of one unit, in gigabytes (10⁹ bytes)",
  "catalog max_carry_days":
    "days for which its last level may be carried; default: `--max-carry-days`",
  "catalog delisted_on": "off the boards from 00:00 UTC of this day",
  "catalog formerly": "its former ids; ids that earlier catalogs named stay known",
  "catalog cadence_days": "days between its levels; default: 0.5, each session",
  "catalog max_move_pct":
    "the largest move from one level to the next, in percent; default: `--max-move`",
  "catalog segment_formerly":
    "in a snapshot's catalog: ids that the index of its segment had before. `publish` does not read it; it [finds renamed segments itself](../operate/sessions.md#when-a-contract-changes)",
  "quotes id": "a contract of the catalog",
  "quotes spot_usd": "empty with basis `withdrawn`",
  "quotes session_utc": "default: the session that is published",
  "quotes basis": "`withdrawn` withdraws a published level",
  "quotes as_of": "date of the level, if it is not of its session",
  "quotes break": "reason why this level is not comparable with earlier ones",
  "quotes low_usd": "with `high_usd`, the range of the prices behind the level: both or neither",
  "quotes inputs": "number of prices behind the level",
  "quotes rationale": "the judgement behind the level",
  "closes id": "a contract of the catalog",
  "closes close_usd": "the level of the day's 12:00 UTC session",
};

const CATALOG =
  "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url\na,A,A,memory,S,USD,0,X,https://x.example/\n";

/** The columns of the three inputs: wrong files make the program name the expected forms. */
async function inputs(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "chipboard-reference-"));
  try {
    writeFileSync(join(folder, "catalog.csv"), CATALOG);
    writeFileSync(join(folder, "quotes.csv"), "id,spot_usd\na,1\n");
    const used = new Set<string>();
    const sections: string[] = [];
    for (const kind of ["catalog", "quotes", "closes"]) {
      const complain = async (text: string): Promise<string> => {
        writeFileSync(join(folder, "wrong.csv"), text);
        const files = { catalog: "catalog.csv", quotes: "quotes.csv", [kind]: "wrong.csv" };
        const args = Object.entries(files).flatMap(([name, file]) => [`--${name}`, file]);
        return (await chipboard(["publish", "--dry-run", ...args], { cwd: folder })).stderr;
      };
      const listed =
        /no known column in "\?", expected a header of ([^;\n]*)/m.exec(
          await complain("?\n"),
        )?.[1] ?? "";
      const columns = listed.split(", ");
      const lacking = await complain(`${columns.at(-1)}\n`);
      const required = [...lacking.matchAll(/the header lacks the column "(\w+)"/g)];
      const wrong = columns.map((name) => (name === "id" && kind !== "catalog" ? "a" : "\u0001"));
      const cells = await complain(`${columns.join(",")}\n${wrong.join(",")}\n`);
      const expected = new Map(
        [...cells.matchAll(/^ +wrong\.csv:2 (\w+) .*?: expected ([^;\n]*)/gm)].map((match) => [
          match[1],
          match[2],
        ]),
      );
      const rows = columns.map((name) => {
        used.add(`${kind} ${name}`);
        return [
          code(name),
          required.some(([, column]) => column === name) ? "yes" : "",
          expected.get(name) ?? "",
          INPUT_MEANINGS[`${kind} ${name}`] ?? "",
        ];
      });
      const silent = rows.filter(([, , expects, means]) => `${expects}${means}` === "");
      if (silent.length > 0) throw new Error(`${kind}: no meaning for ${String(silent[0])}`);
      sections.push(`## ${kind}`, table(["column", "required", "expected", "meaning"], rows));
    }
    const unused = Object.keys(INPUT_MEANINGS).filter((name) => !used.has(name));
    if (unused.length > 0) throw new Error(`no input has ${unused.join(", ")}`);
    return sections.join("\n\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The metrics of a proxy that serves nothing. */
async function metrics(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "chipboard-reference-"));
  const args = ["serve", "--json", "--port", "0", "--metrics-port", "0"];
  await createState(join(folder, "state"));
  const proxy = await Serving.start(args, { cwd: folder });
  try {
    const text = await (await fetch(proxy.metricsUrl ?? "")).text();
    const kinds = new Map(
      [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, kind]) => [name, kind]),
    );
    const rows = [...text.matchAll(/^# HELP (\w+) (.*)$/gm)].map(([, name = "", help = ""]) => [
      code(name),
      kinds.get(name) ?? "",
      help,
    ]);
    return table(["metric", "kind", "meaning"], rows.toSorted());
  } finally {
    await proxy.end();
    rmSync(folder, { recursive: true });
  }
}

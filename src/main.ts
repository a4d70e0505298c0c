/** The command tree. A failure prints a message on standard error and sets the exit code. */
import { Command, CommanderError } from "commander";
import { isJsonConfigured, requireVariables, unknownVariables } from "./lib/config.ts";
import { ChipboardError, EXIT, PrintedError, type ExitCode } from "./lib/errors.ts";
import { plainLines, plainText, printJson } from "./lib/terminal.ts";
import { PROGRAM } from "./lib/version.ts";

const HELP = `
Environment variables can set options: CHIPBOARD_MAX_MOVE sets --max-move. The help of a command names the
variable of each option. An option that acts once or lets something through, such as --revise, has none.
Any other CHIPBOARD_... variable is an error.
To rehearse, set the clock: CHIPBOARD_NOW=2026-11-21T00:05:00Z.

Exit codes: 0 done or nothing to do, 1 unexpected, 2 usage or input, 3 refused by a gate or a
limit, 4 conflict with published data, 5 store or state unreachable or unfit, port in use, 6 damage.

Examples:
  $ chipboard demo
  $ chipboard store init
  $ chipboard publish --catalog catalog.csv --quotes quotes.csv
  $ chipboard serve --store ./snapshots --state ./state`;

/** Every command, in the order of the help. A command is loaded only if the command line names it. */
export const COMMANDS: readonly {
  readonly name: string;
  readonly description: string;
  load(): Promise<Command>;
}[] = [
  {
    name: "demo",
    description:
      "publish a demonstration market (illustrative, not market data), create keys and serve it",
    load: async () => (await import("./commands/demo-command.ts")).demoCommand(),
  },
  {
    name: "init",
    description:
      "write sample inputs, options, a scheduled job, an empty store and an empty state into a folder, to begin with",
    load: async () => (await import("./commands/init-command.ts")).initCommand(),
  },
  {
    name: "publish",
    description: "publish a session from a catalog, quotes and closes (CSV, JSON or NDJSON)",
    load: async () => (await import("./commands/publish-command.ts")).publishCommand(),
  },
  {
    name: "map",
    description: "show how a file of levels would be read, and propose a map for publish --map",
    load: async () => (await import("./commands/map-command.ts")).mapCommand(),
  },
  {
    name: "serve",
    description: "serve the published snapshots over HTTP",
    load: async () => (await import("./commands/serve-command.ts")).serveCommand(),
  },
  {
    name: "export",
    description: "write all pages and data that need no key as a site of files, for a static host",
    load: async () => (await import("./commands/export-command.ts")).exportCommand(),
  },
  {
    name: "doctor",
    description: "look over a whole service: proxy, store, state, feeds, jobs and backups",
    load: async () => (await import("./commands/doctor-command.ts")).doctorCommand(),
  },
  {
    name: "guard",
    description: "look as doctor does, tell a person of each change, and try the backup each week",
    load: async () => (await import("./commands/guard-command.ts")).guardCommand(),
  },
  {
    name: "mcp",
    description: "let agents ask a service, by the Model Context Protocol",
    load: async () => (await import("./commands/mcp-command.ts")).mcpCommand(),
  },
  {
    name: "check",
    description: "prove an answer of a service and the log behind it, over HTTP",
    load: async () => (await import("./commands/check-command.ts")).checkCommand(),
  },
  {
    name: "accounts",
    description: "add, list, change and remove accounts; show their log",
    load: async () => (await import("./commands/accounts-command.ts")).accountsCommand(),
  },
  {
    name: "keys",
    description: "create, list, suspend, revoke and rotate keys; create signing keys",
    load: async () => (await import("./commands/keys-command.ts")).keysCommand(),
  },
  {
    name: "links",
    description: "create, list and revoke links for spreadsheets, which read one file",
    load: async () => (await import("./commands/links-command.ts")).linksCommand(),
  },
  {
    name: "usage",
    description: "show calls per account, by key, by month or by day",
    load: async () => (await import("./commands/usage-command.ts")).usageCommand(),
  },
  {
    name: "state",
    description: "create, copy or back up accounts, keys and counts",
    load: async () => (await import("./commands/state-command.ts")).stateCommand(),
  },
  {
    name: "store",
    description: "begin a store of snapshots",
    load: async () => (await import("./commands/store-command.ts")).storeCommand(),
  },
  {
    name: "snapshots",
    description: "list, show, compare, verify, roll back and prune snapshots",
    load: async () => (await import("./commands/snapshots-command.ts")).snapshotsCommand(),
  },
];

/** Runs the command line `argv` (as in process.argv) to its end and returns the exit code. */
export async function run(argv: readonly string[]): Promise<ExitCode> {
  const program = new Command(PROGRAM.name)
    .description("Publishes price levels of memory and semiconductor contracts, and serves them.")
    .version(PROGRAM.version, "--version")
    .showHelpAfterError("(add --help for usage)")
    .addHelpText("after", HELP)
    .configureOutput({ outputError: (text, write) => write(plainLines(text)) })
    .exitOverride();
  const named = argv.slice(2).find((word) => COMMANDS.some(({ name }) => name === word));
  let json = argv.includes("--json") || isJsonConfigured();
  const loadAll = () => Promise.all(COMMANDS.map(({ load }) => load()));
  // Before a command acts, but after its help has answered.
  program.hook("preAction", async (_program, command) => {
    json = command.opts()["json"] === true;
    await requireVariables(command, loadAll);
  });
  try {
    for (const { name, description, load } of COMMANDS) {
      const command = name === named ? await load() : new Command(name);
      program.addCommand(inheriting(command.description(description), program));
    }
    await program.parseAsync([...argv]);
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof CommanderError)) return report(error, json);
    if (error.exitCode === 0) return EXIT.done;
    // Commander has written the text to standard error.
    const message =
      error.code === "commander.help" ? "no such command" : error.message.replace(/^error: /, "");
    // A misspelt variable can be the cause: the option that it means is missing.
    const unknown = await unknownVariables(loadAll);
    const lines = unknown === null ? [] : [unknown.message, ...unknown.details];
    for (const line of lines) process.stderr.write(`error: ${plainText(line)}\n`);
    if (json) printFailure(EXIT.input, message, lines);
    return EXIT.input;
  }
}

/** Copies the program's settings to a command from another file, and to its subcommands. */
function inheriting(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inheriting(child, command);
  return command;
}

function report(error: unknown, json: boolean): ExitCode {
  if (error instanceof PrintedError) return error.exitCode;
  if (!(error instanceof ChipboardError)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`unexpected: ${plainLines(text)}\n`);
    return EXIT.unexpected;
  }
  const { exitCode, message, details } = error;
  const lines = [`error: ${plainText(message)}`, ...details.map((line) => `  ${plainText(line)}`)];
  process.stderr.write(`${lines.join("\n")}\n`);
  if (json) printFailure(exitCode, message, details);
  return exitCode;
}

const printFailure = (exit_code: ExitCode, message: string, details: readonly string[]): void =>
  printJson({ error: { exit_code, message, details } });

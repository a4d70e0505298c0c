/** The command tree, and how failures end: a message on standard error and an exit code. */
import { Command, CommanderError } from "commander";
import { accountsCommand } from "./commands/accounts.ts";
import { demoCommand } from "./commands/demo.ts";
import { keysCommand } from "./commands/keys.ts";
import { publishCommand } from "./commands/publish.ts";
import { serveCommand } from "./commands/serve.ts";
import { snapshotsCommand } from "./commands/snapshots.ts";
import { usageCommand } from "./commands/usage.ts";
import { ChipboardError, EXIT, type ExitCode } from "./errors.ts";
import { printJson } from "./terminal.ts";
import { PROGRAM } from "./version.ts";

const HELP = `
Every option can also be set in the environment: --max-move as CHIPBOARD_MAX_MOVE.
CHIPBOARD_NOW=2026-11-21T00:05:00Z starts the clock there, for rehearsals.

Exit codes: 0 done or nothing to do, 1 unexpected, 2 usage or input, 3 refused by a gate,
4 conflict with what is published, 5 store or state unreachable or unfit, 6 damage found.

Examples:
  $ chipboard demo
  $ chipboard publish --catalog catalog.csv --quotes quotes.csv
  $ chipboard serve --store ./snapshots --state ./state`;

/** Runs the command line `argv` (as in process.argv) to its end and returns the exit code. */
export async function run(argv: readonly string[]): Promise<ExitCode> {
  const program = new Command(PROGRAM.name)
    .description("Publishes price levels of memory and semiconductor contracts, and serves them.")
    .version(PROGRAM.version, "--version")
    .showHelpAfterError("(add --help for usage)")
    .addHelpText("after", HELP)
    .exitOverride();
  const commands = [
    demoCommand(),
    publishCommand(),
    serveCommand(),
    accountsCommand(),
    keysCommand(),
    usageCommand(),
    snapshotsCommand(),
  ];
  for (const command of commands) program.addCommand(inheriting(command, program));
  let json = argv.includes("--json");
  program.hook("preAction", (_program, command) => {
    json = command.opts()["json"] === true;
  });
  try {
    await program.parseAsync([...argv]);
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof CommanderError)) return report(error, json);
    if (error.exitCode === 0) return EXIT.done;
    // The text is on standard error by now.
    if (json) printFailure(EXIT.input, error.message.replace(/^error: /, ""), []);
    return EXIT.input;
  }
}

/** A command made elsewhere knows nothing of the program's settings, nor do those below it. */
function inheriting(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inheriting(child, command);
  return command;
}

function report(error: unknown, json: boolean): ExitCode {
  if (!(error instanceof ChipboardError)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.stderr.write(`unexpected: ${text}\n`);
    return EXIT.unexpected;
  }
  const { exitCode, message, details } = error;
  process.stderr.write(`error: ${message}\n${details.map((line) => `  ${line}\n`).join("")}`);
  if (json) printFailure(exitCode, message, details);
  return exitCode;
}

const printFailure = (exit_code: ExitCode, message: string, details: readonly string[]): void =>
  printJson({ error: { exit_code, message, details } });

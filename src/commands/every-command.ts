/** The parts of every command: its options, `--json`, and examples in its help. */
import type { Command, Option } from "commander";
import { createOption } from "../lib/config.ts";

export interface JsonOption {
  readonly json?: true;
}

/** `--json`: output for programs. */
export const jsonOption = (): Option => createOption("--json", "print JSON");

export function withOptions(command: Command, options: readonly Option[]): Command {
  for (const option of options) command.addOption(option);
  return command;
}

/** Examples for the end of a command's help. A line begins after the program's name. */
export const examples = (...lines: string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ chipboard ${line}`).join("\n")}`;

/** The parts of every command: `--json`, and examples in its help. */
import type { Option } from "commander";
import { setting } from "../lib/config.ts";

/** The value of `--json`. */
export interface JsonOption {
  readonly json?: true;
}

/** `--json`: output for programs. */
export const jsonOption = (): Option => setting("--json", "print JSON");

/** Examples for the end of a command's help. A line begins after the program's name. */
export const examples = (...lines: string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ chipboard ${line}`).join("\n")}`;

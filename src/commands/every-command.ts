/** What every command has: `--json`, and examples in its help. */
import type { Option } from "commander";
import { setting } from "../config.ts";

/** What `--json` gives. */
export interface JsonOption {
  readonly json?: true;
}

/** `--json`: machine-readable output. */
export const jsonOption = (): Option => setting("--json", "print JSON");

/** Examples below a command's help; `lines` begin after the program's name. */
export const examples = (...lines: string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ chipboard ${line}`).join("\n")}`;

import type { Option } from "commander";
import { setting } from "../config.ts";

/** `--state`, shared by every command that knows accounts, keys and counts. */
export const stateOption = (): Option =>
  setting("--state <location>", "a folder, or redis://[:password@]host:port/db").default("./state");

/** `--json`: machine-readable output. */
export const jsonOption = (): Option => setting("--json", "print JSON");

/** Examples below a command's help. */
export const examples = (...lines: string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ chipboard ${line}`).join("\n")}`;

/**
 * Flags and environment, parsed once. Every option of every command is made by `setting`, which
 * also gives it its `CHIPBOARD_…` variable; nothing else reads the environment.
 */
import { Option } from "commander";
import { createClock, type Clock } from "./clock.ts";

/**
 * An option `--max-move <percent>`, also read from `CHIPBOARD_MAX_MOVE`. Where a parser is given it
 * makes the value out of the text (`commands/option-values.ts`).
 */
export function setting(
  flags: string,
  description: string,
  parse?: (text: string) => unknown,
): Option {
  const option = new Option(flags, description);
  const variable = `CHIPBOARD_${option.name().toUpperCase().replaceAll("-", "_")}`;
  if (!isSwitchedOff(option, process.env[variable])) option.env(variable);
  return parse === undefined ? option : option.argParser(parse);
}

/** An empty variable is as good as none; a flag's may say no. */
const isSwitchedOff = (option: Option, value: string | undefined): boolean =>
  value === "" || (option.isBoolean() && /^(?:0|false|no|off)$/i.test(value ?? ""));

/** The clock of this run: the real one, or the one that `CHIPBOARD_NOW` starts. */
export const clockFromEnvironment = (): Clock => createClock(process.env["CHIPBOARD_NOW"]);

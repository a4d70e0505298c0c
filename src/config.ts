/**
 * Flags and environment, parsed once. Every option of every command is made by `setting`, which
 * also gives it its `CHIPBOARD_…` variable; nothing else reads the environment.
 */
import { Option } from "commander";
import { InputError } from "./errors.ts";
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
  const value = process.env[variable];
  const isNone = value !== undefined && option.isBoolean() ? !isSwitchedOn(variable) : value === "";
  if (!isNone) option.env(variable);
  return parse === undefined ? option : option.argParser(parse);
}

/**
 * Whether the variable of a flag says yes; an empty one is as good as none. Throws InputError where it
 * says neither yes nor no: a gate is not opened by a guess.
 */
export function isSwitchedOn(variable: string): boolean {
  const value = process.env[variable] ?? "";
  if (/^(?:1|true|yes|on)$/i.test(value)) return true;
  if (/^(?:|0|false|no|off)$/i.test(value)) return false;
  throw new InputError(
    `${variable} ${JSON.stringify(value)}: expected 1, true, yes or on, or 0, false, no or off`,
  );
}

/** The clock of this run: the real one, or the one that `CHIPBOARD_NOW` starts. */
export const clockFromEnvironment = (): Clock => createClock(process.env["CHIPBOARD_NOW"]);

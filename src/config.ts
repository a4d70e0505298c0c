/**
 * Flags and environment, parsed once. Every option of every command is made by `setting`, which
 * also gives it its `CHIPBOARD_…` variable; nothing else reads the environment.
 */
import { InvalidArgumentError, Option } from "commander";
import type { z } from "zod";
import { createClock, type Clock } from "./clock.ts";

/**
 * An option `--max-move <percent>`, also read from `CHIPBOARD_MAX_MOVE`. Where a schema is given
 * the text is parsed by it, and a text that does not fit is a usage error that names the option.
 */
export function setting(flags: string, description: string, schema?: z.ZodType): Option {
  const option = new Option(flags, description);
  const variable = `CHIPBOARD_${option.name().toUpperCase().replaceAll("-", "_")}`;
  if (!isSwitchedOff(option, process.env[variable])) option.env(variable);
  if (schema === undefined) return option;
  return option.argParser((text: string, _previous: unknown) => {
    const result = schema.safeParse(text);
    if (result.success) return result.data;
    throw new InvalidArgumentError(result.error.issues.map((issue) => issue.message).join("; "));
  });
}

/** An empty variable is as good as none; a flag's may say no. */
const isSwitchedOff = (option: Option, value: string | undefined): boolean =>
  value === "" || (option.isBoolean() && /^(?:0|false|no|off)$/i.test(value ?? ""));

/** The clock of this run: the real one, or the one that `CHIPBOARD_NOW` starts. */
export const clockFromEnvironment = (): Clock => createClock(process.env["CHIPBOARD_NOW"]);

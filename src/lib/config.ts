/**
 * Options and the environment. `setting` makes every option of every command and gives it its
 * `CHIPBOARD_…` variable. Nothing else reads the environment.
 */
import { InvalidArgumentError, Option, type Command } from "commander";
import { InputError } from "./errors.ts";
import { proxiesIn, type Proxies } from "./proxies.ts";
import { withoutSecrets } from "./secrets.ts";
import { createClock, type Clock } from "./clock.ts";
import { plainText, printNotice } from "./terminal.ts";
import { distance } from "./text.ts";

const variableOf = (option: Option): string =>
  `CHIPBOARD_${option.name().toUpperCase().replaceAll("-", "_")}`;

/**
 * An option such as `--max-move <percent>`, which `CHIPBOARD_MAX_MOVE` sets, too. `parse` turns its
 * text into the value (`commands/option-values.ts`); what it does not take is an InputError.
 */
export function setting(
  flags: string,
  description: string,
  parse?: (text: string) => unknown,
): Option {
  const option = new Option(flags, description);
  const variable = variableOf(option);
  const value = process.env[variable];
  const isNone = value !== undefined && option.isBoolean() ? !isSwitchedOn(variable) : value === "";
  if (!isNone) option.env(variable);
  if (parse === undefined) return option;
  return option.argParser((text: string) => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      const name = text === value ? variable : option.long;
      throw new InputError(`${name} ${JSON.stringify(withoutSecrets(text))}: ${error.message}`);
    }
  });
}

/**
 * Whether the variable of a flag says yes. Empty means no. Throws InputError for any other text: a
 * guess must not open a gate.
 */
export function isSwitchedOn(variable: string): boolean {
  const value = process.env[variable] ?? "";
  if (/^(?:1|true|yes|on)$/i.test(value)) return true;
  if (/^(?:|0|false|no|off)$/i.test(value)) return false;
  throw new InputError(
    `${variable} ${JSON.stringify(value)}: expected 1, true, yes or on, or 0, false, no or off`,
  );
}

/**
 * Warns of the variables that are set and that no command has, each with the nearest name. `load` gives all
 * commands, and is called if the `loaded` ones lack one.
 */
export async function warnOfVariables(
  loaded: readonly Command[],
  load: () => Promise<readonly Command[]>,
): Promise<void> {
  const set = Object.keys(process.env).filter((name) => /^CHIPBOARD_(?!NOW$|TEST_)/i.test(name));
  const usual = variablesIn(loaded);
  if (set.every((name) => usual.includes(name))) return;
  // Of a command whose own variable is wrong, which it says itself, the others are not known.
  const known = variablesIn(await load().catch(() => []));
  if (known.length === 0) return;
  for (const name of set.filter((each) => !known.includes(each))) {
    const far = (other: string): number => distance(name.toUpperCase(), other, 2);
    const [nearest = ""] = known.toSorted((a, b) => far(a) - far(b));
    // Two letters of a short name are too many to guess from.
    const most = Math.min(2, (nearest.length - "CHIPBOARD_".length) / 2);
    const hint = far(nearest) <= most ? `; did you mean ${nearest}?` : "";
    printNotice(`warning: ${plainText(name)} is not a variable of chipboard${hint}`);
  }
}

const variablesIn = (all: readonly Command[]): string[] =>
  all.flatMap(({ options, commands }) => [...options.map(variableOf), ...variablesIn(commands)]);

/** The proxies of outgoing requests that the environment names. Throws InputError for others. */
export const outboundProxies = (): Proxies => proxiesIn(process.env);

/** The store that the environment names; "": none. */
export const configuredStore = (): string => process.env["CHIPBOARD_STORE"] ?? "";

/** The clock of this run: the real one, or the one that `CHIPBOARD_NOW` starts. */
export const clockFromEnvironment = (): Clock => createClock(process.env["CHIPBOARD_NOW"]);

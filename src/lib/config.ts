/**
 * Options and the environment. `setting` makes an option and gives it its `CHIPBOARD_…` variable;
 * `onceOption` makes one without a variable. Nothing else reads the environment.
 */
import { InvalidArgumentError, Option, type Command } from "commander";
import { InputError } from "./errors.ts";
import { proxiesIn, type Proxies } from "./proxies.ts";
import { withoutSecrets } from "./secrets.ts";
import { createClock, type Clock } from "./clock.ts";
import { plainText, printNotice } from "./terminal.ts";
import { distance } from "./text.ts";

/** Options without a variable. */
const onceOptions = new WeakSet<Option>();
/** The given value of an option, as text. */
const givenTexts = new WeakMap<Option, string>();

const variableOf = (option: Option): string =>
  `CHIPBOARD_${option.name().toUpperCase().replaceAll("-", "_")}`;

type Parse = (text: string) => unknown;

/**
 * An option such as `--max-move <percent>`, which `CHIPBOARD_MAX_MOVE` also sets. `parse` turns its
 * text into the value (`commands/option-values.ts`); it throws InputError for any other text.
 */
export function setting(flags: string, description: string, parse?: Parse): Option {
  const option = new Option(flags, description);
  const variable = variableOf(option);
  const value = process.env[variable];
  const isNone = value !== undefined && option.isBoolean() ? !isSwitchedOn(variable) : value === "";
  if (!isNone) option.env(variable);
  return parsed(option, parse, (text) => (text === value ? variable : option.long));
}

/**
 * The same for an option that acts once, or changes what an account may do, such as `--revise`. It has no
 * variable: one that stays set would act again, unseen.
 */
export function onceOption(flags: string, description: string, parse?: Parse): Option {
  const option = new Option(flags, description);
  onceOptions.add(option);
  return parsed(option, parse, () => option.long);
}

/** The option with its parser. `nameOf` says what named a text, for the message. */
function parsed(
  option: Option,
  parse: Parse | undefined,
  nameOf: (text: string) => string | undefined,
): Option {
  if (parse === undefined) return option;
  return option.argParser((text: string) => {
    givenTexts.set(option, text);
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw new InputError(
        `${nameOf(text)} ${JSON.stringify(withoutSecrets(text))}: ${error.message}`,
      );
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
 * Warns of the variables that are set and that no command has, each with the nearest name, or with the
 * option that has no variable. `load` gives all commands, and is called if the `loaded` ones lack one.
 */
export async function warnOfVariables(
  loaded: readonly Command[],
  load: () => Promise<readonly Command[]>,
): Promise<void> {
  const set = Object.keys(process.env).filter((name) =>
    /^CHIPBOARD_(?!NOW$|ENV_FILE$|TEST_)/i.test(name),
  );
  const usual = variablesOf(optionsIn(loaded));
  if (set.every((name) => usual.includes(name))) return;
  // Of a command whose own variable is wrong, which it says itself, the others are not known.
  const all = optionsIn(await load().catch(() => []));
  const known = variablesOf(all);
  if (known.length === 0) return;
  for (const name of set.filter((each) => !known.includes(each))) {
    const once = all.find(
      (option) => onceOptions.has(option) && variableOf(option) === name.toUpperCase(),
    );
    const hint =
      once === undefined ? nearestOf(name, known) : `; give ${once.long} on the command line`;
    printNotice(`warning: ${plainText(name)} is not a variable of chipboard${hint}`);
  }
}

function nearestOf(name: string, known: readonly string[]): string {
  const far = (other: string): number => distance(name.toUpperCase(), other, 2);
  const [nearest = ""] = known.toSorted((a, b) => far(a) - far(b));
  // Two letters of a short name are too many to guess from.
  const most = Math.min(2, (nearest.length - "CHIPBOARD_".length) / 2);
  return far(nearest) <= most ? `; did you mean ${nearest}?` : "";
}

const optionsIn = (all: readonly Command[]): Option[] =>
  all.flatMap(({ options, commands }) => [...options, ...optionsIn(commands)]);

const variablesOf = (options: readonly Option[]): string[] =>
  options.filter((option) => !onceOptions.has(option)).map(variableOf);

/** The value of an option that is in force, and where it comes from. */
export interface ConfiguredValue {
  readonly option: string;
  /** Null: it has none. */
  readonly variable: string | null;
  /** As it was given, without secrets; null: the option is not set and has no default. */
  readonly value: string | null;
  readonly source: "option" | "variable" | "file" | "default";
  /** The file that the variable was read from; null: none is known. */
  readonly file: string | null;
}

/** The values of a command's options, in their order. */
export const configurationOf = (command: Command): ConfiguredValue[] =>
  command.options.map((option) => {
    const source = command.getOptionValueSource(option.attributeName());
    const value: unknown = command.getOptionValue(option.attributeName());
    const variable = onceOptions.has(option) ? null : variableOf(option);
    const file = source === "env" && variable !== null ? fileOf(variable) : null;
    const text =
      source === "default" || value === undefined
        ? (option.defaultValueDescription ?? value)
        : (givenTexts.get(option) ?? value);
    return {
      option: option.long ?? option.flags,
      variable,
      value:
        text === undefined
          ? null
          : withoutSecrets(typeof text === "string" ? text : JSON.stringify(text)),
      source:
        source === "cli"
          ? "option"
          : source !== "env"
            ? "default"
            : file === null
              ? "variable"
              : "file",
      file,
    };
  });

/** The variables that are set and that only other commands read. */
export const otherVariables = ({ options }: Command): string[] => {
  const own = variablesOf(options);
  return Object.keys(process.env)
    .filter((name) => /^CHIPBOARD_(?!NOW$|ENV_FILE$|TEST_)/.test(name) && !own.includes(name))
    .toSorted();
};

/**
 * The file that a variable was read from. Scripts that read a file of variables say so in CHIPBOARD_ENV_FILE: the
 * file, then the names of its variables, separated by blanks.
 */
function fileOf(variable: string): string | null {
  const [file = "", ...names] = (process.env["CHIPBOARD_ENV_FILE"] ?? "").split(/\s+/);
  return names.includes(variable) ? file : null;
}

/** Whether CHIPBOARD_NOW sets the clock. */
export const isClockSet = (): boolean => (process.env["CHIPBOARD_NOW"] ?? "") !== "";

/** The first file descriptor that systemd passes (sd_listen_fds(3)). */
const FIRST_SOCKET = 3;

/**
 * The listening socket that systemd passes to this process; null: none. Removes the variables, so that no other
 * process takes them for its own. Throws InputError for several sockets.
 */
export function takeSocket(): number | null {
  const { LISTEN_PID: pid, LISTEN_FDS: count = "0" } = process.env;
  for (const name of ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]) delete process.env[name];
  if (Number(pid) !== process.pid || count === "0") return null;
  if (count === "1") return FIRST_SOCKET;
  throw new InputError(
    `systemd passes ${count} sockets: expected one; give the .socket unit one ListenStream`,
  );
}

/** Whether systemd waits until this process says that it is ready (sd_notify(3)). */
export const isReadinessAwaited = (): boolean => (process.env["NOTIFY_SOCKET"] ?? "") !== "";

/** The proxies of outgoing requests that the environment names. Throws InputError for others. */
export const outboundProxies = (): Proxies => proxiesIn(process.env);

/** The store that the environment names; "": none. */
export const configuredStore = (): string => process.env["CHIPBOARD_STORE"] ?? "";

/** The feed of levels that the environment names; "": none. */
export const configuredFeed = (): string => process.env["CHIPBOARD_QUOTES"] ?? "";

/** The clock of this run: the real one, or the one that `CHIPBOARD_NOW` starts. */
export const clockFromEnvironment = (): Clock => createClock(process.env["CHIPBOARD_NOW"]);

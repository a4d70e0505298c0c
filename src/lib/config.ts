/**
 * Options and the environment. `createOption` makes an option, with a `CHIPBOARD_…` variable if the list below
 * has it. Nothing else reads the environment.
 */
import { InvalidArgumentError, Option, type Command } from "commander";
import { InputError } from "./errors.ts";
import { proxiesIn, type Proxies } from "./proxies.ts";
import { shownLocation, withoutSecrets } from "./secrets.ts";
import { createClock, type Clock } from "./clock.ts";
import { distance } from "./text.ts";

/**
 * The options with a variable: those that describe a service, its feeds or its limits, and so hold for every
 * run. An option that names a single act, lets something through, ends a key or changes an account has none:
 * a variable that stays set would do that again, unseen.
 */
const OPTIONS_WITH_VARIABLE: ReadonlySet<string> = new Set([
  // The places of the data.
  "store",
  "s3-endpoint",
  "s3-region",
  "s3-path-style",
  "state",
  // The feeds.
  "catalog",
  "quotes",
  "closes",
  "map",
  "feed-header",
  "wait",
  "round",
  "closed",
  "holidays",
  // Each publication.
  "attribution",
  "by",
  "summary",
  "sign-key",
  "verify-key",
  "remember",
  // The limits.
  "max-move",
  "max-index-move",
  "max-board-move",
  "min-coverage",
  "max-unchanged",
  "notice-still",
  "max-gap",
  "max-carry-days",
  "keep-days",
  // The proxy.
  "host",
  "port",
  "public-url",
  "trust-proxy",
  "tls-cert",
  "tls-key",
  "plans",
  "poll",
  "grace",
  "cache-mb",
  "max-connections",
  "max-connections-per-address",
  "metrics-host",
  "metrics-port",
  "log-level",
  "log-requests",
  // A site of files.
  "service",
  // Programs that ask a service.
  "url",
  "key",
  "http",
  "allow-host",
  // The output.
  "json",
]);
/** Variables without an option. */
const OTHER_VARIABLES = /^CHIPBOARD_(?:NOW|ENV_FILE|TEST_.*)$/;

/** The given value of an option, as text. */
const givenTexts = new WeakMap<Option, string>();
/** The errors of variables. They count only when a command acts, so that its help always answers. */
const variableErrors = new WeakMap<Option, InputError>();

const variableOf = (option: string): string =>
  `CHIPBOARD_${option.toUpperCase().replaceAll("-", "_")}`;

export const hasVariable = (option: Option): boolean => OPTIONS_WITH_VARIABLE.has(option.name());

type Parse = (text: string) => unknown;

/**
 * An option such as `--max-move <percent>`; `CHIPBOARD_MAX_MOVE` also sets it if the list has it. `parse` turns
 * its text into the value (`commands/option-values.ts`); it throws InvalidArgumentError for any other text.
 */
export function createOption(flags: string, description: string, parse?: Parse): Option {
  const option = new Option(flags, description);
  const variable = hasVariable(option) ? variableOf(option.name()) : null;
  const value = variable === null ? undefined : process.env[variable];
  if (variable !== null && (value === undefined || isGiven(option, variable, value))) {
    option.env(variable);
  }
  if (parse === undefined) return option;
  return option.argParser((text: string) => {
    givenTexts.set(option, text);
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      const name = text === value ? variable : option.long;
      const message = `${name} ${JSON.stringify(shownValue(text))}: ${error.message}`;
      if (text !== value) throw new InputError(message);
      variableErrors.set(option, new InputError(message));
      return text;
    }
  });
}

/** The text of an option, for messages. */
const shownValue = (text: string): string => withoutSecrets(shownLocation(text));

/**
 * Whether a variable gives its option. An empty one does not. One of a flag says yes or no; any other text is an
 * error, because a guess must not open a gate.
 */
function isGiven(option: Option, variable: string, value: string): boolean {
  if (!option.isBoolean()) return value !== "";
  if (isYes(value)) return true;
  if (!/^(?:|0|false|no|off)$/i.test(value)) {
    const expected = "expected 1, true, yes or on, or 0, false, no or off";
    const message = `${variable} ${JSON.stringify(value)}: ${expected}`;
    variableErrors.set(option, new InputError(message));
  }
  return false;
}

const isYes = (value: string): boolean => /^(?:1|true|yes|on)$/i.test(value);

/** Whether CHIPBOARD_JSON asks for output for programs. For errors before a command has read its options. */
export const isJsonConfigured = (): boolean => isYes(process.env["CHIPBOARD_JSON"] ?? "");

/** The error of the first variable of `command` that has a wrong value; null: none has. */
const wrongValue = ({ options }: Command): InputError | null =>
  options.map((option) => variableErrors.get(option)).find((error) => error !== undefined) ?? null;

/** The errors of variables, by commands that report them themselves. */
const reported = new WeakMap<Command, InputError | null>();

/** The action of `command` asks `variableErrorOf` itself: it runs although a variable is wrong. */
export const reportVariables = (command: Command): void => void reported.set(command, null);

/** The error that `requireVariables` found for a command that reports it itself. */
export const variableErrorOf = (command: Command): InputError | null =>
  reported.get(command) ?? null;

/**
 * Throws InputError if a variable of `command` has a wrong value, or if one is set that no command has. A command that
 * reports this itself gets the error instead. `load` gives all commands, for the message only.
 */
export async function requireVariables(
  command: Command,
  load: () => Promise<readonly Command[]>,
): Promise<void> {
  const error = (await unknownVariables(load)) ?? wrongValue(command);
  if (error === null) return;
  if (!reported.has(command)) throw error;
  reported.set(command, error);
}

/**
 * An error that tells of the `CHIPBOARD_…` variables that are set and that no command has; null: there are none.
 * It names the nearest variable, or the option that has none. `load` gives all commands, for the message only.
 */
export async function unknownVariables(
  load: () => Promise<readonly Command[]>,
): Promise<InputError | null> {
  const known = [...OPTIONS_WITH_VARIABLE].map(variableOf);
  const unknown = Object.keys(process.env).filter(
    (name) =>
      /^CHIPBOARD_/i.test(name) &&
      process.env[name] !== "" &&
      !known.includes(name) &&
      !OTHER_VARIABLES.test(name),
  );
  if (unknown.length === 0) return null;
  const options = new Set(optionsIn(await load()).map((option) => option.name()));
  const [first = "", ...others] = unknown.map((name) => unknownText(name, [...options]));
  return new InputError(first, others);
}

function unknownText(name: string, options: readonly string[]): string {
  const file = fileOf(name);
  const text = `${name}${file === null ? "" : ` in ${file}`} is not a variable of chipboard`;
  const option = nearestOf(name, options);
  if (option === null) return `${text}: remove it`;
  return OPTIONS_WITH_VARIABLE.has(option)
    ? `${text}; did you mean ${variableOf(option)} (--${option})?`
    : `${text}: remove it, and give --${option} on the command line of each run that needs it`;
}

/** The option whose variable would have the name nearest to `name`; null: none is near. */
function nearestOf(name: string, options: readonly string[]): string | null {
  const far = (option: string): number => distance(name.toUpperCase(), variableOf(option), 2);
  const [nearest = ""] = options.toSorted((a, b) => far(a) - far(b));
  // Two letters of a short name are too many to guess from.
  return far(nearest) <= Math.min(2, nearest.length / 2) ? nearest : null;
}

const optionsIn = (all: readonly Command[]): Option[] =>
  all.flatMap(({ options, commands }) => [...options, ...optionsIn(commands)]);

/** The value of an option that is in force, and where it comes from. */
interface ConfiguredValue {
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
    const variable = hasVariable(option) ? variableOf(option.name()) : null;
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
          : shownValue(typeof text === "string" ? text : JSON.stringify(text)),
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
  const own = options.map((option) => variableOf(option.name()));
  return [...OPTIONS_WITH_VARIABLE]
    .map(variableOf)
    .filter((name) => (process.env[name] ?? "") !== "" && !own.includes(name))
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

/** Where notices go, and whether as JSON; null: NOTICE_URL is not set. */
export const noticeAddress = (): { readonly url: string; readonly isJson: boolean } | null => {
  const { NOTICE_URL: url = "", NOTICE_FORMAT: format } = process.env;
  return url === "" ? null : { url, isJson: format === "json" };
};

/** The clock of this run: the real one, or the one that `CHIPBOARD_NOW` starts. */
export const clockFromEnvironment = (): Clock => createClock(process.env["CHIPBOARD_NOW"]);

/**
 * Parsers for the texts of options. A parser returns the value, or throws an error whose message is the
 * expected form; `createOption` adds the option and the text. These are plain functions because every start of the
 * program loads them, even for `--help`.
 */
import { InvalidArgumentError } from "commander";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../lib/clock.ts";
import { secretIn } from "../lib/secrets.ts";
import { isLine } from "../lib/text.ts";

/** Turns an option's text into its value. Throws InvalidArgumentError (see `createOption`). */
export type OptionParser<T> = (text: string) => T;

const UNIT_MS = { ms: 1, s: 1_000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS } as const;
type Unit = keyof typeof UNIT_MS;

const DURATION = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)?$/;

/** The value that `parse` returns. `expected` is the error message if that is null. */
export const parsedBy =
  <T>(parse: (text: string) => T | null, expected: string): OptionParser<T> =>
  (text) => {
    const value = parse(text);
    if (value === null) throw new InvalidArgumentError(expected);
    return value;
  };

/** The text itself, if it is valid. */
export const textThat = (fits: (text: string) => boolean, expected: string): OptionParser<string> =>
  parsedBy((text) => (fits(text) ? text : null), expected);

export const oneOf = <T extends string>(words: readonly T[]): OptionParser<T> =>
  parsedBy(
    (text) => words.find((word) => word === text) ?? null,
    `expected one of ${words.join(", ")}`,
  );

/** A number from `min` to `max`, written with digits only. */
export const wholeNumber = (expected: string, min: number, max: number): OptionParser<number> =>
  parsedBy((text) => {
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    return number >= min && number <= max ? number : null;
  }, expected);

/** How many days prune keeps snapshots. */
export const keepDays = wholeNumber("expected a whole number of days, 0 to 99999", 0, 99_999);

/** One line of text to store and show. */
export const lineUpTo = (max: number): OptionParser<string> =>
  textThat((text) => isLine(text, max), `expected text of 1 to ${max} characters on one line`);

/** A reason or an attribution, which is published. */
export const publicLine: OptionParser<string> = (text) => {
  const secret = secretIn(text);
  if (secret === null) return lineUpTo(1_000)(text);
  throw new InvalidArgumentError(`expected public text, but it holds ${secret}`);
};

/** The same, or no text. */
export const noteText = textThat(
  (text) => text === "" || isLine(text),
  'expected text of up to 1000 characters on one line, or ""',
);

/**
 * A duration such as `500ms`, `90m` or `7d`, from `minMs` to `maxMs`, in milliseconds. A number without
 * a unit is in `bareUnit`.
 */
export const durationMs = (bareUnit: Unit, minMs: number, maxMs: number): OptionParser<number> =>
  parsedBy(
    (text) => {
      const parts = DURATION.exec(text);
      const unit = (parts?.[2] ?? bareUnit) as Unit;
      const ms = parts === null ? Number.NaN : Math.round(Number(parts[1]) * UNIT_MS[unit]);
      return ms >= minMs && ms <= maxMs ? ms : null;
    },
    `expected a duration such as 2s, 60m, 12h or 7d (without a unit: ${bareUnit}), ` +
      `from ${inWords(minMs)} to ${inWords(maxMs)}`,
  );

/** The duration as a whole number in the largest unit for which it is one. */
function inWords(ms: number): string {
  const units = Object.keys(UNIT_MS) as Unit[];
  const unit = units.findLast((name) => ms >= UNIT_MS[name] && ms % UNIT_MS[name] === 0) ?? "ms";
  return ms === 0 ? "0" : `${ms / UNIT_MS[unit]}${unit}`;
}

/** The longest trial of an account. */
export const TRIAL_DAYS_MAX = 3_650;

/** The purpose of a key or a link. */
export const label = textThat(
  (text) => /^[^\p{Cc}]{1,80}$/u.test(text),
  "expected 1 to 80 characters, without control characters",
);

/**
 * What the texts of options mean. A parser returns the value, or throws what commander reports as a
 * usage error that names the option and the text. Plain functions: every start of the program loads
 * this, also where it only prints its help.
 */
import { InvalidArgumentError } from "commander";
import { DAY_MS, HOUR_MS } from "../clock.ts";

/** Makes an option's value of its text. Throws InvalidArgumentError, which commander reports. */
export type OptionParser<T> = (text: string) => T;

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: HOUR_MS, d: DAY_MS } as const;
type Unit = keyof typeof UNIT_MS;

const DURATION = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)?$/;

/** What `parse` makes of a text; `expected` is the complaint where it makes nothing (null). */
export const parsedBy =
  <T>(parse: (text: string) => T | null, expected: string): OptionParser<T> =>
  (text) => {
    const value = parse(text);
    if (value === null) throw new InvalidArgumentError(expected);
    return value;
  };

/** The text itself, where it fits. */
export const textThat = (fits: (text: string) => boolean, expected: string): OptionParser<string> =>
  parsedBy((text) => (fits(text) ? text : null), expected);

/** One of a few words. */
export const oneOf = <T extends string>(words: readonly T[]): OptionParser<T> =>
  parsedBy(
    (text) => words.find((word) => word === text) ?? null,
    `expected one of ${words.join(", ")}`,
  );

/** A number of digits only, from `min` to `max`. */
export const wholeNumber = (expected: string, min: number, max: number): OptionParser<number> =>
  parsedBy((text) => {
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    return number >= min && number <= max ? number : null;
  }, expected);

/** One line of text that can be kept and shown: a reason, an attribution. */
export const lineOfText = textThat(
  (text) => text.trim() !== "" && text.length <= 1_000 && !/\p{Cc}|\p{Surrogate}/u.test(text),
  "expected text of 1 to 1000 characters on one line",
);

/**
 * A length of time such as `500ms`, `90m` or `7d`, of `minMs` to `maxMs`, in milliseconds. A bare
 * number is in `bareUnit`, the one the option is usually given in.
 */
export const durationMs = (bareUnit: Unit, minMs: number, maxMs: number): OptionParser<number> =>
  parsedBy(
    (text) => {
      const parts = DURATION.exec(text);
      const unit = (parts?.[2] ?? bareUnit) as Unit;
      const ms = parts === null ? Number.NaN : Math.round(Number(parts[1]) * UNIT_MS[unit]);
      return ms >= minMs && ms <= maxMs ? ms : null;
    },
    `expected a duration such as 2s, 60m, 12h or 7d (a bare number: ${bareUnit}), ` +
      `from ${inWords(minMs)} to ${inWords(maxMs)}`,
  );

/** In the largest unit that leaves nothing over. */
function inWords(ms: number): string {
  const units = Object.keys(UNIT_MS) as Unit[];
  const unit = units.findLast((name) => ms >= UNIT_MS[name] && ms % UNIT_MS[name] === 0) ?? "ms";
  return ms === 0 ? "0" : `${ms / UNIT_MS[unit]}${unit}`;
}

/** The fields that a cell may hold: how to parse each, and the words for the expected form. */
import { secretIn } from "../lib/secrets.ts";
import { BASES, type Basis } from "../market/series.ts";
import {
  formatMicros,
  MAX_LEVEL_USD,
  MICROS_PER_UNIT,
  parseMicros,
  type Micros,
} from "../market/decimal.ts";
import { FIRST_DATE, parseDate, parseSession, type Day, type Session } from "../market/session.ts";
import { dateSlip, levelSlip, numberSlip } from "./slips.ts";
import { detach } from "./text-reader.ts";

/** Parses the cells of a column. */
export interface Field<T> {
  /** Follows "expected" in a complaint: `a date such as 2026-11-21`. */
  readonly expected: string;
  /**
   * What a text that it cannot parse seems to be, or the option that would accept it; may be empty. `fits`:
   * whether the field parses another text.
   */
  remedy?(text: string, fits: (text: string) => boolean): string;
  /** The value; undefined if the text is not as expected. Never throws. */
  parse(text: string): T | undefined;
}

const ROUND = "; --round rounds levels with more";
const MAX_TEXT_CHARACTERS = 1_000;
/** The longest id of a contract. */
export const MAX_ID_CHARACTERS = 100;

/** C0 and C1 controls except tab and line breaks, unpaired surrogates, characters that XML forbids. */
const UNPRINTABLE =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufffe\uffff]|\p{Surrogate}/u;

/** A level in US dollars, as micro-dollars. */
export const levelField: Field<Micros> = {
  expected: `a number above 0, at most ${MAX_LEVEL_USD}, with at most 6 decimals`,
  parse(text) {
    const micros = parseMicros(text, MAX_LEVEL_USD);
    return micros === null || micros === 0 ? undefined : micros;
  },
  remedy: (text, fits) =>
    roundedLevelField.parse(text) === undefined ? levelSlip(text) || numberSlip(text, fits) : ROUND,
};

/**
 * The same with more decimals, rounded to 6, half away from zero. A level that would become 0 is not
 * one.
 */
export const roundedLevelField: Field<Micros> = {
  expected: `a number above 0 after rounding to 6 decimals, at most ${MAX_LEVEL_USD}`,
  parse(text) {
    const [, kept = text, next = "0"] = /^(\d+\.\d{6})(\d)\d*$/.exec(text) ?? [];
    const micros = parseMicros(kept, MAX_LEVEL_USD);
    if (micros === null) return undefined;
    const rounded = micros + (next >= "5" ? 1 : 0);
    return rounded === 0 || rounded > MAX_LEVEL_USD * MICROS_PER_UNIT ? undefined : rounded;
  },
  remedy: (text, fits) => levelSlip(text) || numberSlip(text, fits),
};

/** Whether a level is written with more decimals than levels have. */
export const hasMoreDecimals = (text: string): boolean => /\.\d{7}/.test(text);

/** A basis in the feed; `carried` is not allowed there. */
export const basisField: Field<Basis | "withdrawn"> = {
  expected: `${BASES.join(", ")} or withdrawn`,
  parse: (text) => (text === "withdrawn" ? "withdrawn" : BASES.find((basis) => basis === text)),
};

/** A calendar day, `YYYY-MM-DD`. */
export const dateField: Field<Day> = {
  expected: `a date such as 2026-11-21, from ${FIRST_DATE} on`,
  parse: (text) => parseDate(text) ?? undefined,
  remedy: dateSlip,
};

/** A session, as its key or as its instant. */
export const sessionField: Field<Session> = {
  expected: `a session such as 2026-11-21T00Z or 2026-11-21T12:00:00.000Z, from ${FIRST_DATE} on`,
  parse: (text) => parseSession(text) ?? undefined,
};

/** A contract's id. It becomes part of paths and addresses. */
export const idField: Field<string> = {
  expected: `a lowercase slug such as ddr5-16gb-spot, at most ${MAX_ID_CHARACTERS} characters`,
  parse: (text) =>
    text.length <= MAX_ID_CHARACTERS && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(text)
      ? detach(text)
      : undefined,
};

/** Ids of contracts, separated by blanks. */
export const idsField: Field<readonly string[]> = {
  expected: `a lowercase slug such as ddr5-16gb-spot, at most ${MAX_ID_CHARACTERS} characters, or several, each once, separated by blanks`,
  parse: (text) => {
    const ids = text.trim().split(/ +/).map(idField.parse);
    const isRight = ids.every((id) => id !== undefined) && new Set(ids).size === ids.length;
    return isRight ? ids : undefined;
  },
};

/** Whether a text can be published: it has no characters that JSON, CSV or XML cannot hold, and no secret. */
const isPublishable = (text: string, maxCharacters: number): boolean =>
  text.length <= maxCharacters && !UNPRINTABLE.test(text) && secretIn(text) === null;

function secretSlip(text: string): string {
  const secret = secretIn(text.slice(0, MAX_TEXT_CHARACTERS));
  return secret === null ? "" : `; it holds ${secret}, which would be public`;
}

/** Text for people, up to a length. */
const textUpTo = (maxCharacters: number): Field<string> => ({
  expected: `text of 1 to ${maxCharacters} characters without control characters`,
  parse: (text) =>
    text.trim() !== "" && isPublishable(text, maxCharacters) ? detach(text) : undefined,
  remedy: secretSlip,
});

/** A name or a reason. */
export const textField = textUpTo(MAX_TEXT_CHARACTERS);
/** The judgement behind a level. */
export const rationaleField = textUpTo(500);

/** An http or https address; no other scheme, so that no link can run a script. */
export const urlField: Field<string> = {
  expected: "an http or https address without user, password or key",
  parse: (text) =>
    isPublishable(text, MAX_TEXT_CHARACTERS) &&
    /^https?:\/\/[^\s/]/i.test(text) &&
    !/\s/.test(text) &&
    URL.canParse(text)
      ? detach(text)
      : undefined,
  remedy: secretSlip,
};

/** Exactly one of the words. */
export const oneOf = <T extends string>(values: readonly T[]): Field<T> => ({
  expected: values.join(" or "),
  parse: (text) => values.find((value) => value === text),
});

/** A decimal from `minMicros` to `maxUnits` with at most 6 decimals, in micro-units. */
export const decimalField = (minMicros: Micros, maxUnits: number): Field<Micros> => ({
  expected: `a number from ${formatMicros(minMicros)} to ${maxUnits} with at most 6 decimals`,
  parse(text) {
    const micros = parseMicros(text, maxUnits);
    return micros === null || micros < minMicros ? undefined : micros;
  },
  remedy: numberSlip,
});

/** `1.000`: pandas may write 1 like this, and a spreadsheet in Europe 1000. */
const OF_THOUSANDS = /^([1-9]\d{0,2})\.000$/;

/** A whole number from `min` to `max`. pandas writes `57.0` in a column that has empty cells. */
export const wholeNumberField = (min: number, max: number): Field<number> => ({
  expected: `a whole number from ${min} to ${max}`,
  parse: (text) => {
    const isWhole = /^\d{1,9}(?:\.0+)?$/.test(text) && !OF_THOUSANDS.test(text);
    const number = isWhole ? Number(text) : Number.NaN;
    return number >= min && number <= max ? number : undefined;
  },
  remedy: (text, fits) => {
    const [, whole] = OF_THOUSANDS.exec(text) ?? [];
    if (whole === undefined) return numberSlip(text, fits);
    return `; ambiguous: ${whole} if .000 are decimals, ${whole}000 if the point separates thousands`;
  },
});

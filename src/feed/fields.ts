/** The fields that a cell may hold: how to parse each, and the words for what is expected. */
import { BASES, type Basis } from "../market/series.ts";
import { formatMicros, MAX_LEVEL_USD, parseMicros, type Micros } from "../market/decimal.ts";
import { FIRST_DATE, parseDate, parseSession, type Day, type Session } from "../market/session.ts";
import { detached } from "./text.ts";

/** Parses the cells of a column. */
export interface Field<T> {
  /** Follows "expected" in a complaint: `a date such as 2026-11-21`. */
  readonly expected: string;
  /** The value; undefined if the text is not as expected. Never throws. */
  parse(text: string): T | undefined;
}

const MAX_TEXT_CHARACTERS = 1_000;
const MAX_ID_CHARACTERS = 100;

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
};

/** A basis in the feed; `carried` is not allowed there. */
export const basisField: Field<Basis | "withdrawn"> = {
  expected: `${BASES.join(", ")} or withdrawn`,
  parse: (text) => (text === "withdrawn" ? "withdrawn" : BASES.find((basis) => basis === text)),
};

/** A calendar day, `YYYY-MM-DD`. */
export const dateField: Field<Day> = {
  expected: `a date such as 2026-11-21, from ${FIRST_DATE} on`,
  parse: (text) => parseDate(text) ?? undefined,
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
      ? detached(text)
      : undefined,
};

/** Text for people. It refuses characters that JSON, CSV or XML cannot hold. */
export const textField: Field<string> = {
  expected: `text of 1 to ${MAX_TEXT_CHARACTERS} characters without control characters`,
  parse: (text) =>
    text.trim() !== "" && text.length <= MAX_TEXT_CHARACTERS && !UNPRINTABLE.test(text)
      ? detached(text)
      : undefined,
};

/** An http or https address; no other scheme, so that no link can run a script. */
export const urlField: Field<string> = {
  expected: "an http or https address",
  parse: (text) =>
    text.length <= MAX_TEXT_CHARACTERS &&
    /^https?:\/\/[^\s/]/i.test(text) &&
    !/\s/.test(text) &&
    !UNPRINTABLE.test(text) &&
    URL.canParse(text)
      ? detached(text)
      : undefined,
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
});

/** A whole number from 0 to `max`, in digits only. */
export const wholeNumberField = (max: number): Field<number> => ({
  expected: `a whole number from 0 to ${max}`,
  parse: (text) => (/^\d{1,9}$/.test(text) && Number(text) <= max ? Number(text) : undefined),
});

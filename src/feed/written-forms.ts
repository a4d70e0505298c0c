/** How others write numbers and dates. A map names forms, which are read exactly: a cell in another form is an error. */
import { DAY_MS, dateText, parseDate } from "../market/session.ts";

/** A longer text is no number and no date. */
export const MAX_CHARACTERS = 80;

/** A way to write the cells of a column. */
export interface WrittenForm {
  /** Follows the words for what a cell must be: `written as 1.234,5`. */
  readonly words: string;
  /** The same as our own files have it: decimals after a point, `2026-11-21`. Undefined: it is not in this form. */
  ours(text: string): string | undefined;
}

/** Separators that look alike, and that spreadsheets use for each other. */
const ALIKE = [" \u00a0\u2009\u202f", "'’"];

/** A currency's sign, with the letters that make another of it: `NT$`. */
const CURRENCY_SIGN = /\p{L}*\p{Sc}\p{L}*/u;

/**
 * Numbers with this decimal separator. `thousands` "": without separators between thousands. `currency` can stand before
 * or after a number; null: none can.
 */
export function numberForm(
  decimal: string,
  thousands: string,
  currency: string | null = null,
): WrittenForm {
  const alike = thousands === "" ? undefined : ALIKE.find((all) => all.includes(thousands));
  const separator = alike === undefined ? thousands : new RegExp(`[${alike}]`);
  const withCurrency = currency === null ? "" : `, with or without ${currency}`;
  return {
    words: `written as 1${thousands}234${decimal}5${withCurrency}`,
    ours(text) {
      if (text.length > MAX_CHARACTERS) return undefined;
      const amount = amountIn(text.trim(), currency);
      const [whole = "", decimals = "0", ...more] = amount.split(decimal);
      const groups = separator === "" ? [whole] : whole.split(separator);
      const [first = "", ...rest] = groups;
      const isWhole =
        rest.length === 0
          ? /^\d+$/.test(first)
          : /^[1-9]\d{0,2}$/.test(first) && rest.every((group) => /^\d{3}$/.test(group));
      if (!isWhole || more.length > 0 || !/^\d+$/.test(decimals)) return undefined;
      const digits = groups.join("");
      return amount.includes(decimal) ? `${digits}.${decimals}` : digits;
    },
  };
}

/** The currency that a text beside a number is: a sign with letters, or a code of ISO 4217; null: it is none. */
export const currencyIn = (text: string): string | null =>
  CURRENCY_SIGN.exec(text)?.[0] === text || CURRENCY_CODES.has(text) ? text : null;

const CURRENCY_CODES = new Set(Intl.supportedValuesOf("currency"));

/** The text without the currency before or after it; whole if the sign in it is another currency's. */
function amountIn(text: string, currency: string | null): string {
  const [sign] = CURRENCY_SIGN.exec(text) ?? [];
  if (currency === null || (sign !== undefined && !currency.includes(sign))) return text;
  if (text.startsWith(currency)) return text.slice(currency.length).trimStart();
  return text.endsWith(currency) ? text.slice(0, -currency.length).trimEnd() : text;
}

/** A text that stands beside a number or a date in its cell, and the basis that it tells; null: none. */
export type Marks = ReadonlyMap<string, string | null>;

/** The text without marks at its beginning and end, each once, and the bases that they tell. A currency is no mark. */
export function takeOffMarks(
  text: string,
  marks: Marks,
): { readonly text: string; readonly bases: readonly string[] } {
  const bases: string[] = [];
  const left = new Set(marks.keys());
  let rest = text.length > MAX_CHARACTERS ? "" : text.trim();
  // Letters beside a currency's sign make another currency of it.
  const [sign = ""] = CURRENCY_SIGN.exec(rest) ?? [];
  for (const mark of left) if (sign.includes(mark)) left.delete(mark);
  if (rest === "") return { text, bases };
  for (;;) {
    // Of marks that begin alike, the longest one stands there.
    const mark = [...left]
      .filter((each) => rest.startsWith(each) || rest.endsWith(each))
      .reduce((one, other) => (other.length > one.length ? other : one), "");
    if (mark === "") return { text: rest, bases };
    rest = (rest.startsWith(mark) ? rest.slice(mark.length) : rest.slice(0, -mark.length)).trim();
    left.delete(mark);
    const basis = marks.get(mark) ?? null;
    if (basis !== null) bases.push(basis);
  }
}

/** The day that stands for a month that is written without one. */
export type DayOfMonth = "first" | "last";

/**
 * Dates of one or several forms such as `DD.MM.YYYY`, `MMM D, YY`, `YYYY[M]MM`, `YYYY-MM-DD*` or `X`. A date that two
 * of them read differently is in none. `day`: the day of months that are written without one. Null: a form does not have
 * a year, a month and at most a day, or has no day and none is given.
 */
export function dateForm(
  forms: readonly string[],
  day: DayOfMonth | null = null,
): WrittenForm | null {
  const patterns = forms.map(datePattern);
  if (patterns.some((pattern) => pattern === null || (!pattern.hasDay && day === null)))
    return null;
  const several = forms.length > 1 ? ", the same day in all of them that fit" : "";
  return {
    words: `written as ${forms.join(" or ")}${several}`,
    ours(text) {
      const days = new Set(
        patterns.flatMap((pattern) => (pattern as DatePattern).read(text, day ?? "first") ?? []),
      );
      return days.size === 1 ? [...days][0] : undefined;
    },
  };
}

interface DatePattern {
  readonly hasDay: boolean;
  /** The date as ours; null: the text is not in this form. */
  read(text: string, day: DayOfMonth): string | null;
}

const MONTHS = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
];
/** English names of months, whole or short: `Nov`, `Sept.`. */
const MONTH_NAME = `(?:${MONTHS.map((name) => `${name.slice(0, 3)}(?:${name.slice(3)})?`).join("|")}|sept)\\.?`;
/** Two-digit years are of 1969 to 2068, as in the date formats of POSIX. */
const FIRST_SHORT_YEAR = 69;

/** Seconds and milliseconds since 1970, in UTC: the digits that they have from 1973 to 2286, and the length of a day. */
const INSTANTS: Readonly<Record<string, readonly [digits: RegExp, dayLength: number]>> = {
  X: [/^\d{9,10}$/, 86_400],
  x: [/^\d{12,13}$/, DAY_MS],
};

function instantPattern([digits, dayLength]: readonly [RegExp, number]): DatePattern {
  return {
    hasDay: true,
    read: (text) =>
      digits.test(text.trim()) ? dateText(Math.floor(Number(text) / dayLength)) : null,
  };
}

/** Null: the form does not have a year and a month, and at most one day. */
function datePattern(whole: string): DatePattern | null {
  const instant = Object.hasOwn(INSTANTS, whole) ? INSTANTS[whole] : undefined;
  if (instant !== undefined) return instantPattern(instant);
  if (whole.length > MAX_CHARACTERS) return null;
  // A time of day can stand behind the date, which is taken as it is written.
  const form = whole.replace(/\*$/, "");
  const rest = form === whole ? "" : String.raw`(?:\D.*)?`;
  const pieces = form.match(/\[[^\]]*\]|y+|m+|d+|[^ymd[]+|\[/gi) ?? [];
  const parts = pieces.map((piece) => /^(?:yy(?:yy)?|m{1,4}|dd?)$/i.exec(piece)?.[0].toLowerCase());
  const count = (letter: string): number => parts.filter((part) => part?.[0] === letter).length;
  if (count("y") !== 1 || count("m") !== 1 || count("d") > 1) return null;
  if (pieces.some((piece, at) => parts[at] === undefined && /^[ymd]/i.test(piece))) return null;
  const isDigits = (at: number): boolean => {
    const part = parts[at];
    return part === undefined ? /^\d|\d$/.test(pieces[at] ?? "") : !/^m{3}/.test(part);
  };
  const source = pieces.map((piece, at) => {
    const part = parts[at];
    if (part === undefined) return RegExp.escape(piece.replace(/^\[(.*)\]$/s, "$1"));
    if (part.startsWith("mmm")) return `(?<m>${MONTH_NAME})`;
    const name = part.charAt(0);
    if (name === "y") return `(?<y>\\d{${part.length}})`;
    // A day or month can have one digit if no digits stand beside it.
    return isDigits(at - 1) || isDigits(at + 1) ? `(?<${name}>\\d\\d)` : `(?<${name}>\\d\\d?)`;
  });
  const pattern = new RegExp(`^${source.join("")}${rest}$`, "i");
  return {
    hasDay: count("d") === 1,
    read(text, day) {
      if (text.length > MAX_CHARACTERS) return null;
      const {
        y = "",
        m = "",
        d = day === "first" ? "1" : null,
      } = pattern.exec(text.trim())?.groups ?? {};
      if (y === "") return null;
      const short = Number(y) < FIRST_SHORT_YEAR ? "20" : "19";
      const year = y.length === 2 ? `${short}${y}` : y;
      const named = MONTHS.findIndex((name) => m.toLowerCase().startsWith(name.slice(0, 3)));
      const month = named < 0 ? Number(m) : named + 1;
      const last = new Date(Date.UTC(Number(year), month, 0)).getUTCDate();
      const date = `${year}-${String(month).padStart(2, "0")}-${(d ?? String(last)).padStart(2, "0")}`;
      return parseDate(date) === null ? null : date;
    },
  };
}

/** Forms of dates that a text without a map seems to have, and that a map is proposed for, by their first letters. */
export const DATE_FORMS: readonly string[] = [
  "YYYY-MM-DD",
  "YYYY/MM/DD",
  "YYYY.MM.DD",
  "YYYY. MM. DD",
  "YYYY年MM月DD日",
  "YYYYMMDD",
  "DD.MM.YYYY",
  "DD/MM/YYYY",
  "MM/DD/YYYY",
  "DD-MM-YYYY",
  "MM-DD-YYYY",
  "DD.MM.YY",
  "DD/MM/YY",
  "MM/DD/YY",
  "MMM D, YYYY",
  "MMM D YYYY",
  "D MMM YYYY",
  "D-MMM-YYYY",
  "D-MMM-YY",
  "D MMM YY",
];
/** The same of months. */
export const MONTH_FORMS: readonly string[] = [
  "YYYY-MM",
  "YYYY/MM",
  "YYYY.MM",
  "YYYY MM",
  "YYYYMM",
  "YYYY[M]MM",
  "YYYY-[M]MM",
  "YYYY年MM月",
  "MM/YYYY",
  "MM.YYYY",
  "MM-YYYY",
  "[M]MM-YYYY",
  "MMM-YY",
  "MMM YY",
  "MMM YYYY",
  "MMM-YYYY",
  "YYYY MMM",
  "YYYY-MMM",
];

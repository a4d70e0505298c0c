/**
 * The likely form of a number or a date that our own form does not have, for messages. No value is read by it. The words
 * follow a complaint, from "; " on.
 */
import { dateText, parseDate, parseSession } from "../market/session.ts";
import {
  DATE_FORMS,
  dateForm,
  MAX_CHARACTERS,
  MONTH_FORMS,
  type WrittenForm,
} from "./written-forms.ts";

/** The superfluous characters of a number, their replacement, and the words for them. */
type Slip = readonly [found: RegExp, instead: string, words: string];

const DOLLARS: Slip = [
  /^\s*(?:US ?\$|\$|USD(?!\p{L}))\s?|\s?(?:US ?\$|\$|(?<!\p{L})USD)\s*$/iu,
  "",
  "no currency sign",
];
/** Other currencies and units: the number may mean something else without them. */
const MEANINGFUL: readonly Slip[] = [
  [/\s?[\p{Sc}元円원]\s?/gu, "", "US dollars without a currency sign"],
  [/^\p{L}+\s?|(?:\s[\p{L}%]|\p{L}{2}|[/%]).*/gsu, "", "no unit"],
];
/** Excel shows few of the digits before an exponent. */
const EXPONENT: Slip = [/(?<=^[\d.,]+)e[+-]?\d+$/i, "", "plain digits, no exponent"];
/** Each is looked for in what the ones before it leave. */
const SEPARATORS: readonly Slip[] = [
  [/\s/g, "", "no spaces"],
  [
    /[.,](?=\d{3}[.,])|(?<=([.,])\d{3})\1(?=\d{3}$)|,(?=(?:\d\d,)+\d{3}(?:\.|$))|(?<=,\d\d),(?=\d{3}(?:\.|$))|['’]/g,
    "",
    "no thousands separators",
  ],
  [/(?<=^\d+),(?=\d+$)/, ".", "no commas, decimals after a point"],
];

/** `37,440`: in some countries the comma separates thousands, in others it begins the decimals. */
const AMBIGUOUS = /^\s*([1-9]\d{0,2}),(\d{3})\s*$/;

/**
 * The slips in a number, and how to write it if that is certain; empty: no slips, or not these alone.
 * `fits`: whether the field takes a number.
 */
export function numberSlip(text: string, fits: (number: string) => boolean): string {
  if (text.length > MAX_CHARACTERS) return "";
  const slips: string[] = [];
  const without = (number: string, [found, instead, words]: Slip): string => {
    const rest = number.replace(found, instead);
    if (rest !== number) slips.push(words);
    return rest;
  };
  const narrow = narrowForm(text);
  if (narrow !== text) slips.push("no full-width characters");
  const amount = without(narrow, DOLLARS);
  const written = without(MEANINGFUL.reduce(without, amount), EXPONENT);
  const [, whole, rest] = AMBIGUOUS.exec(written) ?? [];
  if (fits(`${whole}${rest}`)) {
    const decimal = `${whole}.${rest}`;
    const found = fits(decimal)
      ? `ambiguous: ${whole}${rest} if the comma separates thousands, ${decimal} if it begins the decimals`
      : `no thousands separators: write ${whole}${rest}`;
    return `; ${[...slips, found].join(", ")}`;
  }
  const number = SEPARATORS.reduce(without, written);
  if (slips.length === 0 || !/^\d+(?:\.\d+)?$/.test(number)) return "";
  const isCertain = written === amount && fits(number);
  return `; ${slips.join(", ")}${isCertain ? `: write ${number}` : ""}`;
}

/** Full-width characters, as Asian input methods write them, in their usual form. */
const narrowForm = (text: string): string =>
  text.replace(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0));

/** Marks for a missing level: of Excel, pandas, FRED, Eurostat and others. */
const NO_LEVEL = /^(?:|#[A-Z/0!?]+|#?N\/A|n\.?a\.?|nan|null|none|nil|\.+|:|-+|[–—]|\?)$/i;

/** The option that leaves out a row without a level; empty: the text is something else. */
export const levelSlip = (text: string): string =>
  NO_LEVEL.test(text.trim()) ? "; no level: --hold-invalid leaves such rows out" : "";

/** A number of Excel for a day: 1970-01-01 is 25,569. */
const SERIAL = /^(\d{5})(?:[.,]\d+)?$/;
const SERIAL_OF_1970 = 25_569;

const YEAR = "(?:19|20)\\d\\d";
const SHORT_YEAR = "[-/., ]*'?(?:19|20)?\\d\\d";
/** Times of series that have no days and no months. */
const PERIODS: readonly (readonly [noun: string, form: RegExp])[] = [
  ["quarter", `${YEAR}[-/. ]?Q[1-4]|Q[1-4]${SHORT_YEAR}|[1-4]Q${SHORT_YEAR}`],
  ["week", `${YEAR}[-/. ]?[CK]?W\\d\\d?(?:-[1-7])?|[CK]?W ?\\d\\d?[-/. ]${YEAR}`],
  ["half-year", `${YEAR}[-/. ]?[HS][12]|[HS][12]${SHORT_YEAR}|[12]H${SHORT_YEAR}`],
  ["year", `(?:FY ?)?${YEAR}`],
].map(([noun = "", form = ""]) => [noun, new RegExp(`^(?:${form})$`, "i")]);

const formsOf = (names: readonly string[]) =>
  names.map((name) => ({ name, form: dateForm([name], "first") as WrittenForm }));
const DAYS = formsOf(DATE_FORMS);
const MONTHS = formsOf(MONTH_FORMS);

/** The noun for a text that seems to be a month or another period; undefined: it is none. */
function periodOf(text: string): string | undefined {
  if (MONTHS.some(({ form }) => form.ours(text) !== undefined)) return "month";
  return PERIODS.find(([, form]) => form.test(text))?.[0];
}

/** Whether a text is a time in any form, but for Excel's numbers, which may be levels. */
export const isTime = (text: string): boolean =>
  parseDate(text) !== null ||
  parseSession(text) !== null ||
  (dateSlip(text) !== "" && !SERIAL.test(text.trim()));

/** The form that a date seems to have; empty: none found. A date of two forms is read in neither. */
export function dateSlip(text: string): string {
  if (text.length > MAX_CHARACTERS) return "";
  const whole = text.trim();
  const day = whole.replace(/[T ]\d\d?:\d\d\S*(?: \S+)?$/, "");
  const time = day === whole ? "" : " with a time";
  const readings = DAYS.flatMap(({ name, form }) => {
    const date = form.ours(day);
    return date === undefined ? [] : { name, date };
  });
  const [, serial] = SERIAL.exec(day) ?? [];
  if (serial !== undefined) {
    const date = dateText(Number(serial) - SERIAL_OF_1970);
    if (parseDate(date) !== null) readings.push({ name: "an Excel serial number", date });
  }
  const [first] = readings;
  if (first === undefined) {
    const period = periodOf(day);
    return period === undefined ? "" : `; seems to be a ${period}: write the day of the level`;
  }
  if (readings.every(({ date }) => date === first.date))
    return `; seems to be ${first.name}${time}: write ${first.date}`;
  return `; ambiguous: ${readings.map(({ name, date }) => `${name} is ${date}`).join(", ")}`;
}

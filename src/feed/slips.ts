/** What a text seems to be that a field cannot parse: words that follow a complaint, from "; " on. */
import { dateText, parseDate } from "../market/session.ts";

/** What is too much in a number, each looked for in what the ones before it leave. */
const NUMBER_SLIPS: readonly (readonly [found: RegExp, slip: string])[] = [
  [/\s?\p{Sc}\s?/gu, "no currency sign"],
  [/^\p{L}+\s?|(?:\s[\p{L}%]|\p{L}{2}|[/%]).*/gsu, "no unit"],
  [/\s/g, "no spaces"],
  [/(?<=^[\d.,]+)e[+-]?\d+$/i, "plain digits, no exponent"],
  [/[.,](?=\d{3}[.,])|(?<=([.,])\d{3})\1(?=\d{3}$)|['’]/g, "no thousands separators"],
  [/(?<=^\d+),(?=\d+$)/, "no commas, decimals after a point"],
];

/** The slips in a number; empty: none, or not these alone. */
export function numberSlip(text: string): string {
  let digits = text;
  const slips = NUMBER_SLIPS.filter(([found]) => {
    const before = digits;
    digits = digits.replace(found, "");
    return digits !== before;
  });
  if (slips.length === 0 || !/^\d+(?:\.\d+)?$/.test(digits)) return "";
  return `; ${slips.map(([, slip]) => slip).join(", ")}`;
}

/** Forms of dates: their year, month and day, or Excel's number `n`; 1970-01-01 is its 25,569. */
const DATE_FORMS: readonly (readonly [form: RegExp, name: string])[] = [
  [/^(?<y>\d{4})-(?<m>\d\d?)-(?<d>\d\d?)$/, "YYYY-MM-DD"],
  [/^(?<y>\d{4})[/.](?<m>\d\d?)[/.](?<d>\d\d?)$/, "YYYY/MM/DD"],
  [/^(?<y>\d{4})(?<m>\d\d)(?<d>\d\d)$/, "YYYYMMDD"],
  [/^(?<d>\d\d?)\.(?<m>\d\d?)\.(?<y>\d{4})$/, "DD.MM.YYYY"],
  [/^(?<d>\d\d?)[-/](?<m>\d\d?)[-/](?<y>\d{4})$/, "DD/MM/YYYY"],
  [/^(?<m>\d\d?)[-/](?<d>\d\d?)[-/](?<y>\d{4})$/, "MM/DD/YYYY"],
  [/^(?<n>\d{5})(?:[.,]\d+)?$/, "an Excel serial number"],
];

/** The form that a date seems to have; empty: none found. A date of two forms is read in neither. */
export function dateSlip(text: string): string {
  const day = text.trim().replace(/[T ]\d\d?:\d\d\S*(?: \S+)?$/, "");
  const time = day === text.trim() ? "" : " with a time";
  const readings = DATE_FORMS.flatMap(([form, name]) => {
    const { y, m = "", d = "", n } = form.exec(day)?.groups ?? {};
    const parts = `${y}-${m.padStart(2, "0")}-${d.padStart(2, "0")}`;
    const date = n === undefined ? parts : dateText(Number(n) - 25_569);
    return parseDate(date) === null ? [] : { name, date };
  });
  const [first] = readings;
  if (first === undefined) return "";
  if (readings.every(({ date }) => date === first.date))
    return `; seems to be ${first.name}${time}: write ${first.date}`;
  return `; ambiguous: ${readings.map(({ name, date }) => `${name} is ${date}`).join(", ")}`;
}

/** The content of cells without a map: numbers, texts beside numbers, and dates, in the forms that they seem to have. */
import { parseSession } from "../market/session.ts";
import { isMark } from "./map.ts";
import {
  currencyIn,
  DATE_FORMS,
  dateForm,
  MAX_CHARACTERS,
  MONTH_FORMS,
  numberForm,
  type WrittenForm,
} from "./written-forms.ts";

/** The share of cells that decides about the content of a column. */
export const MOST = 0.6;

/** Decimal and thousands, in the order in which they are tried. */
export const NUMBER_FORMS = [".", ".,", ",.", ",", ", ", ". ", ".'", ",'"].map(
  ([decimal = ".", thousands = ""]) => ({
    decimal,
    thousands,
    form: numberForm(decimal, thousands),
  }),
);

/** A number, with the texts around it. */
const AFFIXED = /^([^\d]*?)\s*(\d(?:[\d.,'’\s]*\d)?)\s*([^\d]*)$/;
/** A longer text beside a number is a unit or a name. */
const MARK_CHARACTERS = 3;

/** The number in a cell, without the texts around it. */
export const bodyOf = (cell: string): string => AFFIXED.exec(cell)?.[2] ?? "";
/** The texts around the number. */
export const affixesOf = (cell: string): readonly string[] => {
  const [, before = "", , after = ""] = AFFIXED.exec(cell) ?? [];
  return [before, after].flatMap((text) => text.split(/\s+/)).filter((text) => text !== "");
};

/** Whether a cell is a number in some form, with texts beside it that `fit`. */
const isNumberWith = (cell: string, fit: (text: string) => boolean): boolean =>
  cell.length <= MAX_CHARACTERS &&
  NUMBER_FORMS.some(({ form }) => form.ours(bodyOf(cell)) !== undefined) &&
  affixesOf(cell).every((text) => currencyIn(text) !== null || fit(text));

/** Whether a cell is a number, perhaps with a currency or marks. */
export const isNumber = (cell: string): boolean =>
  isNumberWith(cell, (text) => text.length <= MARK_CHARACTERS && isMark(text));

/** Whether a cell is a number or a time, and no name of a column. */
export const isValue = (cell: string): boolean =>
  isNumberWith(cell, () => false) ||
  formsFor([cell]).forms.length > 0 ||
  parseSession(cell) !== null;

/** Whether most cells fit from the first to the last that does, and how many: above and below stand remarks. */
export function countIn(cells: readonly string[], fits: (cell: string) => boolean): number {
  const hits = cells.map(fits);
  const span = hits.slice(hits.indexOf(true), hits.lastIndexOf(true) + 1);
  const count = span.filter((hit) => hit).length;
  return count >= MOST * span.length ? count : 0;
}

/** The forms of dates that read the most cells; several, if they read them differently. */
export function formsFor(cells: readonly string[]): { forms: readonly string[]; count: number } {
  const hasTime = cells.some((cell) => /[T ]\d\d?:\d\d/.test(cell.slice(0, MAX_CHARACTERS)));
  const candidates = [
    ...DATE_FORMS,
    ...MONTH_FORMS,
    ...(hasTime ? DATE_FORMS.map((form) => `${form}*`) : []),
    ...(cells.every(isFullMinute) ? ["X", "x"] : []),
  ];
  const found = candidates.map((form) => {
    const { ours } = dateForm([form], "first") as WrittenForm;
    const dates = cells.map((cell) => ours(cell));
    return { form, dates, count: countIn(cells, (cell) => ours(cell) !== undefined) };
  });
  const count = Math.max(0, ...found.map((each) => each.count));
  const texts = new Set<string>();
  const forms = found
    .filter((each) => count > 0 && each.count === count)
    .filter(({ dates }) => texts.size < texts.add(dates.join()).size)
    .map(({ form }) => form);
  return { forms, count };
}

/** Whether digits can be the time of a level in seconds or milliseconds: another number of this length seldom fits. */
const isFullMinute = (cell: string): boolean =>
  !/^\d{9,13}$/.test(cell) || Number(cell) % (cell.length > 10 ? 60_000 : 60) === 0;

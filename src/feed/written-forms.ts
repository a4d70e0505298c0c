/** How others write numbers and dates, read exactly: a cell in another form is never guessed at. */
import { parseDate } from "../market/session.ts";

/** A way to write the cells of a column. */
export interface WrittenForm {
  /** Follows the words for what a cell must be: `written as 1.234,5`. */
  readonly words: string;
  /** The same as our own files have it: decimals after a point, `2026-11-21`. Undefined: it is not in this form. */
  ours(text: string): string | undefined;
}

/** Separators that look alike, and that spreadsheets use for each other. */
const ALIKE = [" \u00a0\u2009\u202f", "'’"];

/** Numbers with this decimal separator. `thousands` "": without separators between thousands. */
export function numberForm(decimal: string, thousands: string): WrittenForm {
  const alike = thousands === "" ? undefined : ALIKE.find((all) => all.includes(thousands));
  const separator = alike === undefined ? thousands : new RegExp(`[${alike}]`);
  return {
    words: `written as 1${thousands}234${decimal}5`,
    ours(text) {
      const [whole = "", decimals = "0", ...more] = text.trim().split(decimal);
      const groups = separator === "" ? [whole] : whole.split(separator);
      const [first = "", ...rest] = groups;
      const isWhole =
        rest.length === 0
          ? /^\d+$/.test(first)
          : /^[1-9]\d{0,2}$/.test(first) && rest.every((group) => /^\d{3}$/.test(group));
      if (!isWhole || more.length > 0 || !/^\d+$/.test(decimals)) return undefined;
      const digits = groups.join("");
      return text.includes(decimal) ? `${digits}.${decimals}` : digits;
    },
  };
}

/**
 * Dates of one or several forms such as `DD.MM.YYYY`. A date that two of them read differently is in none. Null: a
 * form does not have YYYY, MM and DD once each.
 */
export function dateForm(forms: readonly string[]): WrittenForm | null {
  const patterns: RegExp[] = [];
  for (const form of forms) {
    const pattern = datePattern(form);
    if (pattern === null) return null;
    patterns.push(pattern);
  }
  const several = forms.length > 1 ? ", the same day in all of them that fit" : "";
  return {
    words: `written as ${forms.join(" or ")}${several}`,
    ours(text) {
      const days = patterns.flatMap((pattern) => {
        const { y, m = "", d = "" } = pattern.exec(text.trim())?.groups ?? {};
        const day = `${y}-${m.padStart(2, "0")}-${d.padStart(2, "0")}`;
        return parseDate(day) === null ? [] : [day];
      });
      return new Set(days).size === 1 ? days[0] : undefined;
    },
  };
}

/** Matches dates of the form. A day or month can have one digit if no digits stand beside it. */
function datePattern(form: string): RegExp | null {
  const pieces = form.match(/y+|m+|d+|[^ymd]+/gi) ?? [];
  const names = pieces.map((piece) => /^(?:(y)y{3}|(m)m?|(d)d?)$/i.exec(piece)?.[0][0]);
  const parts = names.map((name) => name?.toLowerCase());
  if (["y", "m", "d"].some((part) => parts.filter((other) => other === part).length !== 1))
    return null;
  if (pieces.some((piece, at) => parts[at] === undefined && /^[ymd]/i.test(piece))) return null;
  const isDigits = (at: number): boolean =>
    parts[at] !== undefined || /^\d|\d$/.test(pieces[at] ?? "");
  const source = pieces.map((piece, at) => {
    const part = parts[at];
    if (part === undefined) return RegExp.escape(piece);
    if (part === "y") return String.raw`(?<y>\d{4})`;
    return isDigits(at - 1) || isDigits(at + 1)
      ? String.raw`(?<${part}>\d\d)`
      : String.raw`(?<${part}>\d\d?)`;
  });
  return new RegExp(`^${source.join("")}$`);
}

/** The HTML of the report's parts: escaped text, tables, numbers in a form for people. */
import { formatMicros, type Decimal, type Micros } from "../../market/decimal.ts";
import {
  SESSIONS_PER_DAY,
  dateText,
  dayOf,
  sessionUtc,
  type Day,
  type Session,
} from "../../market/session.ts";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text for an element or a quoted attribute. Control characters, which HTML forbids, become U+FFFD. */
export const escaped = (text: string): string =>
  text
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g, "\u{FFFD}")
    .replace(/[&<>"']/g, (character) => ENTITIES[character] as string);

/** Text from the feeds: escaped, and unable to change the direction of the text around it (`bdi`). */
export const foreign = (text: string): string => `<bdi>${escaped(text)}</bdi>`;

/** A contract's identifier. */
export const idHtml = (id: string): string => `<code>${escaped(id)}</code>`;

/** A level as published, with at least two decimals, so that a column lines up. */
export const usdText = (usd: Micros): string => padded(formatMicros(usd), 2);

/** Appends zeros to a decimal until it has at least `decimals` places. */
export function padded(decimal: Decimal, decimals: number): string {
  const [whole = "", fraction = ""] = decimal.split(".");
  return `${whole}.${fraction.padEnd(decimals, "0")}`;
}

/** A change in percent with its sign: `+1.20`, `−0.35`, `0.00`. */
export function signedText(change: Decimal): string {
  if (change.startsWith("-")) return `\u{2212}${padded(change.slice(1), 2)}`;
  return change === "0" ? "0.00" : `+${padded(change, 2)}`;
}

/** The text for a missing value. */
const NO_VALUE = '<span class="none">n/a</span>';

/** A change in percent, coloured by its direction. */
export const changeHtml = (change: Decimal | null): string =>
  change === null ? NO_VALUE : `<span class="${direction(change)}">${signedText(change)}</span>`;

/** The direction of a change. */
export function direction(change: Decimal): "up" | "down" | "flat" {
  if (change === "0") return "flat";
  return change.startsWith("-") ? "down" : "up";
}

/** `2026-11-21 00:00 UTC`, marked up with the instant. */
export const sessionHtml = (session: Session): string =>
  `<time datetime="${sessionUtc(session)}">${dateText(dayOf(session))} ` +
  `${session % SESSIONS_PER_DAY === 0 ? "00" : "12"}:00 UTC</time>`;

/** `2026-11-21`, marked up as a date. */
export const dateHtml = (day: Day): string => `<time>${dateText(day)}</time>`;

/** A number of sessions in days: `21.5`. */
export const daysText = (sessions: number): string => String(sessions / SESSIONS_PER_DAY);

/** The heading of a table's column; its label is HTML. */
export interface Heading {
  readonly label: string;
  /** Whether the cells are aligned to the right. */
  readonly numeric?: true;
  /** Whether a narrow screen leaves it out. */
  readonly wideOnly?: true;
}

/** A table whose cells are HTML; the first of each row is the row's header. */
export function table(
  name: string,
  headings: readonly Heading[],
  rows: readonly (readonly string[])[],
): string {
  const classes = headings.map(({ numeric, wideOnly }) => {
    const names = [...(numeric ? ["n"] : []), ...(wideOnly ? ["wide"] : [])];
    return names.length === 0 ? "" : ` class="${names.join(" ")}"`;
  });
  const head = headings.map(({ label }, at) => `<th scope="col"${classes[at]}>${label}</th>`);
  const body = rows.map((cells) => {
    const [first, ...others] = cells.map((cell, at) =>
      at === 0 ? `<th scope="row">${cell}</th>` : `<td${classes[at]}>${cell}</td>`,
    );
    return `<tr>${first}${others.join("")}</tr>`;
  });
  return scrolling(
    name,
    `<table>\n<thead><tr>${head.join("")}</tr></thead>\n<tbody>\n${body.join("\n")}\n</tbody>\n</table>`,
  );
}

/** A box that scrolls sideways, by keyboard too, so that the page itself does not. */
export const scrolling = (name: string, content: string): string =>
  `<div class="scroll" role="region" aria-label="${escaped(name)}" tabindex="0">\n${content}\n</div>`;

/** A section with its heading. `id` is the anchor. */
export const section = (id: string, title: string, content: string): string =>
  `<section id="${id}" aria-labelledby="${id}-title">\n<h2 id="${id}-title">${title}</h2>\n${content}\n</section>`;

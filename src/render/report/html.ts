/** The HTML of the report's parts: sections, tables, and values of the market in the words of the pages. */
import { formatMicros, type Micros } from "../../market/decimal.ts";
import {
  SESSIONS_PER_DAY,
  dateText,
  sessionUtc,
  type Day,
  type Session,
} from "../../market/session.ts";
import { escaped, grouped, instantHtml } from "../../site/text.js";

/** A contract's identifier. */
export const idHtml = (id: string): string => `<code>${escaped(id)}</code>`;

/** A level as published, with at least two decimals, so that a column lines up. */
export const usdText = (usd: Micros): string => grouped(formatMicros(usd));

/** `2026-11-21 00:00 UTC`, marked up with the instant. */
export const sessionHtml = (session: Session): string => instantHtml(sessionUtc(session));

/** `2026-11-21`, marked up as a date. */
export const dateHtml = (day: Day): string => `<time>${dateText(day)}</time>`;

/** A number of sessions in days: `21.5`. */
export const daysText = (sessions: number): string => String(sessions / SESSIONS_PER_DAY);

/**
 * A table's columns: the heading of each and its classes. `n`: its cells are aligned to the right;
 * `wide`: a narrow screen leaves it out.
 */
export type Headings = Readonly<Record<string, "" | "n" | "wide" | "n wide">>;

/** A table whose cells are HTML; the first of each row is the row's header. */
export function table(
  name: string,
  headings: Headings,
  rows: readonly (readonly string[])[],
): string {
  const classes = Object.values(headings).map((names) => (names === "" ? "" : ` class="${names}"`));
  const head = Object.keys(headings).map(
    (label, at) => `<th scope="col"${classes[at]}>${label}</th>`,
  );
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

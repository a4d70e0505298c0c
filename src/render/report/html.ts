/** Values of the market in the words of the pages. */
import { formatMicros, type Micros } from "../../market/decimal.ts";
import {
  SESSIONS_PER_DAY,
  dateText,
  sessionUtc,
  type Day,
  type Session,
} from "../../market/session.ts";
import { escaped, foreign, grouped, instantHtml } from "../../site/text.js";

const idHtml = (id: string): string => `<code>${escaped(id)}</code>`;

/** A contract's name, with its id, by which commands and files know it. */
export const contractHtml = ({
  id,
  name,
}: {
  readonly id: string;
  readonly name: string;
}): string => `${foreign(name)} <small>${idHtml(id)}</small>`;

/** A level as published, with at least two decimals, so that a column lines up. */
export const usdText = (usd: Micros): string => grouped(formatMicros(usd));

/** `2026-11-21 00:00 UTC`, marked up with the instant. */
export const sessionHtml = (session: Session): string => instantHtml(sessionUtc(session));

/** `2026-11-21`, marked up as a date. */
export const dateHtml = (day: Day): string => `<time>${dateText(day)}</time>`;

/** A number of sessions in days: `21.5`. */
export const daysText = (sessions: number): string => String(sessions / SESSIONS_PER_DAY);

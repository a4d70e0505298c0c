/** The status page, `/status`: the served session, and the fate of the last sessions. */
import { MINUTE_MS } from "../lib/clock.ts";
import { dayText } from "../site/axis.js";
import { fillTemplate, siteFile } from "../site/site-files.ts";
import { counted, escaped, grouped, instantHtml, NO_FIGURE } from "../site/text.js";
import type { Publication } from "../snapshot/log/entry.ts";
import type { SessionStatus, Status } from "../core/publications/session-status.ts";
import { PAGES } from "../public/uncounted-routes.ts";
import { correctionsHref } from "../core/publications/atom-feed.ts";
import type { PageSource } from "../core/serve/document.ts";
import { framePage } from "./page-frame.ts";

/** The fates of a session. The first word that fits it is its mark in the strip, which the style sheet draws. */
const WORDS = ["rolled back", "overdue", "missed", "late", "revised", "due", "on time"] as const;
type Word = (typeof WORDS)[number];

/** `11 h 54 min`, or `n/a`. */
function durationText(minutes: number | null | undefined): string {
  if (minutes == null) return NO_FIGURE;
  const whole = Math.round(minutes);
  const hours = Math.floor(whole / 60);
  return `${hours === 0 ? "" : `${grouped(String(hours), 0)} h `}${whole % 60} min`;
}

/** The page; it needs no script. `corrected` is the newest publication with corrections, if there is one. */
export const statusPage = (
  status: Status,
  graceMs: number,
  corrected: Publication | undefined,
): PageSource =>
  framePage({
    path: PAGES.status.path,
    title: "Status",
    main: mainHtml(status, graceMs, corrected),
    script: "page.js",
    styles: ["status.css"],
  });

/** A session with all words that fit it, in the order of WORDS. */
interface SessionRow {
  readonly row: SessionStatus;
  readonly words: readonly Word[];
}

function rowOf(row: SessionStatus, served: string, graceMs: number): SessionRow {
  const { minutes_late: minutes, missed, revised, rolled_back: rolledBack } = row;
  const isAfterHead = row.session_utc > served;
  const isLate = minutes !== null && minutes * MINUTE_MS > graceMs;
  const fits: Readonly<Record<Word, boolean>> = {
    "rolled back": rolledBack,
    overdue: missed && isAfterHead,
    missed: missed && !isAfterHead,
    late: isLate,
    revised,
    due: minutes === null && !missed,
    "on time": minutes !== null && !isLate && !rolledBack,
  };
  return { row, words: WORDS.filter((word) => fits[word]) };
}

/** How things stand, in a word and in a sentence; the facts, and the sessions. */
function mainHtml(status: Status, graceMs: number, corrected: Publication | undefined): string {
  const { head, overdue, next_session_utc: next } = status;
  if (head === null || next === null) return siteFile("status-none.html");
  const rows = status.sessions.map((row) => rowOf(row, head.session_utc, graceMs));
  const served = rows.find(({ row }) => row.session_utc === head.session_utc);
  const countOf = (word: Word): number => rows.filter(({ words }) => words.includes(word)).length;
  const some = WORDS.filter((word) => countOf(word) > 0);
  const sessionsLate = overdue === 1 ? "One session" : counted(overdue, "session");
  const good = served?.words.includes("late") === true ? "Up to date" : "On time";
  const at = instantHtml(head.session_utc);
  const due = instantHtml(next);
  const rest =
    overdue === 0
      ? `the next one is due at ${due}.`
      : `the session of ${due} is overdue. The levels are older than they should be.`;
  return fillTemplate(siteFile("status.html"), {
    state: overdue === 0 ? "good" : "late",
    verdict: overdue === 0 ? good : `${sessionsLate} late`,
    sentence: `The session of ${at} is served; ${rest}`,
    served: at,
    revision: head.revision === 1 ? "" : `, revision ${head.revision}`,
    published: instantHtml(head.published_at),
    delay: durationText(served?.row.minutes_late),
    due,
    overdue: overdue === 0 ? "none" : counted(overdue, "session"),
    on_time: `${countOf("on time")} of ${rows.length}`,
    sessions: counted(rows.length, "session"),
    summary: some.map((word) => `${countOf(word)} ${word}`).join(", "),
    strip: stripHtml(rows),
    legend: some
      .map((word) => `<span>${markHtml("mark", word, "")} ${word} ${countOf(word)}</span>`)
      .join("\n"),
    rows: rows.map(rowHtml).join("\n"),
    corrected: corrected === undefined ? "" : correctedHtml(corrected),
    grace: counted(graceMs / MINUTE_MS, "minute"),
  });
}

/** The newest correction, as the page tells it. */
const correctedHtml = (entry: Publication): string =>
  `The last one changed <a href="${correctionsHref(entry)}">${counted(entry.corrections, "level")}</a>, ` +
  `published ${instantHtml(entry.at)}.`;

/** Days from left to right, each below its date, with the session of 00:00 above the session of 12:00. */
function stripHtml(rows: readonly SessionRow[]): string {
  const byDay = Map.groupBy(rows.toReversed(), ({ row }) => row.session_utc.slice(0, 10));
  const days = [...byDay].map(([date, ofDay], at) => {
    const day = date.slice(8);
    const [, month = ""] = at === 0 || day === "01" ? dayText(date).split(" ") : [];
    const marks = ["00", "12"].map((hour) => {
      const session = ofDay.find(({ row }) => row.session_utc.startsWith(`${date}T${hour}`));
      return session ? markHtml("mark", session.words[0] as Word, "") : "<span></span>";
    });
    return `<span class="day"><span>${month}</span><span>${Number(day)}</span>${marks.join("")}</span>`;
  });
  return days.join("");
}

const markHtml = (kind: "mark" | "tag", word: Word, text: string): string =>
  `<span class="${kind} is-${word.replace(" ", "-")}">${text}</span>`;

function rowHtml({ row, words }: SessionRow): string {
  const { session_utc: session, published_at: published, minutes_late: minutes, snapshot } = row;
  const states = words.map((word) => markHtml("tag", word, word));
  return (
    `<tr data-session="${session}"><th scope="row">${instantHtml(session)}</th><td>${states.join(" ")}</td>` +
    `<td>${published === null ? NO_FIGURE : instantHtml(published)}</td>` +
    `<td class="n">${durationText(minutes)}</td>` +
    `<td>${snapshot === null ? NO_FIGURE : `<code>${escaped(snapshot)}</code>`}</td></tr>`
  );
}

/** The status page, `/status`: what is served, and what became of the last sessions. */
import { filled, siteFile } from "../../../site/files.ts";
import { counted, escaped, grouped, instantHtml, NO_FIGURE } from "../../../site/text.js";
import type { SessionStatus, Status } from "../publications/status.ts";
import { PAGES } from "../../uncounted-routes.ts";
import { framed, type PageSource } from "./pages.ts";

/** What became of a session, in a word, and its mark in the strip. The first that fits a session is its mark. */
const STATES = [
  { word: "rolled back", mark: "\u21A9" },
  { word: "overdue", mark: "!" },
  { word: "missed", mark: "\u00D7" },
  { word: "late", mark: "L" },
  { word: "revised", mark: "R" },
  { word: "due", mark: "\u2026" },
  { word: "on time", mark: "\u2022" },
] as const;
type Word = (typeof STATES)[number]["word"];

const MINUTE_MS = 60_000;

/** `11 h 54 min`, or `n/a`. */
function durationText(minutes: number | null | undefined): string {
  if (minutes == null) return NO_FIGURE;
  const whole = Math.round(minutes);
  const hours = Math.floor(whole / 60);
  return `${hours === 0 ? "" : `${grouped(String(hours), 0)} h `}${whole % 60} min`;
}

/** The page; it needs no script. */
export function statusPage(status: Status, graceMs: number): PageSource {
  const rows = status.sessions.map((row) => ({ row, words: wordsOf(row, status, graceMs) }));
  return framed({
    path: PAGES.status.path,
    title: "Status",
    main: filled(siteFile("status.html"), {
      head: headHtml(status, rows),
      sessions: rows.length === 0 ? "" : sessionsHtml(rows, graceMs),
    }),
    script: "page.js",
    styles: ["assets/status.css"],
  });
}

/** A session with the words for what became of it. */
interface Row {
  readonly row: SessionStatus;
  readonly words: readonly Word[];
}

/** All words that fit, in the order of STATES. */
function wordsOf(row: SessionStatus, { head }: Status, graceMs: number): Word[] {
  const { minutes_late: minutes, missed, revised, rolled_back: rolledBack } = row;
  const isAfterHead = head !== null && row.session_utc > head.session_utc;
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
  return STATES.map(({ word }) => word).filter((word) => fits[word]);
}

function headHtml(
  { head, overdue, next_session_utc: next, sessions }: Status,
  rows: readonly Row[],
): string {
  if (head === null || next === null) {
    return `<p class="session">No prices are published yet. Sessions are at 00:00 and at 12:00 UTC; the first one appears here.</p>`;
  }
  const onTime = rows.filter(({ words }) => words.includes("on time")).length;
  const minutes = sessions.find(({ session_utc: at }) => at === head.session_utc)?.minutes_late;
  const told = [
    ["Session served", instantHtml(head.session_utc)],
    [
      head.revision === 1 ? "Published" : `Published, revision ${head.revision}`,
      instantHtml(head.published_at),
    ],
    ["First published after its start", durationText(minutes)],
    ["Next session due", instantHtml(next)],
    ["Overdue", overdue === 0 ? "none" : counted(overdue, "session")],
    ["On time", `${onTime} of ${rows.length}`],
  ];
  const late =
    overdue === 0
      ? ""
      : `\n<p class="late">Late: ${counted(overdue, "session")} overdue. The levels served are older than they should be.</p>`;
  return `<p class="session">Levels are published every 12 hours, for 00:00 and for 12:00 UTC.</p>${late}
<dl class="figures served">
${told.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join("\n")}
</dl>`;
}

function sessionsHtml(rows: readonly Row[], graceMs: number): string {
  const counts = STATES.map(({ word }) => ({
    word,
    count: rows.filter(({ words }) => words.includes(word)).length,
  })).filter(({ count }) => count > 0);
  const summary = counts.map(({ word, count }) => `${count} ${word}`).join(", ");
  const legend = counts.map(({ word, count }) => `<span>${markHtml(word)} ${word} ${count}</span>`);
  return `<section aria-labelledby="sessions-title">
<h2 id="sessions-title">The last ${counted(rows.length, "session")}</h2>
<div class="strip" role="img" aria-label="${summary}">
${stripHtml(rows)}
</div>
<p class="legend" aria-hidden="true"><span>00:00 UTC above, 12:00 UTC below</span>
${legend.join("\n")}</p>
<div class="scroll" role="region" aria-label="Sessions" tabindex="0">
<table class="sessions">
<thead><tr><th scope="col">Session</th><th scope="col">State</th><th scope="col">First published</th><th scope="col" class="n">After its start</th><th scope="col">Snapshot in force</th></tr></thead>
<tbody>
${rows.map(rowHtml).join("\n")}
</tbody>
</table>
</div>
<p class="note">Late: published more than ${counted(graceMs / MINUTE_MS, "minute")} after the session's start. Missed: not published. Overdue: not published either, and later than what is served. Revised: published again with corrections. Rolled back: published, and withdrawn.</p>
</section>`;
}

/** Days from left to right, each below its date, with the session of 00:00 above that of 12:00. */
function stripHtml(rows: readonly Row[]): string {
  const byDay = Map.groupBy(rows.toReversed(), ({ row }) => row.session_utc.slice(0, 10));
  const days = [...byDay].map(([date, ofDay], at) => {
    const day = date.slice(8);
    const month = at === 0 || day === "01" ? MONTHS.format(Date.parse(date)) : "";
    const marks = HOURS.map((hour) => {
      const session = ofDay.find(({ row }) => row.session_utc.startsWith(`${date}T${hour}`));
      return session === undefined ? "<span></span>" : markHtml(session.words[0] as Word);
    });
    return `<span class="day"><span>${month}</span><span>${Number(day)}</span>${marks.join("")}</span>`;
  });
  return days.join("");
}

const HOURS = ["00", "12"];
const MONTHS = new Intl.DateTimeFormat("en-GB", { month: "short", timeZone: "UTC" });

const markHtml = (word: Word): string =>
  `<span class="mark ${classOf(word)}">${STATES.find((state) => state.word === word)?.mark}</span>`;

function rowHtml({ row, words }: Row): string {
  const { session_utc: session, published_at: published, minutes_late: minutes, snapshot } = row;
  const states = words.map((word) =>
    word === "on time" || word === "due"
      ? word
      : `<span class="tag ${classOf(word)}">${word}</span>`,
  );
  return (
    `<tr data-session="${session}"><th scope="row">${instantHtml(session)}</th><td>${states.join(" ")}</td>` +
    `<td>${published === null ? NO_FIGURE : instantHtml(published)}</td>` +
    `<td class="n">${durationText(minutes)}</td>` +
    `<td>${snapshot === null ? NO_FIGURE : `<code>${escaped(snapshot)}</code>`}</td></tr>`
  );
}

const classOf = (word: Word): string => `is-${word.replace(" ", "-")}`;

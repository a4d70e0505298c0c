/** How late a page is that comes from a file, by the reader's clock: a file cannot know when it is read. */
import { placeLine, SESSION_MS, sessionLine } from "./board.js";
import { counted, instantHtml } from "./text.js";

const due = /** @type {HTMLMetaElement} */ (document.querySelector("meta[name=next-session]"));
const lateMs = Date.now() - Date.parse(due.content);
const overdue = Math.max(0, Math.floor((lateMs - Number(due.dataset["graceMs"])) / SESSION_MS) + 1);

if (lateMs >= 0) {
  for (const line of document.querySelectorAll("p.session")) tellDelay(line);
  const verdict = document.querySelector(".verdict");
  if (verdict !== null && overdue > 0) tellVerdict(verdict);
}

/** Words the line of a session as a service does that has waited as long. @param {Element} line */
function tellDelay(line) {
  const [session = "", next] = [...line.querySelectorAll("time")].map(({ dateTime }) => dateTime);
  const behind = (Date.parse(due.content) - Date.parse(session)) / SESSION_MS - 1;
  const payload = { session_utc: session, delayed_sessions: behind + overdue };
  line.outerHTML =
    next === undefined
      ? placeLine(payload, behind)
      : sessionLine({ ...payload, next_session_utc: next }, true);
}

/** Words the verdict of the page of status. @param {Element} verdict */
function tellVerdict(verdict) {
  const late = overdue === 1 ? "One session" : counted(overdue, "session");
  verdict.className = "verdict late";
  /** @type {Element} */ (verdict.querySelector("h1")).innerHTML =
    `<small>Status</small> ${late} late`;
  /** @type {Element} */ (verdict.querySelector("p")).innerHTML =
    `The session of ${instantHtml(due.content)} is overdue. The levels are older than they should be.`;
  const fact = document.getElementById("overdue");
  if (fact !== null) fact.textContent = counted(overdue, "session");
}

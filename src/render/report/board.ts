/** The board: every contract with its level, its changes, and its last 90 days as a sparkline. */
import { formatMicros, type Decimal } from "../../market/decimal.ts";
import { dateOf } from "../../market/series.ts";
import { dateText, dayOf, type Session } from "../../market/session.ts";
import { basisOf, type BoardRecord } from "../../market/view.ts";
import { sparkline } from "../../site/chart.js";
import { changeHtml, escaped, foreign } from "../../site/text.js";
import { idHtml, scrolling, section, usdText } from "./html.ts";

const SPARK_DAYS = 90;

/**
 * A table in board order, which the page's script can sort and filter. A cell's `data-value` is the
 * published number; a cell without a number has none.
 */
export function boardSection(records: readonly BoardRecord[], session: Session): string {
  const segments = [...new Set(records.map(({ contract }) => contract.segment))];
  const options = segments
    .map((segment) => `<option value="${escaped(segment)}">${escaped(segment)}</option>`)
    .join("");
  return section(
    "board",
    "Board",
    `<div id="controls" hidden>
<label>Find <input id="find" type="search" autocomplete="off" spellcheck="false" placeholder="id, name, segment, basis"></label>
<label>Segment <select id="segment"><option value="">all</option>${options}</select></label>
<output id="shown" aria-live="polite"></output>
</div>
${scrolling(
  "Board",
  `<table id="contracts">
<thead><tr>${COLUMNS.map(headingHtml).join("")}<th scope="col">${SPARK_DAYS} days</th></tr></thead>
<tbody>
${records.map((record) => row(record, session)).join("\n")}
</tbody>
</table>`,
)}
<p class="note">Levels in US dollars per the contract's unit; changes in percent. A sparkline spans its own range, is broken where levels are not comparable, and ends with the last level given.</p>`,
  );
}

const COLUMNS = [
  { label: "Contract", sort: "text" },
  { label: "Name", sort: "text" },
  { label: "Segment", sort: "text" },
  { label: "Level USD", sort: "number" },
  { label: "24 h %", sort: "number" },
  { label: "30 d %", sort: "number" },
  { label: "1 year %", sort: "number" },
  { label: "Basis", sort: "text" },
  { label: "As of", sort: "text" },
] as const;

const headingHtml = ({ label, sort }: (typeof COLUMNS)[number]): string =>
  `<th scope="col" data-sort="${sort}"${sort === "number" ? ' class="n"' : ""}>${label}</th>`;

function row(record: BoardRecord, session: Session): string {
  const { contract, level, carried, changePct } = record;
  return (
    `<tr${carried ? ' class="carried"' : ""}>` +
    `<th scope="row" data-name="${escaped(contract.name)}">${idHtml(contract.id)}</th>` +
    `<td>${foreign(contract.name)}</td><td>${foreign(contract.segment)}</td>` +
    `<td class="n" data-value="${formatMicros(level.usd)}">${usdText(level.usd)}</td>` +
    [changePct["24h"], changePct["30d"], changePct.yoy].map(changeCell).join("") +
    `<td>${basisOf(record)}</td><td>${dateText(dateOf(level))}</td>` +
    `<td>${spark(record, session)}</td></tr>`
  );
}

const changeCell = (change: Decimal | null): string =>
  `<td class="n"${change === null ? "" : ` data-value="${change}"`}>${changeHtml(change)}</td>`;

/** The closes of the last 90 days as a picture without text: the columns have the numbers. */
function spark({ series }: BoardRecord, session: Session): string {
  const to = dayOf(session);
  const points = series.closes(session, to - SPARK_DAYS).map(({ date, level, breakReason }) => ({
    date: dateText(date),
    close: Number(formatMicros(level.usd)),
    isBreak: breakReason !== null,
  }));
  return sparkline(points, dateText(to));
}

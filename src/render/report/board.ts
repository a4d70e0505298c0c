/** The board: every contract with its level, its changes, and its last 90 days as a sparkline. */
import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { formatMicros, type Decimal } from "../../market/decimal.ts";
import { dateOf, type Close } from "../../market/series.ts";
import { dateText, dayOf, type Session } from "../../market/session.ts";
import { basisOf, type BoardRecord } from "../../market/view.ts";
import { changeHtml, escaped, foreign, idHtml, scrolling, section, usdText } from "./html.ts";

const SPARK_DAYS = 90;
const SPARK_WIDTH = 180;
const SPARK_HEIGHT = 40;
const SPARK_MARGIN = 4;

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
  { label: "Level", sort: "number" },
  { label: "24 h", sort: "number" },
  { label: "30 d", sort: "number" },
  { label: "1 year", sort: "number" },
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
    `<td>${sparkline(record, session)}</td></tr>`
  );
}

const changeCell = (change: Decimal | null): string =>
  `<td class="n"${change === null ? "" : ` data-value="${change}"`}>${changeHtml(change)}</td>`;

/** The closes of the last 90 days as a picture without text: the columns have the numbers. */
function sparkline({ series }: BoardRecord, session: Session): string {
  const to = dayOf(session);
  const points = series.closes(session, to - SPARK_DAYS);
  const x = scaleLinear(
    [to - SPARK_DAYS + 1, to],
    [SPARK_MARGIN, SPARK_WIDTH - SPARK_MARGIN],
  ).clamp(true);
  const [low = 0, high = 0] = extent(points, ({ level }) => level.usd);
  const y = scaleLinear([low, high], [SPARK_HEIGHT - SPARK_MARGIN, SPARK_MARGIN]);
  const path = new RelativePath();
  const draw = line<Close>(
    ({ date }) => x(date),
    ({ level }) => y(level.usd),
  ).context(path);
  for (const run of comparableRuns(points)) draw(run);
  return `<svg class="spark" viewBox="0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}" aria-hidden="true"><path d="${path.text}"/></svg>`;
}

/**
 * Collects straight lines as SVG path data in whole, relative steps (SVG 2, chapter 9). That takes
 * little more than half the text of absolute ones, and sparklines are most of the page.
 */
class RelativePath {
  text = "";
  #x = 0;
  #y = 0;

  moveTo(x: number, y: number): void {
    this.#step("m", x, y);
  }

  lineTo(x: number, y: number): void {
    this.#step(" ", x, y);
  }

  /** Ends a line. A line of one point becomes a dot. */
  closePath(): void {
    this.text += "z";
  }

  #step(command: string, x: number, y: number): void {
    const right = Math.round(x) - this.#x;
    const down = Math.round(y) - this.#y;
    this.text += `${command}${right}${down < 0 ? "" : " "}${down}`;
    this.#x += right;
    this.#y += down;
  }
}

/** The closes, split before each break. */
function comparableRuns(points: readonly Close[]): Close[][] {
  const runs: Close[][] = [[]];
  for (const point of points) {
    if (point.breakReason !== null) runs.push([]);
    runs.at(-1)?.push(point);
  }
  return runs;
}

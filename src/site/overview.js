/** The part above the board, the same in Node and in the browser: finding, indices, largest moves. */
import { dateText, dayOf } from "./axis.js";
import { sparkline } from "./chart.js";
import { changeOfLine } from "./contributions.js";
import { tableHtml } from "./html.js";
import { changeHtml, escaped, foreign, grouped, signedText } from "./text.js";

/** @typedef {import("./board.js").Board} Board */

/** The line of an index in the table. The composite's own line is longer. */
const LINE_CLOSES = 90;

/**
 * A line in the body of `/sparklines`. Without `days_ago` it has a close for each day.
 *
 * @typedef {{ id: string, closes: readonly number[], days_ago?: readonly number[], breaks?: readonly number[] }} Line
 *
 * What the page shows of an index in the body of `/indices`.
 *
 * @typedef {{ id: string, name: string, series_date: string | null }} Index
 */

/**
 * The points of an index's line; none without a line.
 *
 * @param {Pick<Index, "id" | "series_date"> | undefined} index
 * @param {ReadonlyMap<string, Line>} lines
 */
export function lineOf(index, lines) {
  const line = lines.get(index?.id ?? "");
  return line === undefined || index?.series_date == null ? [] : pointsOf(line, index.series_date);
}

/**
 * The market in a sentence, as plain text: what the line of the composite did, and which segment led over the
 * days of theirs.
 *
 * @param {readonly Index[]} indices the composite first
 * @param {ReadonlyMap<string, Line>} lines by id; empty of older snapshots
 */
export function finding([composite, ...segments], lines) {
  const points = lineOf(composite, lines);
  const change = changeOfLine(points);
  if (change === null) return "Memory and semiconductor prices";
  const begin = points[0]?.date;
  const since = `since ${begin}`;
  const way = Math.sign(Number(change));
  if (way === 0) return `Memory and semiconductor prices are unchanged ${since}`;
  const size = grouped(change.replace("-", ""));
  const said = `Memory and semiconductor prices are ${way > 0 ? "up" : "down"} ${size}\u{a0}% ${since}`;
  const known = segments.flatMap((index) => {
    const own = lineOf(index, lines);
    const moved = changeOfLine(own);
    return moved === null ? [] : [{ name: index.name, moved, since: own[0]?.date }];
  });
  const [first] = known.toSorted((a, b) => (Number(b.moved) - Number(a.moved)) * way);
  if (first === undefined || known.length === 1 || Number(first.moved) * way <= 0) return said;
  const days = first.since === begin ? "" : ` since ${first.since}`;
  const led = `${way > 0 ? "leads" : "falls most"}${days}, ${signedText(first.moved)}\u{a0}%`;
  // Isolated (U+2068, U+2069): a name from the feeds must not turn the words around it.
  return `${said}; \u{2068}${first.name}\u{2069} ${led}`;
}

/**
 * The points of a line.
 *
 * @param {Line} line
 * @param {string} to the session's day; of an index, the day of the last close
 */
export const pointsOf = ({ closes, days_ago, breaks = [] }, to) =>
  closes.map((close, at) => ({
    date: dateText(dayOf(to) - (days_ago?.[at] ?? closes.length - 1 - at)),
    close,
    isBreak: breaks.includes(at),
  }));

/** How many indices the table has; the page of the indices has all. */
const INDICES_SHOWN = 13;

/**
 * A row for each of the first indices, and the way to all: name, line of 90 days, its change, and the change of its last day.
 *
 * @param {readonly Index[]} indices the composite first
 * @param {ReadonlyMap<string, Line>} lines by id; empty of older snapshots
 */
export const overviewTable = (indices, lines) =>
  tableHtml(
    "",
    [
      {
        label: "Index",
        html: ({ id, name }, at) =>
          `<a href="indices#${escaped(id)}">${at === 0 ? "Composite" : foreign(name)}</a>`,
      },
      {
        label: "90 days",
        name: "line",
        html: (index) => {
          const points = lineOf(index, lines).slice(-LINE_CLOSES);
          return points.length === 0 ? "" : sparkline(points, index.series_date ?? "");
        },
      },
      {
        label: "90 d %",
        name: "n",
        html: (index) => changeHtml(changeOfLine(lineOf(index, lines).slice(-LINE_CLOSES))),
      },
      {
        label: "24 h %",
        name: "n",
        html: (index) => changeHtml(changeOfLine(lineOf(index, lines).slice(-2))),
      },
    ],
    indices.slice(0, INDICES_SHOWN),
    ({ id }) => ` data-id="${escaped(id)}"`,
  ) + `\n<p><a href="indices">All ${indices.length} indices</a></p>`;

const MOVES = 5;

/**
 * The contracts that rose most and fell most in 24 hours; equal ones in the order of the boards. Where that
 * would be the board again, a sentence.
 *
 * @param {Pick<Board, "memory" | "semiconductor">} board
 */
export function movesHtml({ memory, semiconductor }) {
  const moves = [...memory, ...semiconductor].flatMap(({ chg_24h_pct: change, ...row }) =>
    change === null || change === 0 ? [] : [{ ...row, change }],
  );
  if (moves.length === 0) return "<p>No level moved in 24 hours.</p>";
  const sides = [1, -1].map((way) => {
    const side = moves.filter(({ change }) => change * way > 0);
    return { way, side: side.toSorted((a, b) => (b.change - a.change) * way) };
  });
  const linkOf = (/** @type {{ id: string, name: string }} */ { id, name }) =>
    `<a href="contracts/${encodeURIComponent(id)}">${foreign(name)}</a>`;
  if (moves.length <= 2 * MOVES) {
    const counts = sides.map(({ way, side }) => `${side.length} ${way > 0 ? "up" : "down"}`);
    const ends = sides.flatMap(({ way, side: [most] }) =>
      most === undefined
        ? []
        : `${way > 0 ? "strongest" : "weakest"} ${linkOf(most)} ${changeHtml(most.change)}\u{a0}%`,
    );
    const said = ends.join(", ");
    return `<p>Last 24 hours: ${counts.join(", ")}. ${said[0]?.toUpperCase()}${said.slice(1)}.</p>`;
  }
  const lists = sides.map(({ way, side }) => {
    const items = side
      .slice(0, MOVES)
      .map(
        (row) =>
          `<li data-id="${escaped(row.id)}">${linkOf(row)} ` +
          `<small>${foreign(row.ticker)}</small> <span data-field="chg_24h_pct">${changeHtml(row.change)}</span></li>`,
      );
    const list = items.length === 0 ? "<p>None</p>" : `<ol>${items.join("\n")}</ol>`;
    return `<div><h3>${way > 0 ? "Up" : "Down"}, 24 h %</h3>${list}</div>`;
  });
  return lists.join("\n");
}

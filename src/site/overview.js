/** The part above the board, the same in Node and in the browser: finding, indices, largest moves. */
import { dateText, dayOf } from "./axis.js";
import { sparkline } from "./chart.js";
import { contractLink, tableHtml } from "./html.js";
import { changeOfCloses, lineOfIndex, sessionOf } from "./levels.js";
import { changeHtml, escaped, foreign } from "./text.js";

/** @typedef {import("./board.js").Board} Board */

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
 * The closes of an index; none without a line.
 *
 * @param {Pick<Index, "id" | "series_date"> | undefined} index
 * @param {ReadonlyMap<string, Line>} lines
 */
export function lineOf(index, lines) {
  const line = lines.get(index?.id ?? "");
  return line === undefined || index?.series_date == null ? [] : pointsOf(line, index.series_date);
}

/**
 * The closes of a line.
 *
 * @param {Line} line
 * @param {string} to the session's day; of an index, the day of the last close
 * @returns {import("./levels.js").Level[]}
 */
export const pointsOf = ({ closes, days_ago, breaks = [] }, to) =>
  closes.map((close, at) => ({
    date: dateText(dayOf(to) - (days_ago?.[at] ?? closes.length - 1 - at)),
    close,
    isBreak: breaks.includes(at),
  }));

/**
 * The line of a contract. Each close stands at 12:00 of its date, the last at the latest at the session.
 *
 * @param {Line} line
 * @param {string} session ISO 8601
 * @param {number} carryDays how many days a level is in force
 * @returns {import("./levels.js").Line}
 */
export function contractLine(line, session, carryDays) {
  const levels = pointsOf(line, session.slice(0, 10)).map((level) =>
    sessionOf(level) > session ? { ...level, session } : level,
  );
  return { levels, carryDays, to: session };
}

/**
 * The name of an index for people. The catalog gives all names except the composite's.
 *
 * @param {Pick<Index, "id" | "name">} index
 */
export const indexName = ({ id, name }) => (id === "composite" ? "Composite" : name);

/** How many indices the table has; the page of the indices has all. */
export const INDICES_SHOWN = 8;

/**
 * A row for each of the first indices, and the way to all: name, line of 90 days, its changes of 30 days and one.
 *
 * @param {readonly Index[]} indices the composite first
 * @param {ReadonlyMap<string, Line>} lines by id; empty of older snapshots
 */
export function overviewTable(indices, lines) {
  const newest = indices
    .map(({ series_date: date }) => date ?? "")
    .reduce((a, b) => (a > b ? a : b), "");
  return (
    tableHtml(
      "",
      [
        {
          label: newest === "" ? "Index" : `Index, <time>${escaped(newest)}</time>`,
          html: (index) =>
            `<a href="indices#${escaped(index.id)}">${foreign(indexName(index))}</a>`,
        },
        {
          label: "90 days",
          name: "line",
          html: (index) => {
            const closes = lineOf(index, lines);
            return closes.length === 0 ? "" : sparkline(lineOfIndex(closes));
          },
        },
        {
          label: "30 d %",
          name: "n",
          html: (index) => changeHtml(changeOfCloses(lineOf(index, lines), "30d")),
        },
        {
          label: "24 h %",
          name: "n",
          html: (index) => changeHtml(changeOfCloses(lineOf(index, lines), "24h")),
        },
      ],
      indices.slice(0, INDICES_SHOWN),
      ({ id }) => ` data-id="${escaped(id)}"`,
    ) + `\n<p><a href="indices">All ${indices.length} indices</a></p>`
  );
}

const MOVES = 3;
/** A board that is no longer has a sentence. */
const SHORT_BOARD = 10;

/**
 * The contracts that rose most and fell most in 24 hours, or in 30 days if no level moved in 24 hours, as at weekends; equal
 * ones in the order of the boards. Where that would be the board again, a sentence.
 *
 * @param {Pick<Board, "memory" | "semiconductor">} board
 */
export function movesHtml({ memory, semiconductor }) {
  const rows = [...memory, ...semiconductor];
  const isShort = rows.length <= SHORT_BOARD;
  const isStill = rows.every(({ chg_24h_pct: change }) => !change);
  const [field, range] = isStill
    ? /** @type {const} */ (["chg_30d_pct", "30 d"])
    : /** @type {const} */ (["chg_24h_pct", "24 h"]);
  const moves = rows.flatMap(({ [field]: change, ...row }) => (change ? [{ ...row, change }] : []));
  if (moves.length === 0 || (isShort && isStill)) return "<p>No level moved in 24 hours.</p>";
  const sides = [1, -1].map((way) => {
    const side = moves.filter(({ change }) => change * way > 0);
    return { way, side: side.toSorted((a, b) => (b.change - a.change) * way) };
  });
  if (isShort) {
    const counts = sides.map(({ way, side }) => `${side.length} ${way > 0 ? "up" : "down"}`);
    for (const [change, words] of /** @type {const} */ ([
      [0, "unchanged"],
      [null, "without a change"],
    ])) {
      const count = rows.filter((row) => row.chg_24h_pct === change).length;
      if (count > 0) counts.push(`${count} ${words}`);
    }
    const ends = sides.flatMap(({ way, side: [most] }) =>
      most === undefined
        ? []
        : `${way > 0 ? "strongest" : "weakest"} ${contractLink(most.id, most.name)} ${changeHtml(most.change)}\u{a0}%`,
    );
    const said = ends.join(", ");
    return `<p>Last 24 hours: ${counts.join(", ")}. ${said[0]?.toUpperCase()}${said.slice(1)}.</p>`;
  }
  const lists = sides.map(({ way, side }) => {
    const items = side
      .slice(0, MOVES)
      .map(
        (row) =>
          `<li data-id="${escaped(row.id)}">${contractLink(row.id, row.name)} ` +
          `<small>${foreign(row.ticker)}</small> <span data-field="${field}">${changeHtml(row.change)}</span></li>`,
      );
    const list = items.length === 0 ? "<p>None</p>" : `<ol>${items.join("\n")}</ol>`;
    const why = isStill ? " (none moved in 24 h)" : "";
    return `<div><h3>${way > 0 ? "Up" : "Down"}, ${range} %${why}</h3>${list}</div>`;
  });
  return lists.join("\n");
}

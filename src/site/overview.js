/** The part above the board, the same in Node and in the browser: finding, indices, largest moves. */
import { dateText, dayOf } from "./axis.js";
import { sparkline } from "./chart.js";
import { changeOf, rounded } from "./decimal.js";
import { tableHtml } from "./html.js";
import { changeHtml, counted, escaped, foreign, grouped, signedText } from "./text.js";

/** @typedef {import("./board.js").Board} Board */

/**
 * A line in the body of `/sparklines`. Without `days_ago` it has a close for each day.
 *
 * @typedef {{ id: string, closes: readonly number[], days_ago?: readonly number[], breaks?: readonly number[] }} Line
 *
 * What the page shows of an index in the body of `/indices`.
 *
 * @typedef {{ id: string, name: string, level: number | null, chg_24h_pct: number | null, series_date: string | null }} Index
 */

/** The change against a year ago, percent with two decimals. @param {Index} index */
const yearOf = ({ level }) => rounded(changeOf(level?.toString() ?? null));

/**
 * The market in a sentence, as plain text: what the composite did in a year, and which segment led.
 *
 * @param {readonly Index[]} indices the composite first
 */
export function finding([composite, ...segments]) {
  const year = composite === undefined ? null : yearOf(composite);
  if (year === null) return "The prices have no year to compare with yet";
  const way = Math.sign(Number(year));
  if (way === 0) return "Memory and semiconductor prices are unchanged on the year";
  const size = grouped(year.replace("-", ""));
  const said = `Memory and semiconductor prices are ${way > 0 ? "up" : "down"} ${size}\u{a0}% on the year`;
  const known = segments.filter(({ level }) => level !== null);
  const moveOf = (/** @type {Index} */ index) => Number(yearOf(index)) * way;
  const [first] = known.toSorted((a, b) => moveOf(b) - moveOf(a));
  if (first === undefined || known.length === 1 || moveOf(first) <= 0) return said;
  const change = signedText(yearOf(first) ?? "");
  // Isolated (U+2068, U+2069): a name from the feeds must not turn the words around it.
  return `${said}; \u{2068}${first.name}\u{2069} ${way > 0 ? "leads with" : "falls most,"} ${change}\u{a0}%`;
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

/**
 * A row for each index: name, line of 90 days, changes.
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
        html: ({ id, series_date: to }) => {
          const line = lines.get(id);
          return line === undefined || to === null ? "" : sparkline(pointsOf(line, to), to);
        },
      },
      {
        label: "24 h %",
        name: "n",
        html: ({ chg_24h_pct: day }) => changeHtml(rounded(day?.toString())),
      },
      { label: "1 year %", name: "n", html: (index) => changeHtml(yearOf(index)) },
    ],
    indices,
    ({ id }) => ` data-id="${escaped(id)}"`,
  );

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
    const said = sides.map(({ way, side: [most, ...others] }) => {
      const verb = way > 0 ? "rose" : "fell";
      if (most === undefined) return `None ${verb}.`;
      return `${others.length + 1} ${verb}, most ${linkOf(most)} ${changeHtml(most.change)} %.`;
    });
    const all = counted(memory.length + semiconductor.length, "contract");
    return `<p>Of ${all} in 24 hours: ${said.join(" ")}</p>`;
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

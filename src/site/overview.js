/** What stands above the board, the same in Node and in the browser: finding, indices, largest moves. */
import { dateText, dayOf } from "./axis.js";
import { sparkline } from "./chart.js";
import { changeOf, rounded } from "./decimal.js";
import { changeHtml, escaped, foreign, grouped, signedText } from "./text.js";

/** @typedef {import("./board.js").Board} Board */

/**
 * A line in the body of `/sparklines`, with its days. Those of indices have a close for each day.
 *
 * @typedef {{ id: string, closes: readonly number[], days_ago?: readonly number[], breaks?: readonly number[] }} Line
 *
 * What the page shows of an index in the body of `/indices`.
 *
 * @typedef {{ id: string, name: string, level: number | null, chg_24h_pct: number | null, series_date: string | null }} Index
 */

/** @param {number | null} figure with two decimals */
const shortened = (figure) => rounded(figure === null ? null : String(figure));

/** The change against a year ago, percent with two decimals. @param {Index} index */
const yearOf = ({ level }) => rounded(changeOf(level === null ? null : String(level)));

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
  const said = `Memory and semiconductor prices are ${way > 0 ? "up" : "down"} ${size} % on the year`;
  const known = segments.filter(({ level }) => level !== null);
  const moveOf = (/** @type {Index} */ index) => Number(yearOf(index)) * way;
  const [first] = known.toSorted((a, b) => moveOf(b) - moveOf(a));
  if (first === undefined || known.length === 1 || moveOf(first) <= 0) return said;
  const change = signedText(yearOf(first) ?? "");
  // Isolated (U+2068, U+2069): a name from the feeds must not turn the words around it.
  return `${said}; \u{2068}${first.name}\u{2069} ${way > 0 ? "leads with" : "falls most,"} ${change} %`;
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
export function overviewTable(indices, lines) {
  const rows = indices.map((index, at) => {
    const { id, name, chg_24h_pct: day, series_date: to } = index;
    const line = lines.get(id);
    const drawn = line === undefined || to === null ? "" : sparkline(pointsOf(line, to), to);
    return (
      `<tr data-id="${escaped(id)}"><th scope="row"><a href="indices#${escaped(id)}">` +
      `${at === 0 ? "Composite" : foreign(name)}</a></th><td class="line">${drawn}</td>` +
      `<td class="n" data-field="chg_24h_pct">${changeHtml(shortened(day))}</td>` +
      `<td class="n" data-field="chg_yoy_pct">${changeHtml(yearOf(index))}</td></tr>`
    );
  });
  return `<table>
<thead><tr><th scope="col">Index</th><th scope="col">90 days</th><th scope="col" class="n">24 h %</th><th scope="col" class="n">1 year %</th></tr></thead>
<tbody>${rows.join("\n")}</tbody>
</table>`;
}

const MOVES = 5;

/**
 * The contracts that rose most and fell most in 24 hours; equal ones in the order of the boards.
 *
 * @param {Pick<Board, "memory" | "semiconductor">} board
 */
export function movesHtml({ memory, semiconductor }) {
  const moves = [...memory, ...semiconductor].flatMap(({ chg_24h_pct: change, ...row }) =>
    change === null || change === 0 ? [] : [{ ...row, change }],
  );
  if (moves.length === 0) return "<p>No level moved in 24 hours.</p>";
  const lists = [1, -1].map((way) => {
    const items = moves
      .filter(({ change }) => change * way > 0)
      .toSorted((a, b) => (b.change - a.change) * way)
      .slice(0, MOVES)
      .map(
        ({ id, name, ticker, change }) =>
          `<li data-id="${escaped(id)}"><a href="contracts/${encodeURIComponent(id)}">${foreign(name)}</a> ` +
          `<small>${foreign(ticker)}</small> <span data-field="chg_24h_pct">${changeHtml(change)}</span></li>`,
      );
    const list = items.length === 0 ? "<p>None</p>" : `<ol>${items.join("\n")}</ol>`;
    return `<div><h3>${way > 0 ? "Up" : "Down"}, 24 h %</h3>${list}</div>`;
  });
  return lists.join("\n");
}

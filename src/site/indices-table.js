/** All indices as a table, the same in Node and in the browser. Figures are decimals as text. */
import { changeHtml, escaped, figureHtml, foreign } from "./text.js";

/**
 * An index in the body of `/indices`.
 *
 * @typedef {object} ListedIndex
 * @property {string} id
 * @property {string} name
 * @property {string} constituents
 * @property {string | null} level
 * @property {string | null} chg_24h_pct
 * @property {string | null} chg_30d_pct
 * @property {string | null} series_close
 * @property {string | null} series_date
 */

/** @typedef {"level" | "chg_24h_pct" | "chg_30d_pct" | "constituents" | "series_close"} Field */

/** The fields that are figures, with their decimals; null: a change. @type {readonly [Field, string, number | null][]} */
const COLUMNS = [
  ["level", "Level, points", 4],
  ["chg_24h_pct", "24 h %", null],
  ["chg_30d_pct", "30 d %", null],
  ["constituents", "Constituents", 0],
  ["series_close", "Series,", 4],
];

/**
 * One row for each index. `data-field` names the field of a figure.
 *
 * @param {readonly ListedIndex[]} indices
 * @param {boolean} isLinked whether a name leads to the index on the page, `#id`
 */
export function indicesTable(indices, isLinked) {
  const newest = indices.reduce((date, index) => maxOf(date, index.series_date ?? ""), "");
  const head = COLUMNS.map(
    ([field, label]) =>
      `<th scope="col" class="n">${label}${field === "series_close" ? ` ${escaped(newest)}` : ""}</th>`,
  ).join("");
  const rows = indices.map((index) => {
    const { id, series_date } = index;
    const name = foreign(index.name);
    const cells = COLUMNS.map(([field, , decimals]) => {
      const figure = index[field];
      const html = decimals === null ? changeHtml(figure) : figureHtml(figure, decimals);
      const isOlder = field === "series_close" && series_date !== null && series_date !== newest;
      const date = isOlder ? ` <small>${escaped(series_date)}</small>` : "";
      return `<td class="n"><span data-field="${field}">${html}</span>${date}</td>`;
    });
    return (
      `<tr data-id="${escaped(id)}">` +
      `<th scope="row">${isLinked ? `<a href="#${escaped(id)}">${name}</a>` : name}</th>` +
      `${cells.join("")}</tr>`
    );
  });
  return (
    `<table class="indices">\n<thead><tr><th scope="col">Index</th>${head}</tr></thead>\n` +
    `<tbody>\n${rows.join("\n")}\n</tbody>\n</table>`
  );
}

/**
 * @param {string} one
 * @param {string} other
 */
const maxOf = (one, other) => (one > other ? one : other);

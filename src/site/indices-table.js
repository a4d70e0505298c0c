/** All indices as a table, the same in Node and in the browser. Figures come as decimals. */
import { againstHtml } from "./contributions.js";
import { rounded } from "./decimal.js";
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

/** @typedef {"series_close" | "chg_24h_pct" | "chg_30d_pct" | "level" | "constituents"} Field */

/** The fields that are figures, with what people see. @type {readonly [Field, string, (index: ListedIndex) => string][]} */
const COLUMNS = [
  ["series_close", "Series,", ({ series_close }) => figureHtml(rounded(series_close))],
  ["chg_24h_pct", "24 h %", ({ chg_24h_pct }) => changeHtml(chg_24h_pct)],
  ["chg_30d_pct", "30 d %", ({ chg_30d_pct }) => changeHtml(chg_30d_pct)],
  ["level", "Against a year ago %", ({ level }) => againstHtml(level)],
  ["constituents", "Constituents", ({ constituents }) => figureHtml(constituents, 0)],
];

/**
 * The name of an index for people. The catalog gives all names but that of the composite.
 *
 * @param {Pick<ListedIndex, "id" | "name">} index
 */
export const indexName = ({ id, name }) => (id === "composite" ? "Composite" : name);

/**
 * One row for each index. `data-field` names the field of a figure, `data-value` has it as the API gives it.
 *
 * @param {readonly ListedIndex[]} indices
 * @param {boolean} isLinked whether a name leads to the index on the page, `#id`
 */
export function indicesTable(indices, isLinked) {
  const newest = indices.reduce((date, index) => maxOf(date, index.series_date ?? ""), "");
  const head = COLUMNS.map(
    ([field, label]) =>
      `<th scope="col" class="n">${label}${field === "series_close" ? ` <time>${escaped(newest)}</time>` : ""}</th>`,
  ).join("");
  const rows = indices.map((index) => {
    const { id, series_date } = index;
    const name = foreign(indexName(index));
    const cells = COLUMNS.map(([field, , html]) => {
      const exact = escaped(index[field] ?? "");
      const isOlder = field === "series_close" && series_date !== null && series_date !== newest;
      const date = isOlder ? ` <small>${escaped(series_date)}</small>` : "";
      return `<td class="n" data-value="${exact}"><span data-field="${field}">${html(index)}</span>${date}</td>`;
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

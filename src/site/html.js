/** Tables, sections and links as HTML, the same in Node and in the browser. */
import { escaped, foreign } from "./text.js";

/**
 * A column of a table of `Row`s.
 *
 * @template Row
 * @typedef {object} TableColumn
 * @property {string} label HTML
 * @property {string} [head] The head in plain text, beside each cell where a table of the class `stacked` is narrow.
 * @property {(row: Row, at: number) => string} html The content of a cell.
 * @property {string} [name] Class of its cells; `n`: aligned to the right.
 * @property {(row: Row) => string | number | null | undefined} [value] What its figures are sorted by.
 * @property {string} [field] The name of its order in an address.
 */

/**
 * A table. The first column heads its rows.
 *
 * @template Row
 * @param {string} attributes of the table, after a blank
 * @param {readonly TableColumn<Row>[]} columns
 * @param {readonly Row[]} rows
 * @param {(row: Row) => string} [attributesOf] of a row, after a blank
 */
export function tableHtml(attributes, columns, rows, attributesOf = () => "") {
  const alone = columns.map(({ head }) =>
    head === undefined ? "" : ` data-head="${escaped(head)}"`,
  );
  const classes = columns.map(({ name = "", value }) => {
    const all = value === undefined ? name : `n ${name}`.trim();
    return all === "" ? "" : ` class="${all}"`;
  });
  const heads = columns.map(({ label, field }, at) => {
    const sort = field === undefined ? "" : ` data-sort="${field}"`;
    return `<th scope="col"${classes[at]}${sort}>${label}</th>`;
  });
  const lines = rows.map((row, place) => {
    const cells = columns.map(({ html, value }, at) => {
      const figure = value?.(row);
      const sorted = figure == null ? "" : ` data-value="${escaped(String(figure))}"`;
      const [start, end] = at === 0 ? ['th scope="row"', "th"] : ["td", "td"];
      return `<${start}${classes[at]}${alone[at]}${sorted}>${html(row, place)}</${end}>`;
    });
    return `<tr${attributesOf(row)}>${cells.join("")}</tr>`;
  });
  return `<table${attributes}>
<thead><tr>${heads.join("")}</tr></thead>
<tbody>
${lines.join("\n")}
</tbody>
</table>`;
}

/**
 * A box that scrolls sideways, by keyboard too, so that the page itself does not.
 *
 * @param {string} name plain text
 * @param {string} content HTML
 */
export const scrolling = (name, content) =>
  `<div class="scroll" role="region" aria-label="${escaped(name)}" tabindex="0">\n${content}\n</div>`;

/**
 * A section with its heading.
 *
 * @param {string} id the anchor
 * @param {string} title HTML
 * @param {string} content HTML
 */
export const section = (id, title, content) =>
  `<section id="${id}" aria-labelledby="${id}-title">\n<h2 id="${id}-title">${title}</h2>\n${content}\n</section>`;

/**
 * The way to a contract's page.
 *
 * @param {string} id
 * @param {string} [name]
 */
export const contractLink = (id, name = id) =>
  `<a href="contracts/${encodeURIComponent(id)}">${foreign(name)}</a>`;

/** All indices as a table, the same in Node and in the browser. Figures come as decimals. */
import { dateHtml, figureColumn, placesHtml } from "./contributions.js";
import { tableHtml } from "./html.js";
import { changeOfCloses } from "./levels.js";
import { indexName, lineOf } from "./overview.js";
import { changeHtml, escaped, foreign } from "./text.js";

/**
 * An index in the body of `/indices`.
 *
 * @typedef {import("./contributions.js").Decimals<import("zod").infer<typeof import("../public/payload-schemas.ts").indices>>["indices"][number]} ListedIndex
 */

/**
 * One row for each index. `data-field` names the field of a figure, `data-value` has it as the API gives it.
 *
 * @param {readonly ListedIndex[]} indices
 * @param {boolean} isLinked whether a name leads to the index on the page, `#id`
 * @param {ReadonlyMap<string, import("./overview.js").Line>} lines the closes by id: changes are of the series
 */
export function indicesTable(indices, isLinked, lines) {
  const newest =
    indices
      .map(({ series_date }) => series_date ?? "")
      .toSorted()
      .at(-1) ?? "";
  /** @param {ListedIndex} index */
  const nameHtml = (index) => {
    const name = foreign(indexName(index));
    return isLinked ? `<a href="#${escaped(index.id)}">${name}</a>` : name;
  };
  /**
   * @param {string} label
   * @param {string} range
   * @returns {import("./html.js").TableColumn<ListedIndex>}
   */
  const change = (label, range) => ({
    label,
    name: "n",
    html: (index) => changeHtml(changeOfCloses(lineOf(index, lines), range)),
  });
  /** @type {readonly import("./html.js").TableColumn<ListedIndex>[]} */
  const columns = [
    { label: "Index", html: nameHtml },
    figureColumn(
      `Series, <time>${escaped(newest)}</time>`,
      "series_close",
      placesHtml,
      ({ series_date: date }) => (date === newest ? "" : dateHtml(date)),
    ),
    change("24 h %", "24h"),
    change("30 d %", "30d"),
  ];
  return tableHtml(' class="indices"', columns, indices, ({ id }) => ` data-id="${escaped(id)}"`);
}

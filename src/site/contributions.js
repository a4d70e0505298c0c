/**
 * The figures of an index or a basket, the same in Node and in the browser. Figures come as decimals, digit
 * by digit as the API gives them; people see two places of what is no price.
 */
import { basisHtml } from "./board.js";
import { bars } from "./chart.js";
import { changeOf, decimalOf, placesOf, rounded } from "./decimal.js";
import { changeHtml, escaped, figureHtml, foreign, signedText } from "./text.js";

/**
 * A contribution in the body of `/index`.
 *
 * @typedef {object} Contribution
 * @property {string} id
 * @property {string} ticker
 * @property {string} segment
 * @property {string} [quantity]
 * @property {string | null} weight_pct
 * @property {string | null} base_usd
 * @property {string} spot_usd
 * @property {string | null} relative
 * @property {string | null} contribution
 * @property {string | null} contribution_24h_pct
 * @property {string} basis
 * @property {string} as_of
 * @property {string | null} base_as_of
 */

/**
 * What the pages show of the body of `/index`. Only baskets of quantities have costs, only indices a series.
 *
 * @typedef {object} IndexBody
 * @property {{ date: string, level: string }} base
 * @property {{ base: { date: string | null, level: string }, history: readonly { date: string, close: string }[] }} [series]
 * @property {string | null} level
 * @property {string | null} chg_24h_pct
 * @property {string | null} chg_30d_pct
 * @property {string} [cost_usd]
 * @property {string} [cost_base_usd]
 * @property {string} [cost_24h_usd]
 * @property {string} [cost_30d_usd]
 * @property {string} constituents
 * @property {string} [carried]
 * @property {readonly Contribution[]} contributions
 * @property {readonly { id: string, reason: string }[]} excluded
 */

/** What a level of 100 a year before is called for people: a change. */
const AGAINST = "Against a year ago";

/**
 * What an index or a basket did, in words: `Composite: +8.82 % against a year ago`.
 *
 * @param {string} name
 * @param {string | null} level
 */
export function findingOf(name, level) {
  const change = rounded(changeOf(level));
  if (change === null) return name;
  return `${name}: ${signedText(change)} % ${AGAINST.toLowerCase()}`;
}

/**
 * The change of a level against the 100 of a year before.
 *
 * @param {string | null} level
 */
export const againstHtml = (level) => changeHtml(rounded(changeOf(level)));

/**
 * Series, changes, and what the basket costs if it does. `data-field` names the field of the body,
 * `data-value` has its figure.
 *
 * @param {IndexBody} body
 */
export function indexFigures(body) {
  const { base, series, level, chg_24h_pct, chg_30d_pct, constituents, carried } = body;
  const last = series?.history.at(-1);
  const figures = [
    ...(last === undefined
      ? []
      : [
          figure(
            "series_close",
            `Series, ${last.date}`,
            last.close,
            figureHtml(rounded(last.close)),
            "points",
          ),
        ]),
    figure("level", AGAINST, level, againstHtml(level), "%"),
    figure("chg_24h_pct", "24 h", chg_24h_pct, changeHtml(chg_24h_pct), "%"),
    figure("chg_30d_pct", "30 days", chg_30d_pct, changeHtml(chg_30d_pct), "%"),
    figure("constituents", "Constituents", constituents, figureHtml(constituents, 0)),
    ...(carried === undefined
      ? []
      : [figure("carried", "Carried", carried, figureHtml(carried, 0))]),
  ];
  /** @param {"cost_usd" | "cost_24h_usd" | "cost_30d_usd" | "cost_base_usd"} field @param {string} label */
  const cost = (field, label) => figure(field, label, body[field], figureHtml(body[field]), "USD");
  const costs = [
    cost("cost_usd", "Cost"),
    cost("cost_24h_usd", "24 h before"),
    cost("cost_30d_usd", "30 days before"),
    cost("cost_base_usd", `A year before, ${base.date}`),
  ];
  const lists = body.cost_usd === undefined ? [figures] : [costs, figures];
  return lists.map((list) => `<dl class="figures">${list.join("")}</dl>`).join("\n");
}

/**
 * @param {string} field
 * @param {string} label
 * @param {string | null | undefined} exact as the API gives it
 * @param {string} html for people
 * @param {string} [unit]
 */
function figure(field, label, exact, html, unit) {
  const unitHtml = unit === undefined || exact == null ? "" : ` <small>${unit}</small>`;
  return (
    `<div><dt>${escaped(label)}</dt>` +
    `<dd data-value="${escaped(exact ?? "")}"><span data-field="${field}">${html}</span>${unitHtml}</dd></div>`
  );
}

/** @typedef {{ label: string, sort: "text" | "number", cell: (item: Contribution, at: number) => string, isOrder?: boolean }} Column */

/**
 * One row for each contribution, with bars around zero. `data-field` names the field of a figure.
 *
 * @param {readonly Contribution[]} contributions
 * @param {(id: string) => string} nameOf a contract's name as HTML
 */
export function contributionsTable(contributions, nameOf) {
  const hasQuantities = contributions.some(({ quantity }) => quantity !== undefined);
  /** @type {Column[]} */
  const columns = [
    { label: "Contract", sort: "text", cell: (item) => nameCell(item, nameOf(item.id)) },
    barColumn("Of the year’s change, %", "contribution", contributions),
    barColumn("Of the 24 h change, %", "contribution_24h_pct", contributions),
    ...(hasQuantities
      ? [numberColumn("Quantity", "quantity", (quantity) => figureHtml(quantity, 0))]
      : []),
    numberColumn("Weight, %", "weight_pct", (weight) => figureHtml(rounded(weight))),
    numberColumn("A year ago, USD", "base_usd", figureHtml, ({ base_as_of }) => base_as_of),
    numberColumn("Level, USD", "spot_usd", figureHtml, ({ as_of }) => as_of),
    numberColumn("Change, %", "relative", (relative) => againstHtml(percentOf(relative))),
    BASIS,
  ];
  const head = columns.map(
    ({ label, sort }) =>
      `<th scope="col" data-sort="${sort}"${sort === "number" ? ' class="n"' : ""}>${label}</th>`,
  );
  const rows = contributions.map(
    (item, at) =>
      `<tr data-id="${escaped(item.id)}">${columns.map(({ cell }) => cell(item, at)).join("")}</tr>`,
  );
  return (
    `<table class="contributions">\n<thead><tr>${head.join("")}</tr></thead>\n` +
    `<tbody>\n${rows.join("\n")}\n</tbody>\n</table>`
  );
}

/** @type {Column} */
const BASIS = {
  label: "Basis",
  sort: "text",
  cell: ({ basis }) => `<td data-field="basis">${basisHtml(basis)}</td>`,
};

/**
 * @param {Contribution} item
 * @param {string} name HTML
 */
const nameCell = ({ ticker, segment }, name) =>
  `<th scope="row">${name} <small>${foreign(ticker)} · ${foreign(segment)}</small></th>`;

/**
 * The way to a contract's page.
 *
 * @param {string} id
 * @param {string} [name]
 */
export const contractLink = (id, name = id) =>
  `<a href="contracts/${encodeURIComponent(id)}">${foreign(name)}</a>`;

/** @typedef {"quantity" | "weight_pct" | "base_usd" | "spot_usd" | "relative" | "contribution" | "contribution_24h_pct"} NumberField */

/**
 * A relative as a level of 100 at its base.
 *
 * @param {string | null} relative
 */
const percentOf = (relative) => relative && decimalOf(placesOf(relative, 9), 7);

/**
 * @param {string} label
 * @param {NumberField} field
 * @param {(figure: string | null) => string} html
 * @param {(item: Contribution) => string | null} [dateOf] the date of the figure, if it has one
 * @returns {Column}
 */
const numberColumn = (label, field, html, dateOf = () => null) => ({
  label,
  sort: "number",
  cell: (item) => {
    const date = dateOf(item);
    const small = date === null ? "" : ` <small>${escaped(date)}</small>`;
    return numberCell(item, field, html(item[field] ?? null), small);
  },
});

/**
 * @param {string} label
 * @param {"contribution" | "contribution_24h_pct"} field
 * @param {readonly Contribution[]} contributions
 * @returns {Column}
 */
function barColumn(label, field, contributions) {
  const drawn = bars(contributions.map((item) => Number(item[field])));
  return {
    label,
    sort: "number",
    cell: (item, at) => numberCell(item, field, changeHtml(rounded(item[field])), drawn[at] ?? ""),
  };
}

/**
 * @param {Contribution} item
 * @param {NumberField} field
 * @param {string} html the figure
 * @param {string} more HTML beside it
 */
const numberCell = (item, field, html, more) =>
  `<td class="n" data-value="${escaped(item[field] ?? "")}">` +
  `<span data-field="${field}">${html}</span>${more}</td>`;

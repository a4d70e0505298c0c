/**
 * The figures of an index or a basket, the same in Node and in the browser. All figures are decimals as
 * text, digit by digit as the API gives them.
 */
import { basisHtml } from "./board.js";
import { bars } from "./chart.js";
import { changeHtml, escaped, figureHtml, foreign } from "./text.js";

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
 * What the pages show of the body of `/index`. Only baskets of quantities have costs.
 *
 * @typedef {object} IndexBody
 * @property {{ date: string, level: string }} base
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

/** The decimals of levels of indices and of contributions. */
const DECIMALS = 4;

/**
 * Level, changes, and what the basket costs if it does. `data-field` names the field of the body.
 *
 * @param {IndexBody} body
 */
export function indexFigures(body) {
  const { base, cost_usd, carried } = body;
  const figures = [
    figure("level", `Level, ${base.date} = ${base.level}`, figureHtml(body.level, DECIMALS)),
    figure("chg_24h_pct", "24 h, %", changeHtml(body.chg_24h_pct)),
    figure("chg_30d_pct", "30 days, %", changeHtml(body.chg_30d_pct)),
    figure("constituents", "Constituents", figureHtml(body.constituents, 0)),
    ...(carried === undefined ? [] : [figure("carried", "Carried", figureHtml(carried, 0))]),
  ];
  const costs = [
    figure("cost_usd", "Cost, USD", figureHtml(cost_usd)),
    figure("cost_24h_usd", "24 h before, USD", figureHtml(body.cost_24h_usd)),
    figure("cost_30d_usd", "30 days before, USD", figureHtml(body.cost_30d_usd)),
    figure("cost_base_usd", `At the base, ${base.date}, USD`, figureHtml(body.cost_base_usd)),
  ];
  const lists = cost_usd === undefined ? [figures] : [costs, figures];
  return lists.map((list) => `<dl class="figures">${list.join("")}</dl>`).join("\n");
}

/**
 * @param {string} field
 * @param {string} label
 * @param {string} html
 */
export const figure = (field, label, html) =>
  `<div><dt>${escaped(label)}</dt><dd data-field="${field}">${html}</dd></div>`;

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
    barColumn("Contribution, points", "contribution", contributions),
    barColumn("Of the 24 h change, %", "contribution_24h_pct", contributions),
    ...(hasQuantities ? [numberColumn("Quantity", "quantity", 0)] : []),
    numberColumn("Weight, %", "weight_pct", DECIMALS),
    numberColumn("Base, USD", "base_usd", 2, ({ base_as_of }) => base_as_of),
    numberColumn("Level, USD", "spot_usd", 2, ({ as_of }) => as_of),
    numberColumn("Relative", "relative", 6),
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
 * @param {string} label
 * @param {NumberField} field
 * @param {number} decimals
 * @param {(item: Contribution) => string | null | undefined} [dateOf] the date of the figure, if it has one
 * @returns {Column}
 */
function numberColumn(label, field, decimals, dateOf = () => undefined) {
  return {
    label,
    sort: "number",
    cell: (item) => {
      const date = dateOf(item);
      const small = date == null ? "" : ` <small>${escaped(date)}</small>`;
      return `${cellStart(item, field)}<span data-field="${field}">${figureHtml(item[field], decimals)}</span>${small}</td>`;
    },
  };
}

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
    cell: (item, at) =>
      `${cellStart(item, field)}<div class="barred">` +
      `<span data-field="${field}">${changeHtml(item[field], DECIMALS)}</span>${drawn[at]}</div></td>`,
  };
}

/**
 * @param {Contribution} item
 * @param {NumberField} field
 */
const cellStart = (item, field) => `<td class="n" data-value="${escaped(item[field] ?? "")}">`;

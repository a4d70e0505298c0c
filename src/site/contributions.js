/**
 * The figures of an index or a basket, the same in Node and in the browser. Figures come as decimals, digit
 * by digit as the API gives them; people see other figures than prices in two places.
 */
import { dayOf } from "./axis.js";
import { basisHtml } from "./board.js";
import { bars } from "./chart.js";
import { tableHtml } from "./html.js";
import { changeBetween, changeOf, decimalOf, placesOf, rounded } from "./decimal.js";
import { changeHtml, counted, escaped, figureHtml, foreign, signedText } from "./text.js";

/**
 * The same with the text of a decimal for each number.
 *
 * @template T
 * @typedef {T extends number ? string : { [K in keyof T]: Decimals<T[K]> }} Decimals
 */

/**
 * The bodies of `/index` and of `/indices/{id}`.
 *
 * @typedef {Decimals<import("zod").infer<typeof import("../render/payload-schemas.ts").index>>} Priced
 * @typedef {Decimals<import("zod").infer<typeof import("../render/payload-schemas.ts").indexWithSeries>>} OneIndex
 * @typedef {Omit<Priced, "name"> & Partial<Pick<OneIndex, "series">>} IndexBody
 * @typedef {Priced["contributions"][number]} Contribution
 */

/**
 * What a line did from its first point to its last, in words: `Composite: +8.82 % since 2025-11-21`.
 *
 * @param {string} name
 * @param {readonly import("./chart.js").Point[]} points
 */
export function findingOf(name, points) {
  const change = changeOfLine(points);
  return change === null ? name : `${name}: ${signedText(change)} % since ${points[0]?.date}`;
}

/**
 * The change from the first point of a line to the last, percent with two decimals. Null: it has no two.
 *
 * @param {readonly import("./chart.js").Point[]} points
 */
export function changeOfLine(points) {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || points.length < 2 || first.close === 0)
    return null;
  const textOf = (/** @type {import("./chart.js").Point} */ { text, close }) => text ?? `${close}`;
  return changeBetween(textOf(first), textOf(last));
}

/**
 * The change of a line over its last days, percent with two decimals. Null: it does not go so far back.
 *
 * @param {readonly import("./chart.js").Point[]} points
 * @param {number} days
 */
export function changeOver(points, days) {
  const to = points.at(-1)?.date;
  if (to === undefined) return null;
  const at = points.findLastIndex(({ date }) => dayOf(date) <= dayOf(to) - days);
  return at < 0 ? null : changeOfLine(points.slice(at));
}

/**
 * The points of a series, as the API gives it.
 *
 * @param {NonNullable<IndexBody["series"]>} series
 * @returns {import("./chart.js").Point[]}
 */
export const pointsOfSeries = ({ history }) =>
  history.map(({ date, close }) => ({ date, close: Number(close), text: close }));

/**
 * The change of a level against the 100 of a year before.
 *
 * @param {string | null} level
 */
export const againstHtml = (level) => changeHtml(rounded(changeOf(level)));

/**
 * Series, changes, and what the basket costs if it does. Beside the chart of a series, changes are of its closes. `data-field` names the field of the body,
 * `data-value` has its figure.
 *
 * @param {IndexBody} body
 */
export function indexFigures(body) {
  const { base, series, level, constituents, carried } = body;
  const last = series?.history.at(-1);
  const isPriced = body.cost_usd !== undefined;
  const points = series && pointsOfSeries(series);
  /** @param {"chg_24h_pct" | "chg_30d_pct"} field @param {string} label @param {number} days */
  const change = (field, label, days) =>
    points
      ? figure(`series_${days}d_pct`, label, changeOver(points, days), changeHtml, "%")
      : figure(field, label, body[field], changeHtml, "%");
  /** @param {"cost_usd" | "cost_24h_usd" | "cost_30d_usd" | "cost_base_usd"} field @param {string} label */
  const cost = (field, label) =>
    isPriced ? figure(field, label, body[field], figureHtml, "USD") : "";
  const figures = [
    last ? figure("series_close", `Series, ${last.date}`, last.close, placesHtml, "points") : "",
    cost("cost_usd", "Cost"),
    cost("cost_24h_usd", "24 h before"),
    change("chg_24h_pct", "24 h", 1),
    cost("cost_30d_usd", "30 days before"),
    change("chg_30d_pct", "30 days", 30),
    cost("cost_base_usd", `A year before, ${base.session_utc.slice(0, 16).replace("T", " ")} UTC`),
    series ? "" : figure("level", "Against a year ago", level, againstHtml, "%"),
    figure("constituents", "Constituents", constituents, countHtml),
    figure("carried", "Carried", carried, countHtml),
  ];
  return `<dl class="figures${isPriced ? " costs" : ""}">${figures.join("")}</dl>${likeHtml(body)}`;
}

/**
 * The changes to which contributions add up: against the prices of a year and of a day ago.
 *
 * @param {IndexBody} body
 */
export const totalsHtml = ({ level, chg_24h_pct }) =>
  "Contributions compare prices with the prices of a year and of 24 hours ago. They add up to " +
  `<span data-field="level">${againstHtml(level)}</span>\u{a0}% and ` +
  `<span data-field="chg_24h_pct">${changeHtml(chg_24h_pct)}</span>\u{a0}%.`;

/** The year's change of the parts that have one, where others have none. @param {IndexBody} body */
function likeHtml({ like_for_like: like, contributions }) {
  const all = contributions.length;
  if (!like || Number(like.parts) === all) return "";
  return (
    `<p id="like">Like for like, ${countHtml(like.parts)} of ${counted(all, "contract")} with a level a year ago: ` +
    `${figureHtml(like.cost_base_usd)} → ${figureHtml(like.cost_usd)} USD, ${againstHtml(like.level)} %.</p>`
  );
}

/** The places of a level in US dollars. */
const USD_PLACES = 6;

/**
 * The share of one cost in the cost of all, percent with two decimals; null: there is no such cost.
 *
 * @param {string | null | undefined} cost US dollars, as the API gives them
 * @param {readonly (string | null | undefined)[]} costs of all
 */
export function shareOf(cost, costs) {
  const all = costs.reduce((sum, each) => sum + placesOf(each ?? "0", USD_PLACES), 0n);
  if (cost == null || all === 0n) return null;
  return decimalOf((placesOf(cost, USD_PLACES) * 20_000n + all) / (2n * all), 2);
}

/** A count. @param {string | number | null | undefined} count */
export const countHtml = (count) => figureHtml(count, 0);

/** A figure that is no price, in two places. @param {string | null} figure */
export const placesHtml = (figure) => figureHtml(rounded(figure));

/**
 * @template {string | null | undefined} Exact
 * @param {string} field
 * @param {string} label
 * @param {Exact} exact as the API gives it
 * @param {(exact: Exact) => string} html for people
 * @param {string} [unit]
 */
function figure(field, label, exact, html, unit) {
  const unitHtml = unit === undefined || exact == null ? "" : ` <small>${unit}</small>`;
  return (
    `<div><dt>${escaped(label)}</dt>` +
    `<dd data-value="${escaped(exact ?? "")}"><span data-field="${field}">${html(exact)}</span>${unitHtml}</dd></div>`
  );
}

/**
 * The way to a contract's page.
 *
 * @param {string} id
 * @param {string} [name]
 */
export const contractLink = (id, name = id) =>
  `<a href="contracts/${encodeURIComponent(id)}">${foreign(name)}</a>`;

/** @typedef {import("./html.js").TableColumn<Contribution>} ContributionColumn */

/**
 * One row for each contribution, with bars around zero. `data-field` names the field of a figure.
 *
 * @param {readonly Contribution[]} contributions
 * @param {(id: string) => string} nameOf a contract's name as HTML
 */
export function contributionsTable(contributions, nameOf) {
  /** @param {string} label @param {"contribution" | "contribution_24h_pct"} field */
  const bar = (label, field) => {
    const sizes = contributions.map((item) => Number(item[field]));
    const drawn = bars(sizes);
    // Two places would show most parts of a large index as 0.00.
    const places = Math.max(...sizes.map(Math.abs)) < 1 ? 4 : 2;
    return figureColumn(
      label,
      field,
      (change) => changeHtml(rounded(change, places)),
      (_, at) => drawn[at] ?? "",
    );
  };
  const isOfQuantities = contributions.some(({ quantity }) => quantity !== undefined);
  const costs = contributions.map(({ cost_usd: cost }) => cost);
  // By quantity a weight is the share of the cost a year ago.
  const isSameShare =
    isOfQuantities &&
    contributions.every(
      ({ cost_usd: cost, weight_pct: weight }) => shareOf(cost, costs) === rounded(weight),
    );
  /** @type {readonly ContributionColumn[]} */
  const columns = [
    {
      label: "Contract",
      field: "name",
      html: ({ id, ticker, segment }) =>
        `${nameOf(id)} <small>${foreign(ticker)} · ${foreign(segment)}</small>`,
    },
    figureColumn("Quantity", "quantity", countHtml),
    figureColumn("Cost, USD", "cost_usd", figureHtml),
    {
      label: "Share of cost, %",
      head: "Share, %",
      field: "share",
      name: "share",
      value: ({ cost_usd: cost }) => shareOf(cost, costs),
      html: ({ cost_usd: cost }) => figureHtml(shareOf(cost, costs)),
    },
    { ...bar("Of the year’s change, %", "contribution"), name: "year" },
    { ...bar("Of the 24 h change, %", "contribution_24h_pct"), head: "24 h, %", name: "day" },
    isOfQuantities
      ? { ...figureColumn("Share a year ago, %", "weight_pct", placesHtml), head: "Share then, %" }
      : figureColumn("Weight, %", "weight_pct", placesHtml),
    {
      ...figureColumn("A year ago, USD", "base_usd", figureHtml, ({ base_as_of }) =>
        dateHtml(base_as_of),
      ),
      head: "Year ago, USD",
    },
    figureColumn("Level, USD", "spot_usd", figureHtml, ({ as_of }) => dateHtml(as_of)),
    figureColumn("Change, %", "relative", (relative) => againstHtml(percentOf(relative))),
    {
      label: "Basis",
      field: "basis",
      html: ({ basis }) => `<span data-field="basis">${basisHtml(basis)}</span>`,
    },
  ];
  const hidden = new Set(isOfQuantities ? [] : ["quantity", "cost_usd", "share"]);
  if (isSameShare) hidden.add("weight_pct");
  const [contract, ...figures] = columns.filter(({ field = "" }) => !hidden.has(field));
  return tableHtml(
    ' class="contributions stacked"',
    [
      /** @type {ContributionColumn} */ (contract),
      ...figures.map((column) => ({ head: column.label, ...column })),
    ],
    contributions,
    ({ id }) => ` data-id="${escaped(id)}"`,
  );
}

/**
 * A column of figures as the API gives them; people see what `html` makes of one, and then `more`.
 *
 * @template {string} Field
 * @template {{ [F in Field]?: string | null | undefined }} Row
 * @param {string} label HTML
 * @param {Field} field
 * @param {(figure: string | null) => string} html
 * @param {import("./html.js").TableColumn<Row>["html"]} [more]
 * @returns {import("./html.js").TableColumn<Row>}
 */
export const figureColumn = (label, field, html, more = () => "") => ({
  label,
  field,
  value: (row) => row[field],
  html: (row, at) =>
    `<span data-field="${field}">${html(row[field] ?? null)}</span>${more(row, at)}`,
});

/** The date of a figure, beside it. @param {string | null} date */
export const dateHtml = (date) => (date === null ? "" : ` <small>${escaped(date)}</small>`);

/**
 * A relative as a level of 100 at its base.
 *
 * @param {string | null} relative
 */
const percentOf = (relative) => relative && decimalOf(placesOf(relative, 9), 7);

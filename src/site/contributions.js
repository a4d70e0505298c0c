/**
 * The figures of an index or a basket, the same in Node and in the browser. Figures come as decimals, digit
 * by digit as the API gives them; people see other figures than prices in two places.
 */
import { dateWords } from "./axis.js";
import { basisHtml } from "./board.js";
import { bars } from "./chart.js";
import { tableHtml } from "./html.js";
import { changeOf, decimalOf, placesOf, rounded } from "./decimal.js";
import { changesOfRecord, changesOfSeries, RANGE_WORDS } from "./levels.js";
import { changeHtml, counted, escaped, figureHtml, foreign } from "./text.js";

/**
 * The same with the text of a decimal for each number.
 *
 * @template T
 * @typedef {T extends number ? string : { [K in keyof T]: Decimals<T[K]> }} Decimals
 */

/**
 * The bodies of `/index` and of `/indices/{id}`.
 *
 * @typedef {Decimals<import("zod").infer<typeof import("../public/payload-schemas.ts").index>>} Priced
 * @typedef {Decimals<import("zod").infer<typeof import("../public/payload-schemas.ts").indexWithSeries>>} Declared
 *
 * An index; publications of older versions have no changes.
 *
 * @typedef {Declared["series"]} Series
 * @typedef {Omit<Declared, "series"> & { series: Omit<Series, "changes"> & Partial<Pick<Series, "changes">> }} OneIndex
 * @typedef {Priced["contributions"][number]} Contribution
 */

/**
 * The closes of a series, as the API gives it. The chart marks closes that contain corrections, and the first close of
 * each restatement.
 *
 * @param {Pick<OneIndex["series"], "history"> & Partial<Pick<OneIndex["series"], "adjustments" | "restatements">>} series
 * @returns {import("./levels.js").Level[]}
 */
export function closesOfSeries({ history, adjustments = [], restatements = [] }) {
  const marked = [...adjustments.map(({ date }) => date), ...restatements.map(({ from }) => from)];
  return history.map(({ date, close }) => ({
    date,
    close: Number(close),
    text: close,
    isCorrected: marked.includes(date),
  }));
}

/**
 * What readers of a series must know of its closes: where it goes on from an earlier rule, restatements, and closes that
 * contain corrections. Plain text; publications of older versions say less.
 *
 * @param {Partial<Pick<OneIndex["series"], "link" | "restatements" | "adjustments">>} series
 * @returns {string[]}
 */
export function seriesEvents({ link = null, restatements = [], adjustments = [] }) {
  const dates = adjustments.map(({ date }) => dateWords(date));
  return [
    ...(link === null
      ? []
      : [
          `The series goes on from the close of ${dateWords(link.date)}, which an earlier rule made.`,
        ]),
    ...restatements.map(({ from, publication, reason }) => {
      const since = from === undefined ? "" : ` from ${dateWords(from)} on`;
      return `Restated${since} by publication ${publication}: ${reason}`;
    }),
    ...(dates.length === 0 ? [] : [`Closes that contain corrections: ${dates.join(", ")}.`]),
  ];
}

/**
 * The change of a level against the 100 of a year before.
 *
 * @param {string | null} level
 */
const againstHtml = (level) => changeHtml(rounded(changeOf(level)));

/**
 * The series of an index with its changes, and the level with the rolling base in a line of its own. `data-field` names
 * the field of the body, `data-value` has its figure.
 *
 * @param {OneIndex} body
 */
export function indexFigures({ series, base, level, constituents, carried }) {
  const closes = closesOfSeries(series);
  const last = series.history.at(-1);
  const changes = changesOfSeries(series, closes);
  const figures = [
    figure(
      "series_close",
      `Series, ${last?.date ?? ""}`,
      last?.close ?? null,
      placesHtml,
      "points",
    ),
    ...Object.entries(RANGE_WORDS).map(([range, words]) => {
      const change = changes[range];
      return figure(
        `series_${range}_pct`,
        words,
        change == null ? null : String(change),
        changeHtml,
        "%",
      );
    }),
  ];
  return (
    `<dl class="figures">${last ? figures.join("") : ""}</dl>` +
    `<p class="note" id="rolling">Rolling base: prices now against prices of ${escaped(base.date)}, equally weighted, ` +
    `<span data-field="rolling_level">${figureHtml(level)}</span> ` +
    `(${escaped(base.date)} = 100), of <span data-field="constituents">${countHtml(constituents)}</span> contracts, ` +
    `<span data-field="carried">${countHtml(carried)}</span> of them carried.</p>`
  );
}

/**
 * The changes of a basket. A basket of one contract has the changes of the contract; where its record has none, neither has
 * the basket.
 *
 * @param {Priced} body
 * @param {import("./board.js").BoardRow | undefined} only the record, if the basket has one contract alone
 * @returns {import("./levels.js").Changes}
 */
export const changesOfBasket = ({ chg_24h_pct, chg_30d_pct, level }, only) =>
  only === undefined
    ? {
        "24h": chg_24h_pct,
        "7d": null,
        "30d": chg_30d_pct,
        "90d": null,
        "1y": rounded(changeOf(level)),
      }
    : changesOfRecord(only);

/**
 * What a basket costs, and how that changed.
 *
 * @param {Priced} body
 * @param {import("./levels.js").Changes} changes
 */
export function basketFigures(body, changes) {
  const { base, level, constituents, carried } = body;
  const isPriced = body.cost_usd !== undefined;
  /** @param {string} field @param {string} range @param {string} label */
  const change = (field, range, label) =>
    figure(field, label, changes[range] == null ? null : String(changes[range]), changeHtml, "%");
  /** @param {"cost_usd" | "cost_24h_usd" | "cost_30d_usd" | "cost_base_usd"} field @param {string} label */
  const cost = (field, label) =>
    isPriced ? figure(field, label, body[field], figureHtml, "USD") : "";
  const figures = [
    cost("cost_usd", "Cost"),
    cost("cost_24h_usd", "24 h before"),
    change("chg_24h_pct", "24h", "24 h"),
    cost("cost_30d_usd", "30 days before"),
    change("chg_30d_pct", "30d", "30 days"),
    cost("cost_base_usd", `A year before, ${base.session_utc.slice(0, 16).replace("T", " ")} UTC`),
    figure(
      "level",
      "Against a year ago",
      changes["1y"] === null ? null : level,
      () => changeHtml(changes["1y"]),
      "%",
    ),
    figure("constituents", "Constituents", constituents, countHtml),
    figure("carried", "Carried", carried, countHtml),
  ];
  return `<dl class="figures${isPriced ? " costs" : ""}">${figures.join("")}</dl>${likeHtml(body)}`;
}

/**
 * What contributions add up to; corrections of earlier levels stand apart. Publications of older versions have
 * contributions to the rolling base alone.
 *
 * @param {OneIndex["series"]} series
 */
export function totalsHtml({ changes }) {
  if (changes === undefined)
    return "Contributions compare prices with the prices of the rolling base.";
  const said = CONTRIBUTED.flatMap((range) => {
    const points = changes.find((change) => change.range === range)?.correction_points;
    return points == null ? [] : `${changeHtml(points, 4)} points in ${RANGE_WORDS[range]}`;
  });
  const words = "The points by which each contract moved the series, from close to close.";
  return said.length === 0 ? words : `${words} Corrections of earlier levels: ${said.join(", ")}.`;
}

/** The ranges whose contributions the page shows. */
const CONTRIBUTED = /** @type {const} */ (["1y", "24h"]);

/**
 * What each contract contributed to the changes of a series, and its level.
 *
 * @typedef {Pick<import("./board.js").BoardRow, "ticker" | "segment" | "as_of"> & { spot_usd: string | number }} PartLevel
 * @typedef {{ id: string, year: string | null, day: string | null, level: PartLevel | undefined }} SeriesPart
 *
 * @param {OneIndex} body
 * @param {ReadonlyMap<string, PartLevel>} records of the board: a contract with a break is in the series, but not in the
 *   rolling base
 * @returns {SeriesPart[]} in the order of the API
 */
export function partsOfSeries({ series: { changes = [] }, contributions }, records) {
  const [year, day] = CONTRIBUTED.map((range) => {
    const change = changes.find((each) => each.range === range);
    return new Map((change?.contributions ?? []).map(({ id, points }) => [id, points]));
  });
  const levels = new Map(contributions.map((item) => [item.id, item]));
  return [...new Set([...(year?.keys() ?? []), ...(day?.keys() ?? [])])].map((id) => ({
    id,
    year: year?.get(id) ?? null,
    day: day?.get(id) ?? null,
    level: levels.get(id) ?? records.get(id),
  }));
}

/**
 * One row for each part of a series, with bars around zero.
 *
 * @param {readonly SeriesPart[]} parts
 * @param {(id: string) => string} nameOf a contract's name as HTML
 */
export function seriesPartsTable(parts, nameOf) {
  /** @param {string} label @param {"year" | "day"} field @returns {import("./html.js").TableColumn<SeriesPart>} */
  const points = (label, field) => {
    const drawn = bars(parts.map((part) => Number(part[field] ?? 0)));
    return {
      ...figureColumn(
        label,
        field,
        (change) => changeHtml(change, 4),
        (_, at) => drawn[at] ?? "",
      ),
      head: label,
      name: field,
    };
  };
  return tableHtml(
    ' class="contributions stacked"',
    [
      {
        label: "Contract",
        field: "name",
        html: ({ id, level }) =>
          nameOf(id) +
          (level ? ` <small>${foreign(level.ticker)} · ${foreign(level.segment)}</small>` : ""),
      },
      points("1 year, points", "year"),
      points("24 h, points", "day"),
      {
        label: "Level, USD",
        head: "Level, USD",
        field: "spot_usd",
        value: ({ level }) => level?.spot_usd,
        html: ({ level }) =>
          level
            ? `<span data-field="spot_usd">${figureHtml(level.spot_usd)}</span>${dateHtml(level.as_of)}`
            : "",
      },
    ],
    parts,
    ({ id }) => ` data-id="${escaped(id)}"`,
  );
}

/** The year's change of the parts that have one, where others have none. @param {Priced} body */
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
const countHtml = (count) => figureHtml(count, 0);

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
    { ...bar("1 year, % points", "contribution"), name: "year" },
    { ...bar("24 h, % points", "contribution_24h_pct"), name: "day" },
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

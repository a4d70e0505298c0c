/** The page of corrections in the browser: the corrections of the caller's tier, with their levels. */
import { askDecimals, askJson } from "./api.js";
import { changeBetween } from "./decimal.js";
import { contractLink, tableHtml } from "./html.js";
import { withKey } from "./key.js";
import { changeHtml, counted, escaped, figureHtml, foreign, instantHtml } from "./text.js";

/**
 * @typedef {import("./contributions.js").Decimals<import("zod").infer<typeof import("../public/payload-schemas.ts").corrections>>["corrections"][number]} Correction
 * @typedef {Correction & { name: string | undefined, at: string | undefined, isFirst: boolean }} Row
 */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** More are for programs. */
const SHOWN_ROWS = 500;

/** @type {readonly import("./html.js").TableColumn<Row>[]} */
const COLUMNS = [
  {
    label: "Contract",
    html: ({ contract_id: id, name }) => contractLink(id, name),
  },
  {
    label: "Session",
    head: "Session",
    name: "when",
    html: ({ session_utc: session }) => instantHtml(session),
  },
  {
    label: "Old level, USD",
    head: "Old, USD",
    name: "n",
    html: ({ old_usd: old }) => levelHtml(old, "none"),
  },
  {
    label: "New level, USD",
    head: "New, USD",
    name: "n",
    html: ({ new_usd: now }) => levelHtml(now, "withdrawn"),
  },
  {
    label: "Change, %",
    head: "Change, %",
    name: "n",
    html: ({ old_usd: old, new_usd: now }) =>
      changeHtml(old === null || now === null ? null : changeBetween(old, now)),
  },
  { label: "Reason", head: "Reason", name: "long", html: ({ reason }) => foreign(reason) },
  {
    label: "Published",
    head: "Published",
    html: ({ at, corrected_in: snapshot }) =>
      `${at === undefined ? "" : `${instantHtml(at)} `}<small>${escaped(snapshot)}</small>`,
  },
  {
    label: "Before",
    head: "Before",
    name: "way",
    html: ({ contract_id: id, at }) => {
      if (at === undefined) return "";
      const page = `contracts/${encodeURIComponent(id)}?as_of=${beforeText(at)}`;
      return `<a href="${page}">as known then</a>, <a href="${page}#proof">proof</a>`;
    },
  },
];

/**
 * @param {string | null} level
 * @param {string} without the text in its place
 */
const levelHtml = (level, without) =>
  level === null ? `<span class="none">${without}</span>` : figureHtml(level);

/** The instant before another one. @param {string} at */
const beforeText = (at) => new Date(Date.parse(at) - 1).toISOString();

await withKey(async ({ offer }) => {
  if (offer.depthDays === 0) return null;
  const { since } = byId("levels").dataset;
  const [{ body, problem }, { body: catalog }, { body: log }] = await Promise.all([
    askDecimals(`corrections?since=${since}`),
    askJson("contracts"),
    askJson("publications"),
  ]);
  if (problem !== null) return problem;
  // Without these, ids stand for names, and times are missing.
  /** @type {readonly { id: string, name: string }[]} */
  const contracts = catalog?.contracts ?? [];
  /** @type {readonly { number: number, at: string }[]} */
  const publications = log?.publications ?? [];
  const names = new Map(contracts.map(({ id, name }) => [id, name]));
  const times = new Map(publications.map(({ number, at }) => [String(number), at]));
  /** @type {readonly Correction[]} */
  const newest = body.corrections.toReversed();
  const rows = newest.slice(0, SHOWN_ROWS).map((correction, at) => ({
    ...correction,
    name: names.get(correction.contract_id),
    at: times.get(String(correction.publication)),
    isFirst: correction.publication !== newest[at - 1]?.publication,
  }));
  byId("attribution").textContent = body.attribution;
  byId("license").textContent = body.license;
  byId("count").hidden = newest.length === rows.length;
  byId("count").textContent = `The newest ${SHOWN_ROWS} of ${counted(newest.length, "correction")}`;
  byId("none").hidden = rows.length > 0;
  byId("table").hidden = rows.length === 0;
  byId("table").innerHTML = tableHtml(' class="corrections stacked"', COLUMNS, rows, (row) =>
    row.isFirst && row.publication !== null ? ` id="publication-${escaped(row.publication)}"` : "",
  );
  byId("publications").remove();
  byId("levels").hidden = false;
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
  return null;
});

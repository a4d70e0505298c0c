/** A contract's record as HTML, the same in Node and in the browser. */
import { basisHtml, placeLine } from "./board.js";
import {
  changeHtml,
  escaped,
  figureHtml,
  foreign,
  foreignLink,
  instantHtml,
  NO_FIGURE,
} from "./text.js";

/**
 * A body of `/prices/{id}`. Snapshots of format 1 lack some fields.
 *
 * @typedef {object} ContractBody
 * @property {string} session_utc
 * @property {number} delayed_sessions
 * @property {string} license
 * @property {string} attribution
 * @property {string} id
 * @property {string} ticker
 * @property {string} name
 * @property {string} segment
 * @property {string} unit
 * @property {number} spot_usd
 * @property {number | null} chg_24h_pct
 * @property {number | null} chg_30d_pct
 * @property {number | null} chg_yoy_pct
 * @property {number} ai_exposure_pct
 * @property {string} basis
 * @property {string} as_of
 * @property {string} source
 * @property {string} source_url
 * @property {number | null} capacity_gb
 * @property {number | null} usd_per_gb
 * @property {number | null} [chg_7d_pct]
 * @property {number | null} [chg_60d_pct]
 * @property {number | null} [chg_90d_pct]
 * @property {number | null} [chg_180d_pct]
 * @property {number | null} [low_52w_usd]
 * @property {number | null} [high_52w_usd]
 * @property {string | null} [prev_as_of]
 * @property {number} [age_days]
 * @property {string | null} [price_type]
 * @property {number | null} [low_usd]
 * @property {number | null} [high_usd]
 * @property {number | null} [inputs]
 * @property {string | null} [rationale]
 * @property {string | null} [delisted_on]
 * @property {Break | null} break
 * @property {readonly { date: string, close_usd: number }[]} history
 * @property {readonly Break[]} breaks
 * @property {readonly Correction[]} corrections
 *
 * @typedef {{ session_utc: string, reason: string }} Break
 * @typedef {{ session_utc: string, old_usd: number | null, new_usd: number | null, reason: string, corrected_in: string }} Correction
 */

/** @type {readonly (readonly [keyof ContractBody, string])[]} */
const CHANGES = [
  ["chg_24h_pct", "24 hours, %"],
  ["chg_7d_pct", "7 days, %"],
  ["chg_30d_pct", "30 days, %"],
  ["chg_60d_pct", "60 days, %"],
  ["chg_90d_pct", "90 days, %"],
  ["chg_180d_pct", "180 days, %"],
  ["chg_yoy_pct", "1 year, %"],
];

/**
 * All of a contract's page: title, session, figures, a place for the chart (`#history`), particulars,
 * breaks and corrections. Each figure stands in an element with its field's name in `data-field`.
 *
 * @param {ContractBody} body
 * @param {number} tierDelay sessions that the tier is behind when nothing is late
 */
export function recordHtml(body, tierDelay) {
  return `<h1>${foreign(body.name)}</h1>
<p class="ids">${foreign(body.ticker)} · <code>${escaped(body.id)}</code> · ${foreign(body.segment)}</p>
${placeLine(body, tierDelay)}
<p class="note">${escaped(body.attribution)}</p>
${discontinuedLine(body)}<dl class="figures changes">
<div><dt>Level, ${foreign(body.unit)}</dt><dd data-field="spot_usd">${figureHtml(body.spot_usd)}</dd>
<dd class="sub"><span data-field="basis">${basisHtml(body.basis)}</span>, as of <time data-field="as_of">${escaped(body.as_of)}</time></dd></div>
${CHANGES.map(([field, label]) => item(label, field, changeHtml(/** @type {number | null} */ (body[field])))).join("\n")}
</dl>
<section id="history" aria-labelledby="history-title">
<h2 id="history-title">History</h2>
${body.history.length === 0 ? '<p>An API key shows the daily closes as a chart: see <a href="../plans">plans</a>.</p>' : ""}
</section>
${breaksHtml(body)}${correctionsHtml(body)}<section aria-labelledby="details-title">
<h2 id="details-title">Particulars</h2>
<dl class="facts">
${facts(body).join("\n")}
</dl>
<p class="note">Levels are US dollars per unit, changes percent.
<a href="../methodology#basis">What each basis means</a>. ${escaped(body.license)}</p>
</section>`;
}

/** @param {ContractBody} body */
function discontinuedLine({ basis, as_of, delisted_on: day }) {
  if (basis !== "discontinued") return "";
  const delisted = day == null ? "" : ` It was delisted on <time>${escaped(day)}</time>.`;
  return `<p class="late">Discontinued: this contract is off the board. Its last level is of <time>${escaped(as_of)}</time>; there are no changes.${delisted}</p>\n`;
}

/**
 * @param {string} label HTML
 * @param {keyof ContractBody} field
 * @param {string} value HTML
 */
const item = (label, field, value) =>
  `<div><dt>${label}</dt><dd data-field="${field}">${value}</dd></div>`;

/** @param {string | null | undefined} text */
const textHtml = (text) => (text == null ? NO_FIGURE : foreign(text));

/** @param {ContractBody} body */
function facts(body) {
  return [
    item("Age of the level, days", "age_days", figureHtml(body.age_days, 0)),
    item("24 hours compare with the level of", "prev_as_of", textHtml(body.prev_as_of)),
    item("Lowest of the year, USD", "low_52w_usd", figureHtml(body.low_52w_usd)),
    item("Highest of the year, USD", "high_52w_usd", figureHtml(body.high_52w_usd)),
    item("Lowest price behind the level, USD", "low_usd", figureHtml(body.low_usd)),
    item("Highest price behind the level, USD", "high_usd", figureHtml(body.high_usd)),
    item("Prices behind the level", "inputs", figureHtml(body.inputs, 0)),
    item("Price per gigabyte, USD", "usd_per_gb", figureHtml(body.usd_per_gb)),
    item("Capacity, GB", "capacity_gb", figureHtml(body.capacity_gb, 0)),
    item("AI exposure, % of demand", "ai_exposure_pct", figureHtml(body.ai_exposure_pct, 0)),
    item("Price type", "price_type", textHtml(body.price_type)),
    item("Source", "source", foreignLink(body.source_url, body.source)),
    ...(body.rationale == null ? [] : [item("Rationale", "rationale", foreign(body.rationale))]),
  ];
}

/** @param {ContractBody} body */
function breaksHtml({ breaks, break: latest, history }) {
  const all = breaks.length === 0 && latest !== null ? [latest] : breaks;
  if (all.length === 0) return "";
  const items = all.map(
    ({ session_utc, reason }) => `<li>${instantHtml(session_utc)}: ${foreign(reason)}</li>`,
  );
  return `<section aria-labelledby="breaks-title">
<h2 id="breaks-title">Breaks</h2>
<p class="note">Levels from a break on are not comparable with earlier ones.${history.length === 0 ? "" : " The chart marks each with a B."}</p>
<ul id="breaks">
${items.join("\n")}
</ul>
</section>
`;
}

/** @param {ContractBody} body */
function correctionsHtml({ corrections, history }) {
  if (corrections.length === 0) return "";
  const rows = corrections.map(
    ({ session_utc, old_usd, new_usd, reason, corrected_in }) =>
      `<tr><th scope="row">${instantHtml(session_utc)}</th><td class="n">${figureHtml(old_usd)}</td>` +
      `<td class="n">${figureHtml(new_usd)}</td><td class="long">${foreign(reason)}</td>` +
      `<td><code>${escaped(corrected_in)}</code></td></tr>`,
  );
  return `<section aria-labelledby="corrections-title">
<h2 id="corrections-title">Corrections</h2>
<p class="note">Published levels that were changed later.${history.length === 0 ? "" : " The chart marks a corrected close with an open circle."}</p>
<div class="scroll" role="region" aria-label="Table of corrections" tabindex="0">
<table id="corrections">
<thead><tr><th scope="col">Session</th><th scope="col" class="n">Old level, USD</th><th scope="col" class="n">New level, USD</th><th scope="col">Reason</th><th scope="col">Corrected in</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
</div>
</section>
`;
}

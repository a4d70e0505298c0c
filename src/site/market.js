/** The market page in the browser: finding and sorting, kept in the address, and the caller's own tier. */
import { fromAddress, keepInAddress } from "./address.js";
import { askJson } from "./api.js";
import {
  boardTable,
  coverageLine,
  LEVEL_LABELS,
  levelCell,
  sessionLine,
  unitHtml,
} from "./board.js";
import { sparkline } from "./chart.js";
import { withKey } from "./key.js";
import { changesOfCloses, lineOfIndex, longestRange, MOST_LINES } from "./levels.js";
import { contractLine, lineOf, movesHtml, overviewTable } from "./overview.js";
import { overdueBy } from "./overdue.js";
import { daysOnPage } from "./page-days.js";
import { filterRows, makeSortable } from "./table.js";
import { counted } from "./text.js";

/** @typedef {import("./board.js").Board} Board */
/** @typedef {import("./overview.js").Line} Line */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));

const find = /** @type {HTMLInputElement} */ (byId("find"));
const segment = /** @type {HTMLSelectElement} */ (byId("segment"));
const sort = /** @type {HTMLSelectElement} */ (byId("sort"));
const box = byId("board-box");
const carryDaysOf = daysOnPage("carry");
const cadenceDaysOf = daysOnPage("cadence");

/** As the address says it. What the table lacks, the one that a key brings may have. */
const wanted = {
  q: fromAddress("q"),
  segment: fromAddress("segment"),
  sort: fromAddress("sort"),
  scale: fromAddress("scale"),
  compare: fromAddress("compare"),
};
/** The sentence on the whole board (HTML), and its order in words; empty: its own. */
let coverage = "";
let order = "";
/** @type {import("./key.js").Caller} */
let caller;
/** @type {HTMLTableRowElement[]} */
let rows = [];
/** @type {(order: string) => void} */
let sortBy = () => {};

/** Shows the rows of the chosen segment that hold every word, and says how many they are. */
function filter() {
  const table = box.querySelector("table");
  if (table === null) return;
  const chosen = segment.value;
  const count = filterRows(table, wanted.q, chosen);
  const sorted = order === "" ? "" : `, ${order}`;
  const all = counted(rows.length, "contract");
  const isAll = count === rows.length;
  if (isAll && order === "") byId("shown").innerHTML = coverage;
  else byId("shown").textContent = (isAll ? all : `${count} of ${all}`) + sorted;
  const within = chosen === "" ? "" : ` of ${chosen}`;
  byId("no-match-words").textContent = `No contract${within} matches “${wanted.q.trim()}”.`;
  table.hidden = count === 0;
  byId("no-match").hidden = count > 0;
}

/** Prepares the controls for the table that stands on the page. */
function control() {
  const table = box.querySelector("table");
  byId("controls").hidden = table === null;
  if (table === null) return;
  coverage = byId("shown").innerHTML;
  rows = [...(table.tBodies[0]?.rows ?? [])];
  const segments = new Set(rows.map(({ dataset }) => dataset["segment"] ?? ""));
  segment.replaceChildren(
    new Option("all", ""),
    ...[...segments].map((name) => new Option(name, name, false, name === wanted.segment)),
  );
  /** @type {NodeListOf<HTMLElement>} */
  const heads = table.querySelectorAll("th[data-sort]");
  sort.replaceChildren(
    new Option("catalog", ""),
    ...[...heads].map(({ dataset, classList, textContent }) => {
      const sign = classList.contains("n") ? "-" : "";
      return new Option(textContent ?? "", `${sign}${dataset["sort"]}`);
    }),
  );
  find.value = wanted.q;
  sortBy = makeSortable(table, tellOrder);
  const given = wanted.sort;
  sortBy(given);
  wanted.sort = given;
  keep();
}

/**
 * On narrow screens, the change is shown by which the table is sorted.
 *
 * @param {string} words
 * @param {string} sorted the field, after `-` if it descends
 */
function tellOrder(words, sorted) {
  order = words;
  wanted.sort = sorted;
  const field = sorted.replace("-", "");
  sort.selectedIndex = [...sort.options].findIndex(({ value }) => value.replace("-", "") === field);
  byId("turn").hidden = sorted === "";
  byId("turn").textContent = sorted === field ? "\u{2191} ascending" : "\u{2193} descending";
  if (field.startsWith("chg_")) box.dataset["change"] = field;
  filter();
  keep();
}

/** The records of the caller's board. @type {Map<string, import("./board.js").BoardRow>} */
let records = new Map();
const gigabyte = byId("gigabyte");

/** Shows levels for a unit or for a gigabyte, as the address says. */
function showScale() {
  const scale = wanted.scale === "gb" ? "gb" : "unit";
  gigabyte.ariaPressed = String(scale === "gb");
  const head = box.querySelector("thead .level button");
  if (head !== null) head.textContent = LEVEL_LABELS[scale];
  for (const row of rows) {
    const record = records.get(row.dataset["id"] ?? "");
    const cell = /** @type {HTMLElement | null} */ (row.querySelector("td.level"));
    if (record === undefined || cell === null) continue;
    const { html, value } = levelCell(record, scale);
    cell.innerHTML = html;
    if (value == null) delete cell.dataset["value"];
    else cell.dataset["value"] = String(value);
    const unit = row.querySelector("td.unit");
    const isPerGb = scale === "gb" && value != null;
    if (unit !== null) unit.innerHTML = unitHtml(isPerGb ? LEVEL_LABELS.gb : record.unit);
  }
  if (wanted.sort !== "") sortBy(wanted.sort);
}
gigabyte.addEventListener("click", () => {
  wanted.scale = wanted.scale === "gb" ? "" : "gb";
  showScale();
  keep();
});

/** Offers to compare the contracts that the address names, whether the filter shows them or not, and ticks them. */
function offerComparison() {
  const boxes = rows.flatMap((row) => row.querySelector("input") ?? []);
  const named = new Set(wanted.compare.split(","));
  const ticked = boxes.filter(({ value }) => named.has(value)).slice(0, MOST_LINES);
  for (const each of boxes) {
    each.checked = ticked.includes(each);
    each.disabled = !each.checked && ticked.length === MOST_LINES;
  }
  const ids = ticked.map(({ value }) => value);
  const link = /** @type {HTMLAnchorElement} */ (byId("compare-link"));
  link.href = `compare#ids=${ids.map(encodeURIComponent).join(",")}`;
  link.textContent = `Compare ${counted(ids.length, "contract")}`;
  byId("compare").hidden = ids.length === 0;
}
box.addEventListener("change", ({ target }) => {
  const { value, checked } = /** @type {HTMLInputElement} */ (target);
  const others = wanted.compare.split(",").filter((id) => id !== "" && id !== value);
  wanted.compare = (checked ? [...others, value] : others).join(",");
  offerComparison();
  keep();
});

/** @type {number | undefined} */
let later;
const keep = () => keepInAddress(wanted);

// Before the reader leaves by a link.
find.addEventListener("change", keep);
find.addEventListener("input", () => {
  wanted.q = find.value;
  filter();
  // Browsers refuse an address that is replaced at every key.
  clearTimeout(later);
  later = setTimeout(keep, 250);
});
segment.addEventListener("change", () => {
  wanted.segment = segment.value;
  filter();
  keep();
});
sort.addEventListener("change", () => sortBy(sort.value));
byId("turn").addEventListener("click", () => {
  sortBy(wanted.sort.startsWith("-") ? wanted.sort.slice(1) : `-${wanted.sort}`);
});
byId("clear").addEventListener("click", () => {
  find.value = wanted.q = wanted.segment = segment.value = "";
  filter();
  keep();
  find.focus();
});

async function showBoard() {
  const { body, snapshot, problem } = await askJson("prices");
  if (problem !== null) return problem;
  const board = /** @type {Board} */ (body);
  byId("session").innerHTML = sessionLine(board);
  byId("attribution").textContent = board.attribution;
  byId("license").textContent = board.license;
  const isOverdue = overdueBy(cadenceDaysOf, board.session_utc);
  byId("shown").innerHTML = coverageLine(board, isOverdue);
  const isEmpty = board.memory.length + board.semiconductor.length === 0;
  byId("moves").innerHTML = isEmpty ? "" : movesHtml(board);
  box.innerHTML = isEmpty ? "" : boardTable(board, isOverdue, true);
  for (const part of document.querySelectorAll(".awaits")) part.classList.remove("awaits");
  records = new Map([...board.memory, ...board.semiconductor].map((row) => [row.id, row]));
  control();
  offerComparison();
  gigabyte.hidden = [...records.values()].every((row) => row.usd_per_gb == null);
  if (!gigabyte.hidden) showScale();
  goBack();
  return showLines(board.session_utc, snapshot);
}

/**
 * Shows the indices and the lines. Parts of a newer snapshot than the board's wait for the next view.
 *
 * @param {string} session of the board
 * @param {string | null} ofBoard
 */
async function showLines(session, ofBoard) {
  const [spark, listed] = await Promise.all([askJson("sparklines"), askJson("indices")]);
  byId("board-problem").hidden = [spark, listed].every(
    ({ problem, snapshot }) => problem !== null || snapshot === ofBoard,
  );
  const { sparklines, days, indices = [] } = spark.snapshot === ofBoard ? spark.body : {};
  const linesOf = (/** @type {readonly Line[]} */ all) =>
    new Map(all.map((line) => [line.id, line]));
  if (listed.snapshot === ofBoard) await showIndices(listed, linesOf(indices));
  // Without indices it is of an older program: its closes have no days.
  const lines = linesOf(indices.length === 0 ? [] : sparklines);
  const daysOf = linesOf(indices.length === 0 ? [] : days);
  for (const [at, row] of rows.entries()) {
    // A thousand lines must not keep the reader waiting.
    if (at % 50 === 49) await new Promise((done) => setTimeout(done));
    const line = lines.get(row.dataset["id"] ?? "");
    const cell = row.querySelector("td.line");
    if (line && cell) {
      const own = { ...line, ...daysOf.get(line.id) };
      cell.innerHTML = sparkline(contractLine(own, session, carryDaysOf(line.id)));
    }
  }
  const [missing, problem] = spark.problem
    ? ["The lines of 90 days are missing", spark.problem]
    : ["The indices are missing", listed.problem];
  return problem && { ...problem, detail: `${missing}: ${problem.detail}` };
}

/**
 * @param {{ body: any, publication: string | null }} listed the answer of `/indices`, the composite first
 * @param {ReadonlyMap<string, Line>} lines
 */
async function showIndices({ body, publication }, lines) {
  /** @type {readonly import("./overview.js").Index[]} */
  const indices = body.indices;
  byId("indices").innerHTML = overviewTable(indices, lines);
  const [composite] = indices;
  const closes = lineOf(composite, lines);
  if (closes.length === 0) {
    byId("composite").replaceChildren();
    return;
  }
  const changes = changesOfCloses(closes);
  // The figures of the board need not wait for it.
  const { showChart } = await import("./chart-panel.js");
  const { sessionNote } = await import("./save.js");
  showChart(byId("composite"), {
    line: lineOfIndex(closes),
    name: "Memory and semiconductor prices",
    changes,
    range: longestRange(changes),
    unit: "Composite, points",
    depthDays: 0,
    decimals: 2,
    heightPx: 200,
    fileName: `chipboard-${body.session_utc.slice(0, 13)}Z-${caller.tier}-index-composite`,
    column: composite?.id ?? "",
    notes: [sessionNote(body.session_utc, publication), body.attribution],
  });
}

/** Where the reader was before Back or a reload; the rows must be there first. */
let place = history.state?.y;
history.scrollRestoration = "manual";
function goBack() {
  // Not if the reader has moved on meanwhile.
  if (place !== undefined && scrollY === 0) scrollTo(0, place);
  place = undefined;
}
addEventListener("scrollend", () => history.replaceState({ y: scrollY }, ""));

/** Without indices nothing takes the place that was reserved for them. */
function endOverview() {
  byId("overview").hidden = byId("indices").querySelector("table") === null;
}

control();
await withKey(async (known) => {
  caller = known;
  byId("overview").hidden = false;
  const problem = await showBoard();
  endOverview();
  return problem;
});
endOverview();
goBack();

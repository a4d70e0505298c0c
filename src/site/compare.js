/**
 * The page of comparisons in the browser. The address names the compared lines, `#ids=a,b&indices=dram`, and has the
 * view in its parameters, `?range=1y&scale=usd&axis=log`. A link from elsewhere needs only the lines.
 */
import { fromAddress, keepInAddress } from "./address.js";
import { ask, askJson, BROKEN_OFF, endProblem, ROOT, tellProblem } from "./api.js";
import { fitPaper, rangeButtons, toolsHtml } from "./chart-panel.js";
import * as comparison from "./comparison.js";
import { dayText } from "./axis.js";
import { addCursor } from "./cursor.js";
import { closesById, levelsById, lineOfLevels } from "./history.js";
import { scrolling, tableHtml } from "./html.js";
import { withKey } from "./key.js";
import {
  changesOfCloses,
  changesOfRecord,
  CHART_RANGES,
  comparablePoints,
  endOf,
  firstRange,
  MOST_LINES,
  rangesWithin,
  RANGE_WORDS,
} from "./levels.js";
import { daysOnPage } from "./page-days.js";
import { presetsOf } from "./presets.js";
import { choicesWith, makePicker } from "./picker.js";
import { citation, keep, sessionNote } from "./save.js";
import { changeHtml, counted, escaped, foreign, readableText } from "./text.js";

/** @typedef {import("./levels.js").Point} Point */
/** @typedef {import("./comparison.js").Line} Line */
/** @typedef {import("./comparison.js").Scale} Scale */

/**
 * What can be compared. The key is `ids a` or `indices a`: a contract and an index may have the same id. `more` stands
 * below the name in a list; `text` is what a word may be of.
 *
 * @typedef {Omit<Line, "line" | "changes" | "breaks"> & { kind: "ids" | "indices", more: string, text: string,
 *   delistedOn: string | null }} Known
 */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const add = /** @type {HTMLInputElement} */ (byId("add"));
const count = byId("add-count");
const held = byId("held");
const box = byId("comparison");
const trouble = byId("trouble");

const KINDS = /** @type {const} */ ({ ids: "levels.csv", indices: "indices.csv" });
const carryDaysOf = daysOnPage("carry");
/** @type {Record<Scale, string>} */
const SCALES = { rebased: "Rebased to 100", usd: "USD", gb: "USD per GB" };

/** @type {Map<string, Known>} */
let catalog = new Map();
/** Present ids by former ones. @type {Map<string, string>} */
const presentIds = new Map();
/** The levels that came so far: choosing a line again costs nothing. @type {Map<string, readonly import("./levels.js").Level[]>} */
const histories = new Map();
/** The breaks of contracts, with the capacity before each. @type {Map<string, Line["breaks"]>} */
const breaksById = new Map();
/** The records of the board, by id. @type {Map<string, import("./board.js").BoardRow>} */
let records = new Map();
/** The board's session, with which the axis ends. */
let to = "";
/** Whether other answers are of a newer session. */
let isOlder = false;
/** @type {import("./key.js").Caller} */
let caller;
/** Of two answers the later question counts. */
let rounds = 0;
/** What the address names while it is shown. */
let shownHash = "";

/** @param {Pick<Known, "kind" | "id">} line */
const nameIn = ({ kind, id }) => `${kind} ${id}`;

/** The contracts and indices that the address names, each once. */
function named() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const all = /** @type {const} */ (["ids", "indices"]).flatMap((kind) =>
    (parameters.get(kind) ?? "")
      .split(",")
      .filter(Boolean)
      .map((id) => ({ kind, id: kind === "ids" ? (presentIds.get(id) ?? id) : id })),
  );
  return [...new Map(all.map((line) => [nameIn(line), line])).values()];
}

/** The lines that the address names, as far as there are such, and the ids of the others. */
function chosen() {
  const known = named().flatMap((line) => catalog.get(nameIn(line)) ?? []);
  const lines = known.slice(0, MOST_LINES);
  const leftOut = named().filter((line) => lines.every((one) => nameIn(one) !== nameIn(line)));
  return { lines, leftOut: leftOut.map(({ id }) => id) };
}

/** Writes lines into the address, and shows them. @param {readonly Pick<Known, "kind" | "id">[]} lines */
function choose(lines) {
  const parts = Object.keys(KINDS).map((kind) => {
    const ids = lines.filter((line) => line.kind === kind).map(({ id }) => id);
    return ids.length === 0 ? "" : `${kind}=${ids.join(",")}`;
  });
  history.pushState(null, "", `#${parts.filter(Boolean).join("&")}`);
  void show();
}

/**
 * The address of the levels of some lines, as the API has it.
 *
 * @param {"ids" | "indices"} kind
 * @param {readonly Pick<Known, "kind" | "id">[]} lines
 */
function pathOf(kind, lines) {
  const ids = lines.filter((line) => line.kind === kind).map(({ id }) => id);
  return ids.length === 0 ? null : `${KINDS[kind]}?ids=${ids.join(",")}`;
}

/**
 * Asks for what did not come yet: levels, one call for contracts, one for indices; then, for prices per gigabyte, the
 * capacity before each break, one call for a contract with a break.
 *
 * @param {readonly Known[]} lines
 */
const load = async (lines) => (await loadLevels(lines)) ?? loadBreaks(lines);

/** @param {readonly Known[]} lines */
async function loadBreaks(lines) {
  if (scaleInAddress() !== "gb") return null;
  const missing = lines.filter((line) => {
    const isBroken = histories.get(nameIn(line))?.some(({ isBreak }) => isBreak);
    return line.capacityGb !== null && isBroken && !breaksById.has(line.id);
  });
  const problems = await Promise.all(
    missing.map(async ({ id }) => {
      const { body, problem } = await askJson(`prices/${id}`);
      if (problem === null) breaksById.set(id, body.breaks);
      return problem;
    }),
  );
  return problems.find((problem) => problem !== null) ?? null;
}

/** @param {readonly Known[]} lines */
async function loadLevels(lines) {
  const missing = lines.filter((line) => !histories.has(nameIn(line)));
  const problems = await Promise.all(
    /** @type {const} */ (["ids", "indices"]).map(async (kind) => {
      const path = pathOf(kind, missing);
      if (path === null) return null;
      const { response, problem } = await ask(path);
      if (response === null) return problem;
      const csv = await response.text().catch(() => null);
      if (csv === null) return BROKEN_OFF;
      const levels = { ids: levelsById, indices: closesById }[kind](csv);
      for (const line of missing.filter((each) => each.kind === kind)) {
        histories.set(nameIn(line), levels.get(line.id) ?? []);
      }
      if ((response.headers.get("x-session-utc") ?? to) !== to) isOlder = true;
      return null;
    }),
  );
  return problems.find((problem) => problem !== null) ?? null;
}

/** Shows what the address names. @returns {Promise<void>} */
async function show() {
  rounds += 1;
  const round = rounds;
  shownHash = location.hash;
  const { lines, leftOut } = chosen();
  count.textContent = "";
  add.disabled = lines.length === MOST_LINES;
  add.placeholder = add.disabled ? "Remove a line to add another" : "Name, ticker or segment";
  const problem = await load(lines);
  if (round !== rounds) return;
  endProblem(trouble);
  byId("tool").hidden = false;
  // The last drawing stays.
  if (problem !== null) return tellProblem(trouble, problem, () => void show());
  draw(lines.map(lineOf), leftOut);
}

/** With its drawn part. @param {Known} known @returns {Known & Line} */
function lineOf(known) {
  const levels = histories.get(nameIn(known)) ?? [];
  if (known.kind === "indices") {
    const line = { levels, carryDays: Infinity, to };
    return { ...known, line, changes: changesOfCloses(levels), breaks: [] };
  }
  const end = endOf({ session_utc: to, delisted_on: known.delistedOn });
  const line = lineOfLevels(levels, carryDaysOf(known.id), end);
  const changes = changesOfRecord(records.get(known.id) ?? {});
  return { ...known, line, changes, breaks: breaksById.get(known.id) ?? [] };
}

/** The lines that are not compared yet and contain each word. @param {string} wanted */
function found(wanted) {
  const names = new Set(chosen().lines.map(nameIn));
  const others = [...catalog.values()].filter((line) => !names.has(nameIn(line)));
  return choicesWith(wanted, others, "line", count).map((line) => ({
    id: nameIn(line),
    html: `${foreign(line.name)} <small>${foreign(line.more)}</small>`,
  }));
}

const scaleInAddress = () =>
  /** @type {Scale} */ (
    [fromAddress("scale")].find((name) => Object.hasOwn(SCALES, name)) ?? "rebased"
  );

/**
 * Draws the lines as the address says, with the table of them.
 *
 * @param {readonly (Known & Line)[]} lines
 * @param {readonly string[]} unknown the ids of others that the address names
 * @param {number} [widthPx]
 */
function draw(lines, unknown, widthPx = box.clientWidth) {
  fitPaper(box, (paperPx) => draw(lines, unknown, paperPx));
  const scale = scaleInAddress();
  const isLog = fromAddress("axis") === "log";
  const { depthDays } = caller.offer;
  const known = new Set(lines.flatMap(({ line }) => rangesWithin({ ...line, to }, depthDays)));
  const ranges = [...CHART_RANGES.filter((name) => known.has(name)), "all"];
  const range = firstRange(fromAddress("range"), ranges, to, depthDays);
  const from = comparison.beginOf(lines, range, to);
  const scaled = comparison.onScale(lines, scale, from);
  const others = scaled.leftOut.map(({ name, why }) => `${name} (${why})`);
  if (unknown.length > 0) others.push(namesOf(unknown));
  byId("left-out").textContent =
    (others.length === 0 ? "" : `Left out: ${others.join(", ")}.`) +
    (isOlder ? " A newer session came meanwhile: load the page again to see it." : "");
  byId("lines").innerHTML = lines.length === 0 ? "" : linesTable(lines, scaled.lines, scale, range);
  byId("presets").hidden = lines.length > 0;
  box.innerHTML = "";
  if (lines.length === 0) return;
  const drawing = drawingOf(scaled.lines, scale, { from, isLog, widthPx });
  box.innerHTML =
    drawing.head + toolsHtml(choicesHtml(ranges, range, scale, isLog), true) + drawing.html;
  drawing.equip();
  box.querySelector(".chart-tools")?.addEventListener("click", ({ target }) => {
    const button = /** @type {HTMLElement} */ (target);
    const changed = stateOf(button, isLog);
    if (changed !== null) {
      void showChanged(changed);
      return;
    }
    void keep(button, {
      csv: async () => (await import("./chart-file.js")).levelsCsv(scaled.lines),
      svg: drawing.file,
      cite: drawing.cite,
      name: `chipboard-${to.slice(0, 13)}Z-${caller.tier}-comparison-${scale}-${range}`,
      requests: /** @type {const} */ (["ids", "indices"]).flatMap((kind) => {
        const path = pathOf(kind, lines);
        return path === null ? [] : [new URL(`api/public/v1/${path}`, ROOT).href];
      }),
    });
  });
}

/**
 * The chart of what fits the scale, for the page and as a file; nothing if no line does.
 *
 * @param {readonly import("./comparison.js").DrawnLine[]} lines
 * @param {Scale} scale
 * @param {{ from: string, isLog: boolean, widthPx: number }} options
 */
function drawingOf(lines, scale, { from, isLog, widthPx }) {
  if (lines.length === 0) {
    const none = () => "";
    return { head: "", html: "", equip: () => {}, file: none, cite: none };
  }
  const title = lines.map(({ name }) => name).join(", ");
  const unit = comparison.scaleWords(scale, lines, from);
  const options = { from, to, isLog, isRebased: scale === "rebased" };
  const heightPx = matchMedia("(min-width: 720px)").matches ? 420 : 320;
  const drawn = comparison.layoutOf(lines, { ...options, widthPx, heightPx });
  const sources = [...new Set(lines.flatMap(({ id }) => records.get(id)?.source ?? []))];
  const notes = [
    ...(sources.length === 0 ? [] : [`Sources: ${sources.join("; ")}`]),
    sessionNote(to, null),
    byId("attribution").textContent ?? "",
  ];
  const breaks = comparison
    .breakWords(lines)
    .map((words) => `<p class="note">${foreign(words)}</p>`);
  return {
    head: `<p class="chart-title">${foreign(title)}</p>\n<p class="chart-unit">${foreign(unit)}</p>\n`,
    html: `<div class="charted">${comparison.comparisonHtml(drawn, title)}</div>${breaks.join("")}`,
    equip: () => {
      const charted = /** @type {HTMLElement} */ (box.querySelector(".charted"));
      addCursor(charted, drawn, comparison.linesReader(drawn));
    },
    cite: () => citation(title, [unit, ...notes], location.href),
    file: async () => {
      const { FILE_PLOT, svgFile } = await import("./chart-file.js");
      const laid = comparison.layoutOf(lines, { ...options, ...FILE_PLOT });
      return svgFile(
        comparison.filedComparison(laid, title, unit, [
          ...comparison.breakWords(lines),
          ...notes,
          location.href,
        ]),
      );
    },
  };
}

/** @param {readonly string[]} ranges @param {string} range @param {Scale} scale @param {boolean} isLog */
function choicesHtml(ranges, range, scale, isLog) {
  const scales = Object.entries(SCALES).map(
    ([name, label]) =>
      `<button type="button" data-scale="${name}" aria-pressed="${name === scale}">${label}</button>`,
  );
  return (
    rangeButtons(ranges, range) +
    `<div class="ranges" role="group" aria-label="Scale">${scales.join("")}</div>` +
    `<button type="button" data-axis="log" aria-pressed="${isLog}">Log</button>`
  );
}

/**
 * What a button changes in the address, and the button that takes its place.
 *
 * @param {HTMLElement} button
 * @param {boolean} isLog
 */
function stateOf({ dataset }, isLog) {
  const { range, scale, axis } = dataset;
  if (range !== undefined) return { kept: { range }, again: `[data-range="${range}"]` };
  if (scale !== undefined) return { kept: { scale }, again: `[data-scale="${scale}"]` };
  if (axis !== undefined) return { kept: { axis: isLog ? "" : "log" }, again: "[data-axis]" };
  return null;
}

/**
 * Shows what a button changes. The button that was pressed is another one then.
 *
 * @param {{ kept: Record<string, string>, again: string }} changed
 */
async function showChanged({ kept, again }) {
  keepInAddress(kept);
  await show();
  /** @type {HTMLElement | null} */
  const next = box.querySelector(again);
  next?.focus();
}

/**
 * The lines as a table: what each is, where it began and ended in the chart, and its change.
 *
 * @param {readonly (Known & Line)[]} lines
 * @param {readonly import("./comparison.js").DrawnLine[]} drawn
 * @param {Scale} scale
 * @param {string} range
 */
function linesTable(lines, drawn, scale, range) {
  const rows = lines.map((line, place) => {
    const own = drawn.find((each) => each.place === place);
    const points = comparablePoints(own?.points ?? []);
    return { line, place, points, since: own?.since ?? null };
  });
  const change = `${RANGE_WORDS[range] ?? "Change"}, %`;
  /** @param {Point | undefined} point */
  const figure = (point) =>
    point === undefined
      ? ""
      : `${comparison.figureText(point)} <small>${escaped(point.date)}</small>`;
  return scrolling(
    "Lines of the chart",
    tableHtml(
      ' class="stacked"',
      [
        {
          label: "Line",
          html: ({ line: { kind, id, name }, place }) =>
            `<svg width="24" height="12" aria-hidden="true">${comparison.sampleOf(place)}</svg> ` +
            linkOf({ kind, id, name }),
        },
        { label: "Unit", name: "unit", html: ({ line: { unit } }) => foreign(unitOf(unit, scale)) },
        {
          label: "First",
          head: "First",
          name: "n",
          html: ({ points, since }) =>
            since === null
              ? figure(points[0])
              : `${figure(points[0])} <small>since ${dayText(since)}</small>`,
        },
        { label: "Last", head: "Last", name: "n", html: ({ points }) => figure(points.at(-1)) },
        {
          label: change,
          head: change,
          name: "n",
          html: ({ line: { changes } }) => changeHtml(changes[range]),
        },
        {
          label: '<span class="unseen">Remove</span>',
          name: "n remove",
          html: ({ line, place }) =>
            `<button type="button" data-remove="${place}" aria-label="Remove ${escaped(line.name)}">Remove</button>`,
        },
      ],
      rows,
    ),
  );
}

/** The unit of a line's figures. @param {string | null} unit null: an index @param {Scale} scale */
function unitOf(unit, scale) {
  if (scale === "rebased") return "rebased";
  return scale === "gb" ? "USD per GB" : (unit ?? "points");
}

byId("lines").addEventListener("click", ({ target }) => {
  const { remove } = /** @type {HTMLElement} */ (target).dataset;
  if (remove === undefined) return;
  choose(chosen().lines.filter((_, at) => at !== Number(remove)));
  add.focus();
});
makePicker(add, byId("found"), found, (name) => {
  const line = catalog.get(name);
  if (line !== undefined) choose([...chosen().lines, line]);
});
addEventListener("popstate", () => {
  const isOther = location.hash !== "" && !/^#(?:ids|indices)=/.test(location.hash);
  // Another fragment is a place on the page, such as the one that the skip link names.
  if (isOther) history.replaceState(null, "", shownHash || location.pathname);
  else if (byId("tool").hidden) void tellNames();
  else void show();
});

// No key stays in an address.
if (location.hash.includes("cbk_")) history.replaceState(null, "", location.pathname);
await withKey(begin);
if (byId("tool").hidden) await tellNames();

/**
 * Asks for the names, and shows what the address compares.
 *
 * @param {import("./key.js").Caller} known
 * @returns {Promise<import("./api.js").Problem | null>}
 */
async function begin(known) {
  caller = known;
  histories.clear();
  breaksById.clear();
  isOlder = false;
  const [problem, board] = await Promise.all([loadNames(known.offer.index), askJson("prices")]);
  if (problem !== null || board.problem !== null) return problem ?? board.problem;
  const { session_utc, memory, semiconductor } = board.body;
  to = session_utc;
  byId("session").innerHTML =
    `Prices of <time datetime="${escaped(to)}">${escaped(readableText(to))}</time>.`;
  records = new Map([...memory, ...semiconductor].map((row) => [row.id, row]));
  held.textContent = "";
  await show();
  return null;
}

/** Says what a link compares, to a reader who cannot see it. */
async function tellNames() {
  held.textContent = "";
  if (location.hash === "") return;
  await loadNames(true);
  const { lines, leftOut } = chosen();
  // A key may have been given meanwhile. While the service is away, only the ids are known.
  if (lines.length + leftOut.length === 0 || !byId("tool").hidden) return;
  const links = lines.map(linkOf);
  if (leftOut.length > 0) links.push(foreign(namesOf(leftOut)));
  held.innerHTML = `This link compares ${links.join(", ")}.`;
}

/** Ids of an address, which can be long. @param {readonly string[]} ids */
function namesOf(ids) {
  const few = ids.slice(0, MOST_LINES).map((id) => id.slice(0, 60));
  const more = ids.length - few.length;
  return few.join(", ") + (more > 0 ? ` and ${counted(more, "more name")}` : "");
}

/** @param {ReturnType<typeof presetsOf>} presets */
function presetsHtml(presets) {
  const links = presets.map(({ name, hash }) => `<a href="#${escaped(hash)}">${escaped(name)}</a>`);
  return links.length === 0 ? "" : `Try: ${links.join(" · ")}`;
}

/** The way to the page of a contract or an index. @param {Pick<Known, "kind" | "id" | "name">} line */
function linkOf({ kind, id, name }) {
  const page = { ids: "contracts/", indices: "indices#" }[kind];
  return `<a href="${page}${encodeURIComponent(id)}">${foreign(name)}</a>`;
}

/**
 * Asks for the names, which are public and cost no call.
 *
 * @param {boolean} hasIndices
 * @returns {Promise<import("./api.js").Problem | null>}
 */
async function loadNames(hasIndices) {
  const { body, problem } = await askJson("contracts");
  if (problem !== null) return problem;
  const composite = [{ id: "composite", name: "Composite" }];
  /** @type {Known[]} */
  const indices = [...(hasIndices ? composite : []), ...(hasIndices ? body.segments : [])].map(
    ({ id, name }) => ({
      kind: "indices",
      id,
      name: `${name} index`,
      unit: null,
      capacityGb: null,
      delistedOn: null,
      more: "index",
      text: `${id} ${name} index`,
    }),
  );
  /** @type {Known[]} */
  const contracts = body.contracts.map(
    (
      /** @type {any} */ { id, name, ticker, unit, capacity_gb, segment, formerly, delisted_on },
    ) => {
      for (const former of formerly) presentIds.set(former, id);
      const more = [ticker, segment, unit].join(" · ");
      const text = [id, name, more, ...formerly].join(" ");
      return {
        kind: "ids",
        id,
        name,
        unit,
        capacityGb: capacity_gb,
        more,
        text,
        delistedOn: delisted_on,
      };
    },
  );
  catalog = new Map([...indices, ...contracts].map((line) => [nameIn(line), line]));
  byId("presets").innerHTML = presetsHtml(
    presetsOf(body.contracts, hasIndices ? body.segments : []),
  );
  return null;
}

/**
 * The page of comparisons in the browser. The address names the compared lines, `#ids=a,b&indices=dram`, and has the
 * view in its parameters, `?range=1y&scale=usd&axis=log`. A link from elsewhere needs only the lines.
 */
import { fromAddress, keepInAddress } from "./address.js";
import { ask, askJson, BROKEN_OFF, endProblem, ROOT, tellProblem } from "./api.js";
import { rangeButtons, toolsHtml } from "./chart-panel.js";
import { FILE_PLOT } from "./chart-file.js";
import * as comparison from "./comparison.js";
import { changeOfLine } from "./contributions.js";
import { addCursor } from "./cursor.js";
import { closesById, rangesWithin, startOf } from "./history.js";
import { scrolling, tableHtml } from "./html.js";
import { withKey } from "./key.js";
import { comparablePoints } from "./layout.js";
import { choicesWith, makePicker } from "./picker.js";
import { keep } from "./save.js";
import { changeHtml, counted, escaped, foreign } from "./text.js";

/** @typedef {import("./layout.js").Point} Point */
/** @typedef {import("./comparison.js").Line} Line */
/** @typedef {import("./comparison.js").Scale} Scale */

/**
 * What can be compared. The key is `ids a` or `indices a`: a contract and an index may have the same id. `more` stands
 * below the name in a list; `text` is what a word may be of.
 *
 * @typedef {Omit<Line, "points"> & { kind: "ids" | "indices", more: string, text: string }} Known
 */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const add = /** @type {HTMLInputElement} */ (byId("add"));
const count = byId("add-count");
const held = byId("held");
const box = byId("comparison");
const trouble = byId("trouble");

const KINDS = /** @type {const} */ ({ ids: "history.csv", indices: "indices.csv" });
/** @type {Record<Scale, string>} */
const SCALES = { rebased: "Rebased to 100", usd: "USD", gb: "USD per GB" };

/** @type {Map<string, Known>} */
let catalog = new Map();
/** Present ids by former ones. @type {Map<string, string>} */
const presentIds = new Map();
/** The closes that came so far: choosing a line again costs nothing. @type {Map<string, readonly Point[]>} */
const histories = new Map();
/** The last day of the axis. */
let to = "";
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
  const lines = known.slice(0, comparison.MOST_LINES);
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
 * The address of the closes of some lines, as the API has it.
 *
 * @param {"ids" | "indices"} kind
 * @param {readonly Pick<Known, "kind" | "id">[]} lines
 */
function pathOf(kind, lines) {
  const ids = lines.filter((line) => line.kind === kind).map(({ id }) => id);
  return ids.length === 0 ? null : `${KINDS[kind]}?ids=${ids.join(",")}`;
}

/** Asks for closes that did not come yet: one call for contracts, one for indices. @param {readonly Known[]} lines */
async function load(lines) {
  const missing = lines.filter((line) => !histories.has(nameIn(line)));
  const problems = await Promise.all(
    /** @type {const} */ (["ids", "indices"]).map(async (kind) => {
      const path = pathOf(kind, missing);
      if (path === null) return null;
      const { response, problem } = await ask(path);
      if (response === null) return problem;
      const csv = await response.text().catch(() => null);
      if (csv === null) return BROKEN_OFF;
      const closes = closesById(csv);
      for (const line of missing.filter((each) => each.kind === kind)) {
        histories.set(nameIn(line), closes.get(line.id) ?? []);
      }
      const session = response.headers.get("x-session-utc")?.slice(0, 10) ?? "";
      if (session > to) to = session;
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
  add.disabled = lines.length === comparison.MOST_LINES;
  add.placeholder = add.disabled ? "Remove a line to add another" : "Name, ticker or segment";
  const problem = await load(lines);
  if (round !== rounds) return;
  endProblem(trouble);
  byId("tool").hidden = false;
  // The last drawing stays.
  if (problem !== null) return tellProblem(trouble, problem, () => void show());
  draw(
    lines.map((line) => ({ ...line, points: histories.get(nameIn(line)) ?? [] })),
    leftOut,
  );
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

/**
 * Draws the lines as the address says, with the table of them.
 *
 * @param {readonly (Known & Line)[]} lines
 * @param {readonly string[]} unknown the ids of others that the address names
 */
function draw(lines, unknown) {
  const scale = /** @type {Scale} */ (
    [fromAddress("scale")].find((name) => Object.hasOwn(SCALES, name)) ?? "rebased"
  );
  const isLog = fromAddress("axis") === "log";
  const histories = lines.map(({ points }) => points).filter(({ length }) => length > 0);
  const [longest = []] = histories.toSorted((a, b) =>
    (a[0]?.date ?? "").localeCompare(b[0]?.date ?? ""),
  );
  const ranges = longest.length === 0 ? ["all"] : rangesWithin(longest, to, caller.offer.depthDays);
  const range = [fromAddress("range"), "1y"].find((name) => ranges.includes(name)) ?? "all";
  const from = startOf(range, to, longest);
  const scaled = comparison.onScale(lines, scale, from);
  const others = scaled.leftOut.map(({ name, why }) => `${name} (${why})`);
  if (unknown.length > 0) others.push(namesOf(unknown));
  byId("left-out").textContent = others.length === 0 ? "" : `Left out: ${others.join(", ")}.`;
  byId("lines").innerHTML = lines.length === 0 ? "" : linesTable(lines, scaled.lines, scale);
  box.innerHTML = "";
  if (lines.length === 0) return;
  const drawing = drawingOf(scaled, scale, { from, isLog });
  box.innerHTML =
    drawing.head + toolsHtml(choicesHtml(ranges, range, scale, isLog), true) + drawing.html;
  drawing.equip();
  box.querySelector(".chart-tools")?.addEventListener("click", ({ target }) => {
    const button = /** @type {HTMLElement} */ (target);
    const changed = stateOf(button, isLog);
    if (changed !== null) {
      keepInAddress(changed.kept);
      draw(lines, unknown);
      /** @type {HTMLElement} */ (box.querySelector(changed.again)).focus();
      return;
    }
    const name = `chipboard-${to}-${caller.tier}-comparison`;
    keep(button, {
      csv: comparison.comparisonCsv(scaled.lines),
      svg: drawing.file,
      name,
      picture: `${name}-${scale}-${range}`,
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
 * @param {ReturnType<typeof comparison.onScale>} scaled
 * @param {Scale} scale
 * @param {{ from: string, isLog: boolean }} options
 */
function drawingOf(scaled, scale, { from, isLog }) {
  const { lines, base } = scaled;
  if (lines.length === 0) return { head: "", html: "", equip: () => {}, file: () => "" };
  const title = lines.map(({ name }) => name).join(", ");
  const unit = comparison.scaleWords(scale, scaled);
  const options = { from, to, isLog, base };
  const heightPx = matchMedia("(min-width: 720px)").matches ? 420 : 320;
  const drawn = comparison.layoutOf(lines, { ...options, widthPx: box.clientWidth, heightPx });
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
    file: () => {
      const laid = comparison.layoutOf(lines, { ...options, ...FILE_PLOT });
      const notes = [...comparison.breakWords(lines), byId("attribution").textContent ?? ""];
      return comparison.comparisonFile(laid, title, unit, notes);
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
 * The lines as a table: what each is, where it began and ended in the chart, and its change.
 *
 * @param {readonly (Known & Line)[]} lines
 * @param {readonly import("./comparison.js").DrawnLine[]} drawn
 * @param {Scale} scale
 */
function linesTable(lines, drawn, scale) {
  const rows = lines.map((line, place) => ({
    line,
    place,
    points: comparablePoints(drawn.find((each) => each.place === place)?.points ?? []),
  }));
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
        { label: "First", head: "First", name: "n", html: ({ points }) => figure(points[0]) },
        { label: "Last", head: "Last", name: "n", html: ({ points }) => figure(points.at(-1)) },
        {
          label: "Change, %",
          head: "Change, %",
          name: "n",
          html: ({ points }) => (points.length === 0 ? "" : changeHtml(changeOfLine(points))),
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
  if (scale === "rebased") return "100 at the start";
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
  const problem = await loadNames(known.offer.index);
  if (problem !== null) return problem;
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
  const few = ids.slice(0, comparison.MOST_LINES).map((id) => id.slice(0, 60));
  const more = ids.length - few.length;
  return few.join(", ") + (more > 0 ? ` and ${counted(more, "more name")}` : "");
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
      more: "index",
      text: `${id} ${name} index`,
    }),
  );
  /** @type {Known[]} */
  const contracts = body.contracts.map(
    (/** @type {any} */ { id, name, ticker, unit, capacity_gb, segment, formerly }) => {
      for (const former of formerly) presentIds.set(former, id);
      const more = [ticker, segment, unit].join(" · ");
      const text = [id, name, more, ...formerly].join(" ");
      return { kind: "ids", id, name, unit, capacityGb: capacity_gb, more, text };
    },
  );
  catalog = new Map([...indices, ...contracts].map((line) => [nameIn(line), line]));
  return null;
}

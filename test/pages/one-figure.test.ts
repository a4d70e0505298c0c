/**
 * One question has one figure: for each contract and index of the demonstration, at both hours and for each tier, the
 * same change stands in every place that shows one. And no level in force is drawn as a slope.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { publishDemo } from "../../src/demo/publish-demo.ts";
import { createClock } from "../../src/lib/clock.ts";
import { sessionStartMs } from "../../src/market/session.ts";
import { TIER_NAMES, type TierName } from "../../src/market/tier.ts";
import { boardTable, type BoardRow } from "../../src/site/board.js";
import { chartFile } from "../../src/site/chart-file.js";
import { chart, sparkline } from "../../src/site/chart.js";
import { onScale } from "../../src/site/comparison.js";
import { basketFigures, changesOfBasket, indexFigures } from "../../src/site/contributions.js";
import { closesById, levelsById, lineOfContract, lineOfLevels } from "../../src/site/history.js";
import { indicesTable } from "../../src/site/indices-table.js";
import { layout } from "../../src/site/layout.js";
import * as levels from "../../src/site/levels.js";
import {
  contractLine,
  INDICES_SHOWN,
  lineOf,
  overviewTable,
  type Line,
} from "../../src/site/overview.js";
import { levelHtml } from "../../src/site/record.js";
import { signedText, withDecimals } from "../../src/site/text.js";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { startTestProxy, TestClock, type TestProxy } from "../http/fixture.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { figuresIn } from "./tier-answers.ts";
import { contractPage, keepKey, open, watchedContext } from "./visit.ts";

const API = "/api/public/v1";
const CHART_RANGES = ["30d", "90d", "1y"];
/** The fields of records by range. */
const FIELDS = {
  "24h": "chg_24h_pct",
  "7d": "chg_7d_pct",
  "30d": "chg_30d_pct",
  "90d": "chg_90d_pct",
  "1y": "chg_yoy_pct",
} as const;
type Range = keyof typeof FIELDS;
const RANGES = Object.keys(FIELDS) as Range[];

/** A clock whose day's demonstration begins at this hour, three sessions before it. */
const CLOCKS = { "00:00": "2026-11-28T12:30:00Z", "12:00": "2026-11-28T00:30:00Z" };

/** Only horizontal and vertical parts: each level is a step. */
const STEPS = /^(?:m-?[\d.]+ -?[\d.]+(?:z|(?:[hv]-?[\d.]+)*))+$/;
const pathsIn = (svg: string): string[] =>
  [...svg.matchAll(/<path(?: class="(?:curve|past)"[^>]*)? d="([^"]*)"/g)].map(
    ([, path]) => path as string,
  );

/** `+1.20`, `−0.35`, or `n/a`. */
const shown = (change: string | number | null | undefined): string =>
  change == null ? "n/a" : signedText(String(change));
/** The text of the first element with this mark. */
function textIn(html: string, mark: string): string {
  const from = html.indexOf(mark);
  expect(from, mark).toBeGreaterThanOrEqual(0);
  const rest = html.slice(html.indexOf(">", from) + 1);
  const text = rest.slice(0, rest.search(/<\/(?:td|dd)>/)).replaceAll(/<[^>]*>/g, "");
  return text.replace("%", "").trim();
}
/** The part of a table that is the row of an id. */
function rowIn(html: string, id: string): string {
  const from = html.indexOf(`data-id="${id}"`);
  return html.slice(from, html.indexOf("</tr>", from));
}
const titleFigure = (title: string): string =>
  title.split(": ").at(-1)?.replace("\u00A0%", "") ?? "";

/** A sheet has no figure that the screen does not have. */
async function expectOnPaper(page: Page): Promise<void> {
  const figures = async (media: "screen" | "print") => {
    await page.emulateMedia({ media });
    return figuresIn(await page.innerText("main"));
  };
  // Rows that are out of sight are drawn when they come into it.
  await page.evaluate(
    `for (const row of document.querySelectorAll("main tr")) row.style.contentVisibility = "visible"`,
  );
  const onScreen = new Set(await figures("screen"));
  const onPaper = await figures("print");
  expect(onPaper.length).toBeGreaterThan(5);
  expect([page.url(), onPaper.filter((figure) => !onScreen.has(figure))]).toEqual([page.url(), []]);
  await page.emulateMedia({ media: "screen" });
}

describe.each(Object.entries(CLOCKS))("at %s", (hour, now) => {
  let proxy: TestProxy;
  let browser: Browser | undefined;
  beforeAll(async () => {
    const store = new MemoryStore();
    const { value: session } = await publishDemo(store, createClock(now), () => {}).next();
    if (session === undefined) throw new Error("The demonstration was not published");
    const clock = new TestClock(sessionStartMs(session) + 5 * 60_000);
    expect(new Date(sessionStartMs(session)).toISOString().slice(11, 16)).toBe(hour);
    proxy = await startTestProxy({ store, clock });
    if (hasBrowser) browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await proxy.close();
  });

  const optionsOf = (tier: TierName) => (tier === "free" ? {} : { key: proxy[tier] });
  const textOf = async (tier: TierName, path: string): Promise<string> => {
    const { status, text } = await proxy.get(`${API}/${path}`, optionsOf(tier));
    expect([path, status]).toEqual([path, 200]);
    return text;
  };
  const jsonOf = async (tier: TierName, path: string) => JSON.parse(await textOf(tier, path));

  test.each(TIER_NAMES)("%s: each contract has one change over each range", async (tier) => {
    const board = await jsonOf(tier, "prices");
    const records: (BoardRow & Record<string, unknown>)[] = [
      ...board.memory,
      ...board.semiconductor,
    ];
    expect(records.length).toBeGreaterThan(tier === "free" ? 9 : 100);
    const table = boardTable(board, () => false, tier !== "free");
    const all = tier === "free" ? new Map() : levelsById(await textOf(tier, "levels.csv"));
    const { sparklines = [], days = [] } = tier === "free" ? {} : await jsonOf(tier, "sparklines");
    const closes = new Map<string, Line>(sparklines.map((each: Line) => [each.id, each]));
    for (const each of days) closes.set(each.id, { ...closes.get(each.id), ...each });
    for (const record of records) {
      const { id } = record;
      const body = await jsonOf(tier, `prices/${id}`);
      const expected = RANGES.map((range) => shown(body[FIELDS[range]]));
      const places: Record<string, readonly string[]> = {};
      const html = levelHtml(body, { delaySessions: 0, depthDays: 1825 }, null);
      places["page"] = RANGES.map((range) => textIn(html, `data-field="${FIELDS[range]}"`));
      places["record"] = RANGES.map((range) => shown(levels.changesOfRecord(record)[range]));
      const row = rowIn(table, id);
      const cells = { "24h": "day", "30d": "month", "90d": "quarter", "1y": "year" };
      for (const [range, name] of Object.entries(cells)) {
        if (tier === "free" && range === "90d") continue;
        const cell = textIn(row, `class="n ${name}"`);
        expect([id, range, cell]).toEqual([id, range, shown(body[FIELDS[range as Range]])]);
      }
      if (tier !== "free") {
        expect(body.references.map(({ range }: { range: string }) => range)).toEqual(RANGES);
        places["references"] = body.references.map(({ change_pct }: { change_pct: number }) =>
          shown(change_pct),
        );
        const line = lineOfContract(body, await textOf(tier, `history.csv?ids=${id}`));
        const changes = levels.changesOfContract(body);
        const compared = {
          id,
          name: id,
          unit: "USD",
          capacityGb: null,
          line: lineOfLevels(all.get(id) ?? [], body.max_carry_days, board.session_utc),
          changes: levels.changesOfRecord(record),
          breaks: body.breaks,
        };
        for (const range of CHART_RANGES) {
          const { points, from, to } = levels.drawnOf(line, range);
          const title = levels.titleOf("A", range, changes, points, Infinity);
          const options = { title, unit: "USD", decimals: Infinity, from, to };
          const change = body[FIELDS[range as Range]];
          expect([id, range, titleFigure(title)]).toEqual([id, range, shown(change)]);
          // The file that is saved, and the sheet that is printed, have the same title.
          expect(chartFile(points, options, [])).toContain(title);
          const paths = [
            ...pathsIn(chart(layout(points, options))),
            ...pathsIn(sparkline(line)),
            ...pathsIn(
              sparkline(
                contractLine(closes.get(id) as Line, board.session_utc, body.max_carry_days),
              ),
            ),
          ];
          expect(paths.length).toBeGreaterThan(0);
          for (const path of paths)
            expect([id, range, path]).toEqual([id, range, expect.stringMatching(STEPS)]);
          // Its line in a comparison is the same, rebased: it ends where the change says.
          const [drawn] = onScale([compared], "rebased", from).lines;
          // Before the depth of a tier's history its lines have no level.
          const reference = body.references.find((each: { range: string }) => each.range === range);
          if (reference.usd === null || drawn === undefined) continue;
          expect(drawn.since).toBe(null);
          const last = drawn.points.at(-1)?.close ?? Number.NaN;
          expect([id, range, Math.abs(last - 100 - change) < 0.0051]).toEqual([id, range, true]);
          expect(points[0]?.close).toBe(reference.usd);
        }
      }
      if (tier === "pro") {
        const priced = withDecimals(await textOf(tier, `index?ids=${id}&quantities=1`));
        const changes = changesOfBasket(priced, record);
        const figures = basketFigures(priced, changes);
        places["basket"] = RANGES.map((range) => shown(changes[range]));
        for (const [range, field] of [
          ["24h", "chg_24h_pct"],
          ["30d", "chg_30d_pct"],
          ["1y", "level"],
        ] as const) {
          expect([id, textIn(figures, `data-field="${field}"`)]).toEqual([
            id,
            shown(body[FIELDS[range]]),
          ]);
        }
      }
      for (const [place, figures] of Object.entries(places)) {
        expect([id, place, figures]).toEqual([id, place, expected]);
      }
    }
  });

  test.each(["starter", "pro"] as const)(
    "%s: each index has one change over each range",
    async (tier) => {
      const listed = withDecimals(await textOf(tier, "indices")).indices;
      const spark: { indices: Line[] } = await jsonOf(tier, "sparklines");
      const lines = new Map(spark.indices.map((line) => [line.id, line]));
      const csv = closesById(await textOf(tier, "indices.csv"));
      const [front, list] = [overviewTable(listed, lines), indicesTable(listed, true, lines)];
      for (const [at, { id }] of listed.entries()) {
        const body = withDecimals(await textOf(tier, `indices/${id}`));
        const closes = csv.get(id) ?? [];
        const expected = levels.changesOfSeries(body.series, closes);
        const figures = indexFigures(body);
        const compared = levels.changesOfCloses(closes);
        if (at === 0) {
          // The chart of the front page.
          const first = levels.changesOfCloses(lineOf(listed[0], lines));
          expect(RANGES.map((range) => shown(first[range]))).toEqual(
            RANGES.map((range) => shown(expected[range])),
          );
        }
        for (const range of RANGES) {
          const figure = shown(expected[range]);
          expect([id, range, textIn(figures, `data-field="series_${range}_pct"`)]).toEqual([
            id,
            range,
            figure,
          ]);
          expect([id, range, shown(compared[range])]).toEqual([id, range, figure]);
        }
        for (const table of at < INDICES_SHOWN ? [front, list] : [list]) {
          const cells = [
            ...rowIn(table, id).matchAll(/<span class="(?:up|down|flat|none)">([^<]*)</g),
          ];
          const two = [shown(expected["24h"]), shown(expected["30d"])];
          expect(cells.map(([, text]) => text).toSorted()).toEqual(two.toSorted());
        }
        const line = levels.lineOfIndex(closes);
        for (const range of CHART_RANGES) {
          const { points, from, to } = levels.drawnOf(line, range);
          const title = levels.titleOf("A", range, expected, points, 2);
          expect([id, range, titleFigure(title)]).toEqual([id, range, shown(expected[range])]);
          const options = { title, unit: "points", decimals: 2, from, to };
          for (const path of pathsIn(chart(layout(points, options)))) expect(path).toMatch(STEPS);
        }
      }
    },
  );

  inChromium("twenty of all kinds have the figures of the API in a browser", async () => {
    const board = await jsonOf("pro", "prices");
    const records: (BoardRow & Record<string, unknown>)[] = [
      ...board.memory,
      ...board.semiconductor,
    ];
    // Those with a break, those whose level is oldest, and others of all segments.
    const oldest = records.toSorted((a, b) => Number(b["age_days"]) - Number(a["age_days"]));
    const broken = records.filter((row) => row.break !== null);
    const segments = [...new Map(records.map((row) => [row.segment, row])).values()];
    const chosen = [
      ...new Set([...broken.slice(0, 4), ...oldest.slice(0, 6), ...segments, ...records]),
    ];
    const { context, watch } = await watchedContext(browser as Browser);
    try {
      const page = await context.newPage();
      await keepKey(page, proxy.pro);
      const twenty = chosen.slice(0, 20);
      for (const [at, record] of twenty.entries()) {
        const range = CHART_RANGES[at % CHART_RANGES.length] as Range;
        const figure = shown(levels.changesOfRecord(record)[range]);
        await open(page, `${proxy.url}${contractPage(record.id)}?range=${range}`);
        const pressed = await page
          .locator("[data-range][aria-pressed=true]")
          .getAttribute("data-range");
        const title = (await page.textContent(".chart-title")) ?? "";
        if (pressed === range) expect([record.id, titleFigure(title)]).toEqual([record.id, figure]);
        for (const path of await page
          .locator(".chart :is(path.curve, path.past)")
          .evaluateAll((all) => all.map((each) => each.getAttribute("d") as string))) {
          expect(path).toMatch(STEPS);
        }
        if (at % 4 !== 0) continue;
        await expectOnPaper(page);
        const four = twenty.slice(at, at + 4);
        await open(
          page,
          `${proxy.url}/compare?range=90d#ids=${four.map(({ id }) => id).join(",")}`,
        );
        const changes = await page.locator('#lines td[data-head="90 days, %"]').allTextContents();
        expect(changes).toEqual(four.map((row) => shown(row.chg_90d_pct)));
        await expectOnPaper(page);
        await open(page, `${proxy.url}/basket#ids=${record.id}&quantities=1`);
        await page.locator("#costs .chart-title, #year-problem:not(:empty)").first().waitFor();
        const year = await page.locator("#figures [data-field=level]").textContent();
        expect([record.id, year]).toEqual([record.id, shown(record.chg_yoy_pct)]);
        await expectOnPaper(page);
      }
      for (const path of ["/", "/indices"]) {
        await open(page, proxy.url + path);
        await expectOnPaper(page);
      }
      expect(watch.complaints).toEqual([]);
    } finally {
      await context.close();
    }
  });
});

/**
 * Every decimal on every page with figures is one that the API gives to the caller's tier, and the figures of
 * each record are there. Charts are left out: the tests of each page read them.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { TIER_NAMES } from "../../src/market/tier.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { idsOf, marketClock, publishMarket } from "./page-market.ts";
import { rounded } from "../../src/site/decimal.js";
import { changeOfCloses, RANGE_WORDS } from "../../src/site/levels.js";
import { pointsOf } from "../../src/site/overview.js";
import { answersOf, figuresIn } from "./tier-answers.ts";
import { contractPage, keepKey, open, watchedContext } from "./visit.ts";

const KINDS = ["carried", "broken", "delisted", "renamed", "corrected", "young", "plain"] as const;
const BASKET = "ids=free-carried,free-corrected,keyed-plain-50&quantities=3,0.5,1000";

let proxy: TestProxy;
let browser: Browser | undefined;
beforeAll(async () => {
  proxy = await startTestProxy({ store: await publishMarket(), clock: marketClock() });
  if (hasBrowser) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
});

/** The texts of the page's contents, apart from each other. Not programs, charts and recorded examples. */
const TEXTS = `(() => {
  const main = document.querySelector("main").cloneNode(true);
  const others = "svg, .chart, .chart-unit, .cursor, pre, code, [hidden], script, noscript";
  for (const other of main.querySelectorAll(others)) other.remove();
  // Where people see a rounded figure, the exact one stands beside it.
  for (const place of main.querySelectorAll(":is(#figures, #all, #contributions, .contributions) [data-field]")) {
    const { value } = place.closest("[data-value]")?.dataset ?? {};
    if (value) place.textContent = value;
  }
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode.data);
  return texts;
})()`;

/** The figures on the page. A level's decimals may stand in an element of their own. */
async function shownOn(page: Page): Promise<string[]> {
  const texts = await page.evaluate<string[]>(TEXTS);
  return figuresIn(texts.join("|").replaceAll(/(\d)\|(\.\d)/g, "$1$2"));
}

type Fields = Readonly<Record<string, unknown>>;
/** The named figures of a record, as texts. */
const figuresOf = (record: Fields, names: readonly string[]): string[] =>
  names
    .map((name) => record[name])
    .filter((value) => value != null)
    .map(String);

const OF_BOARD = ["spot_usd", "chg_24h_pct", "chg_30d_pct", "chg_yoy_pct"];
const OF_CONTRACT = [
  ...OF_BOARD,
  "chg_7d_pct",
  "chg_60d_pct",
  "chg_90d_pct",
  "chg_180d_pct",
  "low_52w_usd",
  "high_52w_usd",
  "low_usd",
  "high_usd",
  "capacity_gb",
  "ai_exposure_pct",
  "inputs",
];
const OF_INDEX = ["level", "chg_24h_pct", "chg_30d_pct"];

describe.each(TIER_NAMES)("%s", (tier) => {
  inChromium("the pages say what the API says, and no other figure", async () => {
    const answers = await answersOf(proxy, tier);
    const bodyOf = (path: string) => JSON.parse(answers.get(path) as string);
    const known = new Set([...answers.values()].flatMap(figuresIn));
    const { context, watch } = await watchedContext(browser as Browser);
    /** Opens a page. Its decimals must be known, and `expected` must be there. */
    const look = async (page: Page, path: string, expected: readonly string[]): Promise<void> => {
      await open(page, proxy.url + path);
      const more = page.getByRole("button", { name: /^Show all/ });
      if (await more.isVisible()) await more.click();
      const shown = await shownOn(page);
      expect([path, shown.filter((figure) => figure.includes(".") && !known.has(figure))]).toEqual([
        path,
        [],
      ]);
      const missing = expected.filter((figure) => !shown.includes(figure));
      expect([path, missing]).toEqual([path, []]);
    };
    try {
      const page = await context.newPage();
      if (tier !== "free") await keepKey(page, proxy[tier]);

      // The page says what the lines of indices did, and the figures of people have two decimals.
      const addChange = (text: string | null): void => {
        for (const figure of figuresIn(`${text} ${text?.replace("-", "")}`)) known.add(figure);
      };
      const lines: { id: string; closes: number[] }[] =
        tier === "free"
          ? []
          : (await proxy.get("/api/public/v1/sparklines", { key: proxy[tier] })).json.indices;
      for (const line of lines) {
        const points = pointsOf(line, "2026-11-21");
        for (const range of Object.keys(RANGE_WORDS)) addChange(changeOfCloses(points, range));
      }
      const { memory, semiconductor } = bodyOf("/prices");
      const records: Fields[] = [...memory, ...semiconductor];
      await look(
        page,
        "/",
        records.flatMap((record) => figuresOf(record, OF_BOARD)),
      );

      // With a key, one outside the free slice.
      for (const kind of KINDS) {
        const id = idsOf(kind).at(tier === "free" ? 0 : -1) as string;
        const body = bodyOf(`/prices/${id}`);
        const perGb = body.usd_per_gb === null ? [] : [rounded(String(body.usd_per_gb), 3)];
        for (const figure of perGb) addChange(figure);
        const corrected = body.corrections.flatMap((correction: Fields) =>
          figuresOf(correction, ["old_usd", "new_usd"]),
        );
        await look(page, contractPage(id), [
          ...figuresOf(body, OF_CONTRACT),
          ...(body.age_days > 0 ? [String(body.age_days)] : []),
          ...perGb.flatMap((figure) => figuresIn(figure ?? "")),
          ...corrected,
        ]);
      }
      if (tier !== "free") {
        const all: Fields[] = bodyOf("/indices").indices;
        const composite = bodyOf("/indices/composite");
        const { contributions: parts, series } = composite;
        const year = series.changes?.find(({ range }: Fields) => range === "1y");
        const closes = series.history.map(({ date, close }: { date: string; close: number }) => ({
          date,
          close,
        }));
        for (const range of Object.keys(RANGE_WORDS)) addChange(changeOfCloses(closes, range));
        // A range without a change of the API names its first and its last close.
        for (const { close } of [closes[0], closes.at(-1)]) addChange(rounded(String(close)));
        await look(page, "/indices", [
          ...all.flatMap((index) => figuresOf(index, ["series_close"])),
          ...figuresOf(composite, ["level", "constituents", "carried"]),
          ...(year === undefined
            ? parts.flatMap((part: Fields) =>
                figuresOf(part, ["contribution", "contribution_24h_pct", "spot_usd"]),
              )
            : (year.contributions ?? []).flatMap((part: Fields) => figuresOf(part, ["points"]))),
        ]);
      }
      const { sessions } = (await proxy.get("/status.json")).json;
      await look(
        page,
        "/status",
        sessions.flatMap((row: Fields) => figuresOf(row, ["minutes_late"])),
      );
      expect(watch.complaints).toEqual([]);
    } finally {
      await context.close();
    }
  });
});

inChromium("a basket costs the same on its page as in the API", async () => {
  const { text, json } = await proxy.get(`/api/public/v1/index?${BASKET}`, { key: proxy.pro });
  const known = new Set(figuresIn(text));
  const { context } = await watchedContext(browser as Browser);
  try {
    const page = await context.newPage();
    await keepKey(page, proxy.pro);
    await open(page, `${proxy.url}/basket#${BASKET}`);
    await page.locator("#figures dd").first().waitFor();
    const shown = await page
      .locator("#result [data-value]:not(.share)")
      .evaluateAll((places) => places.map((place) => String(place.getAttribute("data-value"))));
    expect(shown.filter((figure) => figure.includes(".") && !known.has(figure))).toEqual([]);
    const costs = ["cost_usd", "cost_base_usd", "cost_24h_usd", "cost_30d_usd"];
    const expected = [
      ...figuresOf(json, [...OF_INDEX, ...costs]),
      // Its weights are the shares of the cost, with two decimals: they stand there once.
      ...json.contributions.flatMap((part: Fields) =>
        figuresOf(part, ["contribution", "spot_usd", "quantity"]),
      ),
    ];
    expect(expected.filter((figure) => !shown.includes(figure))).toEqual([]);
  } finally {
    await context.close();
  }
});

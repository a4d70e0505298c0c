/** The page of the indices in a browser: its figures are the API's, and a view costs four calls. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from "vitest";
import { dayText } from "../../src/site/axis.js";
import { rounded } from "../../src/site/decimal.js";
import {
  changeOfCloses,
  drawnOf,
  lineOfIndex,
  RANGE_WORDS,
  titleOf,
} from "../../src/site/levels.js";
import { expectInSight, keepKey, open, watchedContext, type Watch } from "./visit.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { eventually, snapshotOf, startTestProxy, type TestProxy } from "../http/fixture.ts";
import {
  type Answer,
  BROKEN,
  decimalOf,
  fieldsOf,
  figuresIn,
  NAMES,
  publishIndexMarket,
  publishNext,
  rowsIn,
  YOUNG,
} from "../http/index-market.ts";

const API = "/api/public/v1";
const LIST_FIELDS = ["series_close"];
/** The ids of the market's indices, as they stand in the table. */
const IDS = ["composite", "-b-dram--b-", "nand", "foundry"];

let proxy: TestProxy;
let browser: Browser | undefined;
beforeAll(async () => {
  proxy = await startTestProxy({ store: await publishIndexMarket() });
  if (hasBrowser) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
});

let context: BrowserContext;
let watch: Watch;
let page: Page;
beforeEach(async () => {
  if (browser === undefined) return;
  ({ context, watch } = await watchedContext(browser));
  page = await context.newPage();
});
afterEach(() => context?.close());

async function visit(key: string | null, fragment = ""): Promise<void> {
  if (key !== null) await keepKey(page, key);
  await open(page, `${proxy.url}/indices${fragment}`);
}

const used = async (key: string): Promise<number> =>
  (await proxy.get(`${API}/usage`, { key })).json.used;
const expectList = (rows: unknown, indices: readonly Answer[]): void =>
  expect(rows).toEqual(indices.map((index) => [index["id"], fieldsOf(index, LIST_FIELDS)]));

interface Point {
  readonly date: string;
  readonly close: number;
}

/** The API's changes of a series; of a service that has none, from close to close. */
const changesOf = (series: {
  history: Point[];
  changes?: Answer[];
}): Record<string, string | null> =>
  Object.fromEntries(
    Object.keys(RANGE_WORDS).map((range) => {
      const closes = series.history.map(({ date, close }) => ({
        date,
        close,
        text: String(close),
      }));
      const told = series.changes?.find((change) => change["range"] === range)?.["change_pct"];
      const change = series.changes === undefined ? changeOfCloses(closes, range) : (told ?? null);
      return [range, change === null ? null : Number(change).toFixed(2)];
    }),
  );

/** The chart's title: the change of the range that is drawn. */
async function expectTitle(
  name: string,
  { series }: { series: { history: Point[]; changes?: Answer[] } },
): Promise<void> {
  const pressed = page.locator("#series [data-range][aria-pressed=true]");
  const range = (await pressed.getAttribute("data-range")) as string;
  const closes = series.history.map(({ date, close }) => ({ date, close, text: String(close) }));
  const { points } = drawnOf(lineOfIndex(closes), range);
  const title = titleOf(name, range, changesOf(series), points, 2);
  expect(await page.textContent(".chart-title")).toBe(title);
}

/** Waits until the figures of the index are shown, and not the ones of the index before it. */
async function indexShown(id: string): Promise<void> {
  await page.locator(`#one[data-id="${id}"]:not([aria-busy="true"]) #one-body`).waitFor();
}

/** Waits until the index is shown, and compares all its figures with the API's. */
async function expectIndex(id: string, key: string): Promise<void> {
  await indexShown(id);
  const { json } = await proxy.get(`${API}/indices/${id}`, { key });
  const { history } = json.series;
  const changes = Object.entries(changesOf(json.series)).map(([range, change]) => [
    `series_${range}_pct`,
    change === null ? "n/a" : decimalOf(change),
  ]);
  expect(await figuresIn(page, "#figures")).toEqual({
    series_close: String(history.at(-1).close),
    ...Object.fromEntries(changes),
    rolling_level: String(json.level),
    ...fieldsOf(json, ["constituents", "carried"]),
  });
  const name = id === "composite" ? "Composite" : await page.textContent("#one-title");
  await expectTitle(name as string, json);
  const parts: readonly { id: string }[] =
    json.series.changes === undefined
      ? json.contributions
      : (json.series.changes.find((change: Answer) => change["range"] === "1y").contributions ??
        []);
  const rows = (await rowsIn(page, "#contributions")).map(([part]) => part);
  expect(parts.filter((part) => !rows.includes(part.id))).toEqual([]);
  const excluded = await page
    .locator("#excluded-list li")
    .evaluateAll((items) => items.map((item) => item.getAttribute("data-id")));
  expect(excluded).toEqual(json.excluded.map((item: { id: string }) => item.id));
  const cursor = page.locator("#series").getByRole("slider");
  await cursor.focus();
  for (const { date, close } of history.toReversed().slice(0, 3)) {
    const day = new Date(date).toLocaleDateString("en-GB", { dateStyle: "long" });
    expect(await cursor.getAttribute("aria-valuetext")).toContain(
      `${day}: ${rounded(String(close))} points`,
    );
    await page.keyboard.press("ArrowLeft");
  }
}

inChromium("without a key the page names the indices, and says who has them", async () => {
  await visit(null);
  const { json } = await proxy.get(`${API}/contracts`);
  const rows = await page.locator("#access tbody tr").allInnerTexts();
  expect(rows.map((text) => text.split("\t"))).toEqual([
    ["Composite, the whole market", String(json.contracts.length)],
    ...json.segments.map(({ name, contracts }: { name: string; contracts: number }) => [
      name,
      String(contracts),
    ]),
  ]);
  expect(await page.innerText("#access")).toMatch(
    /^Included in Starter and Pro\..*90 days with Starter, 5 years with Pro/s,
  );
  expect(await page.isVisible("#market")).toBe(false);
  expect(await page.isVisible(".skeleton")).toBe(false);
  expect(watch.requests.filter(({ url }) => url.includes("/api/"))).toEqual([]);
  expect(watch.complaints).toEqual([]);
});

describe.each(["starter", "pro"] as const)("with a key of %s", (tier) => {
  inChromium(
    "every figure is the API's; a view costs four calls, a further index one",
    async () => {
      const key = proxy[tier];
      const before = await used(key);
      await visit(key);
      expect(await used(key)).toBe(before + 4);
      const { json } = await proxy.get(`${API}/indices`, { key });
      expect(json.indices.map((index: { id: string }) => index.id)).toEqual(IDS);
      expectList(await rowsIn(page, "#all"), json.indices);
      expect(await page.innerText("#all thead")).toContain(json.indices[0].series_date);
      await expectIndex("composite", key);
      const shown = await used(key);
      await page.click("#all tr[data-id=nand] a");
      await indexShown("nand");
      await page.click("#all tr[data-id=composite] a");
      await indexShown("composite");
      expect(await used(key)).toBe(shown + 1);
      await expectIndex("composite", key);
      for (const id of IDS.slice(1)) {
        await page.click(`#all tr[data-id="${id}"] a`);
        await expectIndex(id, key);
      }
      const ranges = await page.locator("#series .ranges button").allInnerTexts();
      expect(ranges.includes("1 y")).toBe(tier === "pro");
      // What may be read as 100 stands in one scale: the other is called a change.
      for (const place of ["#one", "#all"])
        expect(await page.innerText(place)).not.toMatch(/level|= 100\.00/i);
      expect(watch.complaints).toEqual([]);
    },
  );
});

describe("with a key", () => {
  inChromium("a link to an index opens it, and the keyboard alone chooses another", async () => {
    await visit(proxy.pro, "#nand");
    expect(await page.textContent("#one-title")).toBe("NAND");
    expect(await page.innerText("#all [aria-current=true]")).toBe("NAND");
    expect(await page.title()).toBe("NAND · Indices · chipboard");
    await page.focus("#all tr[data-id=nand] a");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await indexShown("foundry");
    expect(await page.evaluate("document.activeElement.id")).toBe("one-title");
    expect(page.url()).toBe(`${proxy.url}/indices#foundry`);
    const range = page.locator("#series [data-range='90d']");
    const before = await page.textContent(".chart-title");
    await range.press("Enter");
    expect(page.url()).toBe(`${proxy.url}/indices?range=90d#foundry`);
    const { json } = await proxy.get(`${API}/indices/foundry`, { key: proxy.pro });
    await expectTitle((await page.textContent("#one-title")) as string, json);
    expect(await page.textContent(".chart-title")).not.toBe(before);
    await page.click("#all tr[data-id=composite] a");
    await indexShown("composite");
    expect(await range.getAttribute("aria-pressed")).toBe("true");
    await page.goBack();
    await indexShown("foundry");
    expect(await range.getAttribute("aria-pressed")).toBe("true");
    await page.goBack();
    await indexShown("nand");
    await page.goForward();
    await indexShown("foundry");
    await page.goBack();
    await indexShown("nand");
    await page.focus(".skip");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${proxy.url}/indices#nand`);
    expect(await page.textContent("#one-title")).toBe("NAND");
    await page.locator("#contributions button", { hasText: "Level" }).press("Enter");
    expect(await page.innerText("#order")).toMatch(/sorted by Level, USD, descending/);
    expect(watch.complaints).toEqual([]);
  });

  inChromium(
    "contracts outside an index are named with the reason, hostile names are text",
    async () => {
      await visit(proxy.pro, "#-b-dram--b-");
      expect(await page.textContent("#one-title")).toBe("<b>DRAM</b>");
      expect(await page.textContent("#contributions tbody bdi")).toBe(NAMES["a-markup"]);
      await page.click("#all tr[data-id=composite] a");
      await indexShown("composite");
      expect(await page.locator("#excluded-list li").allTextContents()).toEqual([
        `${NAMES[YOUNG]}: no level a year before the session`,
        `${NAMES[BROKEN]}: a break since a year before the session`,
      ]);
      expect(await page.locator("#contributions tbody bdi").allTextContents()).toEqual(
        expect.arrayContaining([NAMES["b-turned"], NAMES["c-long"]]),
      );
      expect(await page.evaluate("window.hacked")).toBeUndefined();
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
        await expectInSight(page, "#contributions :is(button, tbody th, td, small)", width);
      }
      expect(watch.complaints).toEqual([]);
    },
  );

  inChromium("an index that did not come is asked for again", async () => {
    await visit(proxy.pro);
    const link = page.locator("#all tr[data-id=nand] a");
    await page.route("**/indices/nand", (route) => route.abort());
    await link.click();
    await page.locator("#one-problem").waitFor();
    expect(await page.innerText("#one-problem")).toBe(
      "Could not load NAND. Could not reach the service. Retry",
    );
    // The drawing stays, and is named.
    expect(await page.locator("#series .charted").isVisible()).toBe(true);
    expect(await page.locator("#all [aria-current]").innerText()).toBe("Composite");
    expect(await page.textContent("#one-title")).toBe("Composite");
    expect(page.url()).toBe(`${proxy.url}/indices#composite`);
    await page.unroute("**/indices/nand");
    await page.getByRole("button", { name: "Retry" }).click();
    await page.locator("#all [aria-current]", { hasText: "NAND" }).waitFor();
    await page.locator("#one[aria-busy=false]").waitFor();
    expect(await page.isVisible("#one-problem")).toBe(false);
    expect(page.url()).toBe(`${proxy.url}/indices#nand`);
    const { json } = await proxy.get(`${API}/indices/nand`, { key: proxy.pro });
    const { close } = json.series.history.at(-1);
    expect((await figuresIn(page, "#figures"))["series_close"]).toBe(String(close));
  });

  inChromium("another text of an address, such as a key, does not stay in it", async () => {
    for (const fragment of [proxy.pro, "zzz", "%3Cimg src=x%3E"]) {
      await visit(proxy.pro, `#${fragment}`);
      expect(page.url()).toBe(`${proxy.url}/indices#composite`);
      expect(await page.textContent("#one-title")).toBe("Composite");
      await page.goto("about:blank");
    }
    expect(watch.requests.filter(({ url }) => /cbk_|zzz/.test(url.split("#")[0] ?? ""))).toEqual(
      [],
    );
  });

  inChromium("of many contributions the largest 20 are shown, and all by a button", async () => {
    const { json } = await proxy.get(`${API}/indices/composite`, { key: proxy.pro });
    const many = Array.from({ length: 1_200 }, (_, at) => ({
      id: `c-${at}`,
      points: (at - 400) / 100,
    }));
    const changes = json.series.changes.map((change: Answer) => ({
      ...change,
      contributions: change["range"] === "1y" ? many : [],
    }));
    await page.route("**/indices/composite", (route) =>
      route.fulfill({ json: { ...json, series: { ...json.series, changes } } }),
    );
    await visit(proxy.pro);
    const ids = async (): Promise<string[]> =>
      (await rowsIn(page, "#contributions")).map(([id]) => id);
    expect(await ids()).toEqual(Array.from({ length: 20 }, (_, at) => `c-${1_199 - at}`));
    expect(await page.innerText("#order")).toBe("The 20 largest of 1,200 contributions");
    const button = page.locator("#more");
    expect(await button.innerText()).toBe("Show all 1,200");
    await button.press("Enter");
    expect(await page.locator("#contributions tbody tr").count()).toBe(1_200);
    expect(await page.innerText("#order")).toBe("");
    expect(await page.evaluate("document.activeElement.id")).toBe("more");
    await page.keyboard.press("Space");
    expect((await ids()).length).toBe(20);
    await page.locator("#contributions button", { hasText: "24 h" }).press("Enter");
    expect(await page.innerText("#order")).toMatch(/^The 20 largest of .*, sorted by 24 h, points/);
  });

  inChromium("as known at a moment, all figures are of the publication of then", async () => {
    const store = await publishIndexMarket();
    const own = await startTestProxy({ store });
    const [first] = (await own.get(`${API}/publications`)).json.publications;
    const newest = await publishNext(store);
    await eventually(async () => (await snapshotOf(own)) === newest);
    await keepKey(page, own.pro);
    await open(page, `${own.url}/indices?as_of=${first.at}#nand`);
    expect(await page.innerText("#as-known")).toContain("(publication 1)");
    const old = await own.get(`${API}/indices?publication=1`, { key: own.pro });
    expectList(await rowsIn(page, "#all"), old.json.indices);
    await page.click("text=Show the newest");
    await page.locator("#as-known:empty").waitFor({ state: "attached" });
    await page.locator("#session .session").waitFor();
    const now = await own.get(`${API}/indices`, { key: own.pro });
    expect(now.json.indices).not.toEqual(old.json.indices);
    expectList(await rowsIn(page, "#all"), now.json.indices);
    expect(page.url()).toBe(`${own.url}/indices#nand`);
    await own.close();
  });

  inChromium(
    "before the first publication the page says when that was, and leads back",
    async () => {
      const [first] = (await proxy.get(`${API}/publications?after=0&limit=1`)).json.publications;
      const day = first.at.slice(0, 10);
      const words = `Nothing was published before ${dayText(day)}.`;
      await keepKey(page, proxy.pro);
      await open(page, `${proxy.url}/indices?as_of=2001-01-01`);
      expect(await page.innerText("#trouble")).toBe(`Nothing was known then. ${words}`);
      await page.getByRole("button", { name: "Show the newest" }).click();
      await page.locator("#series .charted").waitFor();
      expect(await page.isVisible("#trouble")).toBe(false);
      const field = page.getByLabel("As known on");
      expect([await field.inputValue(), await field.getAttribute("min")]).toEqual(["", day]);
      // Such a day is not asked for: the page stays.
      await field.fill("2001-01-01");
      expect(await page.innerText("#as-known")).toBe(words);
      expect(await page.locator("#series .charted").isVisible()).toBe(true);
      expect(page.url()).not.toContain("as_of");
      await page.getByRole("button", { name: "Show the newest" }).click();
      await page.locator("#as-known:empty").waitFor({ state: "attached" });
      expect(await field.inputValue()).toBe("");
    },
  );

  inChromium("an index of a newer session than the table's says so", async () => {
    const store = await publishIndexMarket();
    const own = await startTestProxy({ store });
    await keepKey(page, own.pro);
    await open(page, `${own.url}/indices#nand`);
    expect(await page.isVisible("#one-problem")).toBe(false);
    const newest = await publishNext(store);
    await eventually(async () => (await snapshotOf(own)) === newest);
    await page.click("#all tr[data-id=foundry] a");
    await page.locator("#one-problem").waitFor();
    expect(await page.innerText("#one-problem")).toMatch(/^A newer session came meanwhile/);
    await own.close();
  });
});

/** The page of the indices in a browser: its figures are the API's, and a view costs three calls. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from "vitest";
import examples from "../../src/proxy/docs/examples.json" with { type: "json" };
import { keepKey, open, watchedContext, type Watch } from "../pages/visit.ts";
import { hasBrowser, inChromium, launchBrowser } from "./browser.ts";
import { eventually, snapshotOf, startTestProxy, type TestProxy } from "./fixture.ts";
import {
  type Answer,
  BROKEN,
  CONTRIBUTION_FIELDS,
  fieldsOf,
  figuresIn,
  INDEX_FIELDS,
  NAMES,
  publishIndexMarket,
  publishNext,
  rowsIn,
  YOUNG,
} from "./index-market.ts";

const API = "/api/public/v1";
const LIST_FIELDS = ["level", "chg_24h_pct", "chg_30d_pct", "constituents", "series_close"];
/** The ids of the market's indices, as they stand in the table. */
const IDS = ["composite", "-b-dram--b-", "nand", "foundry"];

let proxy: TestProxy;
let browser: Browser | undefined;
beforeAll(async () => {
  proxy = await startTestProxy({ store: await publishIndexMarket() });
  if (hasBrowser) browser = await launchBrowser();
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
const readout = (): Promise<string> => page.innerText("#readout");

/** Waits until the index is shown, and compares all its figures with the API's. */
async function expectIndex(id: string, key: string): Promise<void> {
  await page.locator(`#one[data-id="${id}"] #one-body`).waitFor();
  const { json } = await proxy.get(`${API}/indices/${id}`, { key });
  expect(await figuresIn(page, "#figures")).toEqual(fieldsOf(json, INDEX_FIELDS));
  const largestFirst = json.contributions.toSorted(
    (a: { contribution: number }, b: { contribution: number }) => b.contribution - a.contribution,
  );
  expect(await rowsIn(page, "#contributions")).toEqual(
    largestFirst.map((item: Answer) => [item["id"], fieldsOf(item, CONTRIBUTION_FIELDS)]),
  );
  const excluded = await page
    .locator("#excluded-list li")
    .evaluateAll((items) => items.map((item) => item.getAttribute("data-id")));
  expect(excluded).toEqual(json.excluded.map((item: { id: string }) => item.id));
  // The cursor goes through every close that the range shows.
  const { history } = json.series;
  const cursor = page.locator("#series [role=slider]");
  const count = Number(await cursor.getAttribute("aria-valuemax"));
  await cursor.focus();
  for (const at of [count, count - 1, count - 2]) {
    const { date, close } = history[history.length - 1 - (count - at)];
    expect(await readout()).toBe(`${date} ${close.toFixed(4)} points`);
    await page.keyboard.press("ArrowLeft");
  }
  await page.keyboard.press("Home");
  expect(await readout()).toContain(history[history.length - count].date);
}

inChromium("without a key an example shows what comes, with the guide's figures", async () => {
  await visit(null);
  const answer = examples.find(({ request }) => request === `GET ${API}/indices`);
  expectList(await rowsIn(page, "#example"), JSON.parse(answer?.body ?? "").indices);
  expect(await page.innerText("#example")).toContain("made up");
  expect(await page.innerText("#access")).toMatch(
    /tier starter or pro.*90 days with starter, 5 years/s,
  );
  expect(await page.isVisible("#market")).toBe(false);
  expect(watch.requests.filter(({ url }) => url.includes("/api/"))).toEqual([]);
  expect(watch.complaints).toEqual([]);
});

describe.each(["starter", "pro"] as const)("with a key of %s", (tier) => {
  inChromium(
    "every figure is the API's; a view costs three calls, a further index one",
    async () => {
      const key = proxy[tier];
      const before = await used(key);
      await visit(key);
      expect(await used(key)).toBe(before + 3);
      const { json } = await proxy.get(`${API}/indices`, { key });
      expect(json.indices.map((index: { id: string }) => index.id)).toEqual(IDS);
      expectList(await rowsIn(page, "#all"), json.indices);
      expect(await page.innerText("#all thead")).toContain(json.indices[0].series_date);
      await expectIndex("composite", key);
      const shown = await used(key);
      await page.click("#all tr[data-id=nand] a");
      await page.locator("#one[data-id=nand] #one-body").waitFor();
      await page.click("#all tr[data-id=composite] a");
      await page.locator("#one[data-id=composite] #one-body").waitFor();
      expect(await used(key)).toBe(shown + 1);
      await expectIndex("composite", key);
      for (const id of IDS.slice(1)) {
        await page.click(`#all tr[data-id="${id}"] a`);
        await expectIndex(id, key);
      }
      const ranges = await page.locator("#ranges button").allInnerTexts();
      expect(ranges).toEqual(tier === "pro" ? ["90 d", "1 y", "5 y"] : ["90 d"]);
      expect(watch.complaints).toEqual([]);
    },
  );
});

describe("with a key", () => {
  inChromium("a link to an index opens it, and the keyboard alone chooses another", async () => {
    await visit(proxy.pro, "#nand");
    expect(await page.innerText("#one-title")).toBe("NAND");
    expect(await page.innerText("#all [aria-current=true]")).toBe("NAND");
    expect(await page.title()).toBe("NAND · Indices · chipboard");
    await page.focus("#all tr[data-id=nand] a");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator("#one[data-id=foundry] #one-body").waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("one-title");
    expect(page.url()).toBe(`${proxy.url}/indices#foundry`);
    await page.locator("#ranges button", { hasText: "90 d" }).press("Enter");
    const cursor = page.locator("#series [role=slider]");
    // The session is a 00:00 one, and closes are of 12:00: the last day has none yet.
    expect(await cursor.getAttribute("aria-valuemax")).toBe("89");
    await page.goBack();
    await page.locator("#one[data-id=nand] #one-body").waitFor();
    expect(await cursor.getAttribute("aria-valuemax")).toBe("89");
    await page.focus(".skip");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${proxy.url}/indices#nand`);
    expect(await page.innerText("#one-title")).toBe("NAND");
    await page.locator("#contributions button", { hasText: "Weight" }).press("Enter");
    expect(await page.innerText("#order")).toMatch(/sorted by Weight, %, descending/);
    expect(watch.complaints).toEqual([]);
  });

  inChromium(
    "what is not in an index is named with its reason, hostile names are text",
    async () => {
      await visit(proxy.pro, "#-b-dram--b-");
      expect(await page.textContent("#one-title")).toBe("<b>DRAM</b>");
      expect(await page.textContent("#contributions tbody bdi")).toBe(NAMES["a-markup"]);
      await page.click("#all tr[data-id=composite] a");
      await page.locator("#one[data-id=composite] #one-body").waitFor();
      expect(await page.locator("#excluded-list li").allTextContents()).toEqual([
        `${NAMES[YOUNG]}: no level a year before the session`,
        `${NAMES[BROKEN]}: a break since a year before the session`,
      ]);
      const carried = page.locator("#contributions tr[data-id=e-carried] .tag");
      expect(await carried.innerText()).toBe("carried");
      expect(await page.locator("#contributions tbody bdi").allTextContents()).toEqual(
        expect.arrayContaining([NAMES["b-turned"], NAMES["c-long"]]),
      );
      expect(await page.evaluate("window.hacked")).toBeUndefined();
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
      }
      expect(watch.complaints).toEqual([]);
    },
  );

  inChromium("an index that did not come is asked for again by the same link", async () => {
    await visit(proxy.pro);
    const link = page.locator("#all tr[data-id=nand] a");
    await page.route("**/indices/nand", (route) => route.abort());
    await link.click();
    await page.locator("#one-problem").waitFor();
    expect(await page.innerText("#one-problem")).toBe("The service did not answer.");
    await page.unroute("**/indices/nand");
    await link.click();
    await page.locator("#one-body").waitFor();
    expect(await page.isVisible("#one-problem")).toBe(false);
    const { json } = await proxy.get(`${API}/indices/nand`, { key: proxy.pro });
    expect(await page.innerText("#figures")).toContain(String(json.level));
  });

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

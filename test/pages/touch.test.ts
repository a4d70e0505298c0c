/** Tasks on a telephone with taps alone; text comes from its keyboard. */
import { text } from "node:stream/consumers";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { marketClock, publishMarket } from "./page-market.ts";
import { expectInSight, keepKey, open, watchedContext, type Watch } from "./visit.ts";

let proxy: TestProxy;
let browser: Browser | undefined;
let context: BrowserContext;
let watch: Watch;
/** The front page with a Pro key. */
let page: Page;
beforeAll(async () => {
  proxy = await startTestProxy({ store: await publishMarket(), clock: marketClock() });
  if (hasBrowser) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
});
beforeEach(async () => {
  if (browser === undefined) return;
  ({ context, watch } = await watchedContext(browser, {
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  }));
  page = await context.newPage();
  await keepKey(page, proxy.pro);
  await open(page, proxy.url);
});
afterEach(async () => {
  if (browser === undefined) return;
  expect(watch.complaints).toEqual([]);
  await context.close();
});

const tap = (selector: string): Promise<void> => page.locator(selector).first().tap();

/** Opens a page by the menu. */
async function goTo(name: string): Promise<void> {
  await tap("#menu");
  await page.locator(".masthead nav").getByRole("link", { name, exact: true }).tap();
  await page.waitForURL(`${proxy.url}/${name.toLowerCase()}`);
}

/** Types into a field with a list, and taps the first choice. */
async function pick(field: string, words: string): Promise<void> {
  await tap(field);
  await page.keyboard.type(words);
  await page.locator("[role=option]").first().tap();
}

inChromium("a contract is found, its history read, and saved as CSV", async () => {
  await pick("#search", "no. 20, as");
  await page.waitForURL("**/contracts/keyed-plain-20");
  await tap("[data-range='30d']");
  await page.locator("[data-range='30d'][aria-pressed=true]").waitFor();
  await tap(".cursor");
  expect(await page.locator(".tip").isVisible()).toBe(true);
  expect(await page.innerText(".tip")).toMatch(/2026\n\d[\d,.]+ USD per piece/);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "CSV", exact: true }).tap(),
  ]);
  expect(download.suggestedFilename()).toMatch(/keyed-plain-20-30d\.csv$/);
  const [head, ...rows] = (await text(await download.createReadStream())).trim().split("\r\n");
  expect(head).toMatch(/^instant_utc,keyed-plain-20,/);
  expect([rows[0]?.slice(0, 10), rows.at(-1)?.slice(0, 10)]).toEqual(["2026-10-22", "2026-11-21"]);
});

inChromium("two contracts are compared for a gigabyte", async () => {
  await goTo("Compare");
  await pick("#add", "no. 20, as");
  await page.locator(".chart path.line-0").waitFor();
  await pick("#add", "no. 25, as");
  await page.locator(".chart path.line-1").waitFor();
  await tap("[data-scale=gb]");
  await page.locator("[data-scale=gb][aria-pressed=true]").waitFor();
  expect(await page.innerText(".chart-unit")).toBe("USD per GB");
  await tap("#lines button");
  await expect.poll(() => page.locator("#lines tbody tr").count()).toBe(1);
});

inChromium("the list of indices has all its columns beside each other", async () => {
  await goTo("Indices");
  await page.locator("#all td").first().waitFor();
  await expectInSight(page, "#all :is(th, td)", 390);
  const heads = await page.locator("#all thead th").allInnerTexts();
  expect(heads.slice(2).map((head) => head.replaceAll(/\s/g, " "))).toEqual(["24 h %", "30 d %"]);
  const tops = (selector: string) =>
    page.locator(selector).evaluateAll((all) => all.map((e) => e.getBoundingClientRect().top));
  expect(await tops("#all tbody td:last-child")).toEqual(await tops("#all tbody th"));
});

inChromium("a basket is priced", async () => {
  await goTo("Basket");
  await pick("#find", "no. 20, as");
  await page.locator("#parts input").tap();
  await page.locator("#parts input").selectText();
  await page.keyboard.type("64");
  await page.getByRole("button", { name: "Price this basket" }).tap();
  await page.locator("#costs .chart").waitFor();
  expect(await page.innerText("#contributions tbody")).toContain("64");
});

inChromium("a correction is found, and the old figure has its proof", async () => {
  await goTo("Status");
  await page.getByRole("link", { name: "Corrections of published levels" }).tap();
  await page.locator("#table").getByRole("link", { name: "proof" }).first().tap();
  await page.locator("#proof pre", { hasText: "?publication=" }).waitFor();
  await page.locator("#proof").getByRole("button", { name: "Copy" }).tap();
  await page.locator("#proof output", { hasText: /Copied|Selected/ }).waitFor();
});

inChromium("the plan of the key is named", async () => {
  await goTo("Plans");
  await page.getByText("Your plan").first().waitFor();
});

/** The settled months on the pages of a contract and of the indices, which are asked for when they are opened. */
import { parse } from "csv-parse/sync";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { idsOf, marketClock, publishMarket } from "./page-market.ts";
import { contractPage, keepKey, open, watchedContext } from "./visit.ts";

const API = "/api/public/v1";
const [FREE_PLAIN] = idsOf("corrected") as [string];

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

/** The rows of `/settlements.csv`, the newest first. */
async function monthsOf(key: string, id: string, kind: string) {
  const { text } = await proxy.get(`${API}/settlements.csv?ids=${id}`, { key });
  const rows = parse(text, { columns: true }) as Readonly<Record<string, string>>[];
  return rows.filter((row) => row["kind"] === kind).toReversed();
}

inChromium("a contract's and an index's settled months, for one call each", async () => {
  const cases = [
    ["pro", contractPage(FREE_PLAIN), FREE_PLAIN, "contract"],
    ["starter", contractPage(FREE_PLAIN), FREE_PLAIN, "contract"],
    ["pro", "/indices", "composite", "index"],
    ["starter", "/indices", "composite", "index"],
  ] as const;
  for (const [tier, path, id, kind] of cases) {
    const { context, watch } = await watchedContext(browser as Browser, {});
    const page = await context.newPage();
    await keepKey(page, proxy[tier]);
    await open(page, proxy.url + path);
    await page.locator("#settlements").waitFor();
    const calls = () => watch.requests.filter(({ url }) => url.includes("/settlements.csv"));
    expect(calls()).toEqual([]);
    await page.locator("#settlements summary").click();
    await page.locator("#settled").waitFor();
    const rows = await page.locator("#settled tbody tr").allInnerTexts();
    const expected = await monthsOf(proxy[tier], id, kind);
    expect(rows.length).toBe(tier === "pro" ? expected.length : Math.min(expected.length, 3));
    const names = ["month", "average", "last", "high", "low", "days", "average_now", "settled_by"];
    expect(rows.map((row) => row.replaceAll(",", "").split("\t").map(asFigure))).toEqual(
      expected.map((row) => names.map((name) => asFigure(row[name] || row["reason"] || ""))),
    );
    // Closed and opened again, it asks no more.
    await page.locator("#settlements summary").click();
    await page.locator("#settlements summary").click();
    expect(calls()).toHaveLength(1);
    expect(watch.complaints).toEqual([]);
    await context.close();
  }
});

/** Pages show at least two decimals. */
const asFigure = (text: string): string => (/^\d+\.\d+$/.test(text) ? String(Number(text)) : text);

inChromium("without a key there are none", async () => {
  const { context } = await watchedContext(browser as Browser, {});
  const page = await context.newPage();
  await open(page, proxy.url + contractPage(FREE_PLAIN));
  expect(await page.locator("#settlements").isVisible()).toBe(false);
  await context.close();
});

/** The page of corrections: publications and reasons for everybody, levels for those who may read them. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { idsOf, marketClock, publishMarket } from "./page-market.ts";
import { expectInSight, keepKey, open, watchedContext } from "./visit.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";

const REASON = "The source corrected its report";

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

test("without a key: when, how many and why, but no contract and no level", async () => {
  const { status, text } = await proxy.get("/corrections");
  expect(status).toBe(200);
  expect(text).toMatch(/<tr id="publication-3">.*<td class="n"[^>]*>2<\/td>/s);
  expect(text).toContain(REASON);
  for (const id of idsOf("corrected")) expect(text).not.toContain(id);
  expect((await proxy.get("/status")).text).toContain(
    '<a href="corrections#publication-3">2 levels</a>',
  );
});

test("before the first publication it says that there are none", async () => {
  const empty = await startTestProxy({ store: new MemoryStore() });
  expect((await empty.get("/corrections")).text).toContain("No published level was changed.");
  await empty.close();
});

inChromium("with a key each level is the API's, for one call", async () => {
  const { context, watch } = await watchedContext(browser as Browser);
  try {
    const page = await context.newPage();
    const { json } = await proxy.get("/api/public/v1/corrections", { key: proxy.pro });
    const { used } = (await proxy.get("/api/public/v1/usage", { key: proxy.pro })).json;
    await keepKey(page, proxy.pro);
    await open(page, `${proxy.url}/corrections`);
    const rows = await page
      .locator("#table tbody tr")
      .evaluateAll((all) =>
        all.map((row) => [...row.children].map((cell) => cell.textContent ?? "")),
      );
    expect(rows.map((cells) => cells.slice(2, 4).map(numberIn))).toEqual(
      json.corrections
        .toReversed()
        .map(({ old_usd, new_usd }: { old_usd: number; new_usd: number }) => [old_usd, new_usd]),
    );
    expect(rows.map((cells) => cells[5])).toEqual([REASON, REASON]);
    await page.setViewportSize({ width: 390, height: 844 });
    await expectInSight(page, "#table tbody :is(th, td, a)", 390);
    const [first] = json.corrections.toReversed();
    expect(await page.locator("#table a").first().getAttribute("href")).toBe(
      `contracts/${first.contract_id}`,
    );
    const before = await page.locator("#publication-3 a").last().getAttribute("href");
    const asOf = new URL(before ?? "", proxy.url).searchParams.get("as_of");
    const then = await proxy.get(`/api/public/v1/prices/${first.contract_id}?as_of=${asOf}`, {
      key: proxy.pro,
    });
    expect(then.json.corrections).toEqual([]);
    expect(await page.locator("#publications").count()).toBe(0);
    const now = (await proxy.get("/api/public/v1/usage", { key: proxy.pro })).json.used;
    // One for the page, one for the record as it was.
    expect(now).toBe(used + 2);
    await page.locator("#publication-3").getByRole("link", { name: "proof" }).click();
    await page.locator("#proof pre", { hasText: "publication=2" }).waitFor();
    expect(await page.innerText("#as-known")).toContain("(publication 2)");
    expect(watch.complaints).toEqual([]);
  } finally {
    await context.close();
  }
});

inChromium("where the service cannot be reached, the list of everybody stays", async () => {
  const { context } = await watchedContext(browser as Browser);
  try {
    const page = await context.newPage();
    await keepKey(page, proxy.pro);
    await page.route("**/v1/corrections?*", (route) => route.abort());
    await open(page, `${proxy.url}/corrections`);
    expect(await page.innerText("#trouble")).toBe("Could not reach the service. Retry");
    expect(await page.isVisible("#publication-3")).toBe(true);
    expect(await page.isVisible("#access")).toBe(false);
    await page.unroute("**/v1/corrections?*");
    await page.getByRole("button", { name: "Retry" }).click();
    await page.locator("#table tbody tr").first().waitFor();
    expect(await page.isVisible("#trouble")).toBe(false);
  } finally {
    await context.close();
  }
});

const numberIn = (text: string): number => Number(text.replaceAll(",", ""));

/** The search in the masthead of every page: all contracts and indices, for everybody. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { startPrefixFront, type PrefixFront } from "../http/prefix-front.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { formerId, idsOf, LISTED, marketClock, publishMarket } from "./page-market.ts";
import { contractPage, keepKey, open, watchedContext } from "./visit.ts";

let proxy: TestProxy;
let front: PrefixFront;
let browser: Browser | undefined;
beforeAll(async () => {
  front = await startPrefixFront("/a/market");
  const store = await publishMarket();
  proxy = await startTestProxy({ store, clock: marketClock(), publicUrl: front.root });
  front.target = proxy.url;
  if (hasBrowser) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  front.close();
  await proxy.close();
});

const LIST = "**/api/public/v1/contracts";
const options = (page: Page) => page.locator("#search-found [role=option]");
const field = (page: Page) =>
  page.getByRole("combobox", { name: "Search contracts, pages and endpoints" });

/** Asks for a contract outside the free slice from this page, and follows the first answer. */
async function searchFrom(path: string, width: number, key: string | null): Promise<void> {
  const { context, watch } = await watchedContext(browser as Browser, {
    viewport: { width, height: 844 },
  });
  try {
    const page = await context.newPage();
    if (key !== null) await keepKey(page, key);
    await open(page, front.root + path);
    const asked = () => watch.requests.filter(({ url }) => url.endsWith("/contracts"));
    expect(asked()).toEqual([]);
    await page.keyboard.press("/");
    await page.keyboard.type("WITHHELD plain 100");
    await options(page).first().waitFor();
    expect(asked()).toEqual([expect.objectContaining({ key: null })]);
    const [wanted] = LISTED.filter(({ name }) => name.startsWith("Withheld plain part no. 100,"));
    expect(await options(page).locator("> bdi").allTextContents()).toEqual([wanted?.name]);
    const box = await options(page).first().boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
    await page.keyboard.press("Enter");
    await page.waitForURL(front.root + contractPage(wanted?.id ?? ""));
    expect(watch.complaints).toEqual([]);
  } finally {
    await context.close();
  }
}

inChromium("it finds contracts that need a key, below a prefix", () =>
  searchFrom("/plans", 1280, null),
);
inChromium("it works on a telephone, from a page one folder deep", () =>
  searchFrom(contractPage(idsOf("corrected")[0] ?? ""), 390, null),
);
inChromium("with a key it costs no call", async () => {
  const used = async (): Promise<number> =>
    (await proxy.get("/api/public/v1/usage", { key: proxy.starter })).json.used;
  const before = await used();
  await searchFrom("/guide", 1280, proxy.starter);
  // Calls of the page that it leads to: record, history, segment.
  expect((await used()) - before).toBeLessThanOrEqual(3);
});

inChromium("it finds indices and former ids, and says when nothing matches", async () => {
  const { context } = await watchedContext(browser as Browser);
  try {
    const page = await context.newPage();
    await open(page, `${front.root}/`);
    await field(page).fill("sealed interp");
    expect(await options(page).first().innerText()).toBe("Sealed interposers index");
    await options(page).first().click();
    await page.waitForURL(`${front.root}/indices#sealed-interposers`);
    const [, renamed = ""] = idsOf("renamed");
    await field(page).fill(formerId(renamed));
    await expect.poll(() => options(page).count()).toBe(1);
    await field(page).fill("<b>none</b>");
    expect(await options(page).count()).toBe(0);
    await page.getByText("Nothing matches.").waitFor();
  } finally {
    await context.close();
  }
});

inChromium(
  "it finds near misses, pages, endpoints, errors and words of the documents, also on 404",
  async () => {
    const { context } = await watchedContext(browser as Browser);
    try {
      const page = await context.newPage();
      await open(page, `${front.root}/contracts/with-held`);
      await page.locator(".further summary").click();
      await page.getByRole("link", { name: "Alerts" }).first().waitFor();
      await field(page).focus();
      expect(await page.locator(".further").getAttribute("open")).toBeNull();
      const first = async (wanted: string): Promise<string> => {
        await field(page).fill(wanted);
        await options(page).first().waitFor();
        return options(page).first().innerText();
      };
      // A sign within a word, a letter less, another one, one more.
      for (const wrong of ["with-held", "witheld", "wizhheld", "withhelld"]) {
        const near = `${wrong} plain 100`;
        expect([near, await first(near)]).toEqual([
          near,
          expect.stringMatching(/^Withheld plain part no\. 100,/),
        ]);
      }
      for (const [wanted, found] of [
        ["alerts", "Alerts page"],
        ["/history.csv", "/history.csv endpoint"],
        ["quota_exceeded", "Monthly quota exceeded error"],
        ["pandas", "pandas Guide"],
        ["duckdb", "DuckDB Guide"],
        ["settlement", "Settlements Methodology"],
      ] as const) {
        await first(wanted);
        expect([wanted, await options(page).allInnerTexts()]).toEqual([
          wanted,
          expect.arrayContaining([found]),
        ]);
      }
      await field(page).fill("/settlements.csv");
      await options(page).first().click();
      await page.waitForURL(`${front.root}/docs#exportSettlementsCsv`);
    } finally {
      await context.close();
    }
  },
);

inChromium(
  "a slash in a field is a slash; a list that did not come is asked for again",
  async () => {
    const { context } = await watchedContext(browser as Browser);
    try {
      const page = await context.newPage();
      await page.route(LIST, (route) => route.abort());
      await open(page, `${front.root}/`);
      await page.getByLabel("Find", { exact: true }).fill("");
      await page.getByLabel("Find", { exact: true }).press("/");
      expect(await page.getByLabel("Find", { exact: true }).inputValue()).toBe("/");
      const failed = page.waitForEvent("requestfailed");
      await field(page).focus();
      await failed;
      await page.unroute(LIST);
      await page.getByLabel("Find", { exact: true }).focus();
      await field(page).fill("composite");
      await options(page).first().waitFor();
      expect(await options(page).first().innerText()).toBe("Composite index");
    } finally {
      await context.close();
    }
  },
);

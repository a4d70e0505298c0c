/** Pages while a key is in use and the service is slow or away: no lock, no example, and nothing moves. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { sessionsMs, startTestProxy, type TestProxy } from "../http/fixture.ts";
import { idsOf, marketClock, publishMarket } from "./page-market.ts";
import { contractPage, keepKey, open, settled, watchedContext } from "./visit.ts";

const PLACES = ["/indices", "/basket", "/corrections"];
const [FREE] = idsOf("plain") as [string];
const LOCKED = "keyed-plain-20";
/** Pages on which a key brings more than everybody sees, or something else in the same place. */
const ENRICHED = ["/", contractPage(FREE), contractPage(LOCKED), `/compare#ids=${FREE},${LOCKED}`];

let proxy: TestProxy;
let browser: Browser | undefined;
beforeAll(async () => {
  const clock = marketClock();
  // Nothing is late.
  clock.ms -= sessionsMs(1);
  proxy = await startTestProxy({ store: await publishMarket(), clock });
  if (hasBrowser) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
});

const isVisible = (page: Page, selectors: readonly string[]): Promise<boolean[]> =>
  Promise.all(selectors.map((selector) => page.locator(selector).first().isVisible()));

/** What only those without a key are told, on the page as a reader sees it. */
const OF_THE_FREE = /Last 24 hours|needs a key|, free\.|hours delayed|Loading|Unlock|Compare plans/;

for (const path of [...PLACES, ...ENRICHED]) {
  for (const width of [390, 1280]) {
    inChromium(`${path} at ${width} px keeps places for the awaited parts`, async () => {
      const { context } = await watchedContext(browser as Browser, {
        viewport: { width, height: 900 },
      });
      try {
        const page = await context.newPage();
        let release = (): void => {};
        const waiting = new Promise<void>((resolve) => (release = resolve));
        await page.route("**/api/**", async (route) => {
          await waiting;
          await route.continue();
        });
        await page.addInitScript(`globalThis.shift = 0; new PerformanceObserver((list) => {
          for (const { value } of list.getEntries()) shift += value;
        }).observe({ type: "layout-shift", buffered: true })`);
        await keepKey(page, proxy.pro);
        await page.goto(proxy.url + path);
        expect(await isVisible(page, [".skeleton", "#access", "#example"])).toEqual([
          true,
          false,
          false,
        ]);
        expect(await page.innerText("main")).not.toMatch(OF_THE_FREE);
        release();
        await settled(page);
        expect(
          await page.locator(":is(.brought, .charted)").filter({ visible: true }).count(),
        ).toBeGreaterThan(0);
        expect(
          await page.locator(":is(.skeleton, .awaits)").filter({ visible: true }).count(),
        ).toBe(0);
        await page.evaluate(
          "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
        );
        expect(await page.evaluate<number>("shift")).toBeLessThan(0.01);
      } finally {
        await context.close();
      }
    });
  }
}

inChromium(
  "while the service is away, / has the free board, and claims nothing of the key",
  async () => {
    const { context } = await watchedContext(browser as Browser);
    try {
      const page = await context.newPage();
      await keepKey(page, proxy.pro);
      await page.route("**/api/**", (route) => route.abort());
      await open(page, proxy.url);
      expect(await page.locator("#board tbody tr").count()).toBeGreaterThan(0);
      expect(await page.innerText("#shown")).toMatch(/^\d+ of \d+ contracts\.$/);
      const everybody = page.getByText("This is the page without a key.");
      expect(await everybody.isVisible()).toBe(true);
      await page.unroute("**/api/**");
      await page.getByRole("button", { name: "Retry" }).click();
      await page.locator(".charted").waitFor();
      expect(await everybody.isVisible()).toBe(false);
    } finally {
      await context.close();
    }
  },
);

for (const path of PLACES) {
  inChromium(`${path} says that the service is away, and asks again in place`, async () => {
    const { context } = await watchedContext(browser as Browser);
    try {
      const page = await context.newPage();
      await keepKey(page, proxy.pro);
      await page.route("**/api/**", (route) => route.abort());
      await open(page, proxy.url + path);
      expect(await page.innerText("#trouble")).toBe("Could not reach the service. Retry");
      expect(await isVisible(page, [".skeleton", "#access", "#example"])).toEqual([
        false,
        false,
        false,
      ]);
      await page.unroute("**/api/**");
      // What a page asks for after the key is told as well.
      await page.route("**/v1/{prices,corrections*}", (route) => route.fulfill({ status: 502 }));
      await page.getByRole("button", { name: "Retry" }).click();
      await page.locator("#key[aria-busy=false]").waitFor();
      expect(await page.innerText("#trouble")).toBe("Could not reach the service. Retry");
      await page.unroute("**/v1/{prices,corrections*}");
      await page.getByRole("button", { name: "Retry" }).click();
      await page.locator(".brought:not([hidden])").waitFor();
      expect(await page.isVisible("#trouble")).toBe(false);
    } finally {
      await context.close();
    }
  });
}

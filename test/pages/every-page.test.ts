/**
 * Every page for every tier, with and without script: nothing on the console, no other host, no
 * sideways scroll on phones and on wide screens, and nothing that axe finds, light and dark.
 */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { TIER_NAMES } from "../../src/market/tier.ts";
import { axeScript, hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { marketClock, publishMarket } from "./page-market.ts";
import { keepKey, open, PAGES, watchedContext, type Watch } from "./visit.ts";

const WIDE = { width: 1280, height: 900 };
const WIDTHS = [2560, 1920, 1280, 390, 360];

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

/** One tab for all pages of a tier. */
function tab(options: { readonly tier: (typeof TIER_NAMES)[number]; readonly script: boolean }) {
  let context: BrowserContext;
  let watch: Watch;
  let page: Page;
  beforeAll(async () => {
    if (browser === undefined) return;
    const { tier, script } = options;
    ({ context, watch } = await watchedContext(browser, { javaScriptEnabled: script }));
    page = await context.newPage();
    if (tier !== "free") await keepKey(page, proxy[tier]);
  });
  afterAll(() => context?.close());
  return {
    /** Opens a page and looks at it; it must not complain, nor ask another host. */
    async look(path: string, at: (page: Page) => Promise<void>): Promise<void> {
      watch.complaints.length = watch.requests.length = 0;
      await page.setViewportSize(WIDE);
      if (options.script) await open(page, proxy.url + path);
      else await page.goto(proxy.url + path);
      await at(page);
      expect(watch.complaints).toEqual([]);
      const origins = new Set(watch.requests.map(({ url }) => new URL(url).origin));
      expect([...origins]).toEqual([proxy.url]);
    },
  };
}

/** What sticks out at any width. */
async function expectFit(page: Page): Promise<void> {
  const tooWide: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    const needed = await page.evaluate<number>("document.documentElement.scrollWidth");
    if (needed > width) tooWide.push(`${needed} px at ${width} px`);
  }
  expect(tooWide).toEqual([]);
}

/** What the width and the colours of a page decide; axe calls them rules. */
const LOOKS = [
  "color-contrast",
  "link-in-text-block",
  "scrollable-region-focusable",
  "target-size",
];

/**
 * What axe finds by the rules, by all if none are named, with the first element of each kind.
 */
async function expectAccessible(page: Page, rules: readonly string[] = []): Promise<void> {
  const runOnly = rules.length === 0 ? "" : `runOnly: ${JSON.stringify(rules)}`;
  const found = await page.evaluate<string[]>(
    `axe.run(document, { resultTypes: ["violations"], ${runOnly} })
      .then(({ violations }) => violations.map(({ id, help, nodes }) =>
        id + ": " + help + " (" + nodes.length + ") " + nodes[0].html.slice(0, 300)))`,
  );
  expect(found).toEqual([]);
}

/** Controls on paper, and what sticks out of it (A4). */
async function expectPrintable(page: Page): Promise<void> {
  await page.setViewportSize({ width: 718, height: 1000 });
  await page.emulateMedia({ media: "print" });
  const controls = await page.evaluate<string[]>(
    `[...document.querySelectorAll("button:not(thead button), select, input:not(td input), .action a")]
      .filter((control) => control.checkVisibility({ visibilityProperty: true }))
      .map((control) => control.outerHTML.slice(0, 100))`,
  );
  const widthPx = await page.evaluate<number>("document.documentElement.scrollWidth");
  // A row of one line, as high as a finger on a telephone.
  const linePx = await page.evaluate<number>(
    `Math.max(0, ...[...document.querySelectorAll("tbody :is(th, td, a)")].map((cell) => {
      const { lineHeight, paddingTop, paddingBottom } = getComputedStyle(cell);
      return parseFloat(lineHeight) + parseFloat(paddingTop) + parseFloat(paddingBottom);
    }))`,
  );
  // A browser repeats such a head on each sheet.
  const heads = await page.evaluate<string[]>(
    `[...document.querySelectorAll("thead, thead button")].map((part) => {
      const { display, breakInside } = getComputedStyle(part);
      return part.tagName + " " + display + " " + breakInside;
    })`,
  );
  // Otherwise the foot of the page could stand alone on a last sheet.
  const least = await page.evaluate<string>(
    `getComputedStyle(document.querySelector("main")).minHeight`,
  );
  await page.emulateMedia({ media: "screen" });
  expect(["0px", "auto"]).toContain(least);
  expect(controls).toEqual([]);
  expect(
    heads.filter(
      (head) => !/^(?:THEAD (?:table-header-group avoid|none )|BUTTON contents )/.test(head),
    ),
  ).toEqual([]);
  expect(widthPx).toBeLessThanOrEqual(718);
  expect(linePx).toBeLessThanOrEqual(28);
}

/** The contents of the pages that were looked at. A page that a key does not change is looked at once. */
const seen = new Set<string>();

describe.each(TIER_NAMES)("%s", (tier) => {
  const { look } = tab({ tier, script: true });
  for (const path of PAGES) {
    inChromium(`${path} fits, and axe finds nothing`, () =>
      look(path, async (page) => {
        const content = await page.innerHTML("main");
        if (seen.has(content)) return;
        seen.add(content);
        await expectFit(page);
        await expectPrintable(page);
        // Later rows are like those before, and take axe seconds.
        await page.evaluate(
          `document.querySelectorAll("tbody tr:nth-child(n + 18)").forEach((row) => row.remove())`,
        );
        await page.evaluate(axeScript());
        // On a telephone a wide element scrolls in its own box.
        await page.setViewportSize({ width: 360, height: 900 });
        await page.emulateMedia({ colorScheme: "light" });
        await expectAccessible(page, LOOKS);
        await page.setViewportSize(WIDE);
        await page.emulateMedia({ colorScheme: "dark" });
        await expectAccessible(page);
      }),
    );
  }
});

describe("without script", () => {
  const { look } = tab({ tier: "free", script: false });
  for (const path of PAGES) {
    inChromium(`${path} fits, and has a title and a description`, () =>
      look(path, async (page) => {
        await expectFit(page);
        expect(await page.locator("h1").count()).toBe(1);
        expect((await page.locator("main").innerText()).length).toBeGreaterThan(100);
        // Nothing that needs a script is offered.
        const idle = page
          .locator("button:not([popovertarget]), input, select")
          .filter({ visible: true });
        expect(await idle.count()).toBe(0);
      }),
    );
  }
});

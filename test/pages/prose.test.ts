/** Guide and methodology in a browser: blocks of code can be copied, with the address of the browser. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { publishSession, SESSION, startTestProxy, type TestProxy } from "../http/fixture.ts";
import { settled } from "./visit.ts";

/** Where the browser finds the proxy: below a prefix. The proxy is told another address. */
const ROOT = "https://front.example/chips";

let proxy: TestProxy;
let browser: Browser | undefined;
beforeAll(async () => {
  proxy = await startTestProxy({ publicUrl: "https://prices.example" });
  if (hasBrowser) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
});

async function visit(path: string): Promise<{ context: BrowserContext; page: Page }> {
  const context = await (browser as Browser).newContext();
  await context.route(`${ROOT}/**`, async (route) => {
    const url = proxy.url + route.request().url().slice(ROOT.length);
    await route.fulfill({ response: await route.fetch({ url }) });
  });
  const page = await context.newPage();
  await page.goto(ROOT + path);
  await settled(page);
  return { context, page };
}

test("the methodology names the limits that the served snapshot was published with", async () => {
  const store = new MemoryStore();
  const limits = { maxCarryDays: 77, maxMoveMicros: 12_500_000 };
  await publishSession(store, proxy.clock, SESSION, { first: true, limits });
  const strict = await startTestProxy({ store });
  try {
    for (const path of ["/methodology", "/methodology.md"]) {
      const { text } = await strict.get(path);
      expect(text).toContain("carried for up to 77 days");
      expect(text).toMatch(/12\.5 % up or down/);
    }
  } finally {
    await strict.close();
  }
});

inChromium("the list of contents has two levels, and marks the section being read", async () => {
  const { context, page } = await visit("/guide#how-far-back");
  const listed = await page.locator(".contents a").allTextContents();
  expect(listed).toEqual(await page.locator(".prose :is(h2, h3)").allTextContents());
  const marked = page.locator(".contents [aria-current]");
  await expect.poll(() => marked.allTextContents()).toEqual(["How far back"]);
  await page.evaluate("scrollTo(0, 0)");
  await expect.poll(() => marked.allTextContents()).toEqual(["Tasks"]);
  await context.close();
});

inChromium.each(["/guide", "/methodology", "/docs"])(
  "on a telephone the contents of %s fold away, and their links are easy to hit",
  async (path) => {
    const { context, page } = await visit(path);
    const links = page.locator(".contents a");
    expect(await page.locator(".contents summary").isVisible()).toBe(false);
    // Not by the pointer: while the page is laid out, the list may move under it.
    await links.last().press("Enter");
    await expect.poll(() => new URL(page.url()).hash).toBe(await links.last().getAttribute("href"));
    await page.setViewportSize({ width: 390, height: 800 });
    await page.reload();
    await settled(page);
    expect(await links.first().isVisible()).toBe(false);
    await page.locator(".contents summary").click();
    const targets = await page.$$eval(".contents :is(a, summary)", (all) =>
      all.map((each) => each.getBoundingClientRect().height),
    );
    expect(Math.min(...targets)).toBeGreaterThanOrEqual(44);
    await context.close();
  },
);

inChromium.each(["/guide", "/methodology"])(
  "on a telephone programs, answers and formulas of %s do not scroll sideways",
  async (path) => {
    const { context, page } = await visit(path);
    await page.setViewportSize({ width: 390, height: 800 });
    const wide = await page.$$eval(".prose pre", (all) =>
      all
        .filter(({ parentElement }) => parentElement?.dataset["language"] !== "csv")
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map(({ textContent }) => textContent),
    );
    expect(wide).toEqual([]);
    await context.close();
  },
);

describe("a block of code", () => {
  inChromium("is copied with the keyboard, and says so", async () => {
    const { context, page } = await visit("/guide");
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const block = page.locator(".code").first();
    await block.getByRole("button", { name: "Copy" }).focus();
    await page.keyboard.press("Enter");
    await block.getByRole("status").getByText("Copied").waitFor();
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(copied).toBe(`curl -sS ${ROOT}/api/public/v1/prices`);
    await context.close();
  });

  inChromium("is selected where the browser does not let pages copy", async () => {
    const { context, page } = await visit("/guide");
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))");
    const block = page.locator(".code").first();
    await block.getByRole("button", { name: "Copy" }).click();
    await block.getByText("Selected").waitFor();
    const selected = await page.evaluate<string>("String(getSelection())");
    expect(selected.trim()).toBe(`curl -sS ${ROOT}/api/public/v1/prices`);
    await context.close();
  });

  inChromium.each(["/guide", "/methodology"])("has a button everywhere on %s", async (path) => {
    const { context, page } = await visit(path);
    const blocks = await page.locator(".code").count();
    expect(blocks).toBeGreaterThan(4);
    expect(await page.getByRole("button", { name: "Copy" }).count()).toBe(blocks);
    // Recorded problems have the proxy's own addresses; nothing else has.
    const lines = (await page.locator("main").innerText()).split("\n");
    const others = lines.filter((line) => !/^ *"(?:type|plans)": "/.test(line));
    expect(others.join("\n")).not.toContain("prices.example");
    await context.close();
  });
});

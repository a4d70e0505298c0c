/** Every page with the keyboard alone: the order of Tab, a focus that is seen, and each control. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { FREE_IDS, startTestProxy, type TestProxy } from "../http/fixture.ts";
import { contractPage, FIXED_PAGES, keepKey, open, watchedContext } from "./visit.ts";

const [CONTRACT] = FREE_IDS as [string];

let proxy: TestProxy;
let browser: Browser | undefined;
let context: BrowserContext;
/** With a Pro key. */
let page: Page;
beforeAll(async () => {
  proxy = await startTestProxy();
  if (!hasBrowser) return;
  browser = await openBrowser();
  ({ context } = await watchedContext(browser, { viewport: { width: 1280, height: 900 } }));
  page = await context.newPage();
  await keepKey(page, proxy.pro);
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
});

/** Loads the page also where only the fragment of its address differs, or nothing. */
async function at(path: string): Promise<void> {
  await page.goto("about:blank");
  await open(page, proxy.url + path);
}
const focused = (what: string): Promise<string> =>
  page.evaluate(`String(document.activeElement.${what})`);
const press = (...keys: string[]): Promise<void> =>
  keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());

/** All controls and links of the page in the order in which they stand there; of radio buttons the chosen one. */
const CONTROLS = `globalThis.controls = [...document.querySelectorAll(
  "a[href], button, input, select, textarea, summary, [tabindex='0']")].filter((element) =>
    element.checkVisibility() && !element.disabled && element.tabIndex >= 0 &&
    (element.type !== "radio" || element.checked))`;

/** Where the focus is among them, and whether it is seen there. */
const PLACE = `(() => {
  const element = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  const { width, height, right, bottom } = element.getBoundingClientRect();
  const isSeen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 &&
    width > 0 && height > 0 && right > 0 && bottom > 0;
  return { place: globalThis.controls.indexOf(element), isSeen, html: element.outerHTML.slice(0, 200) };
})()`;
interface Place {
  readonly place: number;
  readonly isSeen: boolean;
  readonly html: string;
}

describe("Tab", () => {
  for (const path of [...FIXED_PAGES, contractPage(CONTRACT), `/compare#ids=${CONTRACT}`]) {
    inChromium(`${path}: reaches everything, from top to bottom, and is seen`, async () => {
      await at(path);
      const count = await page.evaluate<number>(`(${CONTROLS}).length`);
      expect(count).toBeGreaterThan(9);
      for (let place = 0; place < count; place += 1) {
        await press("Tab");
        let found = await page.evaluate<Place>(PLACE);
        // Day, month, year and the calendar of a date are stops of one control.
        while (found.place === place - 1 && found.html.includes('type="date"')) {
          await press("Tab");
          found = await page.evaluate<Place>(PLACE);
        }
        expect(found).toEqual({ place, isSeen: true, html: found.html });
      }
    });

    inChromium(`${path}: the first one skips to the content`, async () => {
      await at(path);
      await press("Tab");
      expect(await focused("textContent")).toBe("Skip to the content");
      await press("Enter", "Tab");
      expect(await page.evaluate("document.activeElement.closest('main, footer') !== null")).toBe(
        true,
      );
    });
  }
});

const byRole = (role: "button" | "slider" | "combobox", name: string | RegExp) =>
  page.getByRole(role, { name, exact: true });

inChromium(
  "the board is sorted with Enter and Space, and filtered by typing and arrows",
  async () => {
    await at("/");
    const head = page.locator("#board thead th", { hasText: "Level" });
    await head.getByRole("button").focus();
    await press("Enter");
    expect(await head.getAttribute("aria-sort")).toBe("descending");
    await press("Space");
    expect(await head.getAttribute("aria-sort")).toBe("ascending");
    expect(await focused("textContent")).toBe("Level");

    const rows = page.locator("#board tbody tr").filter({ visible: true });
    const all = await rows.count();
    await page.getByLabel("Find").focus();
    await page.keyboard.type("Contract nand-");
    expect(await rows.count()).toBe(2);
    await press("ControlOrMeta+a", "Delete");
    expect(await rows.count()).toBe(all);
    await page.getByLabel("Segment").focus();
    await press("ArrowDown");
    expect(await page.getByLabel("Segment").inputValue()).toBe("DRAM");
    await page.locator("#board tbody a").first().focus();
    await press("Enter");
    await page.waitForURL("**/contracts/*");
  },
);

inChromium("the key is given with Enter, and the focus is not lost by that", async () => {
  const other = await context.newPage();
  try {
    await open(other, proxy.url);
    await other.getByRole("button", { name: "Have a key?" }).focus();
    await other.keyboard.press("Enter");
    expect(await other.evaluate("document.activeElement.id")).toBe("key-field");
    await other.keyboard.type(proxy.starter);
    await other.keyboard.press("Enter");
    await other.locator("#key[aria-busy=false]").waitFor();
    expect(await other.textContent("#key-message")).toContain("Starter");
    expect(await other.evaluate("document.activeElement.id")).toBe("content");
    await other.keyboard.press("Shift+Tab");
    expect(await other.evaluate("document.activeElement.textContent")).toBe("Forget key");
    await other.keyboard.press("Space");
    await other.getByRole("button", { name: "Have a key?" }).waitFor();
  } finally {
    await other.close();
  }
});

inChromium("the chart's range and its cursor", async () => {
  await at(contractPage(CONTRACT));
  for (const [key, range] of [
    ["Enter", "30 d"],
    ["Space", "All"],
  ] as const) {
    await byRole("button", range).focus();
    await press(key);
    expect(await byRole("button", range).getAttribute("aria-pressed")).toBe("true");
    expect(await page.evaluate("document.activeElement.textContent")).toBe(range);
    expect(await page.locator("[aria-pressed=true]").count()).toBe(1);
  }
  const cursor = byRole("slider", "Date on the chart");
  await cursor.focus();
  const last = await page.textContent(".tip");
  await press("ArrowLeft");
  const before = await page.textContent(".tip");
  expect(before).not.toBe(last);
  const [date = "", figure = ""] = (await cursor.getAttribute("aria-valuetext"))?.split(": ") ?? [];
  expect(before).toContain(date);
  expect(before).toContain(figure.split(" ")[0]);
  expect(await page.locator(".tip").isVisible()).toBe(true);
  await press("ArrowRight");
  expect(await page.textContent(".tip")).toBe(last);
  await press("Home");
  expect(await cursor.inputValue()).toBe("0");
});

inChromium("a basket is picked, weighed, priced and copied", async () => {
  await at("/basket");
  await page.getByRole("combobox", { name: "Add a contract" }).focus();
  await page.keyboard.type("dram-3");
  await press("ArrowDown", "Enter");
  await page.keyboard.type("nand-1");
  await press("ArrowDown", "Enter");
  expect(await page.locator(".parts tbody tr").count()).toBe(2);
  await page.getByLabel("Quantity of Contract dram-3").focus();
  await press("ControlOrMeta+a");
  await page.keyboard.type("2.5");
  await page.getByRole("radio", { name: "quantity", exact: true }).focus();
  await press("ArrowDown");
  expect(await page.getByLabel("Weight of Contract dram-3").inputValue()).toBe("2.5");
  await page.getByLabel("Weight of Contract dram-3").focus();
  await press("Enter");
  await page.locator("#result").waitFor();
  expect(await page.locator("#contributions tbody tr").count()).toBe(2);
  const copy = byRole("button", "Copy").first();
  await copy.focus();
  await press("Enter");
  await page.getByText(/^(?:Copied|Selected: press Ctrl\+C)$/).waitFor();
  await page.getByRole("button", { name: "Remove Contract nand-1" }).focus();
  await press("Space");
  expect(await page.locator(".parts tbody tr").count()).toBe(1);
  expect(await focused("textContent")).toBe("Remove");
});

inChromium("a contract is found, compared with another, and removed", async () => {
  await at("/");
  await press("/");
  await page.keyboard.type("dram-3");
  await page.locator("#search-found [role=option]").first().waitFor();
  await press("Enter");
  await page.waitForURL("**/contracts/dram-3");
  await page.getByRole("link", { name: "Compare with…" }).focus();
  await press("Enter");
  await page.locator(".chart path.line-0").waitFor();
  await page.getByRole("combobox", { name: "Add a contract or an index" }).focus();
  await page.keyboard.type("nand-1");
  await press("Enter");
  await page.locator(".chart path.line-1").waitFor();
  await byRole("button", "USD").focus();
  await press("Enter");
  expect(await byRole("button", "USD").getAttribute("aria-pressed")).toBe("true");
  expect(await focused("textContent")).toBe("USD");
  await page.getByRole("button", { name: "Remove Contract dram-3" }).focus();
  await press("Space");
  await expect.poll(() => page.locator("#lines tbody tr").count()).toBe(1);
  expect(await focused("id")).toBe("add");
});

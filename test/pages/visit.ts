/** Every page in a browser, with or without a key: opened, settled, and watched for complaints. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import * as routes from "../../src/public/uncounted-routes.ts";
import { idsOf } from "./page-market.ts";

/** The pages that every other page names. */
export const FIXED_PAGES: readonly string[] = Object.values(routes.PAGES)
  .filter((page) => "link" in page)
  .map(({ path }) => path);

/** The page of a contract. */
export const contractPage = (id: string): string => routes.PAGES.contract.path.replace("{id}", id);

const [, KEYED_BROKEN] = idsOf("broken") as [string, string];
const [FREE_CORRECTED] = idsOf("corrected") as [string];

/** Addresses of every kind of page on the market of market.ts. */
export const PAGES: readonly string[] = [
  ...FIXED_PAGES,
  routes.PAGES.corrections.path,
  ...[FREE_CORRECTED, KEYED_BROKEN, ...idsOf("delisted")].map(contractPage),
];

/** What a browser did while it showed pages. */
export interface Watch {
  /** Messages of the console and exceptions. */
  readonly complaints: string[];
  /** All requests, whatever became of them. */
  readonly requests: {
    readonly method: string;
    readonly url: string;
    readonly key: string | null;
  }[];
}

export async function watchedContext(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ context: BrowserContext; watch: Watch }> {
  const context = await browser.newContext(options);
  const watch: Watch = { complaints: [], requests: [] };
  context.on("console", (message) =>
    watch.complaints.push(`${message.text()} ${message.location().url}`),
  );
  context.on("weberror", (error) => watch.complaints.push(String(error.error())));
  context.on("request", (request) =>
    watch.requests.push({
      method: request.method(),
      url: request.url(),
      key: request.headers()["x-api-key"] ?? null,
    }),
  );
  return { context, watch };
}

/** Stores the key in the tab before each page runs its scripts. */
export const keepKey = (page: Page, key: string): Promise<unknown> =>
  page.addInitScript((kept) => sessionStorage.setItem("chipboard-key", kept), key);

/** Opens an address and waits until the page's modules have run to their end. */
export async function open(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await settled(page);
}

/** Waits until the modules of the page have run to their end and show the data fetched at the start. */
export const settled = (page: Page): Promise<unknown> =>
  page.evaluate(
    `Promise.all([...document.querySelectorAll("script[type=module]")].map(({ src }) => import(src)))`,
  );

/** Elements that are shown stand within the width of the page, without scrolling. */
export async function expectInSight(page: Page, selector: string, widthPx: number): Promise<void> {
  const boxes = await page.locator(selector).evaluateAll((all) =>
    all.flatMap((each) => {
      const { left, right, width } = each.getBoundingClientRect();
      return width === 0 ? [] : [{ left, right, text: each.textContent }];
    }),
  );
  expect(boxes.length).toBeGreaterThan(0);
  expect(boxes.filter(({ left, right }) => left < 0 || right > widthPx)).toEqual([]);
}

/** Opens the field for the key, unless it is open. */
export async function openKey(page: Page): Promise<void> {
  if (!(await page.getByLabel("API key").isVisible())) await page.locator("#key-open").click();
}

/** Types the key into the field and waits until the page shows what the tier sees, or why not. */
export async function giveKey(page: Page, key: string): Promise<void> {
  await openKey(page);
  await page.getByLabel("API key").fill(key);
  await page.getByLabel("API key").press("Enter");
  await page.locator("#key[aria-busy=false]").waitFor();
}

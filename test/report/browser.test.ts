/** The report file in a real browser: wide and narrow, light and dark. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { inChromium, openBrowser } from "../services/browser.ts";
import { HOSTILE_MARKET, HOSTILE_NAMES, marketOfMany, reportOf, VARIED_MARKET } from "./markets.ts";

const folder = mkdtempSync(join(tmpdir(), "chipboard-report-"));
const many = marketOfMany(120);
const correction = {
  contract: "contract-0-of-many-in-a-slug",
  session: 41_000,
  oldUsd: "999999999.999999",
  newUsd: "1000000000",
  reason: "A reason of usual length, which takes more than one line on a telephone",
  correctedIn: "2026-11-21T00Z/r2",
  publication: 2,
};

const REPORTS = {
  many: reportOf(many, { corrections: [correction] }),
  varied: reportOf(VARIED_MARKET),
  hostile: reportOf(HOSTILE_MARKET, { attribution: HOSTILE_NAMES.join(" ") }),
};
type Name = keyof typeof REPORTS;

let browser: Browser | undefined;
beforeAll(() => {
  for (const [name, text] of Object.entries(REPORTS)) writeFileSync(fileOf(name), text);
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

const fileOf = (name: string): string => join(folder, `${name}.html`);

/** Opens a report and runs a test on it. Expects no errors on the console and no requests. */
async function opened(
  name: Name,
  options: BrowserContextOptions,
  look: (page: Page) => Promise<void>,
): Promise<void> {
  browser ??= await openBrowser();
  const context = await browser.newContext(options);
  try {
    const page = await context.newPage();
    const complaints: string[] = [];
    const requested: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("request", (request) => requested.push(request.url()));
    const url = pathToFileURL(fileOf(name)).href;
    await page.goto(url);
    await look(page);
    expect(complaints).toEqual([]);
    expect(requested.filter((asked) => asked !== url && !asked.startsWith("data:"))).toEqual([]);
  } finally {
    await context.close();
  }
}

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };

/** Every text whose contrast with its background is below WCAG 2.2's 4.5 (1.4.3). */
const FAINT_TEXTS = `(() => {
  const rgba = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length === 3 ? [...n, 1] : n; };
  const luminance = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = [];
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest("script, select")) continue;
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "")) continue;
    const style = getComputedStyle(element);
    let behind = element;
    while (behind && rgba(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    const ground = luminance(rgba(getComputedStyle(behind ?? document.body).backgroundColor));
    const ink = luminance(rgba(element instanceof SVGElement ? style.fill : style.color));
    const contrast = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
    if (contrast < 4.5) faint.push(element.tagName + " " + element.className + " " + contrast.toFixed(2));
  }
  return [...new Set(faint)];
})()`;

describe.each([
  ["wide", WIDE],
  ["narrow", NARROW],
] as const)("%s", (_width, viewport) => {
  describe.each(["light", "dark"] as const)("%s", (colorScheme) => {
    for (const name of Object.keys(REPORTS) as Name[]) {
      inChromium(`${name}: fits its width, is legible, complains of nothing`, async () => {
        await opened(name, { viewport, colorScheme }, async (page) => {
          const widths = await page.evaluate<number[]>(
            "[document.documentElement.scrollWidth, document.body.scrollWidth]",
          );
          expect(Math.max(...widths)).toBeLessThanOrEqual(viewport.width);
          expect(await page.evaluate<string[]>(FAINT_TEXTS)).toEqual([]);
          expect(await page.evaluate("globalThis.broken")).toBeUndefined();
        });
      });
    }
  });
});

inChromium("names are shown letter by letter, whatever they hold", async () => {
  await opened("hostile", { viewport: WIDE }, async (page) => {
    const names = await page.locator("#contracts tbody th > bdi").allTextContents();
    const shown = HOSTILE_NAMES.map((name) => name.replace(/[\0\u001B]/g, "\u{FFFD}"));
    expect(names).toEqual(shown);
    await page.selectOption("#segment", { label: HOSTILE_NAMES[0] as string });
    expect(await page.textContent("#shown")).toBe("1 of 7 contracts");
  });
});

inChromium("a column sorts both ways and back, and says so", async () => {
  await opened("many", { viewport: WIDE }, async (page) => {
    const heading = page.locator("#contracts thead th", { hasText: "24 h" });
    const ids = (): Promise<string[]> => page.locator("#contracts tbody th code").allTextContents();
    const values = async (): Promise<number[]> =>
      (await page.locator("#contracts tbody td:nth-child(4)").allTextContents()).map((text) =>
        Number(text.replace("\u{2212}", "-")),
      );
    const before = await ids();
    const ascending = (await values()).sort((a, b) => a - b);
    expect(ascending).toHaveLength(120);
    expect(new Set(ascending).size).toBeGreaterThan(50);
    expect(await heading.getAttribute("aria-sort")).toBeNull();

    await heading.getByRole("button").click();
    expect(await heading.getAttribute("aria-sort")).toBe("descending");
    expect(await values()).toEqual(ascending.toReversed());
    await page.keyboard.press("Enter");
    expect(await heading.getAttribute("aria-sort")).toBe("ascending");
    expect(await values()).toEqual(ascending);

    const byId = page.locator("#contracts thead th", { hasText: "Contract" });
    await byId.getByRole("button").click();
    expect(await heading.getAttribute("aria-sort")).toBeNull();
    expect(await byId.getAttribute("aria-sort")).toBe("ascending");
    // Numbers in a text count as numbers: contract-9 stands before contract-10.
    const numberOf = (id: string): number => Number(/\d+/.exec(id)?.[0]);
    const byNumber = before.toSorted((a, b) => numberOf(a) - numberOf(b));
    expect(await ids()).toEqual(byNumber);
    await byId.getByRole("button").click();
    expect(await ids()).toEqual(byNumber.toReversed());
    await byId.getByRole("button").click();
    expect(await byId.getAttribute("aria-sort")).toBeNull();
    expect(await ids()).toEqual(before);
  });
});

inChromium("rows without a value stay last, either way", async () => {
  await opened("varied", { viewport: WIDE }, async (page) => {
    const heading = page.locator("#contracts thead th", { hasText: "1 year" });
    for (let click = 0; click < 2; click += 1) {
      await heading.getByRole("button").click();
      const texts = await page.locator("#contracts tbody td:nth-child(6)").allTextContents();
      expect(texts).toEqual(["+56.25", "n/a", "n/a", "n/a", "n/a"]);
    }
  });
});

inChromium("text and segment filter together, and the count is told", async () => {
  await opened("many", { viewport: NARROW }, async (page) => {
    const visible = page.locator("#contracts tbody tr:visible");
    expect(await page.textContent("#shown")).toBe("120 of 120 contracts");
    await page.selectOption("#segment", "Segment 4");
    expect(await visible.count()).toBe(13);
    await page.fill("#find", "CARRIED number");
    const texts = await visible.allTextContents();
    expect(texts).toHaveLength(1);
    expect(texts[0]).toContain("carried");
    expect(await page.textContent("#shown")).toBe("1 of 120 contracts");
    await page.fill("#find", "no such thing");
    expect(await visible.count()).toBe(0);
    await page.fill("#find", "");
    await page.selectOption("#segment", "");
    // The first rows at once, the others frame by frame.
    await expect.poll(() => visible.count()).toBe(120);
  });
});

inChromium("no word of a name is broken on a narrow screen, and a reason has room", async () => {
  await opened("many", { viewport: NARROW }, async (page) => {
    const heights = await page
      .locator("table.indices tbody th bdi")
      .evaluateAll((names) =>
        names.map(
          (name) => [name.textContent?.split(" ").length ?? 0, name.clientHeight / 20] as const,
        ),
      );
    expect(heights.length).toBeGreaterThan(5);
    for (const [words, lines] of heights) expect(lines).toBeLessThanOrEqual(words);
    const reason = await page.locator("#corrections td.long").boundingBox();
    expect(reason?.width).toBeGreaterThan(150);
  });
});

inChromium("without scripts it is a plain table", async () => {
  await opened("many", { viewport: WIDE, javaScriptEnabled: false }, async (page) => {
    expect(await page.locator("#contracts tbody tr:visible").count()).toBe(120);
    expect(await page.locator("#controls").isVisible()).toBe(false);
    expect(await page.locator("button").count()).toBe(0);
  });
});

inChromium("the narrow board shows contract, name, level and changes at once", async () => {
  await opened("many", { viewport: NARROW }, async (page) => {
    const row = page.locator("#contracts tbody tr").first();
    for (const cell of ["th", "td:nth-child(3)", "td:nth-child(4)", "td:nth-child(5)"]) {
      const box = await row.locator(cell).boundingBox();
      expect((box?.x ?? 0) + (box?.width ?? 1e9)).toBeLessThanOrEqual(NARROW.width);
    }
    expect(await row.locator("th bdi").innerText()).toBe(
      "Contract number 0 with a name of usual length",
    );
  });
});

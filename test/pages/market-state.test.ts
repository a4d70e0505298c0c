/** The market page where there is nothing to show, and where the texts of the feeds are hostile. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { mustPublish } from "../cli/small-market.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import {
  eventually,
  publishSession,
  SESSION,
  sessionsMs,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "../http/fixture.ts";
import { keepKey, open, watchedContext } from "./visit.ts";

let browser: Browser | undefined;
beforeAll(async () => {
  if (hasBrowser) browser = await openBrowser();
});
afterAll(() => browser?.close());

/** Opens the page of a proxy, with its Pro key if `isKeyed`. */
async function visit(
  proxy: TestProxy,
  isKeyed: boolean,
  look: (page: Page) => Promise<void>,
): Promise<void> {
  const { context } = await watchedContext(browser as Browser);
  try {
    const page = await context.newPage();
    if (isKeyed) await keepKey(page, proxy.pro);
    await open(page, proxy.url);
    await look(page);
  } finally {
    await context.close();
  }
}

test("before the first publication the page says so, and no cache keeps that", async () => {
  const store = new MemoryStore();
  const proxy = await startTestProxy({ store });
  try {
    const { status, text, headers } = await proxy.get("/");
    expect([status, headers["cache-control"]]).toEqual([200, "no-cache"]);
    expect(text).toContain("No prices are published yet.");
    expect(text).not.toContain("<table");
    await publishSession(store, proxy.clock, SESSION, { first: true });
    await eventually(async () => (await proxy.get("/")).text.includes("<table"));
    const next = await proxy.get("/", { headers: { "if-none-match": headers.etag as string } });
    expect([next.status, next.headers["cache-control"]]).toEqual([200, "public, max-age=60"]);
  } finally {
    await proxy.close();
  }
});

inChromium(
  "before the first publication a key changes nothing, and no control is offered",
  async () => {
    const proxy = await startTestProxy({ store: new MemoryStore() });
    try {
      await visit(proxy, true, async (page) => {
        expect(await page.locator("#controls").isVisible()).toBe(false);
        expect(await page.textContent("#key-message")).toContain("Pro ·");
        expect(await page.textContent("main")).toContain("No prices are published yet.");
        const sections = await page.locator("main section").count();
        expect(sections).toBe(2);
      });
    } finally {
      await proxy.close();
    }
  },
);

inChromium("a first session is Pro's alone; the free board is empty and says so", async () => {
  const store = new MemoryStore();
  await mustPublish(store, {
    catalog: JSON.stringify([contract("alpha", "Alpha"), contract("bravo", "Bravo")]),
    quotes: "id,spot_usd\nalpha,5\nbravo,6\n",
    attribution: "Test levels, not market data",
  });
  const proxy = await startTestProxy({ store });
  try {
    await visit(proxy, false, async (page) => {
      expect(await page.locator("table").count()).toBe(0);
      expect(await page.textContent("#shown")).toMatch(/^No contract has a level/);
      expect(await page.locator("#controls").isVisible()).toBe(false);
    });
    await visit(proxy, true, async (page) => {
      expect(await page.locator("#board tbody th a").allTextContents()).toEqual(["Alpha", "Bravo"]);
      expect(await page.textContent("#shown")).toMatch(/all priced on time\.$/);
      // One close makes no chart.
      const title = (await page.textContent("#composite")) ?? "";
      expect(title.trim()).toBe("");
      expect(await page.textContent("#moves")).toBe("No level moved in 24 hours.");
    });
  } finally {
    await proxy.close();
  }
});

inChromium(
  "a session is late once its grace is over, and no longer when it is published",
  async () => {
    const clock = new TestClock();
    const proxy = await startTestProxy({ clock });
    const late = (): Promise<string[]> => {
      let texts: string[] = [];
      return visit(proxy, false, async (page) => {
        texts = await page.locator(".late").allTextContents();
      }).then(() => texts);
    };
    try {
      expect(await late()).toEqual([]);
      clock.ms += sessionsMs(1) + 50 * 60_000;
      expect(await late()).toEqual([]);
      clock.ms += 10 * 60_000;
      expect(await late()).toEqual([expect.stringMatching(/^Late: 1 session overdue/)]);
      clock.ms += sessionsMs(2);
      expect(await late()).toEqual([expect.stringMatching(/^Late: 3 sessions overdue/)]);
      await publishSession(proxy.store, clock, SESSION + 3);
      await eventually(async () => !(await proxy.get("/")).text.includes("Late:"));
      expect(await late()).toEqual([]);
    } finally {
      await proxy.close();
    }
  },
);

const contract = (id: string, text: string, board = "memory") => ({
  id,
  board,
  name: text,
  ticker: text,
  segment: text,
  unit: text,
  source: text,
  source_url: "https://source.example/",
  ai_exposure_pct: 1,
});

const HOSTILE = [
  "</script><script>globalThis.broken = true</script>",
  `"><img src=x onerror="globalThis.broken = true">`,
  "' onmouseover='globalThis.broken = true",
  "&lt;b&gt; &amp; <b>bold</b> {{board}} $& $1",
  "\u{202E}reversed from here",
  "\u0645\u0631\u062D\u0628\u0627 spot",
  "unbroken".repeat(125),
  "word ".repeat(199),
  `a${"\u{1F600}\u{1F469}\u{200D}\u{1F469}\u{200D}\u{1F467}".repeat(50)}`,
];
const MOST_PX = 200;

inChromium("hostile texts are shown letter by letter, and stay in their places", async () => {
  const store = new MemoryStore();
  const attribution = HOSTILE.join(" ").slice(0, 990);
  const level = (at: number): number => [999_999_999.999999, 0.000001, 1_000_000_000][at] ?? at;
  await mustPublish(store, {
    session: "2026-11-20T12Z",
    catalog: JSON.stringify(HOSTILE.map((text, at) => contract(`c-${at}`, text))),
    quotes: JSON.stringify(HOSTILE.map((_, at) => ({ id: `c-${at}`, spot_usd: level(at) }))),
    attribution,
  });
  await mustPublish(store, {
    quotes: JSON.stringify(
      HOSTILE.map((text, at) => ({
        id: `c-${at}`,
        spot_usd: level(HOSTILE.length - 1 - at),
        break: text,
      })),
    ),
  });
  const proxy = await startTestProxy({ store });
  try {
    for (const isKeyed of [false, true]) {
      await visit(proxy, isKeyed, async (page) => {
        for (const column of ["th.contract a", "th.contract small bdi", ".segment", ".unit"]) {
          const texts = await page.locator(`#board tbody ${column}`).allTextContents();
          expect(texts).toEqual(HOSTILE);
        }
        expect(await page.textContent("#attribution")).toBe(attribution);
        await page.getByLabel("Segment").selectOption(HOSTILE[0] as string);
        expect(await page.locator("#board tbody tr:visible").count()).toBe(1);
        await page.getByLabel("Segment").selectOption("");
        expect(await page.evaluate("globalThis.broken")).toBeUndefined();
        for (const width of [360, 390, 768, 1000, 1280, 1920, 2560]) {
          await page.setViewportSize({ width, height: 800 });
          const sizes = await page.evaluate<number[]>(
            `[document.documentElement.scrollWidth, Math.max(...[...document.querySelectorAll("#board tr")].map((row) => row.getBoundingClientRect().height))]`,
          );
          expect([width, sizes[0]]).toEqual([width, width]);
          expect(sizes[1]).toBeLessThan(MOST_PX);
        }
      });
    }
  } finally {
    await proxy.close();
  }
});

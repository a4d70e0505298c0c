/** A market whose texts are hostile: they are shown letter by letter, create nothing, and fit. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { lines, mustPublish } from "../cli/small-market.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import {
  contractPage,
  FIXED_PAGES,
  keepKey,
  open,
  settled,
  watchedContext,
  type Watch,
} from "./visit.ts";

/** Markup, an entity, quotes, a direction override, a thousand characters, emoji. */
const TEXTS = [
  "</script><script>globalThis.broken = true</script>",
  `"><img src=x onerror="globalThis.broken = true">`,
  "' autofocus onfocus='globalThis.broken = true' x='",
  "&lt;b&gt; &amp; <b>bold</b> {{title}}",
  "\u{202E}reversed from here",
  "unbroken".repeat(125),
  "many words that go on and on ".repeat(34).trim(),
  "\u{1F469}\u{200D}\u{1F4BB}\u{1F1F9}\u{1F1FC} \u{5D0}\u{5D1} ﷽ Z\u{301}\u{302}\u{303}\u{304}algo",
  "javascript:globalThis.broken=true//",
  "<svg onload=globalThis.broken=true>",
];
const ids = TEXTS.map((_, at) => `c-${at}`);
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

function catalog(): string {
  const rows = TEXTS.map((text, at) => {
    const [shown, segment] = [quoted(text), quoted(`${at} ${text}`.slice(0, 1_000))];
    const address = quoted(
      `https://source.example/"><img src=x onerror=broken()>#'${at}`.replaceAll(" ", "%20"),
    );
    return `c-${at},${shown},${shown},${at < 7 ? "memory" : "semiconductor"},${segment},${shown},40,${shown},${address}`;
  });
  return lines("id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url", ...rows);
}

const quotes = (usd: number): string =>
  lines(
    "id,spot_usd,break,rationale",
    ...TEXTS.map((text, at) => `c-${at},${usd + at},${quoted(text)},${quoted(text.slice(0, 500))}`),
  );

let proxy: TestProxy;
let browser: Browser | undefined;
beforeAll(async () => {
  const store = new MemoryStore();
  const closes = lines(
    "id,date,close_usd",
    ...ids.flatMap((id, at) => [`${id},2026-11-17,${9 + at}`, `${id},2026-11-18,${10 + at}`]),
  );
  const attribution = TEXTS.slice(0, 5).join(" ");
  await mustPublish(store, {
    session: "2026-11-20T00Z",
    catalog: catalog(),
    closes,
    attribution,
    allowSparse: true,
  });
  await mustPublish(store, {
    session: "2026-11-20T12Z",
    quotes: quotes(1_000_000),
    acceptMoves: true,
  });
  const correction = lines(
    "id,date,close_usd",
    ...ids.map((id, at) => `${id},2026-11-18,${11 + at}`),
  );
  await mustPublish(store, {
    session: "2026-11-21T00Z",
    quotes: quotes(1_000_001),
    closes: correction,
    revise: TEXTS.join(" ").slice(0, 900),
    acceptMoves: true,
  });
  proxy = await startTestProxy({ store });
  if (hasBrowser) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
});

/** Visits pages with a key of the tier. Nothing of the market may have run or become an element. */
async function visiting(
  tier: "free" | "pro",
  visit: (page: Page, watch: Watch) => Promise<void>,
): Promise<void> {
  const { context, watch } = await watchedContext(browser as Browser);
  try {
    const page = await context.newPage();
    if (tier === "pro") await keepKey(page, proxy.pro);
    await visit(page, watch);
    expect(watch.complaints).toEqual([]);
    expect(watch.requests.filter(({ url }) => !url.startsWith(`${proxy.url}/`))).toEqual([]);
  } finally {
    await context.close();
  }
}

/** The work of hostile texts: elements and handlers that no page has, and the programs in them. */
const MADE = `[
  ...document.querySelectorAll("img:not(.pro-picture img), iframe, svg[onload], body script, main b:empty, [onerror], [onfocus], [autofocus], a[href^='javascript:' i]"),
].map((element) => element.outerHTML.slice(0, 200)).concat(globalThis.broken ?? [])`;

async function expectHarmless(page: Page, what: string): Promise<void> {
  expect([what, await page.evaluate(MADE)]).toEqual([what, []]);
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 900 });
    const needed = await page.evaluate<number>("document.documentElement.scrollWidth");
    expect([what, width, needed]).toEqual([what, width, width]);
  }
}

for (const tier of ["free", "pro"] as const) {
  inChromium(`${tier}: names, units and segments are texts on every page, and fit`, () =>
    visiting(tier, async (page) => {
      for (const path of FIXED_PAGES) {
        await open(page, proxy.url + path);
        await expectHarmless(page, path);
      }
      for (const scale of ["rebased", "usd"]) {
        const compared = `/compare?scale=${scale}#ids=${ids.slice(0, 4).join(",")}`;
        await open(page, proxy.url + compared);
        await expectHarmless(page, compared);
        if (tier === "free") continue;
        expect(await page.locator("#lines tbody bdi").allTextContents()).toEqual(
          expect.arrayContaining(TEXTS.slice(0, 4)),
        );
      }
      await open(page, proxy.url);
      const names = await page.locator("#board tbody th a").allTextContents();
      expect(names).toEqual(TEXTS);
      const units = await page.locator("#board tbody .unit").allTextContents();
      expect(units).toEqual(TEXTS);
      for (const [at, id] of ids.entries()) {
        await open(page, proxy.url + contractPage(id));
        await expectHarmless(page, id);
        expect(await page.textContent("h1")).toBe(TEXTS[at]);
        expect(await page.title()).toContain((TEXTS[at] as string).replace(/\s+/g, " "));
        expect(await page.locator(".crumbs").textContent()).toContain(TEXTS[at]);
        const source = page.locator("[data-field=source] a");
        expect(await source.textContent()).toBe(TEXTS[at]);
        expect(await source.getAttribute("href")).toMatch(/^https:\/\/source\.example\//);
        expect(await page.textContent("[data-field=rationale]")).toBe(TEXTS[at]?.slice(0, 500));
        expect(await page.locator("#breaks").textContent()).toContain(TEXTS[at]);
        if (tier === "free") continue;
        expect(await page.locator(".chart-title").textContent()).toContain(TEXTS[at]);
        expect(await page.locator(".chart").getAttribute("aria-label")).toContain(TEXTS[at]);
        expect(await page.locator("#closes").textContent()).toContain(TEXTS[at]);
        await page.getByRole("slider").focus();
        await page.keyboard.press("Home");
        await expectHarmless(page, id);
      }
    }),
  );
}

inChromium("an address that runs a script is no link, even from a service that would send it", () =>
  visiting("pro", async (page) => {
    await page.route("**/prices/c-0", async (route) => {
      const body = await (await route.fetch()).json();
      await route.fulfill({ json: { ...body, source_url: "javascript:globalThis.broken=true" } });
    });
    await open(page, proxy.url + contractPage("c-0"));
    expect(await page.locator("[data-field=source] a").count()).toBe(0);
    expect(await page.textContent("[data-field=source]")).toBe(TEXTS[0]);
    await expectHarmless(page, "source");
  }),
);

inChromium("a basket in a link that somebody else made is also a text", () =>
  visiting("pro", async (page) => {
    for (const text of TEXTS) {
      const hash = `#ids=c-1,${encodeURIComponent(text)}&quantities=${encodeURIComponent(text)},1`;
      await page.goto(`${proxy.url}/basket${hash}`);
      await page.reload();
      await settled(page);
      await expectHarmless(page, text);
    }
  }),
);

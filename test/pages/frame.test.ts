/**
 * The frame of every page: head, masthead, notice bar and foot; and the files that let programs find the
 * pages.
 */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  publishSession,
  SESSION,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "../http/fixture.ts";
import { assetPath } from "../../src/pages/assets.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { startPrefixFront, type PrefixFront } from "../http/prefix-front.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { API_VERSION } from "../../src/public/routes.ts";
import * as routes from "../../src/public/uncounted-routes.ts";
import { marketClock, publishMarket } from "./page-market.ts";
import { contractPage, keepKey, open, PAGES } from "./visit.ts";

const FREE = PAGES.filter((path) => path.startsWith("/contracts/free-"));
const KEYED = PAGES.filter((path) => path.startsWith("/contracts/keyed-"));
const FOUND = Object.values<routes.Page>(routes.PAGES)
  .filter(({ path, description }) => description !== undefined && !path.includes("{id}"))
  .map(({ path }) => path);

let proxy: TestProxy;
let front: PrefixFront;
let browser: Browser | undefined;
beforeAll(async () => {
  front = await startPrefixFront("/a/market");
  const plans = { contact: "desk@example.com", terms_url: "https://example.com/terms?a=1&b=2" };
  const store = await publishMarket();
  proxy = await startTestProxy({ store, clock: marketClock(), publicUrl: front.root, plans });
  front.target = proxy.url;
  if (hasBrowser) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  front.close();
  await proxy.close();
});

const html = async (path: string): Promise<string> => {
  const { status, text } = await proxy.get(path, { headers: { accept: "text/html" } });
  expect([path, status]).toEqual([path, 200]);
  return text;
};
/** The value of an attribute of the only element that begins so; undefined: there is none. */
function valueIn(text: string, start: string, name: string): string | undefined {
  const found = text.split(start).slice(1);
  expect([start, found.length <= 1]).toEqual([start, true]);
  return found[0] && new RegExp(`${name}="([^"]*)"`).exec(found[0])?.[1];
}

describe("the head", () => {
  test("each page has a description of its own, the texts of a preview, and its address", async () => {
    const descriptions = new Set<string | undefined>();
    const cards = new Set<string>();
    for (const path of [...FOUND, ...FREE, ...KEYED]) {
      const text = await html(path);
      const description = valueIn(text, '<meta name="description"', "content");
      expect(description?.length).toBeGreaterThan(20);
      descriptions.add(description);
      const title = /<title>(.*?) · chipboard<\/title>/.exec(text)?.[1];
      expect([path, valueIn(text, '<meta property="og:title"', "content")]).toEqual([path, title]);
      expect(valueIn(text, '<meta property="og:description"', "content")).toBe(description);
      expect(valueIn(text, '<meta property="og:site_name"', "content")).toBe("chipboard");
      expect(valueIn(text, '<meta property="og:type"', "content")).toBe("website");
      const address = front.root + path;
      expect(valueIn(text, '<link rel="canonical"', "href")).toBe(address);
      expect(valueIn(text, '<meta property="og:url"', "content")).toBe(address);
      expect(valueIn(text, '<meta name="robots"', "content")).toBeUndefined();
      expect(valueIn(text, '<meta name="twitter:card"', "content")).toBe("summary_large_image");
      const card = valueIn(text, '<meta property="og:image"', "content") as string;
      expect(card.startsWith(`${front.root}/assets/`)).toBe(true);
      cards.add(card);
    }
    expect(descriptions.size).toBe(FOUND.length + FREE.length + KEYED.length);
    const [card = "", ...others] = cards;
    const picture = await fetch(card);
    expect([picture.status, picture.headers.get("content-type"), others]).toEqual([
      200,
      "image/png",
      [],
    ]);
  });

  test("a service that does not know its address names none", async () => {
    const other = await startTestProxy();
    try {
      const { text } = await other.get("/plans");
      expect(text).not.toMatch(/canonical|og:url|og:image|twitter:card|<!--/);
    } finally {
      await other.close();
    }
  });

  test("search engines leave out pages as of another moment, and refusals", async () => {
    const missing = await proxy.get("/none", { headers: { accept: "text/html" } });
    const past = KEYED.map((path) => html(`${path}?as_of=2026-11-20`));
    for (const text of [...(await Promise.all(past)), missing.text]) {
      expect(valueIn(text, '<meta name="robots"', "content")).toBe("noindex");
      expect(text).not.toMatch(/canonical|og:url|og:image/);
    }
  });

  test("icons answer, with the colours of the page for the browser's own bars", async () => {
    for (const [path, type, start] of [
      ["/favicon.ico", "image/x-icon", "\0\0\u0001\0"],
      [assetPath("icon.png"), "image/png", "\u0089PNG"],
      [assetPath("icon.svg"), "image/svg+xml", "<svg"],
    ] as const) {
      const answer = await fetch(proxy.url + path);
      expect([path, answer.status, answer.headers.get("content-type")]).toEqual([path, 200, type]);
      const bytes = Buffer.from(await answer.arrayBuffer());
      expect(bytes.toString("latin1").startsWith(start)).toBe(true);
      if (path.endsWith(".png"))
        expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([180, 180]);
    }
    const style = (await proxy.get(assetPath("style.css"))).text;
    const grounds = [...style.matchAll(/--page: (#\w+);/g)].map(([, colour]) => colour);
    const told = [...(await html("/")).matchAll(/"theme-color"[^>]*content="(#\w+)"/g)];
    expect(told.map(([, colour]) => colour)).toEqual(grounds);
  });
});

describe("for programs that collect pages", () => {
  test("robots.txt names the sitemap, whose every address answers and may be indexed", async () => {
    const robots = await proxy.get("/robots.txt");
    expect(robots.headers["content-type"]).toBe("text/plain; charset=utf-8");
    expect(robots.text).toBe(`User-agent: *\nAllow: /\nSitemap: ${front.root}/sitemap.xml\n`);
    const sitemap = await proxy.get("/sitemap.xml");
    expect(sitemap.headers["content-type"]).toBe("application/xml; charset=utf-8");
    const addresses = [...sitemap.text.matchAll(/<loc>([^<]*)<\/loc>/g)].map(([, at]) => at ?? "");
    for (const address of addresses) {
      const answer = await fetch(address);
      expect([address, answer.status]).toEqual([address, 200]);
      const text = await answer.text();
      expect(valueIn(text, '<link rel="canonical"', "href")).toBe(address);
      expect(text).not.toContain("noindex");
    }
    const paths = addresses.map((address) => address.slice(front.root.length));
    expect(paths.slice(0, FOUND.length)).toEqual(FOUND);
    // The delisted one of the ten has left the free slice.
    expect(paths.slice(FOUND.length)).toEqual(
      expect.arrayContaining(FREE.filter((path) => !path.includes("delisted"))),
    );
    expect(paths).toEqual(expect.arrayContaining(KEYED));
  });

  test("before the first session the sitemap has the fixed pages, each of which answers", async () => {
    const empty = await startTestProxy({ store: new MemoryStore() });
    try {
      const { text } = await empty.get("/sitemap.xml");
      const paths = [...text.matchAll(/<loc>([^<]*)<\/loc>/g)].map(([, at]) =>
        (at ?? "").slice(empty.url.length),
      );
      expect(paths).toEqual(FOUND);
      for (const path of paths) expect([path, (await empty.get(path)).status]).toEqual([path, 200]);
    } finally {
      await empty.close();
    }
  });

  test("the market page describes free data as a Dataset, which no text can end", async () => {
    const store = new MemoryStore();
    const clock = new TestClock();
    const attribution = 'Levels </script><script>alert("1")</script> & <!-- more';
    await publishSession(store, clock, SESSION, { first: true, attribution });
    const hostile = await startTestProxy({ store, clock });
    try {
      const { text } = await hostile.get("/");
      const block =
        text.split('<script type="application/ld+json">')[1]?.split("</script>")[0] ?? "";
      const prices = (await hostile.get("/api/public/v1/prices")).json;
      expect(JSON.parse(block)).toMatchObject({
        "@context": "https://schema.org",
        "@type": "Dataset",
        name: "Memory and semiconductor prices",
        description: expect.stringContaining(attribution),
        license: { name: prices.license },
        temporalCoverage: prices.session_utc,
        isAccessibleForFree: true,
        distribution: { contentUrl: `${hostile.url}/api/public/v1/prices` },
      });
      expect(text).not.toContain("<script>alert");
    } finally {
      await hostile.close();
    }
  });

  test("/changelog has the versions of the API, without the operator's news", async () => {
    const text = await html("/changelog");
    expect(text).toContain("<h1>Changelog</h1>");
    expect(text).toContain('<h2 id="0-2-0-2026-11-23">');
    expect(text).toContain("0.2.0 <time>2026-11-23</time>");
    // This service already has what the package calls unreleased.
    expect(text).not.toMatch(/Unreleased|If you run a service|>Operation<|chipboard publish/);
    const versions = text.split("<h2 id=").slice(1);
    expect(versions[0]).toMatch(new RegExp(`>${RegExp.escape(API_VERSION)} ?<`));
    // Each begins with what a reader of the API must do.
    for (const version of versions) {
      expect(version).toMatch(/<\/h2>\n<p><strong>API users<\/strong>:/);
    }
  });
});

const FIGURES = ["/", ...FREE.slice(0, 1), ...KEYED.slice(0, 1), "/indices", "/basket", "/status"];

inChromium(
  "the source of the figures stands at the same place on every page with figures",
  async () => {
    const context = await (browser as Browser).newContext();
    try {
      for (const tier of ["free", "pro"] as const) {
        const page = await context.newPage();
        if (tier === "pro") await keepKey(page, proxy.pro);
        for (const path of FIGURES) {
          await open(page, proxy.url + path);
          const bar = page.locator("#attribution");
          expect([path, await bar.textContent()]).toEqual([
            path,
            expect.stringMatching(/^Illustrative levels of a test/),
          ]);
          expect([path, (await bar.boundingBox())?.y]).toEqual([path, 56]);
        }
        await open(page, `${proxy.url}/plans`);
        expect(await page.locator("#attribution").isVisible()).toBe(false);
        await page.close();
      }
    } finally {
      await context.close();
    }
  },
);

test("the foot names all pages, and where the operator is reached", async () => {
  const missing = await proxy.get("/contracts/none", { headers: { accept: "text/html" } });
  const foot = (await html(contractPage("free-plain-7"))).split("<footer>")[1] ?? "";
  expect(missing.text.split("<footer>")[1]).toBe(foot);
  const links = [...foot.matchAll(/href="([^"]*)"[^>]*>(?:<bdi>)?([^<]*)/g)].map(([, at, name]) => [
    name,
    at,
  ]);
  expect(links).toEqual(
    [
      ["Market", ".."],
      ["Indices", "../indices"],
      ["Basket", "../basket"],
      ["Compare", "../compare"],
      ["Corrections", "../corrections"],
      ["Settlements", "../methodology#settlements"],
      ["Feed of publications", "../feed.atom"],
      ["Guide", "../guide"],
      ["Methodology", "../methodology"],
      ["API reference", "../docs"],
      ["Alerts", "../alerts"],
      ["Verify evidence", "../verify"],
      ["llms.txt", "../llms.txt"],
      ["Plans", "../plans"],
      ["Status", "../status"],
      ["Changelog", "../changelog"],
      ["Contact", "mailto:desk@example.com"],
      ["Terms", "https://example.com/terms?a=1&amp;b=2"],
    ].map(([name, at]) => [name, at === ".." ? "../" : at]),
  );
});

describe("on a telephone", () => {
  inChromium("the names of all pages are in a menu, and the key folds away", async () => {
    const context = await (browser as Browser).newContext({
      viewport: { width: 390, height: 844 },
    });
    try {
      const page = await context.newPage();
      await open(page, `${proxy.url}/docs`);
      const heightOf = async (at: string): Promise<number> =>
        (await page.locator(at).boundingBox())?.height ?? 0;
      expect(await heightOf(".masthead")).toBeLessThanOrEqual(64);
      const names = page.locator(".masthead nav a");
      expect(await names.filter({ visible: true }).count()).toBe(0);
      await page.getByRole("button", { name: "Menu" }).press("Enter");
      const linked = Object.values<routes.Page>(routes.PAGES).flatMap((each) => each.link ?? []);
      expect(await names.filter({ visible: true }).allTextContents()).toEqual(linked);
      await page.locator(".further summary").press("Enter");
      const further = Object.values<routes.Page>(routes.PAGES).flatMap(
        (each) => each.further ?? [],
      );
      expect(await names.filter({ visible: true }).allTextContents()).toEqual([
        ...linked,
        ...further,
        "Settlements",
      ]);
      expect(await page.locator(".masthead [aria-current]").innerText()).toBe("API");
      const opener = page.getByRole("button", { name: "Key" });
      for (const at of [
        ".masthead nav a >> nth=0",
        "#menu",
        "#search",
        "#key-open",
        ".brand",
        "footer li >> nth=0",
      ]) {
        expect([at, await heightOf(at)]).toEqual([
          at,
          expect.toSatisfy((height: number) => height >= 44),
        ]);
      }
      await page.keyboard.press("Escape");
      expect(await names.filter({ visible: true }).count()).toBe(0);
      const field = page.getByLabel("API key");
      expect(await field.isVisible()).toBe(false);
      await opener.click();
      expect([await field.isVisible(), await opener.getAttribute("aria-expanded")]).toEqual([
        true,
        "true",
      ]);
      expect(await heightOf("#key-field")).toBeGreaterThanOrEqual(44);
      await opener.click();
      expect(await field.isVisible()).toBe(false);
      // A key that is refused unfolds it again, to say so.
      await keepKey(page, `cbk_${"0".repeat(49)}`);
      await open(page, `${proxy.url}/plans`);
      expect(await page.locator("#key-message").innerText()).toMatch(
        /^The key sent is not valid\. .* See the plans$/,
      );
    } finally {
      await context.close();
    }
  });
});

inChromium("the font is the service's own, and nothing moves when it comes late", async () => {
  const context = await (browser as Browser).newContext({ viewport: { width: 390, height: 844 } });
  try {
    const page = await context.newPage();
    let release = (): void => {};
    const waiting = new Promise<void>((resolve) => (release = resolve));
    await page.route("**/figtree.*.woff2", async (route) => {
      await waiting;
      await route.continue();
    });
    await page.addInitScript(`globalThis.shift = 0; new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) shift += value;
    }).observe({ type: "layout-shift", buffered: true })`);
    await page.goto(`${proxy.url}/methodology`, { waitUntil: "domcontentloaded" });
    await page.locator("#key-open").waitFor();
    release();
    await expect
      .poll(() =>
        page.evaluate(
          `[...document.fonts].some(({ family, status }) => family.includes("Figtree") && status === "loaded")`,
        ),
      )
      .toBe(true);
    await page.evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
    );
    expect(await page.evaluate<number>("shift")).toBeLessThan(0.05);
    const font = await page.request.get(proxy.url + assetPath("figtree.woff2"));
    expect([font.status(), font.headers()["content-type"]]).toEqual([200, "font/woff2"]);
    expect((await font.body()).length).toBeLessThan(25_000);
  } finally {
    await context.close();
  }
});

inChromium(
  "a table that scrolls sideways fades at the edges behind which there is more",
  async () => {
    const context = await (browser as Browser).newContext({
      viewport: { width: 390, height: 844 },
    });
    try {
      const page = await context.newPage();
      await page.goto(`${proxy.url}/methodology`);
      const fades = (): Promise<string[]> =>
        page.evaluate(`(() => {
        const boxes = [...document.querySelectorAll(".scroll")];
        const box = boxes.find(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
        box.scrollLeft = globalThis.scrolledPx;
        const style = getComputedStyle(box);
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
          done(["left", "right"].map((side) => style.getPropertyValue("--fade-" + side))))));
      })()`);
      await page.evaluate("globalThis.scrolledPx = 0");
      expect(await fades()).toEqual(["0px", "24px"]);
      await page.evaluate("globalThis.scrolledPx = 10_000");
      expect(await fades()).toEqual(["24px", "0px"]);
      await page.setViewportSize({ width: 1280, height: 844 });
      const whole = await page.evaluate<string[]>(
        `[...document.querySelectorAll(".scroll")].filter(({ scrollWidth, clientWidth }) => scrollWidth === clientWidth)
        .map((box) => getComputedStyle(box).getPropertyValue("--fade-right"))`,
      );
      expect(new Set(whole)).toEqual(new Set(["0px"]));
    } finally {
      await context.close();
    }
  },
);

inChromium("the reference is at most 76 kB on the wire, with all that it loads", async () => {
  const context = await (browser as Browser).newContext();
  try {
    const page = await context.newPage();
    const network = await context.newCDPSession(page);
    await network.send("Network.enable");
    let sentBytes = 0;
    network.on("Network.loadingFinished", ({ encodedDataLength }) => {
      sentBytes += encodedDataLength;
    });
    await page.goto(`${proxy.url}/docs`, { waitUntil: "networkidle" });
    expect(sentBytes).toBeGreaterThan(30_000);
    expect(sentBytes).toBeLessThanOrEqual(76_000);
  } finally {
    await context.close();
  }
});

inChromium(
  "on paper nothing is cut off, and nothing stands there that only a screen can use",
  async () => {
    const context = await (browser as Browser).newContext({
      viewport: { width: 700, height: 990 },
    });
    try {
      const page = await context.newPage();
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      for (const path of [...FOUND, ...FREE.slice(0, 1)]) {
        await open(page, proxy.url + path);
        const cut = await page.evaluate<string[]>(
          `[...document.querySelectorAll("pre, .scroll")].filter((at) => {
          const { overflowY, maxHeight } = getComputedStyle(at);
          return overflowY !== "visible" || maxHeight !== "none" || at.tagName === "PRE" && at.scrollWidth > at.clientWidth;
        }).map(({ outerHTML }) => outerHTML.slice(0, 100))`,
        );
        expect([path, cut]).toEqual([path, []]);
        for (const at of [
          ".masthead nav",
          "#menu",
          ".search",
          ".key",
          "#key-open",
          "footer nav",
          ".skip",
        ]) {
          expect([path, at, await page.locator(at).isVisible()]).toEqual([path, at, false]);
        }
        expect(await page.evaluate("getComputedStyle(document.body).backgroundColor")).toBe(
          "rgb(255, 255, 255)",
        );
      }
    } finally {
      await context.close();
    }
  },
);

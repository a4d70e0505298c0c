/** The service below a prefix of an operator's own server: every address of every page stays below it. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { KEYED_IDS, startTestProxy, type TestProxy } from "../http/fixture.ts";
import { startPrefixFront, type PrefixFront } from "../http/prefix-front.ts";
import { contractPage, FIXED_PAGES, keepKey, open, watchedContext } from "./visit.ts";

describe.each([
  ["with --public-url", true],
  ["without --public-url", false],
])("%s", (_, isNamed) => {
  let proxy: TestProxy;
  let front: PrefixFront;
  let root: string;
  let browser: Browser | undefined;
  beforeAll(async () => {
    front = await startPrefixFront("/prices-service");
    ({ root } = front);
    proxy = await startTestProxy({ publicUrl: isNamed ? root : null });
    front.target = proxy.url;
    if (hasBrowser) browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    front.close();
    await proxy.close();
  });

  inChromium("every page works with a key, and all its links lead somewhere", async () => {
    const { context, watch } = await watchedContext(browser as Browser);
    try {
      const page = await context.newPage();
      await keepKey(page, proxy.pro);
      const links = new Set<string>();
      for (const path of [...FIXED_PAGES, contractPage(KEYED_IDS[0] as string)]) {
        await open(page, root + path);
        expect(await page.textContent("#key-message")).toContain("Pro");
        for (const link of await page.evaluate<string[]>(
          `[...document.querySelectorAll("[href], [src]")].map((at) => at.href ?? at.src)`,
        )) {
          // The sources of levels are other sites.
          if (!link.startsWith("https://example.com/")) links.add(link.replace(/#.*/, ""));
        }
      }
      expect(watch.complaints).toEqual([]);
      expect(watch.requests.filter(({ url }) => !url.startsWith(`${root}/`))).toEqual([]);
      expect(watch.requests.some(({ url }) => url.includes("/api/public/v1/"))).toBe(true);
      for (const link of links) {
        const { status } = await fetch(link);
        expect([link, link.startsWith(`${root}/`), status]).toEqual([link, true, 200]);
      }
    } finally {
      await context.close();
    }
  });
});

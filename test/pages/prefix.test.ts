/** The service below a prefix of an operator's own server: every address of every page stays below it. */
import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { hasBrowser, inChromium, launchBrowser } from "../http/browser.ts";
import { KEYED_IDS, startTestProxy, type TestProxy } from "../http/fixture.ts";
import { contractPage, FIXED_PAGES, keepKey, open, watchedContext } from "./visit.ts";

const PREFIX = "/prices-service";

let proxy: TestProxy;
let forwarder: Server;
let root: string;
let browser: Browser | undefined;
beforeAll(async () => {
  proxy = await startTestProxy();
  // Strips the prefix; everything else of the host belongs to somebody else.
  forwarder = createServer((asked, answer) => {
    const { url = "", method, headers } = asked;
    if (!url.startsWith(`${PREFIX}/`)) return void answer.writeHead(418).end();
    const path = url.slice(PREFIX.length);
    const onward = request(new URL(path, proxy.url), { method, headers }, (answered) => {
      answer.writeHead(answered.statusCode as number, answered.headers);
      answered.pipe(answer);
    });
    asked.pipe(onward);
  }).listen(0, "127.0.0.1");
  await once(forwarder, "listening");
  root = `http://127.0.0.1:${(forwarder.address() as AddressInfo).port}${PREFIX}`;
  if (hasBrowser) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  forwarder.close();
  forwarder.closeAllConnections();
  await proxy.close();
});

inChromium("every page works with a key, and links only to what is there", async () => {
  const { context, watch } = await watchedContext(browser as Browser);
  try {
    const page = await context.newPage();
    await keepKey(page, proxy.pro);
    const links = new Set<string>();
    for (const path of [...FIXED_PAGES, contractPage(KEYED_IDS[0] as string)]) {
      await open(page, root + path);
      expect(await page.textContent("#key-message")).toContain("pro");
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

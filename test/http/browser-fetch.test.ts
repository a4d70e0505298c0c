/** A page of another origin in a real browser: Basic, parts of downloads, and no dialogue. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { startTestProxy, type TestProxy } from "./fixture.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
let other: TestProxy;
let browser: Browser | undefined;
let page: Page;
beforeAll(async () => {
  proxy = await startTestProxy();
  other = await startTestProxy();
  if (!hasBrowser) return;
  browser = await openBrowser();
  page = await browser.newPage();
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
  await other.close();
});

inChromium("fetch with Basic, of the whole file and of a part of it", async () => {
  await page.goto(`${other.url}/healthz`);
  const read = await page.evaluate(
    async ([url, key]) => {
      const authorization = `Basic ${btoa(`:${key}`)}`;
      const whole = await fetch(url, { headers: { authorization } });
      const text = await whole.text();
      const partIf = (ifRange: string | null, range: string) =>
        fetch(url, { headers: { authorization, range, "if-range": ifRange as string } });
      const part = await partIf(whole.headers.get("last-modified"), "bytes=10-29");
      const next = await partIf(part.headers.get("etag"), "bytes=30-39");
      // The whole file came compressed, and its tag is the compressed form's.
      const other = await partIf(whole.headers.get("etag"), "bytes=30-39");
      const beyond = await fetch(url, { headers: { authorization, range: "bytes=999999-" } });
      return {
        statuses: [whole, part, next, other, beyond].map(({ status }) => status),
        isPart: (await part.text()) + (await next.text()) === text.slice(10, 40),
        ranges: [whole, part, beyond].map(({ headers }) => [
          headers.get("accept-ranges"),
          headers.get("content-range"),
        ]),
        size: text.length,
      };
    },
    [`${proxy.url}${API}/export.csv`, proxy.pro] as const,
  );
  const { size } = read;
  expect(read).toMatchObject({
    statuses: [200, 206, 206, 200, 416],
    isPart: true,
    ranges: [
      ["bytes", null],
      ["bytes", `bytes 10-29/${size}`],
      [null, `bytes */${size}`],
    ],
  });
});

inChromium("no 401 opens a dialogue, by address or by fetch", async () => {
  // The control: a server whose challenge does open one.
  const asking = createServer((_, response) =>
    response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end(),
  ).listen(0, "127.0.0.1");
  await once(asking, "listening");
  const { port } = asking.address() as AddressInfo;
  const session = await page.context().newCDPSession(page);
  try {
    let dialogues = 0;
    await session.send("Fetch.enable", { handleAuthRequests: true });
    session.on("Fetch.requestPaused", ({ requestId }) => {
      void session.send("Fetch.continueRequest", { requestId });
    });
    session.on("Fetch.authRequired", ({ requestId }) => {
      dialogues += 1;
      const authChallengeResponse = { response: "CancelAuth" as const };
      void session.send("Fetch.continueWithAuth", { requestId, authChallengeResponse });
    });
    const address = `${proxy.url}${API}/export.csv`;
    expect((await page.goto(address))?.status()).toBe(401);
    const withBadKey = address.replace("//", `//:${proxy.pro.slice(0, -1)}@`);
    expect((await page.goto(withBadKey))?.status()).toBe(401);
    await page.goto(`${proxy.url}/healthz`);
    const statuses = await page.evaluate(
      (url) =>
        Promise.all(
          [{}, { authorization: "Basic eDp5" }, { "x-api-key": "x" }].map(
            async (headers) => (await fetch(url, { headers })).status,
          ),
        ),
      address,
    );
    expect([statuses, dialogues]).toEqual([[401, 401, 401], 0]);
    await page.goto(`http://127.0.0.1:${port}/`).catch(() => {});
    expect(dialogues).toBe(1);
  } finally {
    await session.detach();
    asking.close();
  }
});

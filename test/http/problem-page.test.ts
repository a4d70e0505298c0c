/** Problems as pages for browsers; programs get the problem document. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { inChromium, openBrowser } from "../services/browser.ts";
import { startTestProxy, type TestProxy } from "./fixture.ts";
import { startPrefixFront } from "./prefix-front.ts";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

const HTML = "text/html; charset=utf-8";
const DOCUMENT = "application/problem+json";
const CHROMIUM =
  "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8," +
  "application/signed-exchange;v=b3;q=0.7";
const VARY = "Authorization, X-Api-Key, Accept-Encoding, Accept";

describe("the form is the one that Accept prefers", () => {
  test.each([
    [CHROMIUM, HTML],
    ["text/html", HTML],
    ["text/*", HTML],
    ["TEXT/HTML, application/json;q=0.9", HTML],
    ["text/html;q=0.8, application/*;q=0.5", HTML],
    [undefined, DOCUMENT],
    ["*/*", DOCUMENT],
    ["text/html, */*", DOCUMENT],
    ["application/json, text/html;q=0.9", DOCUMENT],
    ["application/problem+json, text/html", DOCUMENT],
    ["text/html;q=0, */*", DOCUMENT],
    ["text/html;q=1.5.5", DOCUMENT],
    ["text/plain", DOCUMENT],
    ["", DOCUMENT],
  ])("%s: %s", async (accept, type) => {
    const headers = accept === undefined ? {} : { accept };
    const answer = await proxy.get("/none", { headers });
    expect([answer.status, answer.headers["content-type"]]).toEqual([404, type]);
    expect(answer.headers.vary).toBe(VARY);
    expect(answer.headers["cache-control"]).toBe("no-store");
    if (type === DOCUMENT) expect(answer.json.code).toBe("not_found");
    else {
      expect(answer.text).toContain("<h1>No such address</h1>");
      expect(answer.text).not.toMatch(/aria-current|<!--/);
      expect(answer.text).toContain(
        '<meta name="description" content="There is nothing at this path." />',
      );
    }
  });

  test("below /api it is always the document", async () => {
    for (const path of ["/api/", "/api/public/v1/none", "/api/public/v1/prices/none"]) {
      const { status, headers } = await proxy.get(path, { headers: { accept: "text/html" } });
      expect([path, status, headers["content-type"]]).toEqual([path, 404, DOCUMENT]);
      expect(headers.vary).toBe("Authorization, X-Api-Key, Accept-Encoding");
    }
  });
});

test("other problems are pages, too, with their status and fields", async () => {
  const headers = { accept: CHROMIUM };
  const inAddress = await proxy.get(`/?key=${proxy.pro}`, { headers });
  expect([inAddress.status, inAddress.headers["content-type"]]).toEqual([400, HTML]);
  expect(inAddress.text).toContain("<h1>Key in the address</h1>");
  expect(inAddress.text).toContain('docs#key_in_query"');
  expect(inAddress.text).not.toContain(proxy.pro);
  const posted = await proxy.get("/guide", { headers, method: "POST" });
  expect([posted.status, posted.headers.allow]).toEqual([405, "GET, HEAD, OPTIONS"]);
  expect(posted.text).toContain("Method POST: expected GET, HEAD, OPTIONS.");
});

test("it names the address that was asked, and the contracts that may be meant", async () => {
  const main = async (path: string): Promise<string> => {
    const { text } = await proxy.get(path, { headers: { accept: CHROMIUM } });
    return /<main[^]*<\/main>/.exec(text)?.[0] ?? "";
  };
  const [{ id }] = (await proxy.get("/api/public/v1/prices")).json.memory;
  const near = await main(`/contracts/${id}x`);
  expect(near).toContain(`<code>/contracts/${id}x</code>`);
  expect(near).toContain(`<a href="../contracts/${id}">${id}</a>`);
  const none = await main("/none");
  expect(none).toContain("<code>/none</code>");
  expect(none).toContain("<span></span>");
  expect(await main(`/none/${proxy.pro}`)).not.toContain(proxy.pro);
  expect(await main(`/${"a".repeat(500)}`)).not.toContain("a".repeat(200));
});

test("the page allows nothing inline and nothing from elsewhere", async () => {
  const { headers, text } = await proxy.get("/none", { headers: { accept: CHROMIUM } });
  expect(headers["content-security-policy"]).toContain("default-src 'none'");
  expect(text.match(/<script.*/g)).toEqual(['<script src="assets/early.js"></script>']);
  expect(text).not.toMatch(/<style| style=|https?:/);
});

test("a path of slashes does not make a large page", async () => {
  const path = "/".repeat(8_000);
  const { status, headers, raw } = await proxy.get(path, { headers: { accept: CHROMIUM } });
  expect([status, headers["content-type"]]).toEqual([404, DOCUMENT]);
  expect(raw.length).toBeLessThan(1_000);
});

inChromium("style and links work at any depth, also below a prefix", async () => {
  const front = await startPrefixFront("/chips");
  front.target = proxy.url;
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    const failed: string[] = [];
    page.on("response", (got) => {
      if (got.status() >= 400 && got.request().resourceType() !== "document") {
        failed.push(got.url());
      }
    });
    for (const path of ["/none", "/none/", "/a/b/c", "/a//b", "/%3Cb%3E/x?y=z"]) {
      const { root } = front;
      const answer = await page.goto(root + path);
      expect(answer?.status()).toBe(404);
      const margin = await page.evaluate("getComputedStyle(document.body).marginTop");
      expect([path, margin]).toEqual([path, "0px"]);
      const links = await page.$$eval("nav a, main a", (all) =>
        all.map((link) => (link as unknown as { href: string }).href),
      );
      expect(links).toContain(`${root}/docs#not_found`);
      for (const link of links) expect(link.startsWith(`${root}/`)).toBe(true);
    }
    expect(failed).toEqual([]);
  } finally {
    await browser.close();
    front.close();
  }
});

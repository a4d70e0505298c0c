/** Problems as pages for browsers; problem-forms.http says who gets one. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { assetPath } from "../../src/pages/assets.ts";
import { inChromium, openBrowser } from "../services/browser.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { startPrefixFront } from "../http/prefix-front.ts";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

const DOCUMENT = "application/problem+json";
const CHROMIUM =
  "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8," +
  "application/signed-exchange;v=b3;q=0.7";

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
  expect(text.match(/<script.*/g)).toEqual([
    `<script src="${assetPath("early.js").slice(1)}"></script>`,
    // The field for a key, and the search.
    ...["page.js", "search.js"].map(
      (name) => `<script type="module" src="${assetPath(name).slice(1)}"></script>`,
    ),
  ]);
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

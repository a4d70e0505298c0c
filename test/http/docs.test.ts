/** The reference: in a real browser with the network off, and as plain files. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/proxy/docs/openapi.ts";
import { PROBLEMS } from "../../src/proxy/problems.ts";
import { axeScript, inChromium, launchBrowser } from "./browser.ts";
import { validate } from "./recorder.ts";
import { startTestProxy, type TestProxy } from "./fixture.ts";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

test("the page, its assets and the document are served with their types, and nothing else", async () => {
  const types = {
    "/docs": "text/html; charset=utf-8",
    "/openapi.json": "application/json",
    "/assets/reference.js": "text/javascript; charset=utf-8",
    "/assets/reference.css": "text/css; charset=utf-8",
    "/docs/swagger-ui.css": "text/css; charset=utf-8",
    "/docs/swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  };
  for (const [path, type] of Object.entries(types)) {
    const { status, headers, raw } = await proxy.get(path, {
      headers: { "accept-encoding": "gzip" },
    });
    expect([path, status, headers["content-type"]]).toEqual([path, 200, type]);
    expect(headers["content-encoding"]).toBe("gzip");
    expect(raw.length).toBeLessThan(600_000);
  }
  for (const path of [
    "/docs/",
    "/docs/index.html",
    "/docs/swagger-ui-bundle.js.map",
    "/favicon.ico",
  ]) {
    expect((await proxy.get(path)).status).toBe(404);
  }
});

test("every problem has its entry at the address in `type`", async () => {
  const { json } = await proxy.get("/none");
  expect(json.type).toBe("/docs#not_found");
  const { text } = await proxy.get("/docs");
  for (const [code, { title }] of Object.entries(PROBLEMS)) {
    expect(text).toContain(`<article id="${code}">`);
    expect(text).toContain(title);
  }
});

test("every problem is an answer of some operation, except the one for addresses that do not exist", () => {
  const operations = JSON.stringify(openApiDocument()["paths"]);
  const documented = Object.keys(PROBLEMS).filter((code) => operations.includes(`\`${code}\``));
  expect(documented).toEqual(Object.keys(PROBLEMS).filter((code) => code !== "not_found"));
});

interface Example {
  readonly $ref?: string;
  readonly value?: unknown;
}
interface Document {
  readonly paths: Record<string, { get: { responses: Record<string, { content?: object }> } }>;
  readonly components: { examples: Record<string, Example> };
}
interface Media {
  readonly schema: { $ref?: string; type?: string; format?: string };
  readonly examples?: Record<string, Example>;
}

test("every answer that is text has examples, which its schema allows", () => {
  const document = openApiDocument() as unknown as Document;
  const without: string[] = [];
  for (const [path, { get }] of Object.entries(document.paths)) {
    for (const [status, { content = {} }] of Object.entries(get.responses)) {
      for (const { schema, examples } of Object.values(content) as Media[]) {
        if (schema.format === "binary" || status === "206") continue;
        if (examples === undefined) without.push(`${path} ${status}`);
        for (const [name, example] of Object.entries(examples ?? {})) {
          const component = example.$ref?.replace("#/components/examples/", "");
          const { value } =
            component === undefined
              ? example
              : (document.components.examples[component] as Example);
          if (schema.$ref === undefined) expect(typeof value).toBe(schema.type);
          else validate(schema.$ref, value, `${path} ${status} ${name}`);
          if (Number(status) >= 400) expect(value).toMatchObject({ status: Number(status) });
        }
      }
    }
  }
  expect(without).toEqual(["/openapi.json 200"]);
});

describe("in Chromium", () => {
  let browser: Browser;
  let page: Page;
  const errors: string[] = [];
  const requested: string[] = [];

  inChromium("all endpoints are listed, and one can be tried", { timeout: 120_000 }, async () => {
    browser = await launchBrowser();
    page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("request", (request) => requested.push(request.url()));
    await page.goto(`${proxy.url}/docs`);
    await page.waitForSelector(".opblock");
    const listed = await page.$$eval(".opblock-summary-path", (nodes) =>
      nodes.map((node) => node.getAttribute("data-path")),
    );
    const document = openApiDocument() as { paths: Record<string, unknown> };
    expect(listed.toSorted()).toEqual(Object.keys(document.paths).toSorted());
    expect(await page.textContent("#served")).toContain("Serving 2026-11-21T00Z/r1");
    expect(await page.textContent("#attribution")).toContain("Test levels, not market data");

    await page.fill("#key-field", proxy.pro);
    await page.click("#key button[type=submit]");
    await page.getByText("Tier pro").waitFor();
    const block = page.locator(".opblock", { hasText: "/api/public/v1/prices/{id}" });
    await block.locator(".opblock-summary-control").click();
    // The example of an answer is the recorded one, with a name of this market, not one made of the schema.
    await block.locator(".responses-table", { hasText: '"dram-0"' }).first().waitFor();
    await block.locator("input[placeholder='id']").fill("dram-0");
    await block.locator(".btn.execute").click();
    await block.locator(".live-responses-table .response-col_status").first().waitFor();
    expect(
      await block.locator(".live-responses-table tbody .response-col_status").first().textContent(),
    ).toContain("200");
    // Only with a key the answer has a history.
    expect(await block.locator(".live-responses-table").textContent()).toMatch(
      /"id": "dram-0"[^]*"close_usd":/,
    );
    if (process.env["CHIPBOARD_TEST_SCREENSHOT"] !== undefined) {
      await page.screenshot({ path: process.env["CHIPBOARD_TEST_SCREENSHOT"] });
    }
    expect(errors).toEqual([]);
    expect(
      requested.filter((url) => !url.startsWith(proxy.url) && !url.startsWith("data:")),
    ).toEqual([]);
  });

  inChromium.each(["light", "dark"] as const)(
    "axe finds nothing, with an operation open: %s",
    { timeout: 120_000 },
    async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      await page.goto(`${proxy.url}/docs`);
      const block = page.locator(".opblock", { hasText: "/api/public/v1/index" }).first();
      await block.locator(".opblock-summary-control").click();
      await block.locator("select[aria-label]").first().waitFor();
      await page.evaluate(axeScript());
      // Swagger UI draws a second main element. As a group it is no second landmark.
      const rules = { "aria-allowed-role": { enabled: false } };
      const found = await page.evaluate<string[]>(
        `axe.run(document, { rules: ${JSON.stringify(rules)} }).then(({ violations }) => violations.map(({ id, nodes }) => id + " " + nodes[0].html))`,
      );
      expect(found).toEqual([]);
    },
  );

  inChromium("another origin may fetch with x-api-key, and read the header fields", async () => {
    const other = await startTestProxy();
    try {
      await page.goto(`${other.url}/healthz`);
      const read = await page.evaluate(
        async ([url, key]) => {
          const response = await fetch(`${url}/api/public/v1/prices`, {
            headers: { "x-api-key": key, "if-none-match": '"none"' },
          });
          const refused = await fetch(`${url}/api/public/v1/prices?x=1`);
          return {
            session: ((await response.json()) as { session_utc: string }).session_utc,
            remaining: response.headers.get("x-ratelimit-remaining"),
            snapshot: response.headers.get("x-snapshot"),
            etag: response.headers.get("etag"),
            refused: [refused.status, ((await refused.json()) as { code: string }).code],
            left: refused.headers.get("x-ratelimit-remaining"),
          };
        },
        [proxy.url, proxy.starter] as const,
      );
      expect(read).toMatchObject({
        session: "2026-11-20T12:00:00.000Z",
        remaining: "24999",
        snapshot: "2026-11-21T00Z/r1",
        refused: [400, "unknown_parameter"],
        left: "1000",
      });
      expect(read.etag).toMatch(/^"/);
    } finally {
      await other.close();
    }
  });

  afterAll(async () => {
    await browser?.close();
  });
});

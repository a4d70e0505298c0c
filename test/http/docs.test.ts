/** The reference: as it is sent, and in a real browser. */
import { buffer } from "node:stream/consumers";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assetPath } from "../../src/pages/assets.ts";
import { openApiDocument } from "../../src/docs/openapi.ts";
import { PROBLEMS } from "../../src/public/problems.ts";
import { escaped } from "../../src/site/text.js";
import { giveKey, open } from "../pages/visit.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { validate } from "./recorder.ts";
import { startTestProxy, type TestProxy } from "./fixture.ts";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

test("the page and all that it loads, but the font of all pages, have at most 64 kB on the wire", async () => {
  const { status, headers, text } = await proxy.get("/docs");
  expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  const loaded = new Set(["/docs"]);
  const named = (from: string, source: string): void => {
    for (const [, name = ""] of source.matchAll(
      /(?:src|href|from)[= ]*"(\.?\/?[\w./-]+\.(?:js|css|svg))"/g,
    )) {
      const path = new URL(name, new URL(from, proxy.url)).pathname;
      if (path.startsWith("/assets/")) loaded.add(path);
    }
  };
  named("/docs", text);
  let bytes = 0;
  for (const path of loaded) {
    const answer = await proxy.get(path, { headers: { "accept-encoding": "gzip" } });
    expect([path, answer.status]).toEqual([path, 200]);
    bytes += answer.raw.length;
    if (/\.(?:js|css)$/.test(path)) named(path, (await proxy.get(path)).text);
  }
  expect([...loaded]).toContain(assetPath("key.js"));
  expect(bytes).toBeLessThanOrEqual(64_000);
  for (const path of ["/docs/", "/docs/index.html", "/docs.json"]) {
    expect((await proxy.get(path)).status).toBe(404);
  }
});

test("`type` of a problem leads to its row, which has the meaning and the remedy", async () => {
  const { json } = await proxy.get("/none");
  expect(json.type).toBe("/docs#not_found");
  const { text } = await proxy.get("/docs");
  for (const [code, { status, title, meaning, remedy }] of Object.entries(PROBLEMS)) {
    const row = new RegExp(`<tr id="${code}">[^]*?</tr>`).exec(text)?.[0] ?? "";
    const words = row.replaceAll(/<[^>]+>/g, " ");
    for (const part of [code, String(status), title, meaning, remedy]) {
      expect(words).toContain(escaped(part));
    }
  }
});

/** The page's article on an operation, as it is sent. */
const articleOf = (html: string, operationId: string): string =>
  new RegExp(`<article id="${operationId}">[^]*?</article>`).exec(html)?.[0] ?? "";

test("it begins with the start, the promise and the rules, and ends with what few need", async () => {
  const { text } = await proxy.get("/docs");
  const anchors = [...text.matchAll(/<(?:h[23]|article) id="([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(anchors).size).toBe(anchors.length);
  const begin = ["start", "what-stays-the-same", "rules-that-hold-everywhere"];
  expect(anchors.filter((anchor) => begin.includes(anchor ?? ""))).toEqual(begin);
  const first = anchors.indexOf("getBoard");
  expect(anchors.slice(2, first)).toEqual([
    "rules-that-hold-everywhere",
    "when-a-request-fails",
    "rate-limit",
    "dates-and-numbers",
    "ids",
    "publications-and-points-in-time",
    "caching",
    "names-that-differ",
  ]);
  expect(anchors.slice(-5)).toEqual([
    "getSparklines",
    "getSmallTile",
    "getLargeTile",
    "getLogKeys",
    "errors",
  ]);
  const { description } = openApiDocument()["info"] as { description: string };
  for (const said of [text.replaceAll("\n", " "), description.replaceAll("\n", " ")]) {
    expect(said).toContain("Within v1, no field, endpoint or parameter is removed or changes");
  }
});

test("sentences name tiers as people do", async () => {
  for (const path of ["/docs", "/guide", "/methodology"]) {
    const { text } = await proxy.get(path);
    // Code, answers and lists of values have what the API has.
    const said = text
      .replaceAll(/<(pre|code)\b.*?<\/\1>/gs, "")
      .replaceAll(/<head>.*?<\/head>|<[^>]*>/gs, "")
      .replace("string: free or starter or pro", "");
    expect([path, said.match(/[^\n]*\b(?:starter|pro)\b[^\n]*/g)]).toEqual([path, null]);
  }
  const { text } = await proxy.get("/docs");
  expect(text).toContain("<p>Tiers: no key, Starter, Pro. Counted as one call.</p>");
});

test("names that differ for one thing are names of the API", async () => {
  const { text } = await proxy.get("/docs");
  const table = /<h3 id="names-that-differ">[^]*?<\/table>/.exec(text)?.[0] ?? "";
  const names = [...table.matchAll(/<code>([^<]+)<\/code>/g)].map(([, name = ""]) => name);
  expect(names.length).toBeGreaterThan(25);
  const document = JSON.stringify(openApiDocument());
  const headers = [
    "export.csv",
    "history.csv",
    "levels.csv",
    "superseded.csv",
    "indices.csv",
    "members.csv",
    "settlements.csv",
  ].map(async (file) => (await proxy.get(`/api/public/v1/${file}`, { key: proxy.pro })).text);
  const columns = (await Promise.all(headers)).flatMap((csv) =>
    (csv.split("\r\n", 1)[0] ?? "").split(","),
  );
  const unknown = names.filter((name) => {
    const path = name.replace(/^\/(?!log)/, "/api/public/v1/");
    const isNamed = [name, path].some((each) => document.includes(`"${each}":`));
    return !isNamed && !document.includes(`"name":"${name}"`) && !columns.includes(name);
  });
  expect(unknown).toEqual([]);
});

/** A description as the page has it: the code in it without Markdown's marks. */
const shown = (description: string): string =>
  escaped(description).replaceAll(/`(.+?)`/g, "<code>$1</code>");

test("every operation of the document is on the page, with all parameters, fields and errors", async () => {
  const { text } = await proxy.get("/docs");
  const document = openApiDocument() as unknown as Document;
  const { schemas } = document.components;
  /** Every name of a field, and its description. */
  const fieldsIn = (schema: Schema): string[] => [
    ...(schema.$ref ? fieldsIn(schemas[schema.$ref.split("/").at(-1) ?? ""] as Schema) : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
      `<code>${name}</code>`,
      shown(field.description ?? ""),
      ...fieldsIn(field),
    ]),
    ...(schema.items ? fieldsIn(schema.items) : []),
    ...(schema.anyOf ?? []).flatMap(fieldsIn),
  ];
  for (const [path, { get }] of Object.entries(document.paths)) {
    const article = articleOf(text, get.operationId);
    const has = (part: string): void => expect(article, `${path}: ${part}`).toContain(part);
    expect(text).toContain(
      `<a href="#${get.operationId}">${path.replace("/api/public/v1", "")}</a>`,
    );
    expect(article.replaceAll("<wbr>", "")).toContain(`<b>GET</b> <code>${path}</code>`);
    has(escaped(get.summary));
    has(shown(get.description ?? ""));
    for (const { name, description } of get.parameters ?? []) {
      has(`<code>${name}</code>`);
      has(shown(description));
    }
    for (const [status, { description = "", content = {} }] of Object.entries(get.responses)) {
      for (const [, code = ""] of description.matchAll(/^`(\w+)`:/gm)) {
        has(`<li>${status} <a href="#${code}">${code}</a></li>`);
      }
      if (status !== "200") continue;
      for (const { schema } of Object.values(content)) fieldsIn(schema).forEach(has);
      has('<div class="answer">');
    }
  }
  expect(text.match(/<article id=/g)).toHaveLength(Object.keys(document.paths).length);
});

test("every problem is an answer of some operation", () => {
  const operations = JSON.stringify(openApiDocument()["paths"]);
  const documented = Object.keys(PROBLEMS).filter((code) => operations.includes(`\`${code}\``));
  expect(documented).toEqual(Object.keys(PROBLEMS));
});

interface Example {
  readonly $ref?: string;
  readonly value?: unknown;
}
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Record<string, Schema>;
  readonly items?: Schema;
  readonly anyOf?: Schema[];
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: { name: string; description: string }[];
  readonly responses: Record<string, { description?: string; content?: Record<string, Media> }>;
}
interface Document {
  readonly paths: Record<string, { get: Operation }>;
  readonly components: { examples: Record<string, Example>; schemas: Record<string, Schema> };
}
interface Media {
  readonly schema: Schema;
  readonly examples?: Record<string, Example>;
}

test("every answer that is text has examples, which its schema allows", () => {
  const document = openApiDocument() as unknown as Document;
  const without: string[] = [];
  for (const [path, { get }] of Object.entries(document.paths)) {
    for (const [status, { content = {} }] of Object.entries(get.responses)) {
      for (const { schema, examples } of Object.values(content)) {
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
  // These are long.
  expect(without).toEqual([
    "/openapi.json 200",
    "/log/tiles/16/{id} 200",
    "/log/tiles/256/{id} 200",
  ]);
});

describe("in Chromium", () => {
  let browser: Browser;
  let page: Page;
  const errors: string[] = [];
  const requested: string[] = [];

  beforeAll(async () => {
    if (!hasBrowser) return;
    browser = await openBrowser();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("request", (request) => requested.push(request.url()));
  });
  afterAll(() => browser?.close());

  /** Runs the request of an operation, or another path, and returns what the page says then. */
  async function ran(operationId: string, path?: string): Promise<[status: string, shown: string]> {
    const box = page.locator(`#${operationId} .request`);
    if (path !== undefined) await box.getByLabel("Path and query").fill(path);
    await box.getByRole("button", { name: "Run" }).click();
    await expect
      .poll(() => box.locator("form output").textContent())
      .not.toMatch(/^(?:Costs|Running)/);
    return [
      (await box.locator("form output").textContent()) ?? "",
      (await box.locator(".answer > :not(.more)").allTextContents()).join(""),
    ];
  }

  inChromium("a request runs with the caller's key, which is shown nowhere", async () => {
    await open(page, `${proxy.url}/docs`);
    expect(requested.filter((url) => url.includes("/api/"))).toEqual([]);
    const [keyless] = await ran("getBoard");
    expect(keyless).toBe("200, 999 calls left");
    expect((await ran("getIndex"))[0]).toMatch(/^401, /);
    await giveKey(page, proxy.pro);

    const [status, shown] = await ran("getContract", "/api/public/v1/prices/dram-0?last=2");
    expect(status).toMatch(/^200, (?:[\d,]+ calls left|no limit of calls)$/);
    expect(JSON.parse(shown)).toMatchObject({ id: "dram-0", history: [{}, {}] });
    const programs = page.locator("#getContract .tabs");
    expect(await programs.textContent()).toContain(
      `'${proxy.url}/api/public/v1/prices/dram-0?last=2'`,
    );
    expect(await programs.textContent()).toContain('-H "x-api-key: $KEY"');
    expect((await ran("getContract", "/api/public/v1/prices/none"))[1]).toContain(
      '"unknown_contract"',
    );
    expect((await ran("exportCsv"))[1]).toMatch(/^session_utc,contract_id,/);
    expect((await ran("getHealth"))[0]).toBe("200");

    await ran("exportXlsx");
    const downloading = page.waitForEvent("download");
    await page.getByRole("link", { name: "Save export.xlsx" }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe("export.xlsx");
    expect((await buffer(await download.createReadStream())).toString("latin1")).toMatch(/^PK/);

    // One at a time: an answer that comes late cannot take the place of a later one.
    let answer = (): void => {};
    const waiting = new Promise<void>((resolve) => (answer = resolve));
    await page.route("**/healthz", async (route) => {
      await waiting;
      await route.abort();
    });
    const health = page.locator("#getHealth .request");
    await health.getByRole("button", { name: "Run" }).click();
    expect(await health.getByRole("button", { name: "Run" }).isDisabled()).toBe(true);
    answer();
    await expect
      .poll(() => health.locator("form output").textContent())
      .toBe("Could not reach the service");
    expect(await health.locator(".answer").textContent()).toBe("");
    await page.unroute("**/healthz");
    errors.pop();

    // Neither another host, nor a key in an address.
    const before = requested.length;
    for (const path of ["https://example.com/", `/api/public/v1/prices?key=${proxy.pro}`]) {
      expect((await ran("getBoard", path))[0]).toMatch(/^Expected a path of this service/);
    }
    expect(requested).toHaveLength(before);
    expect(await programs.page().locator("main").innerText()).not.toContain("cbk_");
    expect(requested.filter((url) => url.includes("cbk_") || !url.startsWith(proxy.url))).toEqual(
      [],
    );
    expect(errors.filter((text) => !/status of 40[14]/.test(text))).toEqual([]);
  });

  inChromium("one language is chosen for all programs, and copied", async () => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await open(page, `${proxy.url}/docs`);
    const other = page.locator("#getIndices .tabs");
    await page.locator("#getBoard summary", { hasText: "Python" }).press("Enter");
    expect(await other.locator("pre:visible").innerText()).toContain("urllib.request");
    await other.getByRole("button", { name: "Copy" }).click();
    await other.getByText("Copied").waitFor();
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(copied).toBe(await other.locator("pre:visible code").textContent());
    expect(copied).toContain(`url = "${proxy.url}/api/public/v1/indices"`);
  });

  inChromium(
    "the list marks the section being read, and no method breaks on a telephone",
    async () => {
      await open(page, `${proxy.url}/docs#getUsage`);
      await expect
        .poll(() => page.locator(".contents [aria-current]").allTextContents())
        .toEqual(["/usage"]);
      await page.setViewportSize({ width: 390, height: 800 });
      const heights = await page.$$eval(".endpoint b", (all) =>
        all.map((each) => each.getBoundingClientRect().height),
      );
      expect(Math.max(...heights)).toBeLessThan(30);
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
        left: expect.stringMatching(/^\d+$/),
      });
      expect(read.etag).toMatch(/^"/);
    } finally {
      await other.close();
    }
  });
});

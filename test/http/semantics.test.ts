/** What every address must do with tags, HEAD and codings; beside conditional.http and codings.http. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { assetPath } from "../../src/pages/assets.ts";
import { SUMS_ROUTE } from "../../src/public/routes.ts";
import { slotValues } from "../../src/pages/document-pages.ts";
import { fillSlots } from "../../src/pages/document-slots.ts";
import { storedKey } from "../store/stored-file.ts";
import { dataPaths, pagePaths, uncountedPaths } from "./addresses.ts";
import { SESSION, startTestProxy, type TestProxy } from "./fixture.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

const ask = (path: string, headers: Record<string, string>) =>
  proxy.get(API + path, { key: proxy.pro, headers });

test("a tag holds on every route with data, also baskets and pages", async () => {
  const data = [...dataPaths("pro"), `${API}/index?ids=dram-0`, SUMS_ROUTE.path];
  for (const path of [...data, ...pagePaths(), "/openapi.json"]) {
    const { headers } = await proxy.get(path, { key: proxy.pro });
    const again = { key: proxy.pro, headers: { "if-none-match": headers.etag as string } };
    expect([path, (await proxy.get(path, again)).status]).toEqual([path, 304]);
  }
});

test("the coded form equals the store's", async () => {
  const coded = await ask("/prices/dram-0", { "accept-encoding": "gzip" });
  expect(coded.raw.length).toBeLessThan(coded.body.length / 3);
  const key = storedKey({ session: SESSION, revision: 1 }, "pro/contracts/dram-0.json");
  expect(coded.raw).toEqual(await proxy.store.get(key));
});

test("HEAD has the fields of GET and no body, on every address", async () => {
  const found = [
    ...dataPaths("pro"),
    SUMS_ROUTE.path,
    ...uncountedPaths("key"),
    ...uncountedPaths("everybody"),
    ...pagePaths(),
    `${API}/index?ids=dram-0`,
    `${API}/publications?limit=1`,
    assetPath("reference.js"),
  ];
  for (const path of [...found, "/none", `${API}/index?x=1`]) {
    const headers = { "accept-encoding": "gzip" };
    const get = await proxy.get(path, { key: proxy.pro, headers });
    const head = await proxy.get(path, { key: proxy.pro, headers, method: "HEAD" });
    const { date: _, ...ofGet } = get.headers;
    const { date: __, ...ofHead } = head.headers;
    expect([path, head.status, ofHead]).toEqual([path, get.status, ofGet]);
    expect([path, get.status === 200]).toEqual([path, found.includes(path)]);
    expect(head.headers["content-length"]).toBe(String(get.raw.length));
  }
});

test("the OpenAPI document is the one the tests check with", async () => {
  const { openApiDocument } = await import("../../src/docs/openapi.ts");
  const { json, headers } = await proxy.get("/openapi.json");
  // Examples name contracts of the served market (test/guide/names.test.ts).
  const withoutExamples = (text: string): unknown =>
    JSON.parse(text, (name, value) => (/^examples?$/.test(name) ? null : value));
  const ofThisService = slotValues({ origin: proxy.url, graceMs: 0 }, null, null);
  const filled = fillSlots(JSON.stringify(openApiDocument()), ofThisService);
  expect(withoutExamples(JSON.stringify(json))).toEqual(withoutExamples(filled));
  expect(headers["content-type"]).toBe("application/json");
});

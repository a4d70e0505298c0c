/** How pages and the files that they load are answered: guarded, coded, and not sent twice. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assetPath } from "../../src/pages/assets.ts";
import * as routes from "../../src/public/uncounted-routes.ts";
import { siteAssets } from "../../src/site/site-files.ts";
import { PLACES } from "../../src/lib/limits.ts";
import { Visitor } from "../http/crowd.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { FIXED_PAGES } from "./visit.ts";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

const PAGES = FIXED_PAGES;
const ASSETS = siteAssets()
  .filter((name) => !/\.(?:png|webp)$/.test(name))
  .map(assetPath);

describe.each([...PAGES, routes.PAGES.reference.path])("%s", (path) => {
  test("may load from this service only, tells nobody where its reader comes from, and has the declared type", async () => {
    const { status, headers } = await proxy.get(path);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    });
    const policy = headers["content-security-policy"] as string;
    const rules = new Map(policy.split("; ").map((rule) => [rule.split(" ")[0], rule]));
    for (const name of ["default-src", "base-uri", "form-action", "frame-ancestors"]) {
      expect(rules.get(name)).toBe(`${name} 'none'`);
    }
    expect(rules.get("script-src")).toBe("script-src 'self'");
    expect(rules.get("connect-src")).toBe("connect-src 'self'");
    expect(policy).not.toMatch(/http|\*|unsafe-eval/);
  });
});

describe.each(PAGES)("%s", (path) => {
  test("has no script, style or handler in it, and no style that a script would set", async () => {
    const { text, headers } = await proxy.get(path);
    expect(headers["content-security-policy"]).not.toContain("unsafe-inline");
    expect(text).toMatch(/^<!doctype html>\n<html lang="en">/);
    // One element is no program and does not run: the description of the data for search engines.
    const programs = text.replaceAll('<script type="application/ld+json">', "");
    expect(programs.match(/<script(?![^>]* src="[^"]+"[^>]*><\/script>)[^>]*>/g)).toBeNull();
    expect(text.match(/<style|<[^>]+ (?:style|on[a-z]+)=/g)).toBeNull();
    expect(text.match(/\{\{.*?\}\}/g)).toBeNull();
  });
});

describe.each([...PAGES, ...ASSETS])("%s", (path) => {
  test("is compressed, and is not sent again to those who have it", async () => {
    const plain = await proxy.get(path);
    const coded = await proxy.get(path, { headers: { "accept-encoding": "gzip, br" } });
    expect(coded.headers["content-encoding"]).toBe("gzip");
    expect(coded.text).toBe(plain.text);
    expect(coded.headers.etag).not.toBe(plain.headers.etag);
    for (const { headers, raw } of [plain, coded]) {
      expect(headers).toMatchObject({
        "content-length": String(raw.length),
        "x-content-type-options": "nosniff",
      });
      expect(headers["cache-control"]).toBe(
        path.startsWith(routes.ASSETS_PATH)
          ? "public, max-age=31536000, immutable"
          : "public, max-age=60",
      );
      const coding = { "accept-encoding": headers["content-encoding"] ?? "identity" };
      const head = await proxy.get(path, { method: "HEAD", headers: coding });
      expect(head.raw).toHaveLength(0);
      expect({ ...head.headers, date: null }).toEqual({ ...headers, date: null });
      const etag = headers.etag as string;
      for (const method of ["GET", "HEAD"]) {
        const again = await proxy.get(path, {
          method,
          headers: { ...coding, "if-none-match": etag },
        });
        expect([again.status, again.raw.length, again.headers.etag]).toEqual([304, 0, etag]);
      }
    }
  });
});

test("a key changes no page: it is asked for by scripts only", async () => {
  for (const path of PAGES) {
    const keyless = await proxy.get(path);
    const keyed = await proxy.get(path, { key: proxy.pro });
    expect([path, keyed.text]).toEqual([path, keyless.text]);
  }
});

test("one caller has few pages of contracts made at once, and others are answered meanwhile", async () => {
  const own = await startTestProxy({ trustedHops: 1 });
  try {
    const { contracts } = (await own.get(routes.UNCOUNTED_ROUTES.contracts.path)).json;
    const paths = contracts.flatMap(({ id }: { id: string }) => [
      `/contracts/${id}`,
      `/contracts/${id}?as_of=1`,
    ]);
    expect(paths.length).toBeGreaterThan(PLACES);
    const asked = (path: string, address: string): string =>
      `HEAD ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n\r\n`;
    const greedy = await Visitor.at(own.url);
    greedy.send(paths.map((path: string) => asked(path, "192.0.2.1")).join(""));
    const other = await Visitor.at(own.url);
    await other.send(asked(paths[0] as string, "198.51.100.1")).end().closed;
    expect(other.statuses).toEqual([200]);
    await greedy.end().closed;
    // A place may be free again before the last request is read.
    const { length: made } = greedy.statuses.filter((status) => status === 200);
    const { length: refused } = greedy.statuses.filter((status) => status === 503);
    expect(made).toBeGreaterThanOrEqual(PLACES);
    expect(refused).toBeGreaterThan(0);
    expect(made + refused).toBe(paths.length);
    expect((await own.get(paths.at(-1) as string)).status).toBe(200);
  } finally {
    await own.close();
  }
});

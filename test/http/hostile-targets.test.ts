/** Bad paths, targets and versions: always the right 4xx with a problem document, never another file. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestProxy, type TestProxy } from "./fixture.ts";
import { expectUnharmed, getFrom, sendTo, type Raw } from "./raw-client.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(async () => {
  await expectUnharmed(proxy);
  await proxy.close();
});

const send = (bytes: string | Buffer, method?: string, path?: string): Promise<Raw> =>
  sendTo(proxy.url, bytes, method, path);
const get = (target: string, lines?: string, version?: string): Promise<Raw> =>
  getFrom(proxy.url, target, lines, version);

test("bytes beyond ASCII in path and query", async () => {
  for (const target of [`${API}/prices/\xe9`, `${API}/prices?\xff=\xfe`, `/\xc3\xa9`]) {
    const { status } = await get(target);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
  }
});
describe("a known path with something inserted", () => {
  const KNOWN = [
    "/",
    "/openapi.json",
    "/healthz",
    "/readyz",
    "/docs",
    "/contracts/dram-0",
    `${API}/prices`,
    `${API}/prices/dram-0`,
    `${API}/usage`,
  ];
  const PIECES = [
    ..."/ // . .. ./ ../ %2e %2F %5c \\ % %00 ; & @ ~ * %e9 \xe9 null".split(" "),
    ..."api public v1 prices PRICES dram-0 index usage export.csv readyz docs /contracts/".split(
      " ",
    ),
    "/api/public/v1",
  ];

  test.each(KNOWN)("%s is found, and nothing else on the way to it", async (path) => {
    expect((await get(path)).status).toBe(200);
    // At its beginning, before and after each slash, and at its end.
    const places = [...path.matchAll(/\/|$/g)].flatMap(({ index }) => [index, index + 1]);
    for (const at of new Set(places)) {
      for (const piece of PIECES) {
        const target = path.slice(0, at) + piece + path.slice(at);
        if (!target.startsWith("/")) continue;
        const { status } = await get(target);
        const expected = KNOWN.includes(target) ? 200 : expect.toBeOneOf([400, 404]);
        expect([target, status]).toEqual([target, expected]);
      }
    }
  });
});

describe("targets and versions", () => {
  test("HTTP/1.0 without Host is served", async () => {
    const { status, text } = await get(`${API}/prices/dram-0`, "", "1.0");
    expect([status, JSON.parse(text).id]).toEqual([200, "dram-0"]);
  });

  test("HTTP/1.1 without Host is refused, with any key, for any path, any number of times", async () => {
    const valid = `x-api-key: ${proxy.pro}\r\n`;
    for (const target of [`${API}/prices`, `${API}/usage`, "/healthz", "/", "/none"]) {
      for (const lines of ["", valid, valid, "x-api-key: bad\r\n"]) {
        const { status, code } = await get(target, lines);
        expect([target, status, code]).toEqual([target, 400, "bad_request"]);
      }
    }
  });

  test("two Host fields are refused, equal or not, side by side or 3,000 fields apart", async () => {
    const between = "a:\r\n".repeat(3_000);
    for (const lines of [
      "Host: x\r\nHost: x\r\n",
      "Host: x\r\nx-a: b\r\nhOST: y\r\n",
      "Host:\r\nHost:\r\n",
      `Host: x\r\nx-api-key: ${proxy.pro}\r\nHost: x\r\n`,
      `Host: x\r\n${between}Host: x\r\n`,
    ]) {
      for (const target of [`${API}/prices`, "/healthz"]) {
        for (const version of ["1.1", "1.0"]) {
          const { status, code } = await get(target, lines, version);
          expect([lines.slice(0, 60), status, code]).toEqual([
            lines.slice(0, 60),
            400,
            "bad_request",
          ]);
        }
      }
    }
  });

  test("absolute form is served by its path; another scheme is refused", async () => {
    const absolute = (target: string, path: string) =>
      send(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, "GET", path);
    expect(
      (await absolute(`http://other.example${API}/prices/dram-0`, `${API}/prices/dram-0`)).status,
    ).toBe(200);
    expect((await absolute("https://other.example/healthz", "/healthz")).status).toBe(200);
    expect((await absolute("http://other.example", "/")).status).toBe(200);
    expect((await absolute(`http://a:99999${API}/prices/%2e%2e`, "/none")).code).toBe("not_found");
    expect((await absolute(`ftp://other.example${API}/prices`, "/none")).code).toBe("not_found");
    expect(
      (await absolute(`http://x${API}/prices/dram-0?token=1`, `${API}/prices/dram-0`)).code,
    ).toBe("key_in_query");
  });

  test("an invalid Host changes nothing", async () => {
    for (const host of ["a:99999", "[::1", "a b", "\xe9", "%", "x".repeat(3_000), ""]) {
      const { code } = await get(`${API}/prices/%2e%2e?"`, `Host: ${host}\r\n`);
      expect([host, code]).toEqual([host, "not_found"]);
      expect((await get("/healthz", `Host: ${host}\r\n`)).status).toBe(200);
    }
  });

  test("CONNECT, OPTIONS * and unknown methods", async () => {
    expect((await send("CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT", "/none")).code).toBe(
      "method_not_allowed",
    );
    const any = "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    expect((await send(any, "OPTIONS", "/none")).status).toBe(204);
    expect((await send("BREW / HTTP/1.1\r\nHost: x\r\n\r\n", "BREW", "/none")).code).toBe(
      "bad_request",
    );
    expect((await get("/healthz", "Host: x\r\nExpect: the-unexpected\r\n")).status).toBe(200);
    expect((await get("/healthz", "Host: x\r\nUpgrade: websocket\r\n")).status).toBe(200);
  });
});

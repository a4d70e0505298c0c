/** The id of each request: another one in each answer, and the same in its problem, its page and its line of the log. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { assetPath } from "../../src/pages/assets.ts";
import { requestIds } from "../../src/core/request-id.ts";
import { nodePlatform } from "../../src/hosts/platform.ts";
import { replace } from "../cli/signed.ts";
import { storedKey } from "../store/stored-file.ts";
import type { CallOptions, Received } from "./client.ts";
import { publishedStore, SESSION, startTestProxy, type TestProxy } from "./fixture.ts";
import { sendTo } from "./raw-client.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

interface Line {
  readonly msg: string;
  readonly status?: number;
  readonly code?: string;
  readonly request_id?: string;
}

const linesOf = (of: TestProxy, requestId: string): Line[] =>
  of.logged.map((line) => JSON.parse(line) as Line).filter((line) => line.request_id === requestId);

test("each answer has an id of its own, and one line of the log has it", async () => {
  const key = proxy.pro;
  const { headers } = await proxy.get(`${API}/export.csv`, { key });
  const tag = headers.etag as string;
  const withFields = (fields: Record<string, string>): CallOptions => ({ key, headers: fields });
  const asked: readonly (readonly [status: number, path: string, options: CallOptions])[] = [
    [200, `${API}/prices`, {}],
    [200, `${API}/prices`, { method: "HEAD" }],
    [200, `${API}/usage`, { key }],
    [200, "/healthz", {}],
    [200, "/docs", {}],
    [200, assetPath("reference.js"), {}],
    [204, `${API}/prices`, { method: "OPTIONS" }],
    [206, `${API}/export.csv`, withFields({ range: "bytes=0-9" })],
    [304, `${API}/export.csv`, withFields({ "if-none-match": tag })],
    [400, `${API}/prices?x=1`, {}],
    [401, `${API}/prices`, { key: "wrong" }],
    [404, "/none", {}],
    [404, "/none", { headers: { accept: "text/html" } }],
    [405, "/healthz", { method: "POST" }],
    [412, `${API}/export.csv`, withFields({ "if-match": '"other"' })],
    [416, `${API}/export.csv`, withFields({ range: "bytes=900000-" })],
  ];
  const found: Received[] = [];
  for (const [status, path, options] of asked) {
    const received = await proxy.get(path, options);
    expect([path, options, received.status]).toEqual([path, options, status]);
    const lines = linesOf(proxy, received.requestId);
    expect(lines, path).toEqual([expect.objectContaining({ msg: "request", status })]);
    found.push(received);
  }
  expect(new Set(found.map(({ requestId }) => requestId)).size).toBe(asked.length);
});

test("an id that a caller sends is not taken", async () => {
  const sent = randomBytes(13).toString("hex");
  for (const [path, status] of [
    [`${API}/prices`, 200],
    [`${API}/none`, 404],
  ] as const) {
    const received = await proxy.get(path, { headers: { "x-request-id": sent } });
    expect([path, received.status]).toEqual([path, status]);
    expect(received.requestId).not.toBe(sent);
  }
  expect(proxy.logged.join("")).not.toContain(sent);
});

test("the page of a refusal names it", async () => {
  const { text } = await sendTo(
    proxy.url,
    "GET /none HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\nConnection: close\r\n\r\n",
    "GET",
    "/none",
  );
  const [, named = ""] = /request <code>([0-9a-f]{26})<\/code>/.exec(text) ?? [];
  expect(linesOf(proxy, named)).toMatchObject([{ status: 404, code: "not_found" }]);
});

test("bytes that are no request have one in the answer and in the log", async () => {
  for (const [bytes, status] of [
    ["no request at all\r\n\r\n", 400],
    ["CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 405],
    [`GET /${"a".repeat(17_000)} HTTP/1.1\r\n\r\n`, 431],
  ] as const) {
    const { headers, text } = await sendTo(proxy.url, bytes);
    const requestId = headers["x-request-id"] as string;
    expect(JSON.parse(text)).toMatchObject({ status, request_id: requestId });
    expect(linesOf(proxy, requestId)).toMatchObject([{ msg: "request", status }]);
  }
});

test("a failure of the service has it in the line that tells why", async () => {
  const store = await publishedStore();
  const failing = await startTestProxy({ store });
  try {
    const key = storedKey({ session: SESSION, revision: 1 }, "pro/export.csv");
    await replace(store, key, Buffer.from("damaged"));
    // Read from the store when it is asked for, beside the served one in memory.
    const path = `${API}/export.csv?publication=1`;
    const { status, requestId } = await failing.get(path, { key: failing.pro });
    expect(status).toBe(500);
    expect(linesOf(failing, requestId)).toEqual([
      expect.objectContaining({ msg: "request failed" }),
      expect.objectContaining({ msg: "request", status: 500, code: "internal" }),
    ]);
  } finally {
    await failing.close();
  }
});

test("the metrics have none", async () => {
  expect((await fetch(proxy.metricsUrl)).headers.has("x-request-id")).toBe(false);
});

test("ids are unique, and few have the same beginning: they do not count requests", () => {
  const ids = Array.from({ length: 100_000 }, requestIds(nodePlatform));
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{26}$/);
  const beginnings = new Set(ids.map((id) => id.slice(0, 24)));
  expect(ids.length / beginnings.size).toBeLessThan(100);
});

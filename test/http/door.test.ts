/** The same answer over Node's socket and as a Response of the Fetch standard, and its header as Node writes it. */
import { createServer, type RequestListener } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fieldsOf, NOTHING_HELD, type Answer } from "../../src/core/answer.ts";
import { doorOf, fetchHost } from "../../src/hosts/door.ts";
import { prepareHead } from "../../src/hosts/node/head.ts";
import { DATA_ROUTES } from "../../src/public/routes.ts";
import { dataPaths, pagePaths, uncountedPaths } from "./addresses.ts";
import { SAME_ID } from "./client.ts";
import { startTestProxy, type TestProxy } from "./fixture.ts";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

/** Of the connection, or another one for each answer. */
const NOT_COMPARED = [
  "connection",
  "date",
  "keep-alive",
  "transfer-encoding",
  "x-ratelimit-remaining",
];

const KEYS = [undefined, "starter", "pro"] as const;
const SENT: readonly Readonly<Record<string, string>>[] = [
  {},
  { "accept-encoding": "gzip" },
  { "if-none-match": "*" },
  { range: "bytes=1-9" },
  { accept: "text/html" },
];

test("every address: a Response has the status, the fields and the bytes of Node's answer", async () => {
  const paths = new Set([
    ...dataPaths("pro"),
    ...uncountedPaths("everybody"),
    ...uncountedPaths("key"),
    ...pagePaths(),
    `${DATA_ROUTES.board.path}?publication=1`,
    `${DATA_ROUTES.board.path}?ids=nothing`,
    "/nothing",
  ]);
  const door = doorOf(
    proxy.world,
    fetchHost(() => ({ peer: "127.0.0.1" })),
  );
  let compared = 0;
  for (const path of paths) {
    for (const tier of KEYS) {
      for (const fields of SENT) {
        for (const method of ["GET", "HEAD"]) {
          const key = tier && proxy[tier];
          const headers = { ...fields, ...(key && { authorization: `Bearer ${key}` }) };
          const node = await proxy.get(path, { method, headers });
          const other = await door.fetch(new Request(proxy.url + path, { method, headers }));
          const bytes = Buffer.from(await other.arrayBuffer());
          const id = other.headers.get("x-request-id") as string;
          const found = Object.fromEntries(other.headers);
          const expected: Record<string, unknown> = { ...node.headers };
          for (const name of NOT_COMPARED) {
            delete found[name];
            delete expected[name];
          }
          const where = `${method} ${path} ${tier} ${JSON.stringify(fields)}`;
          expect([where, other.status, { ...found, "x-request-id": SAME_ID }]).toEqual([
            where,
            node.status,
            expected,
          ]);
          const isSame = Buffer.from(bytes.toString("latin1").replaceAll(id, SAME_ID), "latin1");
          expect(isSame.equals(node.raw), where).toBe(true);
          compared += 1;
        }
      }
    }
  }
  expect(compared).toBe(paths.size * KEYS.length * SENT.length * 2);
});

/** All that a server sends for this request, with one text for the time. */
async function sentBy(listener: RequestListener, request: string): Promise<string> {
  const server = createServer({ keepAliveTimeout: 65_000 }, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.end(request);
  const text = await textOf(socket);
  await new Promise((resolve) => server.close(resolve));
  return text.replaceAll(/^Date: .*$/gm, "Date: now");
}

const answerWith = (status: number): Answer => ({
  status,
  shared: [
    "content-type",
    "text/plain",
    "content-length",
    status === 304 ? "0" : "2",
    "etag",
    '"é"',
  ],
  own: ["cache-control", "no-store", "x-request-id", "1"],
  body: null,
  done: NOTHING_HELD,
});

test.each([
  [200, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"],
  [200, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"],
  [200, "GET / HTTP/1.0\r\n\r\n"],
  [200, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"],
  [200, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"],
  [404, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"],
  [304, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"],
  [204, "OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n"],
  [200, "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"],
])("a header of status %s is as Node writes it: %j", async (status, request) => {
  const answer = answerWith(status);
  const body = status === 304 || status === 204 ? undefined : "ok";
  const own = await sentBy((_, response) => {
    prepareHead(response, answer);
    response.end(body, "latin1");
  }, request);
  const usual = await sentBy((_, response) => {
    response.writeHead(status, fieldsOf(answer) as string[]);
    response.end(body, "latin1");
  }, request);
  expect(own).toBe(usual);
  expect(own).toContain("nosniff");
});

test("a value with the end of a line is refused", async () => {
  let message = "";
  await sentBy((_, response) => {
    try {
      prepareHead(response, { ...answerWith(200), own: ["x-asked", "a\r\nset-cookie: b"] });
    } catch (error) {
      ({ message } = error as Error);
    }
    response.end();
  }, "GET / HTTP/1.0\r\n\r\n");
  expect(message).toBe("The field x-asked of an answer has a character that no field may have");
});

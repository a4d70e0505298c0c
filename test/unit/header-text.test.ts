/** The header written as text must be, byte for byte, what Node's own `writeHead` would send. */
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { headerPairs, headerText, keptOpen, writeHeader } from "../../src/proxy/header-text.ts";

const KEEP_ALIVE_MS = 65_000;
const FIELDS = { etag: '"a: b"', vary: "Authorization", "content-type": "application/json" };

let server: Server;
beforeAll(async () => {
  server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, ({ url, method }, response) => {
    const [, by, status = "200", length] = (url as string).split("/");
    const code = Number(status);
    const body = length === undefined || method === "HEAD" ? undefined : "x".repeat(Number(length));
    const fields = { ...FIELDS, ...(length !== undefined && { "content-length": length }) };
    if (by === "text") writeHeader(response, code, headerText(fields), keptOpen(KEEP_ALIVE_MS));
    else response.writeHead(code, Object.entries(fields).flat());
    response.end(body, "latin1");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => server.close());

/** All bytes that come back for requests sent at once on one connection; dates made the same. */
async function bytes(requests: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.end(requests);
  return (await text(socket)).replaceAll(/^Date: .{25} GMT/gm, "Date: …");
}

const LAST = "GET /node/200/2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

test.each([
  ["a body", "GET /BY/200/5 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["a body longer than one piece", "GET /BY/200/200000 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["304", "GET /BY/304 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["204", "OPTIONS /BY/204 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["HEAD", "HEAD /BY/200/5 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["a problem", "GET /BY/404/5 HTTP/1.1\r\nHost: a\r\n\r\n"],
  ["the last answer", "GET /BY/200/5 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"],
  ["HTTP/1.0", "GET /BY/200/5 HTTP/1.0\r\n\r\n"],
  ["HTTP/1.0 kept open", "GET /BY/200/5 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"],
])("%s", async (_, request) => {
  const sent = await bytes(request.replace("BY", "text") + LAST);
  expect(sent).toBe(await bytes(request.replace("BY", "node") + LAST));
  expect(sent).toContain('etag: "a: b"\r\n');
});

test("pairs are the fields again", () => {
  expect(Object.fromEntries(headerPairs(headerText(FIELDS)))).toEqual(FIELDS);
});

test.each(["a\r\nb: c", "a\nb", "\u0000", "€"])("the value %j is refused", (value) => {
  expect(() => headerText({ a: value })).toThrow(/Invalid character in header content \["a"\]/);
});

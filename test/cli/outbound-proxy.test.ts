/** Feeds, and a service that is checked, behind a proxy that the environment names. */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Ran } from "../program/program.ts";
import { inputFolder, jsonIn, QUOTES, runIn } from "./publish-folder.ts";

/** What the proxy was asked for. */
const asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(request.url ?? "");
  response.end(QUOTES);
});
server.on("connect", (request, socket) => {
  asked.push(`CONNECT ${request.url}`);
  socket.end("HTTP/1.1 503 Busy\r\n\r\n");
});
let address: string;
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

let folder: string;
beforeEach(() => {
  folder = inputFolder();
  asked.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true }));
const publish = (quotes: string, env: Record<string, string>): Promise<Ran> =>
  runIn(folder, `publish --store x --catalog c.csv --quotes ${quotes}`, { env });

test.each(["HTTP_PROXY", "http_proxy"])("a feed is downloaded through %s", async (variable) => {
  const feed = "http://feed.example.invalid/quotes.csv?key=s3cr3t";
  const { code } = await publish(feed, { [variable]: `http://${address}` });
  expect([code, asked]).toEqual([0, [feed]]);
  const { inputs } = jsonIn(folder, "x/sessions/2026-11-21T00Z/r1/manifest.json");
  expect(inputs[1].name).toBe("http://feed.example.invalid/quotes.csv");
});

test("an https feed is asked for by CONNECT, and the message names the proxy", async () => {
  const env = { HTTPS_PROXY: `http://u:s3cr3t@${address}` };
  const { code, stderr } = await publish("https://feed.example.invalid/q.csv", env);
  expect([code, asked]).toEqual([2, ["CONNECT feed.example.invalid:443"]]);
  expect(stderr).toMatch(
    /Cannot fetch https:\/\/feed\.example\.invalid\/q\.csv: .* 503 Busy; HTTPS_PROXY names a proxy\n/,
  );
  expect(stderr).not.toContain("s3cr3t");
});

test("a proxy that does not answer is named; without one nothing is said of it", async () => {
  const feed = "http://feed.example.invalid/q.csv";
  const { stderr } = await publish(feed, { HTTP_PROXY: "http://127.0.0.1:1" });
  expect(stderr).toContain("ECONNREFUSED 127.0.0.1:1; HTTP_PROXY names a proxy\n");
  expect((await publish(feed, {})).stderr).not.toContain("proxy");
});

test("NO_PROXY names hosts that are asked directly", async () => {
  const env = { HTTP_PROXY: "http://127.0.0.1:1", NO_PROXY: "localhost,127.0.0.1" };
  const { code } = await publish(`http://${address}/q.csv`, env);
  expect([code, asked]).toEqual([0, ["/q.csv"]]);
});

test("a proxy of another kind: 2, before anything is read", async () => {
  const env = { HTTPS_PROXY: "socks5://u:s3cr3t@proxy.example" };
  const { code, stderr } = await publish("https://feed.example.invalid/q.csv", env);
  expect([code, stderr]).toEqual([
    2,
    'error: HTTPS_PROXY "socks5://***@proxy.example": expected a proxy such as http://proxy.example:3128\n',
  ]);
});

test("check asks through the proxy, but never for this machine", async () => {
  const env = { HTTP_PROXY: `http://${address}`, HTTPS_PROXY: `http://${address}` };
  const check = (url: string): Promise<Ran> => runIn(folder, `check ${url}`, { env });
  expect((await check("http://prices.example.invalid")).code).not.toBe(0);
  expect(asked[0]).toMatch(/^http:\/\/prices\.example\.invalid\//);
  expect((await check("https://prices.example.invalid")).code).toBe(5);
  expect(asked.at(-1)).toBe("CONNECT prices.example.invalid:443");
  asked.length = 0;
  for (const host of ["127.0.0.1", "localhost", "[::1]"]) {
    expect((await check(`http://${host}:1`)).code).toBe(5);
  }
  expect(asked).toEqual([]);
});

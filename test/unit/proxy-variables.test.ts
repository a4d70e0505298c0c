/** The variables that name proxies, as curl reads them. */
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { proxiesIn } from "../../src/lib/proxies.ts";

const PROXY = "http://proxy.example:3128";

test.each([
  [{}, {}],
  [{ HTTP_PROXY: PROXY }, { http_proxy: PROXY }],
  [{ http_proxy: PROXY, HTTP_PROXY: "http://other.example" }, { http_proxy: PROXY }],
  [{ http_proxy: "", HTTP_PROXY: PROXY }, { http_proxy: PROXY }],
  [{ HTTPS_PROXY: "proxy.example:3128" }, { https_proxy: PROXY }],
  [{ https_proxy: "https://u:p@proxy.example" }, { https_proxy: "https://u:p@proxy.example" }],
])("%j", (env, proxies) => {
  expect(proxiesIn(env)).toEqual({ no_proxy: "", ...proxies });
});

test.each(["socks5://u:s3cr3t@proxy.example:1080", "http://", "u:s3cr3t@proxy.example:port"])(
  "%s is no proxy for HTTP, and its password is not shown",
  (text) => {
    expect(() => proxiesIn({ HTTPS_PROXY: text })).toThrow(
      /^HTTPS_PROXY "(?!.*s3cr3t).*": expected a proxy such as http:\/\/proxy\.example:3128$/,
    );
  },
);

const server = createServer((_, response) => response.end());
beforeAll(() => once(server.listen(0, "127.0.0.1"), "listening"));
afterAll(() => server.close());

test.each([
  ["http://feed.example.invalid", "", true],
  ["http://feed.example.invalid", "other.invalid", true],
  ["http://feed.example.invalid", "example.invalid", false],
  ["http://feed.example.invalid", "EXAMPLE.invalid", false],
  ["http://feed.example.invalid", "x, .example.invalid", false],
  ["http://feed.example.invalid", "x *.example.invalid", false],
  ["http://feed.example.invalid", "feed.example.invalid:80", false],
  ["http://myexample.invalid", "example.invalid", true],
  ["http://feed.example.invalid", "*", false],
  ["http://127.0.0.1:1", "", true],
  ["http://127.0.0.1:1", "localhost,127.0.0.1", false],
  ["http://[::1]:1", "[::1]", false],
])("%s with NO_PROXY %j goes through the proxy: %s", async (address, NO_PROXY, isProxied) => {
  const { port } = server.address() as AddressInfo;
  const proxyEnv = proxiesIn({ HTTP_PROXY: `http://127.0.0.1:${port}`, NO_PROXY });
  const asked = request(address, { agent: new Agent({ proxyEnv }) }).end();
  const answered = await once(asked, "response").then(
    () => true,
    () => false,
  );
  asked.destroy();
  expect(answered).toBe(isProxied);
});

/** With `--public-url https://host/prefix` every address that the service gives is below the prefix, and answers. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestProxy, TestClock, type TestProxy } from "./fixture.ts";
import { GOLDEN_KEY } from "../golden/golden-key.ts";
import { publishGolden } from "../golden/golden-market.ts";
import { PythonClient } from "../guide/python-client.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { PAGES } from "../../src/public/uncounted-routes.ts";
import { startPrefixFront, type PrefixFront } from "./prefix-front.ts";
import { sendTo } from "./raw-client.ts";
import { testWith } from "./needed-tools.ts";

const API = "/api/public/v1";
/** The last entry of the golden store gives echo-new the id echo-stack. */
const [OLD, PRESENT] = ["echo-new", "echo-stack"];

let front: PrefixFront;
let proxy: TestProxy;
beforeAll(async () => {
  const store = new MemoryStore();
  await publishGolden(store);
  front = await startPrefixFront("/a/market");
  const clock = new TestClock(Date.parse("2026-11-21T00:30:00Z"));
  proxy = await startTestProxy({
    store,
    clock,
    verifyKeys: [GOLDEN_KEY.verifyKey],
    publicUrl: front.root,
  });
  front.target = proxy.url;
});
afterAll(async () => {
  front.close();
  await proxy.close();
});

/** Asks as a caller from outside does, with a key of Pro or without one; follows no redirect. */
const get = (path: string, headers: Record<string, string> = { "x-api-key": proxy.pro }) =>
  fetch(front.root + path, { headers, redirect: "manual" });

/** The addresses that a text of this type gives, as they stand there. */
function addressesIn(type: string, text: string): string[] {
  const patterns: Record<string, RegExp> = {
    "text/html": /\s(?:href|src)="([^"]*)"/g,
    "text/markdown": /\]\(([^)\s]*)\)/g,
    "text/plain": /\]\(([^)\s]*)\)/g,
    "text/css": /url\(["']?([^)"']*)|@import "([^"]*)"/g,
    "text/javascript": /(?:from|import) "(\.[^"]*)"/g,
    "application/atom+xml": /\shref="([^"]*)"/g,
  };
  const pattern = patterns[type];
  const named = pattern === undefined ? [] : [...text.matchAll(pattern)];
  const plain = text.replaceAll(/&#?(\w+);/g, (_, name: string) => ENTITIES[name] ?? "<");
  const whole = [...plain.matchAll(/http:\/\/127\.0\.0\.1:\d+[^\s"'<>`)\\]*/g)];
  return [...named.map(([, one, other]) => one ?? other ?? ""), ...whole.map(([all]) => all)]
    .map((address) => address.replaceAll("&amp;", "&").replace(/[.,:;]+$/, ""))
    .filter((address) => !/^(?:data:|mailto:)/.test(address));
}
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", quot: '"' };

test("every address of every page, text, style, script and feed is below the prefix and answers", async () => {
  const seen = new Map<string, string>();
  const open = [...Object.values(PAGES).map(({ path }) => path), "/feed.atom", "/openapi.json"]
    .filter((path) => !path.includes("{id}"))
    .concat("/contracts/alpha-16gb")
    .map((path) => ({ from: "(the list of pages)", address: front.root + path }));
  for (const { from, address } of open) {
    const url = address.replace(/#.*$/s, "");
    if (seen.has(url)) continue;
    seen.set(url, from);
    // The sources of levels, and specifications, are of other hosts.
    if (new URL(url).hostname !== "127.0.0.1") continue;
    expect(`${url}/`.startsWith(`${front.root}/`), `${url} in ${from}`).toBe(true);
    // Commands of texts end with what the caller fills in; the tools for agents are another program.
    if (/[{$…]|\/mcp$|\/api\/public\/v1\/?$/.test(decodeURI(url)) || `${url}/` === `${front.root}/`)
      continue;
    const answer = await get(url.slice(front.root.length));
    expect([url, from, answer.status]).toEqual([url, from, 200]);
    const type = (answer.headers.get("content-type") ?? "").replace(/;.*/, "");
    for (const field of ["link", "location", "content-location"]) {
      expect([url, field, answer.headers.get(field)]).toEqual([url, field, null]);
    }
    const text = await answer.text();
    for (const found of addressesIn(type, text)) {
      const base = type === "text/markdown" ? url.replace(/\.md$/, "") : url;
      open.push({ from: url, address: new URL(found, base).href });
    }
  }
  expect(seen.size).toBeGreaterThan(60);
});

describe("redirects", () => {
  test("a former id leads to the present one below the prefix, with its query", async () => {
    const asked = `${API}/prices/${OLD}?last=1`;
    const moved = await get(asked);
    const location = moved.headers.get("location") as string;
    expect([moved.status, location]).toEqual([308, `/a/market${API}/prices/${PRESENT}?last=1`]);
    const followed = await fetch(front.root + asked, { headers: { "x-api-key": proxy.pro } });
    expect([followed.status, followed.url]).toEqual([
      200,
      `${front.root}${API}/prices/${PRESENT}?last=1`,
    ]);
  });

  test("so does the page of a former id", async () => {
    const moved = await get(`/contracts/${OLD}`, {});
    expect(moved.status).toBe(308);
    const { href } = new URL(moved.headers.get("location") as string, moved.url);
    expect(href).toBe(`${front.root}/contracts/${PRESENT}`);
  });

  test("there are no others: a slash at the end, and another case, are 404 with a page below the prefix", async () => {
    for (const path of [
      "/guide/",
      "/Guide",
      "/assets/",
      `/contracts/${PRESENT}/`,
      "//",
      "/a/b/c",
    ]) {
      const answer = await get(path, { accept: "text/html" });
      expect([path, answer.status, answer.headers.get("location")]).toEqual([path, 404, null]);
      const links = addressesIn("text/html", await answer.text());
      expect(links.length).toBeGreaterThan(8);
      for (const link of links) {
        expect(new URL(link, front.root + path).href).toMatch(new RegExp(`^${front.root}/`));
      }
    }
  });
});

describe("problems", () => {
  test.each([
    ["/none", {}, 404, "not_found"],
    [`${API}/history.csv`, {}, 401, "key_required"],
    [`${API}/prices/${OLD}x`, {}, 404, "unknown_contract"],
    [`${API}/prices`, { "x-api-key": "wrong" }, 401, "invalid_key"],
    [`${API}/prices?nothing=1`, {}, 400, "unknown_parameter"],
  ])(
    "%s: the type, and the page of plans, are below the prefix",
    async (path, headers, status, code) => {
      const answer = await get(path, headers);
      const problem = (await answer.json()) as { type: string; plans?: string };
      expect([answer.status, problem.type]).toEqual([status, `${front.root}/docs#${code}`]);
      const page = await fetch(problem.type);
      expect(await page.text()).toContain(`id="${code}"`);
      if (problem.plans === undefined) return;
      expect(problem.plans).toBe(`${front.root}/plans`);
      expect((await fetch(problem.plans)).status).toBe(200);
    },
  );

  test("so is the type of what Node's parser refuses", async () => {
    const { status, text } = await sendTo(proxy.url, "GET / HTTP/9\r\n\r\n");
    expect([status, JSON.parse(text).type]).toEqual([400, `${front.root}/docs#bad_request`]);
  });

  test("the examples in texts and in OpenAPI also have these addresses", async () => {
    for (const path of ["/guide", "/guide.md", "/llms.txt", "/openapi.json"]) {
      // Where long addresses may break is markup.
      const text = (await (await get(path)).text()).replaceAll("<wbr>", "");
      expect([path, text.match(/(?:"|&quot;)\/(?:docs#|plans)/)]).toEqual([path, null]);
      expect(text).toContain(`${front.root}/docs#`);
    }
  });
});

test("OpenAPI: the server is the service's address, and each address answers below it", async () => {
  const { servers, paths } = (await (await get("/openapi.json")).json()) as {
    readonly servers: readonly [{ readonly url: string }];
    readonly paths: object;
  };
  expect(servers).toEqual([{ url: front.root }]);
  const ids: Record<string, string> = {
    "/log/{id}": "1",
    [`${API}/indices/{id}`]: "composite",
    [`${API}/settlements/indices/{id}`]: "composite",
  };
  for (const path of Object.keys(paths)) {
    const { status } = await fetch(servers[0].url + path.replace("{id}", ids[path] ?? PRESENT), {
      headers: { "x-api-key": proxy.pro },
    });
    // The log has too few entries for a tile.
    expect([path, status]).toEqual([path, path.startsWith("/log/tiles/") ? 404 : 200]);
  }
});

testWith("python3")("client.py asks below the prefix, and follows a former id", async () => {
  const client = await PythonClient.download(proxy.url, proxy.pro);
  try {
    const printed = await client.print(`import os
from client import Client
client = Client(key=os.environ["KEY"])
print(client.contract("${OLD}")["id"])
client.prices(), client.history(last=1), client.levels(last=1), client.index(), client.index("composite")
client.basket({"${PRESENT}": 2}), client.corrections(), client.publications(), client.sums()
`);
    expect(printed).toBe(`${PRESENT}\n`);
    expect((await client.sync())[0].is_new).toBe(true);
  } finally {
    await client.remove();
  }
});

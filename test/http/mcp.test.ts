/** The tools for agents: their figures and refusals are the API's. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { mcpHttpServer } from "../../src/mcp/http.ts";
import { listen } from "../../src/hosts/node/server.ts";
import { chipboard, Serving } from "../program/program.ts";
import { agentOf1x, agentOfToday, agentOver, type Agent } from "../../tools/client/agents.ts";
import { SAME_ID } from "./client.ts";
import { publishSession, startTestProxy, SESSION, type TestProxy } from "./fixture.ts";
import { CLIENTS, testWithClients } from "./needed-tools.ts";

const API = "/api/public/v1";
const TOOLS = [
  "find_contracts",
  "get_prices",
  "get_history",
  "list_indices",
  "get_index",
  "get_settlements",
  "price_basket",
  "get_corrections",
  "list_publications",
];
const CHIPBOARD = join(import.meta.dirname, "../../bin/chipboard.js");
const test = testWithClients();
const problems: string[] = [];

let proxy: TestProxy;
let server: ReturnType<typeof mcpHttpServer>;
let url: string;
const agents = new Map<string, Agent>();

beforeAll(async () => {
  proxy = await startTestProxy({ trustedHops: 1 });
  await publishSession(proxy.store, proxy.clock, SESSION, { usd: 7, revise: "a price was wrong" });
  server = mcpHttpServer(proxy.url, ["prices.example"], (message) => problems.push(message));
  url = `${await listen(server, "--http", "127.0.0.1", 0)}/mcp`;
  const callers = { none: {}, starter: { "x-api-key": proxy.starter } };
  for (const [name, headers] of Object.entries(callers)) {
    agents.set(name, await agentOfToday(url, headers));
  }
  agents.set("pro", await agentOf1x(url, { authorization: `Bearer ${proxy.pro}` }));
  const env = { PATH: process.env["PATH"] ?? "", CHIPBOARD_KEY: proxy.pro };
  agents.set(
    "its own machine",
    await agentOver(process.execPath, [CHIPBOARD, "mcp", "--url", proxy.url], env),
  );
});
afterAll(async () => {
  for (const agent of agents.values()) await agent.close();
  server.close();
  server.closeAllConnections();
  await proxy.close();
  expect(problems).toEqual([]);
});

const KEYS: Record<string, () => string | undefined> = {
  none: () => undefined,
  starter: () => proxy.starter,
  pro: () => proxy.pro,
  "its own machine": () => proxy.pro,
};

describe.each(Object.keys(KEYS))("caller: %s", (caller) => {
  const agent = (): Agent => agents.get(caller) as Agent;
  const direct = (path: string) => {
    const key = KEYS[caller]?.();
    return proxy.get(API + path, key === undefined ? {} : { key });
  };

  test("lists the tools", () => {
    expect(agent().tools.map(({ name }) => name)).toEqual(TOOLS);
  });

  test.each([
    ["get_prices", { ids: ["dram-0", "dram-1"] }, "/prices?ids=dram-0%2Cdram-1"],
    ["get_prices", { segment: "dram" }, "/prices?segment=dram"],
    ["get_prices", { segment: "DRAM" }, "/prices?segment=DRAM"],
    ["get_prices", { ids: ["dram-0"], publication: 1 }, "/prices?ids=dram-0&publication=1"],
    ["get_prices", { ids: ["nope"] }, "/prices?ids=nope"],
    ["get_history", { id: "dram-0" }, "/prices/dram-0?last=30"],
    [
      "get_history",
      { id: "dram-0", last: 2, publication: 1 },
      "/prices/dram-0?last=2&publication=1",
    ],
    ["get_history", { id: "no such" }, "/prices/no%20such?last=30"],
    ["get_index", { contributions: true }, "/indices/composite?last=30"],
    ["get_settlements", { id: "dram-0" }, "/settlements/contracts/dram-0"],
    ["get_settlements", { id: "dram", kind: "index" }, "/settlements/indices/dram"],
    ["get_index", { id: "dram", contributions: true, last: 1 }, "/indices/dram?last=1"],
    ["get_index", { id: "Dram", contributions: true, last: 1 }, "/indices/Dram?last=1"],
    ["get_index", { id: "drma" }, "/indices/drma?last=30"],
    ["price_basket", { ids: ["dram-0", "dram-1"] }, "/index?ids=dram-0%2Cdram-1"],
    [
      "price_basket",
      { ids: ["dram-0", "dram-1"], quantities: [2, 0.5] },
      "/index?ids=dram-0%2Cdram-1&quantities=2%2C0.5",
    ],
    [
      "price_basket",
      { ids: ["dram-0", "dram-1"], weights: [2, 3], publication: 1 },
      "/index?ids=dram-0%2Cdram-1&weights=2%2C3&publication=1",
    ],
    [
      "price_basket",
      { ids: ["dram-0", "dram-1"], weights: [1e-9, 0.1 + 0.2] },
      "/index?ids=dram-0%2Cdram-1&weights=0.000000001%2C0.3",
    ],
    [
      "price_basket",
      { ids: ["dram-0", "dram-1"], quantities: [100, 250_000.5] },
      "/index?ids=dram-0%2Cdram-1&quantities=100%2C250000.5",
    ],
    ["get_history", { id: "dram-0", to: "2026-11-20" }, "/prices/dram-0?last=400&to=2026-11-20"],
    ["list_indices", {}, "/indices"],
    ["get_corrections", {}, "/corrections"],
    ["get_corrections", { after: 1, segment: "dram" }, "/corrections?segment=dram&after=1"],
  ])("%s %j answers as the route does", async (name, args, path) => {
    const { isError, text } = await agent().call(name, args);
    const route = await direct(path);
    const said = JSON.parse(text);
    if (route.status !== 200) {
      expect([isError, { ...said, request_id: SAME_ID }]).toEqual([true, route.json]);
      expect(said.detail).toMatch(/\w/);
      return;
    }
    expect(isError).toBe(false);
    expect(said.answer).toEqual(route.json);
    expect(text).toContain(route.text.trim());
    expect(said.publication).toBe(Number(route.headers["x-publication"]));
    expect(new URL(said.address).search.length).toBe(path.replace(/^[^?]*/, "").length);
    const digest = `sha-256=:${Buffer.from(said.sha256, "hex").toString("base64")}:`;
    expect(route.headers["unencoded-digest"]).toBe(digest);
  });

  test.each([[{}], [{ publication: 1 }]])(
    "get_prices %j is the board in short rows",
    async (args) => {
      const { isError, text } = await agent().call("get_prices", args);
      const route = await direct(
        `/prices?${new URLSearchParams(args as Record<string, string>).toString()}`,
      );
      if (route.status !== 200) {
        expect([isError, JSON.parse(text).code]).toEqual([true, route.json.code]);
        return;
      }
      const { answer, more, sha256 } = JSON.parse(text);
      const { memory, semiconductor, ...fields } = route.json;
      const records = [...memory, ...semiconductor];
      expect(answer.columns.join()).toBe(
        "id,name,unit,spot_usd,chg_24h_pct,chg_30d_pct,chg_yoy_pct,as_of,basis",
      );
      expect(answer.rows).toEqual(
        records.map((record) => answer.columns.map((name: string) => record[name])),
      );
      expect(answer).toMatchObject({ ...fields, contracts: records.length });
      const digest = `sha-256=:${Buffer.from(sha256, "hex").toString("base64")}:`;
      expect(route.headers["unencoded-digest"]).toBe(digest);
      expect(more).toMatch(/^Page 1 of 1\. Ask by ids/);
    },
  );

  test("find_contracts finds by all words, in the whole catalog, at no cost", async () => {
    const all = (await direct("/contracts")).json.contracts;
    const used = async () => (await direct("/usage")).json.used;
    const before = await used();
    const found = async (words: string) =>
      JSON.parse((await agent().call("find_contracts", { words })).text).answer;
    expect(await found("")).toMatchObject({ found: all.length });
    expect((await found("DRAM-0")).contracts[0].id).toBe("dram-0");
    const ignoring = await found("dram-0 nothing");
    expect([ignoring.contracts[0].id, ignoring.ignored]).toEqual(["dram-0", ["nothing"]]);
    expect(await found("nothing")).toMatchObject({ found: 0, contracts: [] });
    expect(await used()).toBe(before);
  });

  test("an answer to a question is short", async () => {
    for (const [name, args] of [
      ["find_contracts", { words: "dram" }],
      ["get_prices", { ids: ["dram-0"] }],
      ["get_history", { id: "dram-0" }],
      ["get_index", {}],
      ["price_basket", { ids: ["dram-0"] }],
      ["get_corrections", { ids: ["dram-0"] }],
      ["list_publications", {}],
      ["list_indices", {}],
    ] as const) {
      const { text } = await agent().call(name, args);
      expect([name, text.length < 5_000]).toEqual([name, true]);
    }
  });

  test.each([
    ["get_prices", { ids: ["a,b"] }],
    ["get_prices", { ids: "a/b" }],
    ["get_prices", { ids: { 0: "dram-0" } }],
    ["get_prices", { page: "first" }],
    ["get_prices", { ids: Array.from({ length: 101 }, (_, at) => `c${at}`) }],
    ["get_prices", { id: "dram-0" }],
    ["get_history", {}],
    ["get_history", { id: null }],
    ["get_history", { id: "" }],
    ["get_history", { id: ".." }],
    ["get_history", { id: "../usage" }],
    ["get_history", { id: `${"a".repeat(90_000)}/` }],
    ["find_contracts", { words: "a ".repeat(40_000) }],
    ["get_history", { id: "dram-0", last: 0 }],
    ["get_history", { id: "dram-0", last: 1.5 }],
    ["get_index", { contributions: "maybe" }],
    ["price_basket", { ids: [] }],
    ["price_basket", { ids: ["dram-0"], weights: ["one"] }],
    ["price_basket", { ids: ["dram-0"], weights: [-1] }],
    ["price_basket", { ids: ["dram-0"], weights: [4e-10] }],
    ["get_corrections", { after: -1 }],
    ["find_contracts", { words: { any: "ddr5" } }],
    ["list_publications", { limit: 101 }],
  ])("%s %j is refused before the API is asked", async (name, args) => {
    const before = proxy.logged.length;
    const { isError, text } = await agent().call(name, args);
    expect(isError).toBe(true);
    expect(text).toContain("Invalid arguments");
    expect(proxy.logged.length).toBe(before);
  });
});

/** Arguments as public reports show that agents send them, and the same in the published form. */
test.each([
  ["get_prices", { ids: ["dram-0"], segment: null, publication: null }, { ids: ["dram-0"] }],
  ["get_prices", { ids: null, segment: "", page: null }, {}],
  ["get_prices", { ids: "dram-0" }, { ids: ["dram-0"] }],
  ["get_prices", { ids: "dram-0, dram-1" }, { ids: ["dram-0", "dram-1"] }],
  ["get_prices", { ids: '["dram-0", "dram-1"]' }, { ids: ["dram-0", "dram-1"] }],
  ["get_prices", { ids: [], segment: "dram" }, { segment: "dram" }],
  ["get_prices", { ids: ["dram-0"], publication: "1" }, { ids: ["dram-0"], publication: 1 }],
  ["get_history", { id: "dram-0", last: "5", as_of: null }, { id: "dram-0", last: 5 }],
  ["get_history", { id: "dram-0", last: " 5 ", from: "" }, { id: "dram-0", last: 5 }],
  ["get_index", { id: null, contributions: "true" }, { contributions: true }],
  ["get_index", { contributions: null, last: null }, {}],
  ["price_basket", { ids: ["dram-0"], quantities: ["64"] }, { ids: ["dram-0"], quantities: [64] }],
  [
    "price_basket",
    { ids: "dram-0", quantities: "64", weights: [] },
    { ids: ["dram-0"], quantities: [64] },
  ],
  [
    "price_basket",
    { ids: "dram-0,dram-1", weights: "[1, 2]" },
    { ids: ["dram-0", "dram-1"], weights: [1, 2] },
  ],
  ["get_corrections", { after: "0", segment: null }, { after: 0 }],
  ["find_contracts", { words: null }, {}],
  ["find_contracts", { words: ["dram-0"], page: "1" }, { words: "dram-0" }],
  ["list_publications", { after: null, limit: "3" }, { limit: 3 }],
  ["list_indices", { publication: null, as_of: "", session: null }, {}],
])("%s %j is %j", async (name, sent, meant) => {
  for (const caller of ["pro", "its own machine"]) {
    const agent = agents.get(caller) as Agent;
    const answer = await agent.call(name, sent);
    expect([answer.isError, answer]).toEqual([false, await agent.call(name, meant)]);
  }
});

test("structured content is the text, and each tool says its form", async () => {
  const agent = agents.get("pro") as Agent;
  for (const [name, args] of [
    ["get_prices", {}],
    ["get_index", { contributions: true }],
    ["list_publications", {}],
  ] as const) {
    const { text, structured } = await agent.call(name, args);
    expect(structured).toEqual(JSON.parse(text));
  }
  for (const { outputSchema } of agent.tools) {
    expect(outputSchema).toMatchObject({
      type: "object",
      required: ["publication", "address", "sha256", "answer"],
    });
  }
});

test("calls are counted for the caller's account, or for its address", async () => {
  const used = async (headers: Record<string, string>) =>
    (await proxy.get(`${API}/usage`, { headers })).json.used;
  const key = { "x-api-key": proxy.starter };
  const before = [await used(key), await used({ "x-forwarded-for": "127.0.0.1" })];
  await agents.get("starter")?.call("get_prices", {});
  await agents.get("none")?.call("get_prices", {});
  // What a caller says of its own address counts for nothing.
  for (const connect of [agentOfToday, agentOf1x]) {
    const liar = await connect(url, { "x-forwarded-for": "192.0.2.7" });
    await liar.call("get_prices", {});
    await liar.close();
  }
  expect([await used(key), await used({ "x-forwarded-for": "127.0.0.1" })]).toEqual([
    before[0] + 1,
    before[1] + 3,
  ]);
});

test("behind a proxy of its own, callers are counted by the address that it names", async () => {
  const used = async (from: string) =>
    (await proxy.get(`${API}/usage`, { headers: { "x-forwarded-for": from } })).json.used;
  const args = ["mcp", "--url", proxy.url, "--http", "0", "--trust-proxy", "1"];
  const tools = await Serving.start(args);
  const agent = await agentOf1x(tools.url, { "x-forwarded-for": "192.0.2.8, 192.0.2.9" });
  expect((await agent.call("get_prices", {})).isError).toBe(false);
  await agent.close();
  expect(await tools.end()).toBe(0);
  expect([await used("192.0.2.8"), await used("192.0.2.9")]).toEqual([0, 1]);
});

test("a key in a field where the API refuses one is also refused here", async () => {
  for (const [field, value] of [
    ["apikey", proxy.pro],
    ["x-auth-token", proxy.pro],
    ["x-any-name", `Bearer ${proxy.pro}`],
    ["cookie", `a=b; session=${proxy.pro}`],
    ["authorization", proxy.pro],
  ] as const) {
    const agent = await agentOf1x(url, { [field]: value });
    const { isError, text } = await agent.call("get_prices", {});
    await agent.close();
    expect([field, isError, JSON.parse(text).code]).toEqual([field, true, "invalid_key"]);
  }
});

test("no field that changes the request to the API is passed on, also with a key in it", async () => {
  const answerWith = async (fields: Record<string, string>): Promise<unknown> => {
    const agent = await agentOf1x(url, fields);
    const answer = await agent.call("get_prices", {});
    await agent.close();
    return answer;
  };
  const plain = await answerWith({});
  expect(plain).not.toHaveProperty("isError", true);
  for (const [field, value] of [
    ["if-none-match", '"cbk_", *'],
    ["if-match", '"cbk_"'],
    ["range", "bytes=0-1,cbk_"],
    ["x-forwarded-host", "cbk_.example"],
  ] as const) {
    expect([field, await answerWith({ [field]: value })]).toEqual([field, plain]);
  }
});

test("a key of two lines, such as keys create prints, is refused and not shown", async () => {
  const env = { PATH: process.env["PATH"] ?? "", CHIPBOARD_KEY: `${proxy.pro}\nKey of large.` };
  const refused = promisify(execFile)(process.execPath, [CHIPBOARD, "mcp", "--url", proxy.url], {
    env,
  });
  await expect(refused).rejects.toMatchObject({
    code: 2,
    stdout: "",
    stderr: "error: --key: expected one line\n",
  });
});

test("a key goes over https or to this machine only", async () => {
  const args = ["mcp", "--url", "http://prices.example"];
  const { code, stdout, stderr } = await chipboard(args, { env: { CHIPBOARD_KEY: proxy.pro } });
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^error: --key: .*over https or to this machine only.*prices\.example/);
  expect(stderr).not.toContain(proxy.pro);
  expect((await chipboard(args)).code).toBe(0);
  const secure = ["mcp", "--url", "https://prices.example"];
  expect((await chipboard(secure, { env: { CHIPBOARD_KEY: proxy.pro } })).code).toBe(0);
});

describe("hostile requests", () => {
  /** The status of a POST. */
  const post = (headers: Record<string, string>, body: string, address = url): Promise<number> =>
    new Promise((resolve, reject) => {
      const fields = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      request(address, { method: "POST", headers: { ...fields, ...headers } }, (response) => {
        response.resume();
        resolve(response.statusCode as number);
      })
        .on("error", reject)
        .end(body);
    });
  const LIST = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });

  test("names that this server does not have, in Host and Origin", async () => {
    const { host } = new URL(url);
    expect(await post({ host }, LIST)).toBe(200);
    expect(await post({ host: "prices.example" }, LIST)).toBe(200);
    expect(await post({ host, origin: "https://prices.example" }, LIST)).toBe(200);
    expect(await post({ host: "evil.example" }, LIST)).toBe(403);
    expect(await post({ host, origin: "https://evil.example" }, LIST)).toBe(403);
    expect(await post({ host, origin: "null" }, LIST)).toBe(403);
    expect(await post({ host: "a b" }, LIST)).toBeGreaterThanOrEqual(400);
  });

  test("other addresses, methods and bodies", async () => {
    expect(await post({}, LIST, url.replace("/mcp", "/"))).toBe(404);
    expect(await post({}, LIST, `${url}/`)).toBe(404);
    expect(await post({}, LIST, `${url}?key=x`)).toBe(404);
    expect((await fetch(url)).status).toBe(405);
    for (const body of ["", "{", "[]", "null", "1", "x".repeat(50_000)]) {
      expect(await post({}, body)).toBeGreaterThanOrEqual(400);
    }
    expect(await post({}, LIST.replace("{}", `{"a":"${"x".repeat(200_000)}"}`))).toBe(413);
    const ids = Array.from({ length: 10 }, (_, at) => LIST.replace('"id":1', `"id":${at}`));
    const ofTen = `[${ids.join()}]`;
    const batch = (messages: number): string => `[${Array(messages).fill(LIST).join()}]`;
    expect(await post({}, batch(10))).toBe(400);
    expect(await post({}, ofTen)).toBe(200);
    expect(await post({}, batch(11))).toBe(400);
    const weights = (count: number): string =>
      LIST.replace("tools/list", "tools/call").replace(
        "{}",
        `{"name":"price_basket","arguments":{"ids":["a"],"weights":[${Array(count).fill(0).join()}]}}`,
      );
    expect(await post({}, weights(49_000))).toBe(400);
    const told = async (body: string): Promise<string> => {
      const accept = "application/json, text/event-stream";
      const headers = { "content-type": "application/json", accept };
      return (await fetch(url, { method: "POST", headers, body })).text();
    };
    expect(await told(weights(2_000))).toContain("weights: Too big");
    const twenty = await told(weights(100));
    expect(twenty).toContain("weights.19");
    expect(twenty).not.toContain("weights.20");
    expect(await post({ "content-type": "text/plain" }, LIST)).toBe(415);
    expect(await post({}, LIST)).toBe(200);
  });

  test("nobody waits for a message that tools have changed", async () => {
    const meta = "io.modelcontextprotocol/";
    const version = "2026-07-28";
    const params = {
      notifications: { toolsListChanged: true },
      _meta: {
        [`${meta}protocolVersion`]: version,
        [`${meta}clientInfo`]: { name: "a", version: "1" },
        [`${meta}clientCapabilities`]: {},
      },
    };
    const method = "subscriptions/listen";
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": version,
        "mcp-method": method,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    // The answer ends.
    expect(await answer.text()).toContain("Subscription limit");
  });

  test("a connection has one question at a time, and ends when its caller says so", async () => {
    const { hostname, port } = new URL(url);
    const question = (more: string): string =>
      `POST /mcp HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\n` +
      `Accept: application/json, text/event-stream\r\nContent-Length: ${LIST.length}\r\n${more}\r\n${LIST}`;
    const received = async (text: string): Promise<string> => {
      const socket = connect(Number(port), hostname);
      const pieces: Buffer[] = [];
      socket.on("data", (piece: Buffer) => pieces.push(piece)).on("error", () => {});
      socket.write(text);
      await once(socket, "close");
      return String(Buffer.concat(pieces));
    };
    expect(await received(question("").repeat(3))).not.toContain("find_contracts");
    expect(await received(question("Connection: close\r\n"))).toContain("find_contracts");
  });

  test("a service that is none, or away, is an error in words, and no other gets the key", async () => {
    const seen: string[] = [];
    const other = createServer((asked, response) => {
      seen.push(`${asked.url}`);
      response.end("{}");
    });
    const elsewhere = await listen(other, "--http", "127.0.0.1", 0);
    const answers = [
      { status: 308, headers: { location: `${elsewhere}/caught` } },
      { status: 308, headers: { location: `${elsewhere}${API}/prices/x` } },
      { status: 200, headers: { "content-type": "text/html" } },
      { status: 502, headers: {} },
      { status: 200, headers: { "content-type": "application/json" } },
    ];
    const asked: string[] = [];
    const wrong = createServer((request_, response) => {
      asked.push(`${request_.url}`);
      const { status, headers } = answers[0] as (typeof answers)[0];
      response.writeHead(status, headers).end("<p>no data</p>");
    });
    const place = await listen(wrong, "--http", "127.0.0.1", 0);
    const misled = mcpHttpServer(place, [], (message) => problems.push(message));
    const address = `${await listen(misled, "--http", "127.0.0.1", 0)}/mcp`;
    const agent = await agentOfToday(address, { "x-api-key": proxy.pro });
    const detailOf = async (): Promise<string> => {
      const { isError, text } = await agent.call("get_history", { id: "x" });
      expect(isError).toBe(true);
      expect(text).not.toContain(proxy.pro);
      return JSON.parse(text).detail;
    };
    for (const status of [308, 308, 200, 502]) {
      expect(await detailOf()).toMatch(
        RegExp(`gives no answer: .* answers ${status} with .*expected JSON$`),
      );
      answers.shift();
    }
    expect(await detailOf()).toMatch(/answers 200 with a body that is no JSON$/);
    expect(asked).toContain(`${API}/prices/x`);
    expect(seen).toEqual([]);
    wrong.close();
    wrong.closeAllConnections();
    expect(await detailOf()).toMatch(/gives no answer: .*ECONNREFUSED/);
    await agent.close();
    for (const each of [other, misled]) {
      each.close();
      each.closeAllConnections();
    }
  });
});

test("the conformance suite of 2026-07-28 passes, but for features that are not offered", async () => {
  const args = ["server", "--url", url, "--requirements", "2026-07-28"];
  const expected = join(import.meta.dirname, "mcp-not-offered.yml");
  const suite = join(CLIENTS, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  const { stdout } = await promisify(execFile)(process.execPath, [
    suite,
    ...args,
    "--expected-failures",
    expected,
  ]);
  expect(stdout).toMatch(/✓ tools-list: \d+ passed, 0 failed/);
  expect(stdout).toMatch(/✓ http-header-validation: \d+ passed, 0 failed/);
  expect(stdout).toMatch(/✓ dns-rebinding-protection: \d+ passed, 0 failed/);
});

/** Many callers of the tools over HTTP: how many requests reach the service at once, and from which address. */
import { once } from "node:events";
import {
  Agent,
  createServer,
  request,
  type ClientRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mcpHttpServer } from "../../src/mcp/http.ts";
import { listen } from "../../src/hosts/node/server.ts";
import { eventually } from "./fixture.ts";

/** A request that the service has not answered. */
interface Held {
  readonly id: string;
  readonly from: string;
  readonly response: ServerResponse;
}

const servers: Server[] = [];
let service: Server;
let held: Held[];
/** What each request that reached the service said of its caller. */
let callers: string[];
let open: ClientRequest[];
let connections: number;
let connectionsMost: number;
let url: string;

beforeEach(async () => {
  [held, callers, open, connections, connectionsMost] = [[], [], [], 0, 0];
  service = createServer(hold);
  service.on("connection", (socket) => {
    connections += 1;
    connectionsMost = Math.max(connectionsMost, connections);
    socket.once("close", () => (connections -= 1));
  });
  servers.push(service);
  url = await start(1);
});
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** Tools behind so many proxies, over the service. */
async function start(trustedHops: number): Promise<string> {
  const address = service.listening
    ? addressOf(service)
    : await listen(service, "--http", "127.0.0.1", 0);
  const server = mcpHttpServer(address, [], () => {}, trustedHops);
  servers.push(server);
  return `${await listen(server, "--http", "127.0.0.1", 0)}/mcp`;
}

function addressOf(server: Server): string {
  const bound = server.address();
  return typeof bound === "object" ? `http://127.0.0.1:${bound?.port}` : "";
}

function hold({ url: target = "", headers }: IncomingMessage, response: ServerResponse): void {
  const id = target.replace(/^.*\/prices\/([^?]*).*$/, "$1");
  const from = String(headers["x-forwarded-for"]);
  callers.push(from);
  held.push({ id, from, response });
}

function answer(requests: readonly Held[]): void {
  held = held.filter((each) => !requests.includes(each));
  for (const { response } of requests) {
    response.writeHead(200, { "content-type": "application/json" }).end("{}\n");
  }
}

/** Asks for the histories of these ids, in a batch, with this X-Forwarded-For; resolves with the answer. */
async function ask(ids: readonly string[], forwarded: string, to = url): Promise<string> {
  const body = ids.map((id, at) => ({
    jsonrpc: "2.0",
    id: at,
    method: "tools/call",
    params: { name: "get_history", arguments: { id } },
  }));
  const asked = request(to, {
    method: "POST",
    agent: new Agent(),
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "x-forwarded-for": forwarded,
    },
  });
  open.push(asked);
  asked.end(JSON.stringify(body));
  const [response] = (await once(asked, "response")) as [IncomingMessage];
  return (await response.setEncoding("utf8").toArray()).join("");
}

const idsOf = (batch: number, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `b${batch}-${at}`);
const heldOf = (from: string): Held[] => held.filter((each) => each.from === from);
/** Answers all that is held, until these are through. */
async function answerAll(all: Promise<unknown>, look: () => void): Promise<void> {
  let isDone = false;
  void all.finally(() => (isDone = true));
  await eventually(() => {
    look();
    answer(held);
    return isDone;
  });
  await all;
}

test("one caller has at most 4 requests at once, and a batch runs in series", async () => {
  const batches = Array.from({ length: 10 }, (_, batch) => ask(idsOf(batch, 10), "192.0.2.1"));
  await eventually(() => held.length === 4);
  await answerAll(Promise.all(batches), () => {
    expect(held.length).toBeLessThanOrEqual(4);
    const running = held.map(({ id }) => id.replace(/-.*$/, ""));
    expect(new Set(running).size).toBe(running.length);
  });
  expect(callers.length).toBe(100);
  expect(connectionsMost).toBeLessThanOrEqual(4);
  for (const text of await Promise.all(batches)) expect(text.match(/"jsonrpc"/g)?.length).toBe(10);
});

test("all callers together have at most 16 connections, and none waits for one who gets no answer", async () => {
  const silent = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
  const waiting = silent.flatMap((from) => idsOf(0, 6).map((id) => ask([id, id], from)));
  for (const each of waiting) each.catch(() => {});
  await eventually(() => held.length === 12);
  expect(silent.map((from) => heldOf(from).length)).toEqual([4, 4, 4]);
  const others = Array.from({ length: 20 }, (_, at) => `198.51.100.${at}`);
  const asked = Promise.all(others.map((from) => ask(["x", "y"], from)));
  let isDone = false;
  void asked.finally(() => (isDone = true));
  await eventually(() => {
    expect(held.length).toBeLessThanOrEqual(16);
    answer(held.filter(({ from }) => !silent.includes(from)));
    return isDone;
  });
  expect(connectionsMost).toBeLessThanOrEqual(16);
  await answerAll(Promise.all(waiting), () => expect(held.length).toBeLessThanOrEqual(16));
});

test("what waits for a caller who has left is not asked", async () => {
  for (let batch = 0; batch < 30; batch += 1) {
    ask(idsOf(batch, 10), "192.0.2.1").catch(() => {});
  }
  await eventually(() => held.length === 4);
  for (const each of open.splice(0)) each.destroy();
  const tools = servers.at(-1) as Server;
  await eventually(async () => (await promisify(tools.getConnections.bind(tools))()) === 0);
  const next = ask(["next"], "192.0.2.1");
  await eventually(() => {
    const found = held.some(({ id }) => id === "next");
    answer(held);
    return found;
  });
  await next;
  expect(callers.length).toBe(5);
});

test.each([
  [0, "192.0.2.9", "127.0.0.1"],
  [1, "192.0.2.8, 192.0.2.9", "192.0.2.9"],
  [1, "2001:db8::1", "2001:db8::1"],
  [1, "[2001:db8::1]:4711", "2001:db8::1"],
  [1, "made-up", "127.0.0.1"],
  [2, "192.0.2.8, 192.0.2.9", "192.0.2.8"],
])("behind %s proxies, %s is sent as %s", async (hops, forwarded, sent) => {
  const asked = ask(["x"], forwarded, await start(hops));
  await answerAll(asked, () => {});
  expect(callers).toEqual([sent]);
});

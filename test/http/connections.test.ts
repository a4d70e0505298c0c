/** The limit of connections, unfinished handshakes, and the end of the proxy with open connections. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createState } from "../../src/state/open.ts";
import {
  chipboard,
  killed,
  serve,
  SESSION,
  until,
  writeMarket,
} from "../cluster/cluster-fixture.ts";
import type { Serving } from "../program/program.ts";
import { certificate } from "./certificate.ts";
import { Visitor } from "./crowd.ts";
import { startTestProxy } from "./fixture.ts";
import { testWith } from "./needed-tools.ts";

const HEALTH = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
/** The first bytes of a TLS handshake: the beginning of a record. */
const HALF_HELLO = Buffer.from("160301020001000001fc0303", "hex");

let folder: string;
let store: string;
const servings: Serving[] = [];
const visitors: Visitor[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-connections-"));
  store = join(folder, "snapshots");
  const files = await writeMarket(folder);
  const feeds = ["--catalog", files.catalog, "--quotes", files.quotes, "--session", SESSION];
  expect((await chipboard(["publish", ...feeds, "--store", store])).code).toBe(0);
  await createState(join(folder, "state"));
});
afterEach(async () => {
  for (const visitor of visitors.splice(0)) visitor.leave();
  await killed(servings);
});
afterAll(() => rm(folder, { recursive: true }));

async function start(...args: string[]): Promise<Serving> {
  const serving = await serve(["--store", store, "--state", join(folder, "state"), ...args]);
  servings.push(serving);
  return serving;
}

async function visit(url: string, from?: string): Promise<Visitor> {
  const visitor = await Visitor.at(url, from);
  visitors.push(visitor);
  return visitor;
}

const metricOf = async ({ metricsUrl }: Serving, name: string): Promise<number> => {
  const text = await (await fetch(metricsUrl as string)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
};

describe("--max-connections", () => {
  test("a connection beyond the limit is closed at once, and all others stay open", async () => {
    const proxy = await start("--max-connections", "10", "--metrics-port", "0");
    const first: Visitor[] = [];
    // The last tenth is for networks without a connection.
    for (let at = 0; at < 10; at += 1) {
      first.push(await visit(proxy.url, at === 9 ? "127.0.0.2" : "127.0.0.1"));
      // The proxy has accepted it by the time it answers.
      first[at]?.send(HEALTH);
      await until(() => first[at]?.statuses.length === 1);
    }
    const beyond = await Promise.all(Array.from({ length: 30 }, () => visit(proxy.url)));
    for (const visitor of beyond) visitor.send(HEALTH);
    await Promise.all(beyond.map(({ closed }) => closed));
    expect(beyond.map(({ received }) => received).join("")).toBe("");

    for (const visitor of first) visitor.send(HEALTH);
    await until(() => first.every(({ statuses }) => statuses.length === 2));
    expect(first.map(({ statuses, isClosed }) => [...statuses, isClosed])).toEqual(
      Array.from({ length: 10 }, () => [200, 200, false]),
    );
    expect(await metricOf(proxy, "chipboard_connections_refused_total")).toBe(30);

    first[9]?.leave();
    await until(async () => {
      const next = (await visit(proxy.url, "127.0.0.2")).send(HEALTH);
      await until(() => next.statuses.length === 1 || next.isClosed);
      return next.statuses[0] === 200;
    });
    expect(await proxy.end()).toBe(0);
    const lines = proxy.stderr().match(/.*too many connections.*\n/g) ?? [];
    expect(JSON.parse(lines[0] ?? "{}")).toMatchObject({ level: 40, max: 10 });
    expect(lines.length).toBeLessThan(30);
  });

  test("an invalid number of connections is refused", async () => {
    for (const number of ["0", "-1", "many", "100001"]) {
      const { code, stderr } = await chipboard(["serve", "--max-connections", number]);
      expect([code, stderr]).toEqual([2, expect.stringContaining("--max-connections")]);
    }
  });
});

describe("--max-connections-per-address", () => {
  const HOLDER = "127.0.0.2";
  const answered = async (url: string, from?: string): Promise<boolean> => {
    const visitor = (await visit(url, from)).send(HEALTH);
    await until(() => visitor.statuses.length === 1 || visitor.isClosed);
    return visitor.statuses[0] === 200;
  };

  test("an address with too many connections gets no more, and other addresses do", async () => {
    const proxy = await start("--max-connections-per-address", "5", "--metrics-port", "0");
    const held: Visitor[] = [];
    for (let at = 0; at < 5; at += 1) held.push(await visit(proxy.url, HOLDER));
    const beyond = await Promise.all(Array.from({ length: 20 }, () => visit(proxy.url, HOLDER)));
    for (const visitor of beyond) visitor.send(HEALTH);
    await Promise.all(beyond.map(({ closed }) => closed));
    expect(beyond.map(({ received }) => received).join("")).toBe("");
    expect(await answered(proxy.url)).toBe(true);
    expect(await metricOf(proxy, "chipboard_connections_refused_total")).toBe(20);

    for (const visitor of held) visitor.send(HEALTH);
    await until(() => held.every(({ statuses }) => statuses.length === 1));
    held[0]?.leave();
    await until(() => answered(proxy.url, HOLDER));
    expect(await proxy.end()).toBe(0);
    const lines = proxy.stderr().match(/.*too many connections.*\n/g) ?? [];
    expect(JSON.parse(lines[0] ?? "{}")).toMatchObject({ level: 40, max: 5, from: "127.0.0.0/24" });
    expect(lines.length).toBeLessThan(20);
  });

  test("an address that holds all connections to the metrics leaves places for others", async () => {
    const proxy = await start("--metrics-port", "0");
    const metricsUrl = proxy.metricsUrl as string;
    const held = await Promise.all(Array.from({ length: 120 }, () => visit(metricsUrl, HOLDER)));
    await until(() => held.filter(({ isClosed }) => isClosed).length >= 30);
    expect(await metricOf(proxy, "chipboard_connections_refused_total")).toBe(30);
  });

  test("a connection to the metrics asks for one thing after the other", async () => {
    const proxy = await start("--metrics-port", "0");
    const ask = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    const greedy = await visit(proxy.metricsUrl as string);
    await greedy.send(ask.repeat(3)).closed;
    expect(greedy.statuses).toEqual([]);
    const patient = await visit(proxy.metricsUrl as string);
    for (const answers of [1, 2]) {
      patient.send(ask);
      await until(() => patient.statuses.length === answers && patient.received.endsWith("\n"));
    }
    expect(patient.statuses).toEqual([200, 200]);
  });

  test("is 128 by default, and off behind a proxy in front", async () => {
    const proxy = await start("--metrics-port", "0");
    const hold = async (url: string, count: number): Promise<Visitor[]> =>
      Promise.all(Array.from({ length: count }, () => visit(url, HOLDER)));
    const first = await hold(proxy.url, 128);
    expect(await answered(proxy.url, HOLDER)).toBe(false);
    expect(first.filter(({ isClosed }) => isClosed)).toEqual([]);
    const behind = await start("--trust-proxy", "1", "--max-connections-per-address", "5");
    await hold(behind.url, 20);
    expect(await answered(behind.url, HOLDER)).toBe(true);
  });

  testWith("openssl")("counts TLS handshakes, and connections until they close", async () => {
    const { cert, key } = await certificate(folder);
    const tls = { cert: await readFile(cert), key: await readFile(key) };
    const proxy = await startTestProxy({ tls, maxConnectionsPerAddress: 3 });
    try {
      const ca = tls.cert.toString();
      const silent = [await visit(proxy.url), await visit(proxy.url), await visit(proxy.url)];
      await (await visit(proxy.url)).send(HALF_HELLO).closed;
      expect(silent.filter(({ isClosed }) => isClosed)).toEqual([]);
      for (const visitor of silent) visitor.leave();
      await until(() =>
        proxy.get("/healthz", { ca }).then(
          () => true,
          () => false,
        ),
      );
      for (let at = 0; at < 10; at += 1) {
        await until(() =>
          proxy.get("/healthz", { ca }).then(
            () => true,
            () => false,
          ),
        );
      }
    } finally {
      await proxy.close();
    }
  });

  test("an invalid number is refused", async () => {
    for (const number of ["0", "-1", "many", "100001"]) {
      const args = ["serve", "--max-connections-per-address", number];
      const { code, stderr } = await chipboard(args);
      expect([code, stderr]).toEqual([2, expect.stringContaining("--max-connections-per-address")]);
    }
  });
});

testWith("openssl")(
  "a client that ends its side of TLS after the request gets its answer",
  async () => {
    const { cert, key } = await certificate(folder);
    const tls = { cert: await readFile(cert), key: await readFile(key) };
    const proxy = await startTestProxy({ tls });
    try {
      const port = Number(new URL(proxy.url).port);
      const socket = connectTls({ port, host: "127.0.0.1", ca: tls.cert });
      socket.end("GET /api/public/v1/prices HTTP/1.1\r\nHost: x\r\n\r\n");
      expect(await text(socket)).toMatch(/^HTTP\/1.1 200 /);
    } finally {
      await proxy.close();
    }
  },
);

describe("unfinished handshakes", () => {
  testWith("openssl")("are closed after the time limit of a header", async () => {
    const { cert, key } = await certificate(folder);
    const tls = { cert: await readFile(cert), key: await readFile(key) };
    const proxy = await startTestProxy({ tls, limits: { headersMs: 700 } });
    try {
      const silent = await visit(proxy.url);
      const half = (await visit(proxy.url)).send(HALF_HELLO);
      const plain = (await visit(proxy.url)).send(HEALTH);
      await Promise.all([silent.closed, half.closed, plain.closed]);
      // Before the end of the handshake the proxy cannot send a readable answer.
      for (const { received } of [silent, half, plain]) expect(received).not.toContain("HTTP");
      const { status } = await proxy.get("/healthz", { ca: tls.cert.toString() });
      expect(status).toBe(200);
    } finally {
      await proxy.close();
    }
  });
});

describe("SIGTERM ends the proxy", () => {
  testWith("openssl")("with open TLS connections of all kinds", async () => {
    const { cert, key } = await certificate(folder);
    const proxy = await start("--tls-cert", cert, "--tls-key", key);
    const silent = await Promise.all(Array.from({ length: 5 }, () => visit(proxy.url)));
    const half = (await visit(proxy.url)).send(HALF_HELLO);
    const { port } = new URL(proxy.url);
    const ca = await readFile(cert, "utf8");
    const idle = connectTls({ port: Number(port), host: "127.0.0.1", ca });
    await new Promise((resolve) => idle.once("secureConnect", resolve));
    const unfinished = connectTls({ port: Number(port), host: "127.0.0.1", ca });
    await new Promise((resolve) => unfinished.once("secureConnect", resolve));
    unfinished.write("GET / HTTP/1.1\r\nHost:");
    const gone = [idle, unfinished].map(
      (socket) => new Promise((resolve) => socket.on("error", () => {}).once("close", resolve)),
    );
    expect(await proxy.end()).toBe(0);
    await Promise.all([...silent, half].map(({ closed }) => closed));
    await Promise.all(gone);
  });

  test("with open plain connections of all kinds", async () => {
    const proxy = await start("--metrics-port", "0");
    const all = await Promise.all(Array.from({ length: 5 }, () => visit(proxy.url)));
    all[1]?.send("GET / HTTP/1.1\r\nHost:");
    all[2]?.send("GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
    all[3]?.send("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n");
    all[4]?.send("\0");
    all.push((await visit(proxy.metricsUrl as string)).send("GET /metrics HTTP/1.1\r\n"));
    expect(await proxy.end()).toBe(0);
    await Promise.all(all.map(({ closed }) => closed));
  });
});

/** Bad keys, fields, parameters and bodies, and slow clients: always the right 4xx, and no failure. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { assetPath } from "../../src/pages/assets.ts";
import { certificate } from "./certificate.ts";
import { eventually, startTestProxy, type TestProxy } from "./fixture.ts";
import { expectUnharmed, getFrom, sendTo, type Raw } from "./raw-client.ts";
import { testWith } from "./needed-tools.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

const send = (bytes: string | Buffer, method?: string, path?: string): Promise<Raw> =>
  sendTo(proxy.url, bytes, method, path);
const get = (target: string, lines?: string, version?: string): Promise<Raw> =>
  getFrom(proxy.url, target, lines, version);

test("100-continue after another request: both answers are complete, without a 100 between them", async () => {
  const plain = "GET /healthz HTTP/1.1\r\nHost: x\r\n";
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(new URL(proxy.url).port), "127.0.0.1");
    let received = "";
    socket.on("data", (piece) => (received += String(piece)));
    socket.on("error", reject);
    socket.on("close", () => resolve(received));
    socket.write(`${plain}\r\n${plain}Expect: 100-continue\r\n\r\n`);
  });
  const [before, first, second] = text.split(/HTTP\/1\.1 200 OK\r\n(?:[\w-]+: .*\r\n)+\r\n/);
  const body = '{"status":"ok"}\n';
  expect([before, first, second]).toEqual(["", body, body]);
  expect(text).toMatch(/^connection: close\r$/im);
});

/**
 * Which fields of transport and media type each answer of this proxy has, also answers to bytes that are no
 * request.
 */
async function fieldsOfAll(asked: TestProxy, open: (port: number) => Socket): Promise<unknown> {
  const host = "Host: x\r\n";
  const { etag } = (await proxy.get(`${API}/prices`)).headers;
  const api = `GET ${API}/prices HTTP/1.1\r\n${host}`;
  const answers: [status: number, bytes: string][] = [
    [200, `${api}\r\n`],
    [304, `${api}If-None-Match: ${etag}\r\n\r\n`],
    [
      206,
      `GET ${API}/export.csv HTTP/1.1\r\n${host}x-api-key: ${asked.pro}\r\nRange: bytes=0-9\r\n\r\n`,
    ],
    [401, `${api}x-api-key: x\r\n\r\n`],
    [404, `GET ${API}/none HTTP/1.1\r\n${host}\r\n`],
    [405, `POST ${API}/prices HTTP/1.1\r\n${host}\r\n`],
    [204, `OPTIONS ${API}/prices HTTP/1.1\r\n${host}\r\n`],
    [400, "GET / HTTP/1.1\r\n\r\n"],
    [405, `CONNECT x:1 HTTP/1.1\r\n${host}\r\n`],
    [400, "no request at all\r\n\r\n"],
    [400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    [431, `GET / HTTP/1.1\r\nx-long: ${"x".repeat(17_000)}\r\n\r\n`],
    [200, `GET /healthz HTTP/1.1\r\n${host}Expect: nothing\r\n\r\n`],
    ...[
      "/",
      "/docs",
      "/openapi.json",
      assetPath("style.css"),
      "/guide.md",
      "/feed.atom",
      "/log/1",
    ].map((path): [number, string] => [200, `GET ${path} HTTP/1.1\r\n${host}\r\n`]),
  ];
  const all = new Set<string>();
  for (const [status, bytes] of answers) {
    const text = await new Promise<string>((resolve, reject) => {
      const socket = open(Number(new URL(asked.url).port));
      let received = "";
      socket.on("data", (piece) => {
        received += String(piece);
        if (received.includes("\r\n\r\n")) socket.destroy();
      });
      socket.on("error", reject);
      socket.on("close", () => resolve(received));
      socket.write(bytes);
    });
    const [head = ""] = text.split("\r\n\r\n");
    expect([bytes.slice(0, 60), head.slice(9, 12)]).toEqual([bytes.slice(0, 60), String(status)]);
    const found = head.match(/^(?:x-content-type-options|strict-transport-security): .*$/gim);
    all.add(String(found?.toSorted()));
  }
  return [...all];
}

test("x-content-type-options: nosniff is on every answer, also to bytes that are no request", async () => {
  const found = await fieldsOfAll(proxy, (port) => connect(port, "127.0.0.1"));
  expect(found).toEqual(["x-content-type-options: nosniff"]);
  expect((await fetch(proxy.metricsUrl)).headers.get("x-content-type-options")).toBe("nosniff");
});

testWith("openssl")("under TLS strict-transport-security is also on every answer", async () => {
  const folder = await mkdtemp(join(tmpdir(), "chipboard-tls-"));
  const files = await certificate(folder);
  const tls = { cert: await readFile(files.cert), key: await readFile(files.key) };
  const secure = await startTestProxy({ tls });
  try {
    const found = await fieldsOfAll(secure, (port) =>
      connectTls({ port, host: "127.0.0.1", ca: tls.cert }),
    );
    expect(found).toEqual([
      "strict-transport-security: max-age=31536000,x-content-type-options: nosniff",
    ]);
  } finally {
    await secure.close();
    await rm(folder, { recursive: true });
  }
});

describe("keys and fields", () => {
  test("duplicate Authorization, NUL and other bytes in keys", async () => {
    const pro = `Bearer ${proxy.pro}`;
    const twice = await get(
      `${API}/prices`,
      `Host: x\r\nAuthorization: ${pro}\r\nauthorization: ${pro}\r\n`,
    );
    expect([twice.status, twice.code]).toEqual([401, "invalid_key"]);
    for (const key of ["\xe9\xff", `${proxy.pro}\xff`, "\t \t", "'; DROP TABLE", "%00"]) {
      const { status, code } = await get(`${API}/prices`, `Host: x\r\nx-api-key: ${key}\r\n`);
      expect([key, status, code]).toEqual([key, 401, "invalid_key"]);
    }
    const nul = await get(`${API}/prices`, `Host: x\r\nAuthorization: Bearer a\0b\r\n`);
    expect([nul.status, nul.code]).toEqual([400, "bad_request"]);
  });

  test("a header of 15 kB is read; one of more than 16 kB is refused, whichever part is long", async () => {
    const long = await get(`${API}/prices`, `Host: x\r\nx-api-key: ${"k".repeat(15_000)}\r\n`);
    expect([long.status, long.code]).toEqual([401, "invalid_key"]);
    const query = await get(`${API}/prices?${"a&".repeat(7_500)}`);
    expect([query.status, query.code]).toEqual([400, "unknown_parameter"]);
    const fields = "x-field: of-20-bytes\r\n".repeat(1_000);
    for (const [target, lines] of [
      [`${API}/prices`, `Host: x\r\nx-api-key: ${"k".repeat(17_000)}\r\n`],
      [`${API}/prices`, `Host: x\r\nx-api-key: ${"k".repeat(1_000_000)}\r\n`],
      [`${API}/prices`, `Host: x\r\n${fields}`],
      [`${API}/prices?${"a&".repeat(8_500)}`, "Host: x\r\n"],
      [`${API}/usage?${"a&".repeat(65_000)}`, "Host: x\r\n"],
      [`/${"a".repeat(17_000)}`, "Host: x\r\n"],
    ] as const) {
      const { status, code, headers } = await get(target, lines);
      expect([status, code]).toEqual([431, "headers_too_large"]);
      expect(headers["x-ratelimit-remaining"]).toMatch(/^\d+$/);
    }
  });

  test("1,500 ids", async () => {
    const ids = Array.from({ length: 1_500 }, (_, at) => `c-${at}`).join(",");
    const lines = `Host: x\r\nx-api-key: ${proxy.pro}\r\n`;
    const { status, code, text } = await get(`${API}/index?ids=${ids}`, lines);
    expect([status, code]).toEqual([400, "invalid_parameter"]);
    expect(text.length).toBeLessThan(600);
  });

  test("NUL, percent garbage and repeats in parameters", async () => {
    const lines = `Host: x\r\nx-api-key: ${proxy.pro}\r\n`;
    for (const query of [
      "ids=%00",
      "ids=%zz",
      "ids=%ff",
      "ids=dram-0&ids=dram-0",
      "%00=1",
      "ids=dram-0&weights=%00",
      "__proto__=1",
    ]) {
      const { status, code } = await get(`${API}/index?${query}`, lines);
      expect([query, status]).toEqual([query, 400]);
      expect(code).toMatch(/_parameter$|^unknown_contract$/);
    }
  });
});

describe("bodies and framing", () => {
  test("a body on GET is refused; an empty one is allowed", async () => {
    const withBody = (fields: string, body: string) =>
      send(
        `GET ${API}/prices HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${fields}\r\n\r\n${body}`,
        "GET",
        `${API}/prices`,
      );
    expect((await withBody("Content-Length: 5", "hello")).code).toBe("bad_request");
    expect((await withBody("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n")).code).toBe(
      "bad_request",
    );
    expect((await withBody("Content-Length: 0", "")).status).toBe(200);
  });

  const MALFORMED = [
    [
      "both lengths",
      `GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    [
      "two lengths",
      "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    ],
    ["noise", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["a space in a field name", "GET / HTTP/1.1\r\nHost : x\r\n\r\n"],
    ["a folded line", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"],
    ["another protocol", "GET / FTP/1.1\r\nHost: x\r\n\r\n"],
    ["a version that is none", "GET / HTTP/9.9\r\nHost: x\r\n\r\n"],
  ] as const;
  for (const [name, bytes] of MALFORMED) {
    test(`${name}: 400 with a problem document`, async () => {
      const { status, code, headers } = await send(bytes, "GET", "/none");
      expect([status, code]).toEqual([400, "bad_request"]);
      expect(headers["connection"]).toBe("close");
    });
  }
});

describe("slow and idle clients", () => {
  let impatient: TestProxy;
  beforeAll(async () => {
    impatient = await startTestProxy({ limits: { headersMs: 700, keepAliveMs: 400 } });
  });
  afterAll(async () => {
    await expectUnharmed(impatient);
    await impatient.close();
  });

  test("a header that is never completed: 408, and the connection is closed", async () => {
    const { status, code } = await new Promise<Raw>((resolve, reject) => {
      const socket = connect(Number(new URL(impatient.url).port), "127.0.0.1");
      let text = "";
      socket.write("GET / HTTP/1.1\r\nHost: x\r\n");
      const drip = setInterval(() => socket.write("a: b\r\n"), 100);
      socket.on("data", (piece) => (text += String(piece)));
      socket.on("error", reject);
      socket.on("close", () => {
        clearInterval(drip);
        const [head = "", body = ""] = text.split("\r\n\r\n");
        resolve({
          status: Number(head.split(" ")[1]),
          headers: {},
          text: body,
          code: JSON.parse(body).code,
        });
      });
    });
    expect([status, code]).toEqual([408, "request_timeout"]);
  });

  test("a client that does not read is disconnected", async () => {
    const slow = await startTestProxy({ limits: { stalledMs: 400 } });
    try {
      const socket = connect(Number(new URL(slow.url).port), "127.0.0.1").pause();
      const lines = `Host: x\r\nx-api-key: ${slow.pro}\r\n\r\n`;
      socket.write(`GET ${API}/prices/dram-0 HTTP/1.1\r\n${lines}`.repeat(600));
      const waitingBytes = async (): Promise<number> => {
        const text = await (await fetch(slow.metricsUrl)).text();
        return Number(/^chipboard_waiting_bytes (\d+)$/m.exec(text)?.[1]);
      };
      await eventually(async () => (await waitingBytes()) > 0);
      // The connection is closed, and nothing waits for it any more.
      await eventually(async () => (await waitingBytes()) === 0);
      let bytes = 0;
      socket.on("data", (piece: Buffer) => (bytes += piece.length));
      const ended = new Promise<void>((resolve) => socket.on("close", () => resolve()));
      socket.on("error", () => {});
      socket.resume();
      await ended;
      expect(bytes).toBeLessThan(600 * 30_000);
    } finally {
      await slow.close();
    }
  });

  test("an idle connection is closed", async () => {
    await new Promise<void>((resolve, reject) => {
      const socket = connect(Number(new URL(impatient.url).port), "127.0.0.1");
      socket.on("data", () => {});
      socket.on("error", reject);
      socket.on("close", () => resolve());
      socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    });
  });
});

test("bytes that are not HTTP are logged like other problems", async () => {
  expect((await send("GET / X\r\n\r\n")).status).toBe(400);
  await eventually(() =>
    Promise.resolve(
      proxy.logged.some((line) =>
        /"route":"\(none\)","status":400,"code":"bad_request"/.test(line),
      ),
    ),
  );
});

test("after all that the proxy answers as before, and logged no failure", async () => {
  await expectUnharmed(proxy);
});

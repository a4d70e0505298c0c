/** Bad input: always the right 4xx with a problem document and the quota field, never another file. */
import { connect } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually, startTestProxy, type TestProxy } from "./fixture.ts";
import { checkAgainstOpenApi } from "./recorder.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy({ limits: { headersMs: 700, requestMs: 1_000, keepAliveMs: 400 } });
});
afterAll(() => proxy.close());

interface Raw {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
  readonly code: unknown;
}

/** Writes bytes to a socket and reads the first answer, to the end of the connection. */
async function send(bytes: string | Buffer, method = "GET", path = "/"): Promise<Raw> {
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect(Number(new URL(proxy.url).port), "127.0.0.1");
    const pieces: Buffer[] = [];
    socket.on("data", (piece: Buffer) => pieces.push(piece));
    socket.on("error", reject);
    socket.on("close", () => resolve(Buffer.concat(pieces).toString("latin1")));
    socket.end(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  });
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  expect(statusLine).toMatch(/^HTTP\/1\.1 \d{3} /);
  const headers = Object.fromEntries(
    lines.map((line) => [line.split(": ", 1)[0]?.toLowerCase(), line.replace(/^[^:]+: /, "")]),
  );
  const body = rest.join("\r\n\r\n").slice(0, Number(headers["content-length"] ?? 0));
  const isJson = headers["content-type"]?.includes("json") === true;
  const json = isJson && body !== "" ? JSON.parse(body) : undefined;
  const status = Number(statusLine.split(" ")[1]);
  const raw = Buffer.from(body, "latin1");
  checkAgainstOpenApi(method, `http://x${path}`, {
    status,
    headers,
    raw,
    body: raw,
    text: body,
    json,
  });
  return { status, headers, text: body, code: json?.code };
}

const get = (target: string, lines = "Host: x\r\n", version = "1.1") =>
  send(`GET ${target} HTTP/${version}\r\n${lines}Connection: close\r\n\r\n`, "GET", target);

describe("paths", () => {
  const NOWHERE = [
    `${API}/prices/`,
    `${API}//prices`,
    `/${API}/prices`,
    `${API}/prices//`,
    `${API}/Prices`,
    `${API}/prices/dram-0/`,
    `${API}/prices/%2e%2e`,
    `${API}/prices/%2E%2e/index`,
    `${API}/prices/..`,
    `${API}/prices/../prices`,
    `${API}/./prices`,
    `${API}/prices/.`,
    `${API}/prices/../../../../readyz`,
    `${API}/%70rices`,
    "/api%2Fpublic/v1/prices",
    `${API}\\prices`,
    `${API}/prices%00`,
    "/%",
    "/%zz",
    "/..%2f..%2fpackage.json",
    "/docs/",
    "/docs/..%2f..%2fserver.ts",
    "/docs/swagger-ui.css.map",
    "/openapi.json/",
    "//",
    "/*",
    "/metrics",
    API,
    `${API}/prices;a=b`,
  ];
  for (const path of NOWHERE) {
    test(`${path}: not_found`, async () => {
      const { status, code } = await get(path);
      expect([status, code]).toEqual([404, "not_found"]);
    });
  }

  const STRANGE_IDS = [
    "%00",
    "%",
    "%zz",
    "%ff%fe",
    "dram%2D0%00",
    "a%2F..%2Fprices",
    "%C3%A9",
    "x".repeat(5_000),
    "..%2f..%2fpro%2fcontracts%2fdram-0",
    "__proto__",
    "constructor",
    "toString",
    "dram-0.json",
    "%252e%252e",
  ];
  for (const id of STRANGE_IDS) {
    test(`/prices/${id.slice(0, 40)}: unknown_contract`, async () => {
      const { status, code, text } = await get(`${API}/prices/${id}`);
      expect([status, code]).toEqual([404, "unknown_contract"]);
      expect(text.length).toBeLessThan(400);
    });
  }

  test("an escape that needs none still names the contract", async () => {
    expect((await get(`${API}/prices/dram%2D0`)).status).toBe(200);
  });

  test("bytes beyond ASCII in path and query", async () => {
    for (const target of [`${API}/prices/\xe9`, `${API}/prices?\xff=\xfe`, `/\xc3\xa9`]) {
      const { status } = await get(target);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
    }
  });
});

test("whatever the path: only the exact ones find anything, and nothing fails", async () => {
  const known =
    /^(\/(openapi\.json|healthz|readyz|docs\/(page\.js|swagger-ui(\.css|-bundle\.js)))?|\/api\/public\/v1\/(prices(\/(dram-\d|dram%2[dD]0))?|usage))$/;
  const pieces =
    "/ // . .. %2e %2F %5c \\ % %00 ; & api public v1 prices PRICES dram-0 index usage export.csv " +
    "readyz docs page.js /api/public/v1 /prices openapi.json * @ ~ %e9 \xe9 null";
  const piece = fc.constantFrom(...pieces.split(" "));
  const target = fc.array(piece, { maxLength: 6 }).map((parts) => `/${parts.join("")}`);
  const property = fc.asyncProperty(target, async (path) => {
    const { status } = await get(path);
    expect(status === 200 || (status >= 400 && status < 500)).toBe(true);
    if (status === 200) expect(path).toMatch(known);
  });
  await fc.assert(property, { numRuns: 400 });
});

describe("targets and versions", () => {
  test("HTTP/1.0 without Host is served", async () => {
    const { status, text } = await get(`${API}/prices/dram-0`, "", "1.0");
    expect([status, JSON.parse(text).id]).toEqual([200, "dram-0"]);
  });

  test("HTTP/1.1 without Host is refused", async () => {
    const { status, code } = await get(`${API}/prices`, "");
    expect([status, code]).toEqual([400, "bad_request"]);
  });

  test("absolute form is served by its path; another scheme is no address here", async () => {
    const absolute = (target: string, path: string) =>
      send(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, "GET", path);
    expect(
      (await absolute(`http://other.example${API}/prices/dram-0`, `${API}/prices/dram-0`)).status,
    ).toBe(200);
    expect((await absolute("https://other.example/healthz", "/healthz")).status).toBe(200);
    expect((await absolute("http://other.example", "/")).status).toBe(200);
    expect((await absolute(`http://a:99999${API}/prices/%2e%2e`, "/none")).code).toBe("not_found");
    expect((await absolute(`ftp://other.example${API}/prices`, "/none")).code).toBe("not_found");
    expect(
      (await absolute(`http://x${API}/prices/dram-0?token=1`, `${API}/prices/dram-0`)).code,
    ).toBe("key_in_query");
  });

  test("a Host that is no host changes nothing", async () => {
    for (const host of ["a:99999", "[::1", "a b", "\xe9", "%", "x".repeat(3_000), ""]) {
      const { code } = await get(`${API}/prices/%2e%2e?"`, `Host: ${host}\r\n`);
      expect([host, code]).toEqual([host, "not_found"]);
      expect((await get("/healthz", `Host: ${host}\r\n`)).status).toBe(200);
    }
  });

  test("CONNECT, OPTIONS * and unknown methods", async () => {
    expect((await send("CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT", "/none")).code).toBe(
      "method_not_allowed",
    );
    expect(
      (await send("OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "OPTIONS", "/none"))
        .code,
    ).toBe("not_found");
    expect((await send("BREW / HTTP/1.1\r\nHost: x\r\n\r\n", "BREW", "/none")).code).toBe(
      "bad_request",
    );
    expect((await get("/healthz", "Host: x\r\nExpect: the-unexpected\r\n")).status).toBe(200);
    expect((await get("/healthz", "Host: x\r\nUpgrade: websocket\r\n")).status).toBe(200);
  });
});

test("100-continue behind another request: both answers whole, and no 100 in between", async () => {
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

  test("keys of 100 kB are keys that are not valid; larger headers are refused as such", async () => {
    const big = await get(`${API}/prices`, `Host: x\r\nx-api-key: ${"k".repeat(102_400)}\r\n`);
    expect([big.status, big.code]).toEqual([401, "invalid_key"]);
    const huge = await get(`${API}/prices`, `Host: x\r\nx-api-key: ${"k".repeat(1_000_000)}\r\n`);
    expect([huge.status, huge.code]).toEqual([431, "headers_too_large"]);
    expect(huge.headers["x-ratelimit-remaining"]).toMatch(/^\d+$/);
  });

  test("10,000 ids", async () => {
    const ids = Array.from({ length: 10_000 }, (_, at) => `c-${at}`).join(",");
    const lines = `Host: x\r\nx-api-key: ${proxy.pro}\r\n`;
    const { status, code, text } = await get(`${API}/index?ids=${ids}`, lines);
    expect([status, code]).toEqual([400, "invalid_parameter"]);
    expect(text.length).toBeLessThan(600);
    const more = await get(`${API}/index?ids=${ids.repeat(3)}`, lines);
    expect([more.status, more.code]).toEqual([431, "headers_too_large"]);
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

  test("10,000 parameters", async () => {
    const lines = `Host: x\r\nx-api-key: ${proxy.pro}\r\n`;
    const { status, code } = await get(`${API}/prices?${"a=1&".repeat(10_000)}`, lines);
    expect([status, code]).toEqual([400, "unknown_parameter"]);
  });
});

describe("bodies and framing", () => {
  test("a body on GET is refused, an empty one is none", async () => {
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
  test("a header that does not come to an end: 408, and the connection goes", async () => {
    const { status, code } = await new Promise<Raw>((resolve, reject) => {
      const socket = connect(Number(new URL(proxy.url).port), "127.0.0.1");
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

  test("one who does not read is cut off", async () => {
    const slow = await startTestProxy({ limits: { stalledMs: 400 } });
    try {
      const socket = connect(Number(new URL(slow.url).port), "127.0.0.1").pause();
      const lines = `Host: x\r\nx-api-key: ${slow.pro}\r\n\r\n`;
      socket.write(`GET ${API}/prices/dram-0 HTTP/1.1\r\n${lines}`.repeat(600));
      await eventually(
        async () => (await slow.get(`${API}/usage`, { key: slow.pro })).json.used > 0,
      );
      // Read again only when the server must have given up.
      await new Promise((resolve) => setTimeout(resolve, 1_500));
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
      const socket = connect(Number(new URL(proxy.url).port), "127.0.0.1");
      socket.on("data", () => {});
      socket.on("error", reject);
      socket.on("close", () => resolve());
      socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    });
  });
});

test("after all that the proxy answers as before, and logged no failure", async () => {
  expect((await proxy.get(`${API}/prices`)).status).toBe(200);
  expect(proxy.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
});

/** What /client.py refuses of a server that is not the proxy, and where it sends the key. */
import { createHash } from "node:crypto";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { testWith } from "../http/needed-tools.ts";
import { PRELUDE, PythonClient } from "./python-client.ts";

const withPython = testWith("python3");

let client: PythonClient;
let server: Server;
let other: Server;
let otherAsked: string[];
let asked: (string | undefined)[];
let answer: RequestListener;
const addressOf = (of: Server): string => `http://127.0.0.1:${(of.address() as AddressInfo).port}`;
const listen = (listener: RequestListener): Promise<Server> =>
  new Promise((resolve) => {
    const started = createServer(listener).listen(0, "127.0.0.1", () => resolve(started));
  });
let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
  client = await PythonClient.download(proxy.url, "cbk_secret");
});
afterAll(async () => {
  await proxy.close();
  await client.remove();
});
beforeEach(async () => {
  [asked, otherAsked] = [[], []];
  server = await listen((request, response) => {
    asked.push(String(request.headers["x-api-key"]));
    answer(request, response);
  });
  other = await listen((request, response) => {
    otherAsked.push(String(request.url));
    response.end();
  });
});
afterEach(() => {
  for (const each of [server, other]) {
    each.closeAllConnections();
    each.close();
  }
});

const BODY = Buffer.from('{"memory":[],"semiconductor":[]}\n');
const fieldsOf = (body: Buffer) => ({
  "unencoded-digest": `sha-256=:${createHash("sha256").update(body).digest("base64")}:`,
  "content-length": body.length,
});
const good: RequestListener = (_, response) => {
  response.writeHead(200, fieldsOf(BODY)).end(BODY);
};
/** What `prices` comes to, once or twice. */
const ends = async (options = "", times = 1): Promise<string> =>
  (
    await client.print(`${PRELUDE}import os
os.environ["http_proxy"] = "${addressOf(other)}"
client = Client("${addressOf(server)}", key${options})
for _ in range(${times}):
    try:
        print("got", client.prices())
    except (Refused, Damaged, OSError) as error:
        print(type(error).__name__, error)`)
  ).trimEnd();

withPython("sends the key to it alone, also past a proxy of the environment", async () => {
  answer = good;
  expect(await ends()).toBe("got []");
  expect([asked, otherAsked]).toEqual([["cbk_secret"], []]);
});

withPython("follows a redirect within the origin, and none to another", async () => {
  answer = (request, response) => {
    if (String(request.url).startsWith("/moved")) good(request, response);
    else response.writeHead(308, { location: "/moved" }).end();
  };
  expect(await ends()).toBe("got []");
  expect(asked).toEqual(["cbk_secret", "cbk_secret"]);
  for (const location of [
    `${addressOf(other)}/moved`,
    addressOf(server).replace("http://", "http://x@"),
    `//${addressOf(other).slice("http://".length)}/moved`,
    `${addressOf(server)}0/moved`,
  ]) {
    for (const status of [302, 308]) {
      answer = (_, response) => void response.writeHead(status, { location }).end();
      expect(await ends()).toMatch(/^Damaged redirected/);
    }
  }
  expect(otherAsked).toEqual([]);
});

withPython("refuses a body that its digest does not fit, or that has none", async () => {
  answer = (_, response) => {
    response.writeHead(200, fieldsOf(Buffer.from("other"))).end("Other");
  };
  expect(await ends()).toBe("Damaged the answer is not what its digest says");
  answer = (_, response) => void response.writeHead(200).end(BODY);
  expect(await ends()).toBe("Damaged the answer is not what its digest says");
  answer = (_, response) => {
    response.writeHead(200, fieldsOf(BODY)).write(BODY.subarray(0, 9), () => response.destroy());
  };
  expect(await ends()).toMatch(/^ConnectionError the answer ends early/);
});

withPython("stops a body without end, plain or inflated", async () => {
  answer = (_, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.writeHead(200).on("drain", more);
    more();
  };
  expect(await ends(", max_bytes=1_000_000")).toBe(
    "Damaged the answer has more than 1000000 bytes",
  );
  answer = (_, response) => {
    response.writeHead(503);
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on("drain", more);
    more();
  };
  expect(await ends()).toBe("Damaged the answer has more than 65536 bytes");
  const bomb = gzipSync(Buffer.alloc(64_000_000));
  answer = (_, response) => {
    response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
  };
  expect(await ends(", max_bytes=1_000_000")).toBe(
    "Damaged the answer has more than 1000000 bytes",
  );
});

withPython("waits as it is told, and asks nothing before that", async () => {
  answer = (request, response) => {
    if (asked.length > 1) good(request, response);
    else response.writeHead(503, { "retry-after": "1" }).end();
  };
  expect(await ends()).toBe("got []");
  const problem = JSON.stringify({ code: "quota_exceeded", detail: "No call is left." });
  asked = [];
  answer = (_, response) => void response.writeHead(429, { "retry-after": "3600" }).end(problem);
  expect((await ends("", 2)).split("\n")).toEqual([
    "Refused 429 quota_exceeded: No call is left.",
    "Refused 429 quota_exceeded: No call is left.",
  ]);
  expect(asked).toHaveLength(1);
});

withPython("takes a key for https or this machine only", async () => {
  const mine = [
    "https://prices.example",
    "http://127.0.0.1:1",
    "http://[::1]",
    "http://localhost:8080/p",
  ];
  const others = ["http://prices.example", "http://127.0.0.1.example", "http://10.0.0.1"];
  const none = ["ftp://localhost", "https://u@h", "https://h?x=1", "https://h#x", "prices.example"];
  const program = `${PRELUDE}
for origin in json.loads('${JSON.stringify([...mine, ...others, ...none])}'):
    try:
        Client(origin, key)
        print("made")
    except ValueError as error:
        print(error)`;
  const said = await client.print(program);
  expect(said.trimEnd().split("\n")).toEqual([
    ...mine.map(() => "made"),
    ...others.map(() => "a key is sent over https only, or to this machine"),
    ...none.map(() => "expected an origin such as https://prices.example"),
  ]);
});

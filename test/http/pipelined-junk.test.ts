/** A request followed by malformed bytes on its connection: it is answered, even if its answer takes time. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RedisServer } from "../services/redis-server.ts";
import { testWithService } from "../services/service-programs.ts";
import { Visitor } from "./crowd.ts";
import { startTestProxy, type TestProxy } from "./fixture.ts";
import { expectUnharmed } from "./raw-client.ts";

const API = "/api/public/v1";

const JUNK = {
  "bytes that are no HTTP": "\x16\x03\x01\x02\x00\r\n\r\n",
  "a request that is malformed": "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
  "a header that is too large": `GET / HTTP/1.1\r\nX: ${"x".repeat(200_000)}\r\n\r\n`,
  CONNECT: "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n",
  "a request that does not come to its end": "GET / HTTP/1.1\r\nHost:",
};
const STATUSES: Partial<Record<keyof typeof JUNK, number>> = {
  "a header that is too large": 431,
  CONNECT: 405,
};

function answersTheGoodOne(proxyOf: () => TestProxy, key: () => string): void {
  for (const [name, junk] of Object.entries(JUNK)) {
    test.each([1, 3])(`${name}, after %i good requests`, async (count) => {
      const proxy = proxyOf();
      const good = `GET ${API}/prices HTTP/1.1\r\nHost: x\r\nx-api-key: ${key()}\r\n\r\n`;
      const used = async (): Promise<number> =>
        (await proxy.get(`${API}/usage`, { key: key() })).json.used;
      const before = await used();
      const caller = await Visitor.at(proxy.url);
      await caller.send(good.repeat(count) + junk).end().closed;
      const refused = STATUSES[name as keyof typeof JUNK] ?? 400;
      expect(caller.statuses).toEqual([...Array.from({ length: count }, () => 200), refused]);
      const bodies = caller.received.split(/HTTP\/1\.1 200 OK\r\n/).slice(1);
      for (const body of bodies) expect(body).toContain('"session_utc":');
      expect(caller.received).toMatch(/^connection: close\r$[^]*"code": ?"\w+"/im);
      expect(await used()).toBe(before + count);
    });
  }

  test.each(Object.keys(JUNK) as (keyof typeof JUNK)[])(
    "%s, after answers that the socket's buffer cannot hold",
    async (name) => {
      const large = "GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n";
      const caller = await Visitor.at(proxyOf().url);
      await caller.send(large.repeat(9) + JUNK[name]).end().closed;
      expect(caller.statuses).toEqual([
        ...Array.from({ length: 9 }, () => 200),
        STATUSES[name] ?? 400,
      ]);
    },
  );

  test("malformed bytes in a separate write, and more after them", async () => {
    const proxy = proxyOf();
    const caller = await Visitor.at(proxy.url);
    caller.send(`GET ${API}/prices HTTP/1.1\r\nHost: x\r\nx-api-key: ${key()}\r\n\r\n`);
    caller.send("\0");
    caller.send("\0".repeat(100_000));
    caller.send(`GET ${API}/prices HTTP/1.1\r\nHost: x\r\n\r\n`);
    await caller.end().closed;
    expect(caller.statuses).toEqual([200, 400]);
  });
}

describe("counts in Redis", () => {
  let redis: RedisServer | null;
  let proxy: TestProxy;
  beforeAll(async () => {
    redis = await RedisServer.start();
    if (redis === null) return;
    proxy = await startTestProxy({ state: `redis://127.0.0.1:${redis.port}/0` });
  });
  afterAll(async () => {
    await proxy?.close();
    await redis?.remove();
  });
  testWithService("redis-server")("there is a Redis", () => expect(redis).not.toBeNull());
  answersTheGoodOne(
    () => proxy,
    () => proxy.starter,
  );
});

describe("files streamed from the store", () => {
  let proxy: TestProxy;
  beforeAll(async () => {
    proxy = await startTestProxy({ cacheBytes: 0 });
  });
  afterAll(() => proxy.close());
  answersTheGoodOne(
    () => proxy,
    () => proxy.pro,
  );
  test("after all that the proxy answers as before", () => expectUnharmed(proxy));
});

describe("files in memory", () => {
  let proxy: TestProxy;
  beforeAll(async () => {
    proxy = await startTestProxy();
  });
  afterAll(() => proxy.close());
  answersTheGoodOne(
    () => proxy,
    () => proxy.pro,
  );
});

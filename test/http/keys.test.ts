/** Which header fields are a key, which of them wins, and what keys are worth over time. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually, startTestProxy, type TestProxy } from "./fixture.ts";

const USAGE = "/api/public/v1/usage";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

const ask = (headers: Record<string, string | string[]>) => proxy.get(USAGE, { headers });
const accountOf = async (headers: Record<string, string | string[]>): Promise<unknown> => {
  const { status, json } = await ask(headers);
  return status === 200 ? json.account : json.code;
};

test("both fields carry a key; the scheme is in any case", async () => {
  const { pro } = proxy;
  expect(await accountOf({ authorization: `Bearer ${pro}` })).toBe("large");
  expect(await accountOf({ authorization: `bEARER   ${pro}` })).toBe("large");
  expect(await accountOf({ "x-api-key": pro })).toBe("large");
  expect(await accountOf({ "X-API-KEY": pro })).toBe("large");
});

test("Authorization: Bearer wins over x-api-key, good or bad", async () => {
  const { pro, starter } = proxy;
  expect(await accountOf({ authorization: `Bearer ${starter}`, "x-api-key": pro })).toBe("small");
  expect(await accountOf({ authorization: "Bearer wrong", "x-api-key": pro })).toBe("invalid_key");
  expect(await accountOf({ authorization: "Bearer", "x-api-key": pro })).toBe("invalid_key");
});

test("another scheme is ignored", async () => {
  expect(await accountOf({ authorization: "Basic dXNlcjpwYXNz", "x-api-key": proxy.pro })).toBe(
    "large",
  );
  expect(await accountOf({ authorization: "Basic dXNlcjpwYXNz" })).toBe(null);
  expect(await accountOf({ authorization: "Bearerish x" })).toBe(null);
});

test("a key that is sent and not valid is never the free slice", async () => {
  const { pro } = proxy;
  const invalid: Record<string, string | string[]>[] = [
    { "x-api-key": "" },
    { "x-api-key": "unknown" },
    { "x-api-key": [pro, pro] },
    { authorization: "Bearer" },
    { authorization: "Bearer " },
    { authorization: `Bearer ${pro}x` },
    { authorization: `Bearer ${pro.slice(0, -1)}` },
    { authorization: `Bearer ${pro}, Bearer ${pro}` },
    { authorization: pro },
    { authorization: [`Bearer ${pro}`, `Bearer ${pro}`] },
    { authorization: ["Basic x", `Bearer ${pro}`] },
    { "x-api-key": "é".repeat(40) },
    { "x-api-key": "k".repeat(15_000) },
  ];
  for (const headers of invalid) {
    const received = await ask(headers);
    expect([received.status, received.json.code]).toEqual([401, "invalid_key"]);
    expect(received.headers["www-authenticate"]).toBe('Bearer error="invalid_token"');
    expect(received.headers["x-ratelimit-remaining"]).toBe("0");
  }
});

test("suspending, resuming, revoking and rotating take effect in a running proxy", async () => {
  const { registry, clock } = proxy;
  await registry.addAccount("moving", "starter", null);
  const { key, record } = await registry.createKey("moving", null);
  const becomes = (of: string, what: unknown) =>
    eventually(async () => (await accountOf({ "x-api-key": of })) === what);
  await becomes(key, "moving");
  await registry.suspendKey(record.key_id, true);
  await becomes(key, "key_suspended");
  await registry.suspendKey(record.key_id, false);
  await becomes(key, "moving");
  const rotated = await registry.rotateKey(record.key_id, 3_600_000);
  await becomes(rotated.key, "moving");
  expect(await accountOf({ "x-api-key": key })).toBe("moving");
  clock.ms += 3_600_000;
  await becomes(key, "invalid_key");
  await registry.revokeKey(rotated.record.key_id);
  await becomes(rotated.key, "invalid_key");
  const refused = await ask({ "x-api-key": rotated.key });
  expect(refused.headers["x-ratelimit-remaining"]).toBe("0");
});

test("a refused account is told what is left of its quota", async () => {
  const { registry } = proxy;
  await registry.addAccount("pausing", "starter", null);
  const { key } = await registry.createKey("pausing", null);
  await proxy.get("/api/public/v1/prices", { key });
  await registry.setAccount("pausing", { suspended: true });
  await eventually(async () => (await ask({ "x-api-key": key })).status === 403);
  expect((await ask({ "x-api-key": key })).headers["x-ratelimit-remaining"]).toBe("24999");
});

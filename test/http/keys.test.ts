/** Keys in Basic credentials, and changes of keys and accounts; keys.http has the other fields. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKey } from "../../src/state/api-keys.ts";
import { eventually, startTestProxy, type TestProxy } from "./fixture.ts";

const USAGE = "/api/public/v1/usage";

const DAY_MS = 24 * 3_600_000;
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

describe("Basic", () => {
  const base64 = (text: string | Buffer): string => Buffer.from(text).toString("base64");
  const basic = (text: string | Buffer): string => `Basic ${base64(text)}`;

  test("carries the key as its password, or as its user name without a password", async () => {
    const { pro, starter } = proxy;
    const carrying: [string, string][] = [
      [basic(`:${pro}`), "large"],
      [basic(`${pro}:`), "large"],
      [basic(`user:${pro}`), "large"],
      [basic(`${starter}:${pro}`), "large"],
      [basic(`u@example.com:${starter}`), "small"],
      [`bASIC \t ${base64(`:${pro}`)}`, "large"],
      // A user name may hold anything but a colon; nobody reads it.
      [basic(`\u00fcser:${pro}`), "large"],
      [basic(`\0:${pro}`), "large"],
      [basic(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(`:${pro}`)])), "large"],
    ];
    // With two, one and no bytes of padding, and with the padding left out.
    for (const user of ["", "a", "ab"]) {
      const text = basic(`${user}:${pro}`);
      carrying.push([text, "large"], [text.replaceAll("=", ""), "large"]);
    }
    expect(new Set(carrying.map(([text]) => /=*$/.exec(text)?.[0]))).toEqual(
      new Set(["", "=", "=="]),
    );
    for (const [authorization, account] of carrying) {
      expect([authorization, await accountOf({ authorization })]).toEqual([authorization, account]);
    }
  });

  test("anything else in it is an invalid key, and the challenge names no Basic", async () => {
    const { pro } = proxy;
    const invalid = [
      "Basic",
      "Basic ",
      "Basic %%%",
      "Basic =",
      "Basic x",
      `Basic ${pro}`,
      `Basic :${pro}`,
      `Basic *${base64(`:${pro}`)}`,
      `Basic ${base64(`:${pro}`)} ${base64(`:${pro}`)}`,
      `Basic ${base64(`:${pro}`)},`,
      `Basic ${base64(`:${pro}`)}===`,
      basic(""),
      basic(":"),
      basic("user:pass"),
      basic("user"),
      basic(pro),
      basic(`${pro}:x`),
      basic(`x:${pro}:`),
      basic(`x:${pro} `),
      basic(`:${pro}\0`),
      basic(`:\0${pro}`),
      basic(`:${pro.slice(0, -1)}`),
      basic(":cbk_"),
      basic("\u00fc:\u00fc"),
      basic(":cbk_\u00fc\u00fc\u00fc"),
      basic("\0"),
      basic("\0:\0"),
      basic(Buffer.from([0xff, 0xfe, 0x3a, 0xff, 0x00])),
      basic(`:${"k".repeat(11_000)}`),
    ];
    for (const authorization of invalid) {
      const received = await ask({ authorization });
      const { "www-authenticate": challenge } = received.headers;
      expect([authorization, received.status, received.json.code, challenge]).toEqual([
        authorization,
        401,
        "invalid_key",
        'Bearer error="invalid_token"',
      ]);
      expect(received.headers["x-ratelimit-remaining"]).toBe("0");
    }
  });

  test("beside x-api-key: ignored, unless it holds what looks like a key", async () => {
    const { pro, starter } = proxy;
    const cases: [authorization: string, apiKey: string, account: string][] = [
      [basic("user:pass"), pro, "large"],
      [basic("user"), pro, "large"],
      ["Basic", pro, "large"],
      ["Basic %%%", pro, "large"],
      [basic("\0:\u00fc"), pro, "large"],
      [basic("user:pass"), "", "invalid_key"],
      [basic("user:pass"), "unknown", "invalid_key"],
      [basic(`:${starter}`), pro, "small"],
      [basic(`${starter}:`), pro, "small"],
      [basic(`:${starter}`), "unknown", "small"],
      [basic(":cbk_wrong"), pro, "invalid_key"],
      [basic("cbk_wrong"), pro, "invalid_key"],
      [basic(`${starter}:pass`), pro, "invalid_key"],
      [`Basic ${starter}`, pro, "invalid_key"],
    ];
    for (const [authorization, apiKey, account] of cases) {
      const found = await accountOf({ authorization, "x-api-key": apiKey });
      expect([authorization, found]).toEqual([authorization, account]);
    }
  });

  test("twice, or beside Bearer, is an invalid key; suspended and lapsed keys are told so", async () => {
    const { pro, registry, clock } = proxy;
    for (const other of [basic(`:${pro}`), `Bearer ${pro}`]) {
      expect(await accountOf({ authorization: [basic(`:${pro}`), other] })).toBe("invalid_key");
    }
    await registry.addAccount("paused", "pro", null);
    const paused = (await registry.createKey("paused", null)).key;
    await registry.setAccount("paused", { suspended: true });
    expect(await accountOf({ authorization: basic(`:${paused}`) })).toBe("key_suspended");
    await registry.addAccount("tried", "pro", 1);
    const tried = (await registry.createKey("tried", null)).key;
    clock.ms += 24 * 3_600_000;
    try {
      expect(await accountOf({ authorization: basic(`${tried}:`) })).toBe("trial_lapsed");
    } finally {
      clock.ms -= 24 * 3_600_000;
    }
  });
});

test("wrong keys that come in large fields leave nothing large behind", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const sizeBytes = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const blanks = " ".repeat(15_000);
  const user = "u".repeat(11_000);
  const send = async (count: number): Promise<void> => {
    for (let sent = 0; sent < count; sent += 50) {
      const fields = Array.from({ length: 50 }, (_, at) =>
        at % 2 === 0
          ? `Bearer${blanks}${createKey()}`
          : `Basic ${Buffer.from(`${user}:${createKey()}`).toString("base64")}`,
      );
      const found = await Promise.all(
        fields.map((authorization) => proxy.get(USAGE, { headers: { authorization } })),
      );
      expect(new Set(found.map(({ status }) => status))).toEqual(new Set([401]));
    }
    proxy.logged.length = 0;
  };
  await send(100);
  const beforeBytes = sizeBytes();
  await send(600);
  // Kept whole, these fields are 8 MB.
  expect(sizeBytes() - beforeBytes).toBeLessThan(4_000_000);
});

test("suspending, resuming, revoking and rotating take effect in a running proxy", async () => {
  const { registry, clock } = proxy;
  await registry.addAccount("moving", "starter", null);
  const { key, key_id } = await registry.createKey("moving", null);
  const becomes = (of: string, what: unknown) =>
    eventually(async () => (await accountOf({ "x-api-key": of })) === what);
  await becomes(key, "moving");
  await registry.suspendKey(key_id, true);
  await becomes(key, "key_suspended");
  await registry.suspendKey(key_id, false);
  await becomes(key, "moving");
  const rotated = await registry.rotateKey(key_id, 3_600_000);
  await becomes(rotated.key, "moving");
  expect(await accountOf({ "x-api-key": key })).toBe("moving");
  const key_expires_at = new Date(clock.ms + 3_600_000).toISOString();
  const ends = async (of: string) => (await proxy.get(USAGE, { key: of })).json;
  await eventually(async () => (await ends(key)).key_expires_at === key_expires_at);
  expect(await ends(key)).toMatchObject({ account: "moving", trial_ends_at: null });
  expect(await ends(rotated.key)).toMatchObject({ trial_ends_at: null, key_expires_at: null });
  clock.ms += 3_600_000;
  await becomes(key, "invalid_key");
  const replaced = /^The key was replaced: use the account's newer key\.$/;
  expect((await ask({ "x-api-key": key })).json.detail).toMatch(replaced);
  await registry.revokeKey(rotated.key_id);
  await becomes(rotated.key, "invalid_key");
  expect((await ask({ "x-api-key": rotated.key })).json.detail).not.toMatch(replaced);
  const refused = await ask({ "x-api-key": rotated.key });
  expect(refused.headers["x-ratelimit-remaining"]).toBe("0");
});

test("/usage says when a trial ends, and nothing of it without a key", async () => {
  const { registry, clock } = proxy;
  await registry.addAccount("trying", "pro", 2);
  const trial_ends_at = new Date(clock.ms + 2 * DAY_MS).toISOString();
  const { key } = await registry.createKey("trying", null);
  const { json } = await proxy.get(USAGE, { key });
  expect(json).toMatchObject({ trial_ends_at, key_expires_at: null });
  const none = { trial_ends_at: null, key_expires_at: null };
  expect((await proxy.get(USAGE)).json).toMatchObject(none);
});

test("a key with an end is refused from then on, and the day of its last use is known", async () => {
  const { registry, clock } = proxy;
  await registry.addAccount("ending", "starter", null);
  const end = new Date((Math.floor(clock.ms / DAY_MS) + 1) * DAY_MS).toISOString();
  const { key } = await registry.createKey("ending", null, end);
  const lastUse = async (): Promise<unknown> => (await registry.keys("ending"))[0]?.last_used_on;
  expect(await lastUse()).toBeNull();
  const tag = (await proxy.get("/api/public/v1/prices", { key })).headers.etag as string;
  const today = new Date(clock.ms).toISOString().slice(0, 10);
  await eventually(async () => (await lastUse()) === today);
  clock.ms = Date.parse(end) - 1;
  const usage = (await proxy.get(USAGE, { key })).json;
  expect(usage).toMatchObject({ account: "ending", trial_ends_at: null, key_expires_at: end });
  clock.ms = Date.parse(end);
  const refused = await proxy.get("/api/public/v1/prices", {
    key,
    headers: { "if-none-match": tag },
  });
  expect([refused.status, refused.json.code]).toEqual([401, "invalid_key"]);
  expect(await lastUse()).toBe(today);
});

test("an answer that costs no call is also a use", async () => {
  const { registry, clock } = proxy;
  await registry.addAccount("watching", "pro", null);
  const { key } = await registry.createKey("watching", null);
  const whole = await proxy.get("/api/public/v1/prices", { key: proxy.pro });
  const again = { key, headers: { "if-none-match": whole.headers.etag as string } };
  expect((await proxy.get("/api/public/v1/prices", again)).status).toBe(304);
  const today = new Date(clock.ms).toISOString().slice(0, 10);
  await eventually(async () => (await registry.keys("watching"))[0]?.last_used_on === today);
  expect((await registry.usage("watching"))[0]?.used).toBe(0);
});

test("a refused account still sees its remaining quota", async () => {
  const { registry } = proxy;
  await registry.addAccount("pausing", "starter", null);
  const { key } = await registry.createKey("pausing", null);
  await proxy.get("/api/public/v1/prices", { key });
  await registry.setAccount("pausing", { suspended: true });
  await eventually(async () => (await ask({ "x-api-key": key })).status === 403);
  expect((await ask({ "x-api-key": key })).headers["x-ratelimit-remaining"]).toBe("24999");
});

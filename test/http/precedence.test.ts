/** The order of the checks: if several apply, the first one decides the answer. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import { DROPPED, DROPPED_AS_OF, NEVER, startTestProxy, type TestProxy } from "./fixture.ts";
import { expectCode } from "./refusal.ts";

const API = "/api/public/v1";
const BAD_KEY = "cbk_0000000000000000000000000000000000000000000000000";

let proxy: TestProxy;
let empty: TestProxy;
let suspendedKey: string;
let lapsedKey: string;
beforeAll(async () => {
  proxy = await startTestProxy();
  empty = await startTestProxy({ store: new MemoryStore() });
  const { registry, clock } = proxy;
  await registry.addAccount("asleep", "pro", null);
  suspendedKey = (await registry.createKey("asleep", null)).key;
  await registry.setAccount("asleep", { suspended: true });
  await registry.addAccount("tried", "pro", 1);
  lapsedKey = (await registry.createKey("tried", null)).key;
  clock.ms += 24 * 3_600_000;
});
afterAll(async () => {
  await proxy.close();
  await empty.close();
});

describe("the order of the checks", () => {
  test("404 not_found before 405, keys in the query and bad keys", async () => {
    const options = { method: "POST", key: BAD_KEY };
    await expectCode(proxy, `${API}/price?token=cbk_x`, options, "not_found");
  });

  test("405 method_not_allowed, with Allow, before keys in the query", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"]) {
      const options = { method, key: BAD_KEY };
      const { headers } = await expectCode(
        proxy,
        `${API}/prices?key=x`,
        options,
        "method_not_allowed",
      );
      expect(headers.allow).toBe("GET, HEAD, OPTIONS");
    }
  });

  test("OPTIONS is 204 with CORS fields, even if something else is wrong", async () => {
    const { status, headers } = await proxy.get(`${API}/index?key=x`, {
      method: "OPTIONS",
      key: BAD_KEY,
      headers: { origin: "https://example.com", "access-control-request-headers": "x-api-key" },
    });
    expect(status).toBe(204);
    expect(headers["access-control-allow-headers"]).toMatch(/X-Api-Key/);
    expect(headers["access-control-allow-methods"]).toBe("GET, HEAD, OPTIONS");
  });

  test("400 key_in_query before invalid_key", async () => {
    await expectCode(proxy, `${API}/prices?api_key=x`, { key: BAD_KEY }, "key_in_query");
    await expectCode(proxy, "/healthz?key=x", {}, "key_in_query");
    await expectCode(proxy, "/?token=x", {}, "key_in_query");
  });

  test("a key where no key is read: after key_in_query, before a route's own refusals", async () => {
    const headers = { "x-auth-token": "cbk_x" };
    await expectCode(proxy, `${API}/price`, { headers }, "not_found");
    await expectCode(proxy, `${API}/prices`, { headers, method: "POST" }, "method_not_allowed");
    await expectCode(proxy, `${API}/prices?token=x`, { headers }, "key_in_query");
    for (const path of ["/index?x=1", "/prices?x=1", "/prices/no-such", "/sums?publication=9"]) {
      await expectCode(empty, API + path, { headers }, "invalid_key");
    }
    const { headers: told } = await proxy.get("/healthz", { headers });
    expect(told["x-ratelimit-remaining"]).toBe("0");
  });

  test("401 invalid_key before a route's own refusals", async () => {
    const { headers } = await expectCode(
      empty,
      `${API}/index?x=1`,
      { key: BAD_KEY },
      "invalid_key",
    );
    expect(headers["www-authenticate"]).toBe('Bearer error="invalid_token"');
    expect(headers["x-ratelimit-remaining"]).toBe("0");
  });

  test("403 key_suspended and trial_lapsed before parameters", async () => {
    await expectCode(proxy, `${API}/prices?x=1`, { key: suspendedKey }, "key_suspended");
    await expectCode(proxy, `${API}/prices?x=1`, { key: lapsedKey }, "trial_lapsed");
  });

  test("401 key_required and 403 tier_required before no_session and parameters", async () => {
    await expectCode(empty, `${API}/index?x=1`, {}, "key_required");
    await expectCode(empty, `${API}/export.xlsx?x=1`, { key: empty.starter }, "tier_required");
    await expectCode(empty, `${API}/index?ids=`, { key: empty.starter }, "tier_required");
  });

  test("503 no_session before parameters and unknown contracts", async () => {
    const { headers } = await expectCode(empty, `${API}/prices/no-such?x=1`, {}, "no_session");
    expect(headers["retry-after"]).toBe("1");
  });

  test("400 parameters before unknown contracts", async () => {
    await expectCode(proxy, `${API}/prices/no-such?x=1`, {}, "unknown_parameter");
  });

  test("404 unknown_contract and not_on_board before the quota", async () => {
    await exhaust(proxy);
    const unknown = await expectCode(proxy, `${API}/prices/no-such`, {}, "unknown_contract");
    expect(unknown.headers["x-ratelimit-remaining"]).toBe("0");
    await expectCode(proxy, `${API}/prices/nand-0`, {}, "key_required");
    const never = await expectCode(
      proxy,
      `${API}/prices/${NEVER}`,
      { key: proxy.pro },
      "not_on_board",
    );
    expect(never.json.as_of).toBeNull();
    const gone = await proxy.get(`${API}/prices/${DROPPED}`, { key: proxy.pro });
    expect([gone.status, gone.json.basis, gone.json.as_of]).toEqual([
      200,
      "discontinued",
      DROPPED_AS_OF,
    ]);
  });

  test("404 unknown_index after parameters and the tier", async () => {
    await expectCode(proxy, `${API}/indices/no-such`, {}, "key_required");
    const key = proxy.starter;
    await expectCode(proxy, `${API}/indices/no-such?x=1`, { key }, "unknown_parameter");
    for (const id of ["no-such", "DRAM", "%2e%2e%2findex", "dram%00", "%"]) {
      await expectCode(proxy, `${API}/indices/${id}`, { key }, "unknown_index");
    }
    for (const path of ["/indices/", "/indices/dram/", "/indices/.."]) {
      await expectCode(proxy, API + path, { key }, "not_found");
    }
  });

  test("429 before 304", async () => {
    await exhaust(proxy);
    const options = { headers: { "if-none-match": "*" } };
    const { headers } = await expectCode(proxy, `${API}/prices`, options, "quota_exceeded");
    // From 22 November, 00:05, to 1 December.
    expect(headers["retry-after"]).toBe(String(9 * 86_400 - 300));
    expect((await proxy.get(`${API}/usage`)).json).toMatchObject({ used: 1000, remaining: 0 });
  });
});

/** Uses the free quota of this address up. */
async function exhaust(of: TestProxy): Promise<void> {
  const path = `${API}/prices/dram-0`;
  while (Number((await of.get(`${API}/usage`)).headers["x-ratelimit-remaining"]) > 0) {
    await Promise.all(Array.from({ length: 50 }, () => of.get(path)));
  }
}

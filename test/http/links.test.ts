/** Links: what each reads, what it refuses, and that nobody else learns its token. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { linkAddress, parseLinkPath } from "../../src/proxy/answers/link-target.ts";
import { createLinkToken } from "../../src/state/api-keys.ts";
import { openGatekeeper } from "../../src/state/open.ts";
import { eventually, startTestProxy, type TestProxy } from "./fixture.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startTestProxy();
});
afterAll(() => proxy.close());

/** A new link of the account: its address and its id. */
async function linkTo(path: string, account = "large") {
  const made = await proxy.registry.createLink(
    account,
    parseLinkPath(path, proxy.clock.now()),
    null,
  );
  return { ...made, address: linkAddress(made.token, made.path) };
}

const used = async (key: string): Promise<number> =>
  (await proxy.get(`${API}/usage`, { key })).json.used;

describe("a link reads what its account reads", () => {
  test.each([
    "/export.csv",
    "/export.xlsx",
    "/history.csv",
    "/levels.csv",
    "/indices.csv",
    "/export.csv?ids=dram-0,nand-0",
    "/history.csv?segment=dram&last=3",
    "/levels.csv?ids=dram-0&publication=1",
  ])("%s", async (path) => {
    const { address } = await linkTo(path);
    const direct = await proxy.get(API + path, { key: proxy.pro });
    const linked = await proxy.get(address);
    expect(linked.status).toBe(200);
    expect(linked.body.equals(direct.body)).toBe(true);
    expect(linked.headers).toEqual({
      ...direct.headers,
      date: expect.any(String),
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex",
    });
  });

  test("HEAD has the same fields and no body", async () => {
    const { address } = await linkTo("/export.csv");
    const whole = await proxy.get(address);
    const head = await proxy.get(address, { method: "HEAD" });
    expect(head.status).toBe(200);
    expect(head.raw.length).toBe(0);
    expect(head.headers.etag).toBe(whole.headers.etag);
  });

  test("a part of a file that is stored plain", async () => {
    const { address } = await linkTo("/export.csv");
    const part = await proxy.get(address, { headers: { range: "bytes=0-9" } });
    expect([part.status, part.text.length]).toEqual([206, 10]);
  });

  test("to the address of the API, too", () => {
    expect(parseLinkPath(`${API}/export.csv?ids=a`, 0)).toBe("/export.csv?ids=a");
  });
});

test("calls are the account's, and a 304 is free", async () => {
  const { address } = await linkTo("/export.csv", "small");
  const before = await used(proxy.starter);
  const first = await proxy.get(address);
  expect(await used(proxy.starter)).toBe(before + 1);
  expect(first.headers["x-ratelimit-remaining"]).toBe(String(25_000 - before - 1));
  const again = await proxy.get(address, {
    headers: { "if-none-match": first.headers.etag as string },
  });
  expect(again.status).toBe(304);
  expect(again.headers["referrer-policy"]).toBe("no-referrer");
  expect(await used(proxy.starter)).toBe(before + 1);
});

describe("a link has no form but its own", () => {
  test("key fields mean nothing, not even a wrong key", async () => {
    const { address } = await linkTo("/export.csv", "small");
    const before = [await used(proxy.starter), await used(proxy.pro)];
    for (const headers of [
      { authorization: `Bearer ${proxy.pro}` },
      { "x-api-key": "cbk_wrong" },
      { token: proxy.pro },
    ]) {
      expect((await proxy.get(address, { headers })).status).toBe(200);
    }
    expect(await used(proxy.starter)).toBe((before[0] as number) + 3);
    expect(await used(proxy.pro)).toBe(before[1]);
  });

  test("any query is 400, but of an unknown link 404", async () => {
    const { address } = await linkTo("/export.csv");
    const unknown = `/l/${createLinkToken()}.csv`;
    for (const query of ["ids=dram-0", "token=x", `key=${proxy.pro}`, `a=${proxy.pro}`]) {
      expect((await proxy.get(`${address}?${query}`)).status).toBe(400);
      expect((await proxy.get(`${unknown}?${query}`)).status).toBe(404);
    }
    expect((await proxy.get(`${address}?key=${proxy.pro}`)).text).not.toContain(proxy.pro);
  });

  test("the extension, the case and the path must be exact", async () => {
    const { address, token } = await linkTo("/export.csv");
    for (const other of [
      `/l/${token}`,
      `/l/${token}.xlsx`,
      `/l/${token}.csv/`,
      `/l//${token}.csv`,
      `/l/${token}.CSV`,
      `/L/${token}.csv`,
      `/l/${token.toLowerCase()}.csv`,
      `/l/${token.slice(0, -1)}.csv`,
      `/l/${token}x.csv`,
      address.replace("_", "%5F"),
      `${API}/l/${token}.csv`,
      "/l/",
      "/l/..%2fexport.csv",
    ]) {
      expect([other, (await proxy.get(other)).status]).toEqual([other, 404]);
    }
  });

  test("an address that is nearly a link's reaches no other page and no search engine", async () => {
    const { address } = await linkTo("/export.csv");
    for (const [path, headers] of [
      [`${address}/`, {}],
      [`${address}/`, { accept: "text/html" }],
      [address.replace("/l/", "/l//"), {}],
      ["/l/", {}],
    ] as const) {
      const refused = await proxy.get(path, { headers });
      expect([path, refused.status, refused.headers]).toMatchObject([
        path,
        404,
        { "referrer-policy": "no-referrer", "x-robots-tag": "noindex" },
      ]);
    }
  });

  test("other methods are refused, and a body", async () => {
    const { address } = await linkTo("/export.csv");
    expect((await proxy.get(address, { method: "POST" })).status).toBe(405);
    expect(
      (await proxy.get(address, { body: "x", headers: { "content-length": "1" } })).status,
    ).toBe(400);
    expect((await proxy.get(address, { method: "OPTIONS" })).status).toBe(204);
  });

  test("a link is no key, and a key is no link", async () => {
    const { token } = await linkTo("/export.csv");
    await proxy.get(`/l/${token}.csv`);
    for (const headers of [{ "x-api-key": token }, { authorization: `Bearer ${token}` }]) {
      const refused = await proxy.get(`${API}/prices`, { headers });
      expect([refused.status, refused.json.code]).toEqual([401, "invalid_key"]);
    }
    expect((await proxy.get(`/l/${proxy.pro}.csv`)).status).toBe(404);
    const keyIds = (await proxy.registry.keys()).map(({ key_id }) => key_id);
    expect(keyIds.every((id) => id.startsWith("cbk_"))).toBe(true);
  });
});

describe("a link obeys the account", () => {
  test("the tier refuses what it does not include", async () => {
    const { registry } = proxy;
    await registry.addAccount("tiers", "pro", null);
    const { address } = await linkTo("/export.xlsx", "tiers");
    expect((await proxy.get(address)).status).toBe(200);
    await registry.setAccount("tiers", { tier: "starter" });
    await eventually(async () => (await proxy.get(address)).status === 403);
    expect((await proxy.get(address)).json).toMatchObject({
      code: "tier_required",
      required_tier: "pro",
    });
  });

  test("at the limit everything is refused, a 304, too", async () => {
    const folder = await mkdtemp(join(tmpdir(), "chipboard-links-"));
    const own = await startTestProxy({ state: folder });
    try {
      const { token, path } = await own.registry.createLink("small", "/export.csv", null);
      const address = linkAddress(token, path);
      const first = await own.get(address);
      const other = await openGatekeeper(folder, own.clock);
      const { account_id } = await own.registry.account("small");
      const takes = Array.from({ length: 24_999 }, async () =>
        other.counts.take(`account:${account_id}`, 25_000, own.clock.ms),
      );
      await Promise.all(takes);
      await other.close();
      const headers = { "if-none-match": first.headers.etag as string };
      for (const options of [{}, { headers }, { method: "HEAD" }]) {
        const refused = await own.get(address, options);
        expect([refused.status, refused.headers["x-ratelimit-remaining"]]).toEqual([429, "0"]);
        expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
      }
    } finally {
      await own.close();
      await rm(folder, { recursive: true });
    }
  });

  test("a suspended account, and a trial that is over", async () => {
    const { registry, clock } = proxy;
    await registry.addAccount("paused", "pro", null);
    await registry.addAccount("tried", "pro", 1);
    const [paused, tried] = [
      await linkTo("/export.csv", "paused"),
      await linkTo("/export.csv", "tried"),
    ];
    expect((await proxy.get(tried.address)).status).toBe(200);
    await registry.setAccount("paused", { suspended: true });
    await eventually(async () => (await proxy.get(paused.address)).status === 403);
    expect((await proxy.get(paused.address)).json.code).toBe("key_suspended");
    const nowMs = clock.ms;
    clock.ms += 86_400_000;
    expect((await proxy.get(tried.address)).json.code).toBe("trial_lapsed");
    clock.ms = nowMs;
  });

  test("revoked, or removed with its account, it is like one that never was", async () => {
    const { registry } = proxy;
    await registry.addAccount("leaving", "pro", null);
    const revoked = await linkTo("/export.csv");
    const removed = await linkTo("/export.csv", "leaving");
    expect((await proxy.get(revoked.address)).status).toBe(200);
    expect((await proxy.get(removed.address)).status).toBe(200);
    await registry.revokeLink(revoked.link_id);
    await registry.removeAccount("leaving");
    await eventually(async () => (await proxy.get(revoked.address)).status === 404);
    await eventually(async () => (await proxy.get(removed.address)).status === 404);
    const never = await proxy.get(`/l/${createLinkToken()}.csv`);
    const { date: _date, ...fields } = never.headers;
    expect((await proxy.get(revoked.address)).headers).toMatchObject(fields);
    expect((await proxy.get(revoked.address)).text).toBe(never.text);
  });
});

test("the log and the metrics name the route and the account, never the token", async () => {
  const { address, token } = await linkTo("/export.csv");
  const unknown = createLinkToken();
  await proxy.get(address);
  await proxy.get(`/l/${unknown}.csv`);
  await proxy.get(`${address}?x=${token}`);
  const refused = await proxy.get(`${API}/prices?ids=${token}`, { key: proxy.pro });
  const page = await proxy.get(`/l/${unknown}.csv`, { headers: { accept: "text/html" } });
  expect(page.headers["content-type"]).toContain("text/html");
  const metrics = await (await fetch(proxy.metricsUrl)).text();
  for (const text of [proxy.logged.join(""), metrics, refused.text, page.text]) {
    expect(text).not.toContain(token);
    expect(text).not.toContain(unknown);
  }
  expect(proxy.logged.some((line) => /"route":"\/l\/\{id\}".*"account":"large"/.test(line))).toBe(
    true,
  );
  expect(metrics).toContain('route="/l/{id}"');
});

test.each([
  ["/prices", /expected one of \/export\.csv, \/export\.xlsx, \/history\.csv/],
  ["/history.parquet", /expected one of/],
  ["/../export.csv", /expected one of/],
  ["export.csv", /expected one of/],
  ["/export.csv?last=3", /"last".*expected ids, segment/],
  ["/export.xlsx?ids=a", /"ids".*expected publication, as_of/],
  ["/history.csv?from=2026-13-01", /expected a date/],
  ["/history.csv?ids=a&segment=b", /not both/],
  ["/history.csv?publication=0", /from 1 to/],
  ["/export.csv?ids=cbk_x", /looks like an API key/],
  ["/export.csv?ids=a,cbk_x", /looks like an API key/],
  ["/export.csv?ids=%63bk_x", /looks like an API key/],
  ["/l/lnk_x.csv", /^The path holds what looks like an API key or a link$/],
])("no link reads %s", (path, message) => {
  expect(() => parseLinkPath(path, Date.UTC(2026, 10, 24))).toThrow(message);
});

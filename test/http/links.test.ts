/** Links: every file that one can read, the state of its account, and the log; links.http has the requests. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DATA_ROUTES } from "../../src/public/routes.ts";
import { linkAddress, parseLinkPath } from "../../src/core/find/link-target.ts";
import { createLinkToken } from "../../src/state/api-keys.ts";
import { openAccounts } from "../../src/state/open.ts";
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

describe("a link reads what its account reads", () => {
  test.each([
    ...Object.values(DATA_ROUTES)
      .map(({ path }) => path.slice(API.length))
      .filter((path) => /\.(?:csv|xlsx)$/.test(path)),
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

  test("also to the address of the API", () => {
    expect(parseLinkPath(`${API}/export.csv?ids=a`, 0)).toBe("/export.csv?ids=a");
  });
});

test("a body is refused", async () => {
  const { address } = await linkTo("/export.csv");
  const options = { body: "x", headers: { "content-length": "1" } };
  expect((await proxy.get(address, options)).status).toBe(400);
});

test("the ids of keys are no links", async () => {
  await linkTo("/export.csv");
  const keyIds = (await proxy.registry.keys()).map(({ key_id }) => key_id);
  expect(keyIds.every((id) => id.startsWith("cbk_"))).toBe(true);
});

describe("a link obeys the account", () => {
  test("the tier refuses files that it does not include", async () => {
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

  test("at the limit everything is refused, also a 304", async () => {
    const folder = await mkdtemp(join(tmpdir(), "chipboard-links-"));
    const own = await startTestProxy({ state: folder });
    try {
      const { token, path } = await own.registry.createLink("small", "/export.csv", null);
      const address = linkAddress(token, path);
      const first = await own.get(address);
      const other = await openAccounts(folder, own.clock);
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
  ["/export.csv?ids=cbk_x", /seems to contain an API key/],
  ["/export.csv?ids=a,cbk_x", /seems to contain an API key/],
  ["/export.csv?ids=%63bk_x", /seems to contain an API key/],
  ["/l/lnk_x.csv", /^The path seems to contain an API key or a link$/],
])("no link reads %s", (path, message) => {
  expect(() => parseLinkPath(path, Date.UTC(2026, 10, 24))).toThrow(message);
});

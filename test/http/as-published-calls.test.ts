/** Requests for old files: their cost, conditions, parts, ids, and callers without a key. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { API, DATA_ROUTES } from "../../src/public/routes.ts";
import { FILES } from "../../src/store/paths.ts";
import { MemoryStore } from "../store/memory-store.ts";
import type { Received } from "./client.ts";
import { startTestProxy, TestClock, type TestProxy } from "./fixture.ts";
import { ask, asked, byInstant, byNumber, FOREVER, lasting } from "./old-answers.ts";
import { expectCode } from "./refusal.ts";
import {
  FORMER_ID,
  GOLDEN_LAST,
  pathsOf,
  PRESENT_ID,
  recordLog,
  type Vintage,
} from "./vintage-market.ts";

let proxy: TestProxy;
/** The last entry of the golden log, and the newest of all. */
let old: Vintage;
let newest: Vintage;
beforeAll(async () => {
  const { store, vintages, endMs } = await recordLog(5);
  old = vintages.find(({ number }) => number === GOLDEN_LAST) as Vintage;
  newest = vintages.at(-1) as Vintage;
  proxy = await startTestProxy({ store, clock: new TestClock(endMs + 60_000) });
});
afterAll(() => proxy.close());

test("a 200 and a 206 cost one, a 304 and a refusal none", async () => {
  const used = async (): Promise<number> =>
    (await proxy.get(`${API}/usage`, { key: proxy.starter })).json.used;
  let expected = await used();
  const parameters = [byNumber(old), byInstant(newest.atMs), "publication=999"];
  for (const path of pathsOf("starter")) {
    for (const parameter of parameters) {
      const { status, headers } = await ask(proxy, "starter", path, parameter);
      if (status === 200) expected += 1;
      expect(await used()).toBe(expected);
      if (status !== 200) continue;
      const again = await ask(proxy, "starter", path, parameter, {
        headers: { "if-none-match": headers.etag as string },
      });
      expect([again.status, await used()]).toEqual([304, expected]);
      const head = await ask(proxy, "starter", path, parameter, { method: "HEAD" });
      expected += 1;
      expect([head.status, head.headers["x-ratelimit-remaining"]]).toEqual([
        200,
        String(25_000 - expected),
      ]);
      expect(lasting(head)).toEqual(lasting({ ...head, headers }));
    }
  }
  const part = { headers: { range: "bytes=0-9" } };
  const csv = await ask(proxy, "starter", DATA_ROUTES.csv.path, byNumber(newest), part);
  expect([csv.status, await used()]).toEqual([206, expected + 1]);
});

test("conditional requests and ranges of an old export", async () => {
  for (const { path } of [DATA_ROUTES.csv, DATA_ROUTES.xlsx]) {
    const then = old.answers.pro.get(path) as Received;
    const { etag } = then.headers;
    const get = (headers: Record<string, string>) =>
      ask(proxy, "pro", path, byNumber(old), { headers });
    const same = await get({ "if-none-match": `"x", ${etag}` });
    expect([same.status, same.headers.etag, same.raw.length]).toEqual([304, etag, 0]);
    expect(same.headers["cache-control"]).toBe(FOREVER);
    expect(same.headers["x-publication"]).toBe(String(old.number));
    const size = then.raw.length;
    const part = await get({ range: "bytes=5-20", "if-range": etag as string });
    expect([part.status, part.headers["content-range"]]).toEqual([206, `bytes 5-20/${size}`]);
    expect(part.raw.equals(then.raw.subarray(5, 21))).toBe(true);
    expect(part.headers["x-publication"]).toBe(String(old.number));
    const other = await get({ range: "bytes=5-20", "if-range": '"x"' });
    expect([other.status, other.raw.equals(then.raw)]).toEqual([200, true]);
    const beyond = await get({ range: `bytes=${size}-` });
    expect([beyond.status, beyond.headers["content-range"]]).toEqual([416, `bytes */${size}`]);
    const coded = await get({ "accept-encoding": "br, gzip" });
    expect(coded.body.equals(then.raw)).toBe(true);
    const coding = path === DATA_ROUTES.csv.path ? "gzip" : undefined;
    expect(coded.headers["content-encoding"]).toBe(coding);
  }
});

test("without a key every data route needs one, whatever the parameters are", async () => {
  const empty = await startTestProxy({ store: new MemoryStore() });
  try {
    for (const { path } of Object.values(DATA_ROUTES)) {
      for (const parameter of ["publication=9", "as_of=x", "publication=0&as_of=&x=1"]) {
        const full = asked(path.replace("{id}", "alpha-16gb"), parameter);
        await expectCode(proxy, full, {}, "key_required");
        await expectCode(empty, full, {}, "key_required");
      }
    }
  } finally {
    await empty.close();
  }
});

test("ids are the snapshot's, whichever id the request has", async () => {
  const contract = (id: string): string => `${API}/prices/${id}`;
  const { pro: key } = proxy;
  for (const [{ number, atMs }, id, other] of [
    [old, FORMER_ID, PRESENT_ID],
    [newest, PRESENT_ID, FORMER_ID],
  ] as const) {
    for (const parameter of [`publication=${number}`, byInstant(atMs)]) {
      expect((await ask(proxy, "pro", contract(id), parameter)).json.id).toBe(id);
      const { status, headers } = await proxy.get(asked(contract(other), parameter), { key });
      const kept = new URLSearchParams(parameter).toString();
      expect([status, headers.location]).toEqual([308, asked(contract(id), kept)]);
      for (const path of ["/history.csv", "/prices"]) {
        const [one, same] = await Promise.all(
          [id, other].map((each) => ask(proxy, "pro", `${API}${path}?ids=${each}`, parameter)),
        );
        // The other id is named where it was asked for.
        const told = `"asked":[{"asked":"${other}","id":"${id}"}],`;
        expect([one?.status, one?.text]).toEqual([200, same?.text.replace(told, "")]);
        expect(same?.text.includes(told)).toBe(path === "/prices");
        expect(one?.text).toContain(id);
      }
      const both = asked(`${API}/history.csv?ids=${id},${other}`, parameter);
      await expectCode(proxy, both, { key }, "invalid_parameter");
    }
  }
});

test("names that an opened snapshot does not have are refused without its manifest", async () => {
  const { store, vintages, endMs } = await recordLog(2);
  const { number } = vintages[0] as Vintage;
  const read: string[] = [];
  const get = store.get.bind(store);
  store.get = (key) => {
    read.push(key);
    return get(key);
  };
  // The memory for old snapshots holds less than a manifest.
  const clock = new TestClock(endMs + 60_000);
  const small = await startTestProxy({ store, clock, cacheBytes: 400_000 });
  const manifests = async (path: string): Promise<[status: number, read: number]> => {
    read.length = 0;
    const { status } = await ask(small, "pro", `${API}${path}`, `publication=${number}`);
    return [status, read.filter((key) => key.endsWith(FILES.manifest)).length];
  };
  try {
    const basket = "/index?ids=alpha-16gb";
    expect(await manifests(basket)).toEqual([200, 1]);
    expect(await manifests("/prices?ids=alpha-16gb")).toEqual([200, 1]);
    const refused = {
      "/prices?ids=nobody": 400,
      "/history.csv?ids=nobody,delta-old": 400,
      "/prices?segment=nothing": 400,
      "/indices.csv?ids=nothing": 400,
      "/index?ids=nobody,delta-old": 400,
      "/prices/nobody": 404,
      "/indices/nothing": 404,
    };
    for (const [path, status] of Object.entries(refused))
      expect([path, await manifests(path)]).toEqual([path, [status, 0]]);
    expect(await manifests(basket)).toEqual([200, 0]);
  } finally {
    await small.close();
  }
});

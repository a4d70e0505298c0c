/** Tiles of the log as a proxy gives them: to everybody, at no cost, once an entry follows them. */
import { afterEach, expect, test } from "vitest";
import { TILES } from "../../src/store/paths.ts";
import { append, EMPTY_PRUNE } from "../store/log-entries.ts";
import {
  eventually,
  publishedStore,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";
import { expectCode } from "./refusal.ts";

let proxy: TestProxy;
afterEach(() => proxy.close());

test("a tile is 404 until it is written, and then its bytes", async () => {
  const store = await publishedStore();
  const clock = new TestClock();
  proxy = await startTestProxy({ store, clock, pollMs: 5 });
  const grow = async (length: number): Promise<void> => {
    for (;;) {
      const { json } = await proxy.get("/api/public/v1/publications?limit=1");
      const { number } = json.publications.at(-1);
      if (number >= length) return;
      await append(store, EMPTY_PRUNE, clock.now());
      const hasNext = async (): Promise<boolean> =>
        (await proxy.get(`/log/${number + 1}`)).status === 200;
      await eventually(hasNext);
    }
  };
  await grow(16);
  const path = "/log/tiles/16/0000000000";
  await expectCode(proxy, path, {}, "not_found");
  await grow(17);
  const answer = await proxy.get(path);
  expect(answer.status).toBe(200);
  expect(answer.raw).toEqual(await store.get(`${TILES}16/0000000000`));
  const entries = await Promise.all(
    Array.from({ length: 16 }, async (_, at) => (await proxy.get(`/log/${at + 1}`)).raw),
  );
  expect(answer.raw).toEqual(Buffer.concat(entries));
  expect(answer.headers["cache-control"]).toContain("immutable");
  const { etag } = answer.headers;
  const again = await proxy.get(path, { headers: { "if-none-match": etag as string } });
  expect(again.status).toBe(304);
  expect((await proxy.get("/api/public/v1/usage", { key: proxy.pro })).json.used).toBe(0);
  for (const none of [
    "16/0000000001",
    "256/0000000000",
    "16/0",
    "16/00000000000",
    "17/0000000000",
  ]) {
    await expectCode(proxy, `/log/tiles/${none}`, {}, "not_found");
  }
});

import { expect, test } from "vitest";
import { atOnce } from "../../src/lib/at-once.ts";
import { cacheOf, madeOnce } from "../../src/lib/caches.ts";

test("a cache is bounded, and keeps the entries in use", () => {
  const cache = cacheOf<number>(100);
  cache.set("asked for", 1);
  for (let index = 0; index < 10_000; index++) {
    cache.set(`once ${index}`, index);
    expect(cache.get("asked for")).toBe(1);
  }
  expect(cache.size).toBe(100);
});

test("a value is made once for all that ask meanwhile, and again after a failure", async () => {
  const made = madeOnce<string>(1);
  let calls = 0;
  const context = async (): Promise<string> => {
    calls += 1;
    if (calls === 1) throw new Error("no luck");
    return `call ${calls}`;
  };
  const ask = (): Promise<string> => made.forceFetch("key", { context });
  const first = await Promise.allSettled([ask(), ask()]);
  expect(first.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await Promise.all([ask(), ask()])).toEqual(["call 2", "call 2"]);
  expect(await ask()).toBe("call 2");
  const slow = made.forceFetch("slow", { context: async () => "slow" });
  // The next key takes the only place, and a caller that waits for the value before still gets it.
  expect(await made.forceFetch("next", { context: async () => "next" })).toBe("next");
  expect(await slow).toBe("slow");
});

test("work on many items is bounded, keeps their order, and has ended when it throws", async () => {
  let running = 0;
  let most = 0;
  const work = async (item: number): Promise<number> => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (item === 7) throw new Error("seven");
    return 2 * item;
  };
  const items = Array.from({ length: 50 }, (_, at) => at + 10);
  expect(await atOnce(items, work, 5)).toEqual(items.map((item) => 2 * item));
  expect(most).toBe(5);
  await expect(atOnce([6, 7, 8], work, 2)).rejects.toThrow("seven");
  expect(running).toBe(0);
});

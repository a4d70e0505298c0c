import { expect, test } from "vitest";
import { atOnce } from "../../src/lib/at-once.ts";
import { cacheOf, getOrMake } from "../../src/lib/caches.ts";
import { Turns } from "../../src/lib/turns.ts";

test("a cache is bounded, and keeps the entries in use", () => {
  const cache = cacheOf<number>(100);
  cache.set("asked for", 1);
  for (let index = 0; index < 10_000; index++) {
    cache.set(`once ${index}`, index);
    expect(cache.get("asked for")).toBe(1);
  }
  expect(cache.size).toBe(100);
});

test("a value is kept, made in its turn, and made again after a failure", async () => {
  const kept = cacheOf<string>(1);
  const turns = new Turns(setImmediate);
  let calls = 0;
  const make = async (): Promise<string> => {
    calls += 1;
    const call = calls;
    await turns.later();
    if (call === 1) throw new Error("no luck");
    return `call ${call}`;
  };
  const ask = (holder: string): Promise<string> =>
    getOrMake(kept, "key", turns.placeOf(holder), make);
  await expect(ask("a")).rejects.toThrow("no luck");
  // A holder has few pieces of work at once, and those that waited take the value that is there by then.
  const answers = await Promise.all(Array.from({ length: 50 }, () => ask("a")));
  const made = calls - 1;
  expect(made).toBeLessThan(5);
  for (const each of answers) expect(each).toMatch(/^call [2-5]$/);
  expect([await ask("b"), calls]).toEqual([kept.get("key"), made + 1]);
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

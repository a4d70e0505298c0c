import { expect, test } from "vitest";
import { GenerationCache } from "../../src/lib/generation-cache.ts";

test("is bounded, and keeps the entries in use", () => {
  const cache = new GenerationCache<number>(100);
  cache.set("asked for", 1);
  for (let index = 0; index < 10_000; index++) {
    cache.set(`once ${index}`, index);
    expect(cache.get("asked for")).toBe(1);
  }
  const kept = Array.from({ length: 10_000 }, (_, index) => cache.get(`once ${index}`)).filter(
    (value) => value !== undefined,
  );
  expect(kept.length).toBeLessThanOrEqual(100);
  cache.delete("asked for");
  expect(cache.get("asked for")).toBeUndefined();
});

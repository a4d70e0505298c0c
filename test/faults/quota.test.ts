/** The monthly quota under kills, at its limit and at the turn of a month; and that losses count. */
import { afterAll, describe, expect, test } from "vitest";
import { testService } from "../services/services.ts";
import type { Told } from "./caller-load.ts";
import { expectCounted } from "./quota-kills.ts";
import { wronglyAnswered } from "./quota-limit.ts";
import { miscounted } from "./quota-months.ts";
import { folderQuotaFaults, redisQuotaFaults } from "./quota.ts";
import { expectNothingLost } from "./short.ts";

const TIMEOUT_MS = 240_000;

const redis = testService("redis");
afterAll(() => redis?.stop());

test("nothing is lost with a state in a folder", { timeout: TIMEOUT_MS }, () =>
  expectNothingLost(folderQuotaFaults),
);

test.skipIf(redis === null)("nothing is lost with a state in Redis", { timeout: TIMEOUT_MS }, () =>
  expectNothingLost(redisQuotaFaults),
);

describe("what is lost is found", () => {
  test("after a kill: a call too few, or one that nobody sent", () => {
    const load = { sent: 120, answered: 100 };
    expect(() => expectCounted(load, 100)).not.toThrow();
    expect(() => expectCounted(load, 120)).not.toThrow();
    expect(() => expectCounted(load, 99)).toThrow(/99 calls are counted, 100 were answered/);
    expect(() => expectCounted(load, 121)).toThrow(/121 calls are counted, 120 were sent/);
    expect(() => expectCounted({ sent: 16, answered: 0 }, 0)).toThrow(/nothing was tried/);
  });

  const told = (status: number, remaining: number): Told => ({
    status,
    headers: { "x-ratelimit-remaining": String(remaining) },
    body: Buffer.alloc(0),
  });

  test("at the limit: a call beyond it, one refused before, a count given twice, an error", () => {
    const right = [told(200, 1), told(200, 0), told(429, 0)];
    expect(wronglyAnswered(right, 2)).toBe(0);
    expect(wronglyAnswered([...right, told(200, 0)], 2)).toBeGreaterThan(0);
    expect(wronglyAnswered([told(200, 1), told(429, 0), told(429, 0)], 2)).toBeGreaterThan(0);
    expect(wronglyAnswered([told(200, 0), told(200, 0), told(429, 0)], 2)).toBeGreaterThan(0);
    expect(wronglyAnswered([told(200, 2), told(200, 0), told(429, 0)], 2)).toBeGreaterThan(0);
    expect(wronglyAnswered([told(200, 1), told(200, 0), told(503, 0)], 2)).toBeGreaterThan(0);
  });

  test("across a month: a call that no month has, and one that both have", () => {
    const calls = [1, 2, 3, 1, 2];
    const counts = (old: number, next: number) =>
      new Map([
        ["2026-11", old],
        ["2026-12", next],
      ]);
    expect(miscounted(calls, counts(3, 2))).toBe(0);
    expect(miscounted(calls, counts(2, 2))).toBe(1);
    expect(miscounted(calls, counts(3, 3))).toBe(1);
    expect(miscounted([1, 2, 3, 1, 1], counts(3, 2))).toBeGreaterThan(0);
    expect(miscounted(calls, new Map([["2026-12", 5]]))).toBeGreaterThan(0);
  });
});

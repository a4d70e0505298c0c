/** The promises of every state driver about calls that are given back: they are counted for nobody. */
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fc } from "@fast-check/vitest";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Subject } from "../../src/ports/state.ts";
import type { StateAccounts } from "../../src/state/state-accounts.ts";
import { Counts } from "../../src/state/counts.ts";
import { withDriver } from "../../src/state/open.ts";
import { ANSWERING, START, StateInUse, SOON } from "./state-under-test.ts";
import type { StateUnderTest } from "./state-under-test.ts";
import { runs } from "../property/runs.ts";

const MONTH = "2026-11";

/** What one of several all does next: "turn" waits for a turn of the event loop. */
const STEP = fc.record({
  of: fc.nat(),
  key: fc.nat(1),
  does: fc.constantFrom("take", "take", "take", "give back", "give back", "read", "turn"),
});

/** The part of `stateContract` on calls that are given back. */
export function stateGivenBackContract(name: string, create: () => Promise<StateUnderTest>): void {
  describe(`state on ${name}`, () => {
    let use: StateInUse;
    beforeEach(async () => {
      use = await StateInUse.open(await create());
    });
    afterEach(() => use.close());

    const stored = (...subjects: readonly Subject[]): Promise<number[]> =>
      withDriver(use.state.location, "use", (state) =>
        state.used(subjects.map((subject) => ({ subject, month: MONTH }))),
      );

    test("a call that is given back is counted for nobody, and this process sees it at once", async () => {
      const { counts } = await use.serve();
      const take = () => counts.take("account:acme", 3, START, "cbk_acme0001");
      for (let call = 0; call < 3; call++) expect(await take()).toMatchObject({ granted: true });
      expect(await take()).toEqual({ granted: false, used: 3 });
      counts.giveBack("account:acme", START, "cbk_acme0001");
      expect(counts.known("account:acme", START)).toBe(2);
      expect(counts.known("key:cbk_acme0001", START)).toBe(2);
      expect(await counts.used("account:acme", START)).toBe(2);
      // Only one of two calls that come before the state has it.
      expect(await Promise.all([take(), take()])).toEqual([
        { granted: true, used: 3 },
        { granted: false, used: 3 },
      ]);
      counts.giveBack("account:acme", START, "cbk_acme0001");
      counts.giveBack("account:acme", START);
      await counts.flush();
      const subjects = ["account:acme", "day:21:acme", "key:cbk_acme0001"] as const;
      expect(await stored(...subjects)).toEqual([1, 1, 2]);
      expect(await counts.used("account:acme", START)).toBe(1);
      expect(counts.hasUnwritten).toBe(false);
    });

    test("a count that was read before a call was given back, and arrives after it, is without that call", async () => {
      const [read, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      await withDriver(use.state.location, "use", async (driver) => {
        const counts = new Counts(
          {
            count: (number, batch) => driver.count(number, batch),
            used: async (names) => {
              const used = await driver.used(names);
              read.resolve();
              await told.promise;
              return used;
            },
          },
          ANSWERING,
        );
        for (let call = 0; call < 3; call++) await counts.take("account:acme", 3, START);
        const reading = counts.used("account:acme", START);
        await read.promise;
        counts.giveBack("account:acme", START);
        await counts.flush();
        told.resolve();
        expect(await reading).toBe(2);
      });
      expect(await stored("account:acme")).toEqual([2]);
    });

    test("a count that the process or the state has lost does not fall below 0", async () => {
      const [first, second] = [await use.serve(), await use.serve()];
      await first.counts.take("account:acme", 3, START);
      // This one knows of no call.
      for (let call = 0; call < 3; call++) second.counts.giveBack("account:acme", START);
      expect(second.counts.known("account:acme", START)).toBe(0);
      await second.counts.flush();
      expect(await stored("account:acme")).toEqual([0]);
      expect(await second.counts.take("account:acme", 3, START)).toEqual({
        granted: true,
        used: 1,
      });
    });

    test("a call is given back to the month that it was counted in", async () => {
      const end = Date.UTC(2026, 11, 1);
      const { counts } = await use.serve();
      use.clock.nowMs = end - 1;
      for (let call = 0; call < 2; call++) await counts.take("account:acme", 2, end - 1);
      use.clock.nowMs = end;
      await counts.take("account:acme", 2, end);
      counts.giveBack("account:acme", end - 1);
      await counts.flush();
      expect(await counts.used("account:acme", end - 1)).toBe(1);
      expect(await counts.used("account:acme", end)).toBe(1);
      expect(await stored("account:acme", "day:30:acme")).toEqual([1, 1]);
    });

    test("calls are given back while the state does not answer, and it gets the lower count", async () => {
      const accounts = await use.serve();
      const { counts } = accounts;
      const take = () => counts.take("account:acme", 4, START, "cbk_acme0001");
      for (let call = 0; call < 3; call++) await take();
      await use.state.breakDown();
      await vi.waitFor(() => expect(accounts.trouble).not.toBeNull(), SOON);
      // Of those that the state has counted, and of those that it has not.
      counts.giveBack("account:acme", START, "cbk_acme0001");
      expect(await counts.used("account:acme", START)).toBe(2);
      expect(await take()).toEqual({ granted: true, used: 3 });
      expect(await take()).toEqual({ granted: true, used: 4 });
      expect(await take()).toEqual({ granted: false, used: 4 });
      for (let call = 0; call < 3; call++) counts.giveBack("account:acme", START, "cbk_acme0001");
      expect(counts.known("account:acme", START)).toBe(1);
      await use.state.restore();
      await vi.waitFor(() => expect(accounts.trouble).toBeNull(), {
        ...SOON,
        timeout: 600_000,
      });
      await counts.flush();
      expect(await counts.used("account:acme", START)).toBe(1);
      await use.stop(accounts);
      const subjects = ["account:acme", "day:21:acme", "key:cbk_acme0001"] as const;
      expect(await stored(...subjects)).toEqual([1, 1, 1]);
    });

    test.each([1, 3])(
      "%i all take and give back calls at random: the limit holds, and no call is lost",
      async (all) => {
        const serving: StateAccounts[] = [];
        while (serving.length < all) serving.push(await use.serve());
        const steps = fc.array(STEP, { minLength: 10, maxLength: 80 });
        const run = fc.asyncProperty(steps, fc.integer({ min: 1, max: 12 }), (done, limit) =>
          takeAndGiveBack(serving, done, limit, stored),
        );
        await fc.assert(run, runs(40));
      },
    );
  });
}

type Steps = readonly { of: number; key: number; does: string }[];

/** Follows the steps with a new account and two keys of it, and checks what the state holds afterwards. */
async function takeAndGiveBack(
  serving: readonly StateAccounts[],
  steps: Steps,
  limit: number,
  stored: (...subjects: readonly Subject[]) => Promise<number[]>,
): Promise<void> {
  const run = randomUUID();
  const subject = `account:${run}` as const;
  const keyIds = [`${run} 0`, `${run} 1`] as const;
  // The calls in use, by key, and of each accounts the keys of those it was granted.
  const inUse = [0, 0];
  const held = serving.map((): number[] => []);
  let givenBack = 0;
  const total = (): number => inUse.reduce((sum, calls) => sum + calls, 0);
  const take = async (at: number, key: number): Promise<boolean> => {
    const { granted, used } = await serving[at]!.counts.take(subject, limit, START, keyIds[key]);
    expect(used).toBeLessThanOrEqual(limit);
    if (!granted) return false;
    held[at]!.push(key);
    inUse[key]! += 1;
    expect(total()).toBeLessThanOrEqual(limit);
    return true;
  };
  const running: Promise<unknown>[] = [];
  for (const { of, key, does } of steps) {
    const at = of % serving.length;
    const { counts } = serving[at]!;
    if (does === "take") running.push(take(at, key));
    else if (does === "read") running.push(counts.used(subject, START));
    else if (does === "turn") await nextTurn();
    else {
      const given = held[at]!.pop();
      if (given === undefined) continue;
      inUse[given]! -= 1;
      givenBack += 1;
      counts.giveBack(subject, START, keyIds[given]);
    }
  }
  await Promise.all(running);
  while (await take(0, 0));
  for (const { counts } of serving) await counts.flush();
  const [ofAccount = NaN, ofDay = NaN, ...ofKeys] = await stored(
    subject,
    `day:21:${run}`,
    ...keyIds.map((id) => `key:${id}` as const),
  );
  if (serving.length === 1) {
    expect([ofAccount, ofDay, ...ofKeys]).toEqual([limit, limit, ...inUse]);
    expect(total()).toBe(limit);
    return;
  }
  // Never fewer than are in use, and not more than were ever granted.
  for (const calls of [ofAccount, ofDay]) {
    expect(calls).toBeGreaterThanOrEqual(total());
    expect(calls).toBeLessThanOrEqual(total() + givenBack);
  }
  for (const [key, calls] of inUse.entries()) {
    expect(ofKeys[key]).toBeGreaterThanOrEqual(calls);
    expect(ofKeys[key]).toBeLessThanOrEqual(calls + givenBack);
  }
}

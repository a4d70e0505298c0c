/** What every driver of the state promises of counted calls: exact, lasting, and of one month. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openRegistry } from "../../src/state/open.ts";
import { codeOf, HOUR_MS, START, StateInUse, WITHIN_FIVE_SECONDS } from "./state-under-test.ts";
import type { StateUnderTest } from "./state-under-test.ts";

/** The part of `stateContract` on counts. */
export function stateCountsContract(name: string, create: () => Promise<StateUnderTest>): void {
  describe(`state on ${name}`, () => {
    let use: StateInUse;
    beforeEach(async () => {
      use = await StateInUse.open(await create());
    });
    afterEach(() => use.close());

    test("exactly the limit is granted, however many ask at once", async () => {
      const gatekeeper = await use.serve();
      const results = await Promise.all(
        Array.from({ length: 200 }, async () => gatekeeper.take("account:acme", 73, START)),
      );
      const granted = results.filter((result) => result.granted);
      expect(granted.map(({ used }) => used).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 73 }, (_, index) => index + 1),
      );
      for (const result of results) if (!result.granted) expect(result.used).toBe(73);
      expect(await gatekeeper.used("account:acme", START)).toBe(73);
      expect(await gatekeeper.used("account:other", START)).toBe(0);
    });

    test("counts outlive the gatekeeper, and a tier change", async () => {
      await use.registry.addAccount("acme", "starter", null);
      const gatekeeper = await use.serve();
      for (let call = 0; call < 5; call++) await gatekeeper.take("account:acme", 25_000, START);
      await use.stop(gatekeeper);
      expect(await use.registry.usage("acme")).toEqual([
        {
          account: "acme",
          tier: "starter",
          month: "2026-11",
          used: 5,
          limit: 25_000,
          remaining: 24_995,
          resetsAtMs: Date.parse("2026-12-01T00:00:00.000Z"),
        },
      ]);
      await use.registry.setAccount("acme", { tier: "pro" });
      const next = await use.serve();
      expect(await next.take("account:acme", null, START)).toEqual({ granted: true, used: 6 });
      await use.stop(next);
      expect(await use.registry.usage()).toMatchObject([{ used: 6, limit: null, remaining: null }]);
    });

    test("counts are written while the gatekeeper runs", async () => {
      await use.registry.addAccount("acme", "starter", null);
      const gatekeeper = await use.serve();
      await gatekeeper.take("account:acme", 25_000, START);
      await vi.waitFor(async () => expect(await use.usedBy("acme")).toBe(1), WITHIN_FIVE_SECONDS);
    });

    test.each(["2026-02", "2028-02", "2026-04", "2026-07", "2026-12"])(
      "the count of %s ends with the month",
      async (month) => {
        const [year, number] = month.split("-").map(Number) as [number, number];
        const end = Date.UTC(year, number, 1);
        const gatekeeper = await use.serve();
        use.clock.nowMs = end - 1;
        const last = [0, 1, 2].map(async () => gatekeeper.take("account:acme", 2, use.clock.nowMs));
        expect((await Promise.all(last)).map(({ granted }) => granted)).toEqual([
          true,
          true,
          false,
        ]);
        use.clock.nowMs = end;
        expect(await gatekeeper.take("account:acme", 2, end)).toEqual({ granted: true, used: 1 });
        // A call that arrived before the turn and is counted after it belongs to the old month.
        expect(await gatekeeper.take("account:acme", 3, end - 1)).toEqual({
          granted: true,
          used: 3,
        });
        await use.stop(gatekeeper);
        const next = await use.serve();
        expect(await next.used("account:acme", end - 1)).toBe(3);
        expect(await next.used("account:acme", end)).toBe(1);
      },
    );

    test("addresses are known by a hash of the state and the month", async () => {
      const gatekeeper = await use.serve();
      const subject = gatekeeper.addressSubject("203.0.113.7", START);
      expect(subject).toMatch(/^address:[A-Za-z0-9_-]{22}$/);
      expect(gatekeeper.addressSubject("203.0.113.7", START + 1)).toBe(subject);
      expect(gatekeeper.addressSubject("203.0.113.8", START)).not.toBe(subject);
      expect(gatekeeper.addressSubject("203.0.113.7", START + 30 * 24 * HOUR_MS)).not.toBe(subject);
      await use.stop(gatekeeper);
      expect((await use.serve()).addressSubject("203.0.113.7", START)).toBe(subject);
    });

    test("without the state known keys go on, counts are kept, and written once", async () => {
      await use.registry.addAccount("acme", "starter", null);
      const [key, unseen] = [await use.newKey("acme"), await use.newKey("acme")];
      const gatekeeper = await use.serve();
      await use.expectSoon(gatekeeper, key, "ok");
      await gatekeeper.take("account:acme", 25_000, START);
      await vi.waitFor(async () => expect(await use.usedBy("acme")).toBe(1), WITHIN_FIVE_SECONDS);
      await use.state.breakDown();
      await vi.waitFor(() => expect(gatekeeper.trouble).not.toBeNull(), WITHIN_FIVE_SECONDS);
      expect(codeOf(await gatekeeper.authenticate(key))).toBe("ok");
      expect(codeOf(await gatekeeper.authenticate(unseen))).toBe("state_unavailable");
      for (let call = 0; call < 10; call++) {
        const { granted, used } = await gatekeeper.take("account:acme", 8, START);
        expect({ granted, used }).toEqual({ granted: call < 7, used: Math.min(call + 2, 8) });
      }
      await gatekeeper.take("account:late", 5, START);
      use.clock.nowMs = START + HOUR_MS;
      expect(codeOf(await gatekeeper.authenticate(key))).toBe("ok");
      use.clock.nowMs += 1;
      expect(codeOf(await gatekeeper.authenticate(key))).toBe("state_unavailable");
      await use.state.restore();
      await vi.waitFor(() => expect(gatekeeper.trouble).toBeNull(), {
        ...WITHIN_FIVE_SECONDS,
        timeout: 20_000,
      });
      await use.expectSoon(gatekeeper, key, "ok");
      await use.expectSoon(gatekeeper, unseen, "ok");
      expect(await gatekeeper.take("account:acme", 25_000, START)).toEqual({
        granted: true,
        used: 9,
      });
      await use.stop(gatekeeper);
      await use.registry.close();
      use.registry = await openRegistry(use.state.location, use.clock, "change");
      expect(await use.usedBy("acme")).toBe(9);
      await use.registry.addAccount("late", "starter", null);
      expect(await use.usedBy("late")).toBe(1);
    });
  });
}

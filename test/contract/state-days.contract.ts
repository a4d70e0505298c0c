/**
 * The promises of every state driver about the counts of days, which are as exact as the counts of months.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { keyIdOf } from "../../src/state/api-keys.ts";
import { withDriver } from "../../src/state/open.ts";
import { CountingProcess } from "./counting-processes.ts";
import { HOUR_MS, START, StateInUse, SOON } from "./state-under-test.ts";
import type { StateUnderTest } from "./state-under-test.ts";

/** The part of `stateContract` on the counts of days. */
export function stateDaysContract(name: string, create: () => Promise<StateUnderTest>): void {
  describe(`state on ${name}`, () => {
    let use: StateInUse;
    beforeEach(async () => {
      use = await StateInUse.open(await create());
    });
    afterEach(() => use.close());

    const byDay = async (month?: string, account?: string): Promise<unknown> =>
      (await use.registry.calls(account, "day", month)).map((one) => [
        one.account,
        one.day,
        one.used,
      ]);

    test("calls belong to the day UTC in which they arrived, also for removed accounts", async () => {
      const acme = await use.account("acme", "starter");
      const keyId = keyIdOf(await use.newKey("acme"));
      await use.account("other", "pro");
      const { counts } = await use.serve();
      const end = Date.parse("2026-11-22T00:00:00Z");
      for (let call = 0; call < 3; call++) await counts.take(acme, 5, end - 1, keyId);
      // In one batch, the two days of one key.
      await Promise.all([counts.take(acme, 5, end, keyId), counts.take(acme, 5, end - 1, keyId)]);
      expect(await counts.take(acme, 5, end, keyId)).toEqual({ granted: false, used: 5 });
      await counts.take("address:somebody", 5, end);
      use.clock.nowMs = end + HOUR_MS;
      const days = [
        ["acme", "2026-11-21", 4],
        ["acme", "2026-11-22", 1],
      ];
      expect(await byDay()).toEqual([...days, ["other", "2026-11-22", 0]]);
      await use.registry.removeAccount("acme");
      expect(await byDay("2026-11", "acme")).toEqual(days);

      // The last 62 days, of which the month before is always part.
      use.clock.nowMs = Date.parse("2027-01-21T23:59:59Z");
      expect(await byDay("2026-11", "acme")).toEqual(days);
      use.clock.nowMs += 1_000;
      expect(await byDay("2026-11", "acme")).toEqual([["acme", "2026-11-22", 1]]);
      await expect(byDay("2026-10")).rejects.toThrow(
        'Month "2026-10": expected one of 2026-11 to 2027-01',
      );
    });

    test("several processes count a day exactly", async () => {
      const acme = await use.account("acme", "starter");
      const each = [20, 30].map((callers) =>
        CountingProcess.start(use.state.location, acme, callers, 700),
      );
      const started = await Promise.all(each);
      for (const one of started) one.begin();
      await Promise.all(started.map((one) => one.end()));
      expect(await byDay()).toEqual([["acme", "2026-11-21", 700]]);
    });

    test("a day has the calls of an outage once, and those that the state has lost come back", async () => {
      const acme = await use.account("acme", "pro");
      const accounts = await use.serve();
      const take = () => accounts.counts.take(acme, null, START);
      await take();
      await use.state.breakDown();
      await vi.waitFor(() => expect(accounts.trouble).not.toBeNull(), SOON);
      for (let call = 0; call < 10; call++) await take();
      accounts.counts.giveBack(acme, START);
      await use.state.restore();
      await vi.waitFor(() => expect(accounts.trouble).toBeNull(), SOON);
      await take();
      const stored = () =>
        withDriver(use.state.location, "use", (state) =>
          state.used([
            { subject: acme, month: "2026-11" },
            { subject: `day:21:${acme.slice("account:".length)}`, month: "2026-11" },
          ]),
        );
      await vi.waitFor(async () => expect(await stored()).toEqual([11, 11]), SOON);
      await use.state.loseCounts();
      await take();
      expect(await stored()).toEqual([12, 12]);
    });
  });
}

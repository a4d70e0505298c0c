/** The promises of every state driver about counts: exact, durable, and by month. */
import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Counts } from "../../src/state/counts.ts";
import type { StateDriver } from "../../src/ports/state.ts";
import { keyIdOf } from "../../src/state/api-keys.ts";
import { openAccounts, withDriver } from "../../src/state/open.ts";
import { openRegistry } from "./open-registry.ts";
import { CountingProcess } from "./counting-processes.ts";
import { ANSWERING, codeOf, HOUR_MS, START, StateInUse, SOON } from "./state-under-test.ts";
import type { StateUnderTest } from "./state-under-test.ts";

/** The part of `stateContract` on counts. */
export function stateCountsContract(name: string, create: () => Promise<StateUnderTest>): void {
  describe(`state on ${name}`, () => {
    let use: StateInUse;
    beforeEach(async () => {
      use = await StateInUse.open(await create());
    });
    afterEach(() => use.close());

    test("exactly the limit is granted, even to many parallel callers", async () => {
      const accounts = await use.serve();
      const results = await Promise.all(
        Array.from({ length: 200 }, async () => accounts.counts.take("account:acme", 73, START)),
      );
      const granted = results.filter((result) => result.granted);
      expect(granted.map(({ used }) => used).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 73 }, (_, index) => index + 1),
      );
      for (const result of results) if (!result.granted) expect(result.used).toBe(73);
      expect(await accounts.counts.used("account:acme", START)).toBe(73);
      expect(await accounts.counts.used("account:other", START)).toBe(0);
    });

    test("a call that was read while the state took no writes is decided by the state, if it takes them again", async () => {
      const [read, counted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const told = Promise.withResolvers<void>();
      const reachability = { ...ANSWERING, refusal: "full" as string | null };
      const results = await withDriver(use.state.location, "use", async (driver) => {
        const counts = new Counts(
          {
            count: async (number, batch) => {
              const replies = await driver.count(number, batch);
              counted.resolve();
              await told.promise;
              return replies;
            },
            used: async (names) => {
              const used = await driver.used(names);
              read.resolve();
              await counted.promise;
              return used;
            },
          },
          reachability,
        );
        const first = Promise.resolve(counts.take("account:acme", 1, START));
        reachability.refusal = null;
        const second = Promise.resolve(counts.take("account:acme", 1, START));
        await Promise.all([read.promise, counted.promise]);
        // The first call goes on, and the state's reply comes after it.
        await nextTurn();
        told.resolve();
        const answers = await Promise.all([first, second]);
        await counts.flush();
        return answers;
      });
      expect(results).toEqual([
        { granted: false, used: 1 },
        { granted: true, used: 1 },
      ]);
    });

    test.each([1, 2, 4])("50 callers in %i processes get exactly the limit", async (processes) => {
      const limit = 1_500;
      const acme = await use.account("acme", "starter");
      const each = Array.from({ length: processes }, (_, at) =>
        CountingProcess.start(use.state.location, acme, Math.ceil((50 - at) / processes), limit),
      );
      const started = await Promise.all(each);
      for (const one of started) one.begin();
      await Promise.all(started.map((one) => one.end()));
      const told = started.flatMap((one) => one.told);
      expect(told).toHaveLength(limit);
      // Each granted call has a count of its own.
      expect([new Set(told).size, Math.min(...told), Math.max(...told)]).toEqual([limit, 1, limit]);
      expect(await use.usedBy("acme")).toBe(limit);
    });

    test("many callers at once are counted in several batches, and other work goes on between", async () => {
      let turns = 0;
      const batches: { turn: number; follows: boolean[] }[] = [];
      await withDriver(use.state.location, "use", async (driver) => {
        const noting: Pick<StateDriver, "count" | "used"> = {
          used: (names) => driver.used(names),
          count: (number, batch) => {
            batches.push({ turn: turns, follows: batch.map(({ follows }) => follows) });
            return driver.count(number, batch);
          },
        };
        const counts = new Counts(noting, ANSWERING);
        const calls = Array.from({ length: 1_001 }, (_, at) => {
          const [account, keyId] = [`account:${at}`, `cbk_${at}`] as const;
          if (at % 3 === 0) return counts.take(account, 1, START);
          counts.noteUse(keyId, START);
          return counts.take(account, 1, START, keyId);
        });
        let turning = setImmediate(function turn() {
          turns += 1;
          turning = setImmediate(turn);
        });
        for (const call of calls) expect(await call).toEqual({ granted: true, used: 1 });
        await counts.flush();
        clearImmediate(turning);
        const month = "2026-11";
        for (const at of [0, 1, 1_000]) {
          const subjects = [`account:${at}`, `key:cbk_${at}`, `key:cbk_${at}:day`] as const;
          const stored = await driver.used(subjects.map((subject) => ({ subject, month })));
          expect(stored).toEqual(at % 3 === 0 ? [1, 0, 0] : [1, 1, 21]);
        }
      });
      for (const { follows } of batches) {
        expect(follows.length).toBeLessThanOrEqual(200);
        // The counts of one call stay together.
        expect(follows[0]).toBe(false);
      }
      expect(new Set(batches.map(({ turn }) => turn)).size).toBe(batches.length);
    });

    test("kill -9 under load: the count has every granted call", async () => {
      const acme = await use.account("acme", "pro");
      const callers = 20;
      let before = 0;
      for (let round = 0; round < 3; round++) {
        const both = [1, 2].map(() =>
          CountingProcess.start(use.state.location, acme, callers, 1e9),
        );
        const [killed, other] = (await Promise.all(both)) as [CountingProcess, CountingProcess];
        for (const one of [killed, other]) one.begin();
        await vi.waitFor(() => expect(killed.told.length).toBeGreaterThan(200), SOON);
        await killed.kill();
        await other.kill();
        const granted = killed.told.length + other.told.length;
        const used = (await use.usedBy("acme")) as number;
        expect(used).toBeGreaterThanOrEqual(before + granted);
        expect(new Set([...killed.told, ...other.told]).size).toBe(granted);
        before = used;
      }
    });

    test("a count never decreases within its month, even if the state loses data", async () => {
      const acme = await use.account("acme", "starter");
      const accounts = await use.serve();
      for (let call = 0; call < 5; call++) await accounts.counts.take(acme, 8, START);
      await use.state.loseCounts();
      expect(await accounts.counts.used(acme, START)).toBe(5);
      expect(await accounts.counts.take(acme, 8, START)).toEqual({
        granted: true,
        used: 6,
      });
      expect(await use.usedBy("acme")).toBe(6);
      await use.state.loseCounts();
      const two = await Promise.all(
        [1, 2, 3].map(async () => accounts.counts.take(acme, 8, START)),
      );
      expect(two.map(({ granted }) => granted)).toEqual([true, true, false]);
      expect(await use.usedBy("acme")).toBe(8);
    });

    test("the proxy is told once why the state does not answer, and once that it answers again", async () => {
      const said: (string | null)[] = [];
      const accounts = await openAccounts(use.state.location, use.clock, {
        onTrouble: (trouble) => said.push(trouble),
      });
      await use.state.breakDown();
      await vi.waitFor(() => expect(accounts.trouble).not.toBeNull(), SOON);
      const reason = accounts.trouble;
      expect(reason).toMatch(/^State .* \(--state\) cannot be used: /);
      await accounts.counts.take("account:acme", 8, START);
      await delay(1_200);
      await use.state.restore();
      await vi.waitFor(() => expect(accounts.trouble).toBeNull(), SOON);
      await accounts.close();
      expect(new Set(said).size).toBe(said.length);
      expect(said.at(-1)).toBeNull();
      expect(said).toContain(reason);
    });

    test("`known` and `knownVerdict` return what this process knows, without asking the state", async () => {
      const acme = await use.account("acme", "starter");
      const { key } = await use.registry.createKey("acme", null);
      const accounts = await use.serve();
      expect(accounts.counts.known(acme, START)).toBeNull();
      expect(accounts.verdicts.known(key)).toBeNull();
      expect(accounts.verdicts.known("no key")).toMatchObject({ refusal: "invalid_key" });
      expect(await accounts.verdicts.authenticate(key)).toMatchObject({
        refusal: null,
        account: "acme",
      });
      for (let call = 0; call < 3; call++) await accounts.counts.take(acme, 2, START);
      expect(accounts.counts.known(acme, START)).toBe(2);
      expect(accounts.counts.known("account:other", START)).toBeNull();
      expect(accounts.counts.known(acme, START + 40 * 24 * HOUR_MS)).toBeNull();
      expect(accounts.verdicts.known(key)).toMatchObject({ refusal: null, account: "acme" });
    });

    test("counts survive the proxy and a change of tier", async () => {
      const acme = await use.account("acme", "starter");
      const accounts = await use.serve();
      for (let call = 0; call < 5; call++) await accounts.counts.take(acme, 25_000, START);
      await use.stop(accounts);
      expect(await use.registry.usage("acme")).toEqual([
        {
          account: "acme",
          tier: "starter",
          month: "2026-11",
          used: 5,
          limit: 25_000,
          remaining: 24_995,
          resets_at: "2026-12-01T00:00:00.000Z",
        },
      ]);
      await use.registry.setAccount("acme", { tier: "pro" });
      const next = await use.serve();
      expect(await next.counts.take(acme, null, START)).toEqual({
        granted: true,
        used: 6,
      });
      await use.stop(next);
      expect(await use.registry.usage()).toMatchObject([{ used: 6, limit: null, remaining: null }]);
    });

    test("a granted call is also counted for its key, and no other call is", async () => {
      const acme = await use.account("acme", "starter");
      const keyIds = [keyIdOf(await use.newKey("acme")), keyIdOf(await use.newKey("acme"))];
      const accounts = await use.serve();
      const granted = [0, 0];
      const taking = Array.from({ length: 90 }, async (_, at) => {
        const which = at % 3 === 0 ? 0 : 1;
        const result = await accounts.counts.take(acme, 50, START, keyIds[which]);
        if (result.granted) granted[which] = (granted[which] ?? 0) + 1;
      });
      await Promise.all(taking);
      const byKey = async (): Promise<unknown> =>
        (await use.registry.calls("acme", "key")).map(({ key_id, used }) => [key_id, used]);
      expect(await byKey()).toEqual([
        [keyIds[0], granted[0]],
        [keyIds[1], granted[1]],
      ]);
      expect(granted[0]! + granted[1]!).toBe(50);
      // Calls of no key of the account, like the calls of removed keys.
      await accounts.counts.take(acme, 51, START);
      expect(await byKey()).toContainEqual([null, 1]);
    });

    test("calls by key are written once after an outage, and come back when the state loses them", async () => {
      const acme = await use.account("acme", "pro");
      const keyId = keyIdOf(await use.newKey("acme"));
      const accounts = await use.serve();
      const take = () => accounts.counts.take(acme, null, START, keyId);
      await take();
      await use.state.breakDown();
      await vi.waitFor(() => expect(accounts.trouble).not.toBeNull(), SOON);
      for (let call = 0; call < 10; call++) await take();
      await use.state.restore();
      await vi.waitFor(() => expect(accounts.trouble).toBeNull(), {
        ...SOON,
        timeout: 600_000,
      });
      await take();
      await use.registry.close();
      use.registry = await openRegistry(use.state.location, use.clock, "create");
      const byKey = async (): Promise<unknown> =>
        (await use.registry.calls(undefined, "key")).map(({ key_id, used }) => [key_id, used]);
      await vi.waitFor(async () => expect(await byKey()).toEqual([[keyId, 12]]), SOON);
      await use.state.loseCounts();
      await take();
      expect(await byKey()).toEqual([[keyId, 13]]);
    });

    test("usage by month has the past months with calls, and the current one", async () => {
      const acme = await use.account("acme", "pro");
      await use.account("other", "pro");
      const accounts = await use.serve();
      const months = ["2026-11-21", "2026-11-22", "2027-01-05"];
      for (const day of months) {
        use.clock.nowMs = Date.parse(`${day}T09:30:00.000Z`);
        await accounts.counts.take(acme, null, use.clock.nowMs);
      }
      const byMonth = async (): Promise<unknown> =>
        (await use.registry.calls(undefined, "month")).map((one) => [
          one.account,
          one.month,
          one.used,
        ]);
      expect(await byMonth()).toEqual([
        ["acme", "2026-11", 2],
        ["acme", "2027-01", 1],
        ["other", "2027-01", 0],
      ]);
      // 400 days after the end of November 2026.
      use.clock.nowMs = Date.parse("2028-01-04T23:00:00.000Z");
      expect(await byMonth()).toContainEqual(["acme", "2026-11", 2]);
    });

    test("the calls of removed accounts stay, apart from calls of the next account of the name", async () => {
      const first = await use.account("acme", "starter");
      const keyId = keyIdOf(await use.newKey("acme"));
      await use.account("other", "pro");
      const accounts = await use.serve();
      const take = async (subject: typeof first, calls: number, ofKey?: string): Promise<void> => {
        for (let call = 0; call < calls; call++)
          await accounts.counts.take(subject, null, use.clock.nowMs, ofKey);
      };
      await take(first, 3, keyId);
      await use.registry.setAccount("acme", { note: "pays late" });
      await use.registry.removeAccount("acme");
      use.clock.nowMs += 1_000;
      const second = await use.account("acme", "pro");
      expect(await use.usedBy("acme")).toBe(0);
      await take(second, 2, keyIdOf(await use.newKey("acme")));
      const row = { month: "2026-11", account: "acme" };
      const rows = [
        { ...row, account_id: first.slice("account:".length), tier: "starter", used: 3 },
        { ...row, account_id: second.slice("account:".length), tier: "pro", used: 2 },
      ];
      expect(await use.registry.calls("acme")).toEqual(rows);
      expect((await use.registry.calls()).map(({ account, used }) => [account, used])).toEqual([
        ["acme", 3],
        ["acme", 2],
        ["other", 0],
      ]);
      expect(
        (await use.registry.calls("acme", "key")).map((one) => [one.account_id, one.used]),
      ).toEqual(rows.map(({ account_id, used }) => [account_id, used]));
      // What stays says nothing else of the customer.
      const content = await withDriver(use.state.location, "use", (state) => state.readAll());
      const stays = content.items.filter(([name]) => name.startsWith("accounts:acme:"));
      expect(stays.map(([, json]) => JSON.parse(json))).toMatchObject([
        { note: null, keys: [], trial: null, removed_at: "2026-11-21T09:30:00.000Z" },
      ]);

      use.clock.nowMs = Date.parse("2026-12-01T00:00:00.000Z");
      expect(
        (await use.registry.calls("acme", undefined, "2026-11")).map(({ used }) => used),
      ).toEqual([3, 2]);
      // An account without calls is told in months in which it existed.
      expect((await use.registry.calls()).map(({ account, used }) => [account, used])).toEqual([
        ["acme", 0],
        ["other", 0],
      ]);
      for (const month of ["2025-09", "2027-01", "2026-13", "x", ""]) {
        const refused = use.registry.calls(undefined, undefined, month);
        await expect(refused).rejects.toThrow(
          `Month "${month}": expected one of 2025-10 to 2026-12`,
        );
      }
      await use.registry.removeAccount("acme");
      expect(await use.registry.calls("acme")).toMatchObject([{ used: 0, tier: "pro" }]);
      await expect(use.registry.account("acme")).rejects.toThrow("no such account");
      await expect(use.registry.calls("nobody")).rejects.toThrow('"nobody"');
      // 400 days after the month of its removal, the next removal forgets it.
      use.clock.nowMs = Date.parse("2028-01-05T00:00:00.000Z");
      await use.registry.removeAccount("other");
      const left = await withDriver(use.state.location, "use", (state) => state.readAll());
      expect(left.items.filter(([name]) => name.startsWith("accounts:")).length).toBe(2);
    });

    test("a granted call is in the state", async () => {
      const acme = await use.account("acme", "starter");
      const accounts = await use.serve();
      await accounts.counts.take(acme, 25_000, START);
      expect(await use.usedBy("acme")).toBe(1);
    });

    test.each(["2026-02", "2028-02", "2026-04", "2026-07", "2026-12"])(
      "the count of %s ends with the month",
      async (month) => {
        const [year, number] = month.split("-").map(Number) as [number, number];
        const end = Date.UTC(year, number, 1);
        const accounts = await use.serve();
        use.clock.nowMs = end - 1;
        const last = [0, 1, 2].map(async () =>
          accounts.counts.take("account:acme", 2, use.clock.nowMs),
        );
        expect((await Promise.all(last)).map(({ granted }) => granted)).toEqual([
          true,
          true,
          false,
        ]);
        use.clock.nowMs = end;
        expect(await accounts.counts.take("account:acme", 2, end)).toEqual({
          granted: true,
          used: 1,
        });
        // A call that arrives before the month ends and is counted after it belongs to the old month.
        expect(await accounts.counts.take("account:acme", 3, end - 1)).toEqual({
          granted: true,
          used: 3,
        });
        await use.stop(accounts);
        const next = await use.serve();
        expect(await next.counts.used("account:acme", end - 1)).toBe(3);
        expect(await next.counts.used("account:acme", end)).toBe(1);
      },
    );

    test("the state holds a hash of an address, which depends on the state and the month", async () => {
      const accounts = await use.serve();
      const subject = accounts.addressSubject("203.0.113.7", START);
      expect(subject).toMatch(/^address:[A-Za-z0-9_-]{22}$/);
      expect(accounts.addressSubject("203.0.113.7", START + 1)).toBe(subject);
      expect(accounts.addressSubject("203.0.113.8", START)).not.toBe(subject);
      expect(accounts.addressSubject("203.0.113.7", START + 30 * 24 * HOUR_MS)).not.toBe(subject);
      await use.stop(accounts);
      expect((await use.serve()).addressSubject("203.0.113.7", START)).toBe(subject);
    });

    test("while the state does not answer, known keys work, and their calls are written once afterwards", async () => {
      const acme = await use.account("acme", "starter");
      const [key, unseen] = [await use.newKey("acme"), await use.newKey("acme")];
      const accounts = await use.serve();
      await use.expectSoon(accounts, key, "ok");
      await accounts.counts.take(acme, 25_000, START);
      await use.state.breakDown();
      await vi.waitFor(() => expect(accounts.trouble).not.toBeNull(), SOON);
      expect(codeOf(await accounts.verdicts.authenticate(key))).toBe("ok");
      expect(codeOf(await accounts.verdicts.authenticate(unseen))).toBe("state_unavailable");
      for (let call = 0; call < 10; call++) {
        const { granted, used } = await accounts.counts.take(acme, 8, START);
        expect({ granted, used }).toEqual({ granted: call < 7, used: Math.min(call + 2, 8) });
      }
      const late = `account:${randomUUID()}` as const;
      await accounts.counts.take(late, 5, START);
      use.clock.nowMs = START + HOUR_MS;
      expect(codeOf(await accounts.verdicts.authenticate(key))).toBe("ok");
      use.clock.nowMs += 1;
      expect(codeOf(await accounts.verdicts.authenticate(key))).toBe("state_unavailable");
      await use.state.restore();
      await vi.waitFor(() => expect(accounts.trouble).toBeNull(), {
        ...SOON,
        timeout: 600_000,
      });
      await use.expectSoon(accounts, key, "ok");
      await use.expectSoon(accounts, unseen, "ok");
      expect(await accounts.counts.take(acme, 25_000, START)).toEqual({
        granted: true,
        used: 9,
      });
      await use.stop(accounts);
      await use.registry.close();
      use.registry = await openRegistry(use.state.location, use.clock, "create");
      expect(await use.usedBy("acme")).toBe(9);
      const next = await use.serve();
      expect(await next.counts.used(late, START)).toBe(1);
    });
  });
}

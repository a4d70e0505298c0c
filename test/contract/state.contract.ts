/** What every driver of the state promises; run on SQLite and on Redis. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { KeyVerdict } from "../../src/access/gatekeeper.ts";
import { keyIdOf } from "../../src/access/key.ts";
import { openGatekeeper, openRegistry } from "../../src/access/open-state.ts";
import type { Registry } from "../../src/access/registry.ts";
import type { StateGatekeeper } from "../../src/access/state.ts";
import { ConflictError, InputError, RefusedError } from "../../src/errors.ts";

/** One empty state for one test. */
export interface StateUnderTest {
  readonly location: string;
  /** Makes the state fail for everybody, without losing what it holds. */
  breakDown(): Promise<void>;
  /** Undoes `breakDown`. */
  restore(): Promise<void>;
  remove(): Promise<void>;
}

const START = Date.parse("2026-11-21T09:30:00.000Z");
const HOUR_MS = 3_600_000;
const WITHIN_FIVE_SECONDS = { timeout: 5_000, interval: 20 };

export function stateContract(name: string, create: () => Promise<StateUnderTest>): void {
  describe(`state on ${name}`, () => {
    let state: StateUnderTest;
    let registry: Registry;
    let nowMs: number;
    const clock = { now: () => nowMs };
    const gatekeepers: StateGatekeeper[] = [];

    const serve = async (): Promise<StateGatekeeper> => {
      const gatekeeper = await openGatekeeper(state.location, clock);
      gatekeepers.push(gatekeeper);
      return gatekeeper;
    };
    const stop = async (gatekeeper: StateGatekeeper): Promise<void> => {
      gatekeepers.splice(gatekeepers.indexOf(gatekeeper), 1);
      await gatekeeper.close();
    };
    const codeOf = (verdict: KeyVerdict): string => (verdict.ok ? "ok" : verdict.code);
    const expectSoon = (gatekeeper: StateGatekeeper, key: string, code: string): Promise<void> =>
      vi.waitFor(async () => {
        expect(codeOf(await gatekeeper.authenticate(key))).toBe(code);
      }, WITHIN_FIVE_SECONDS);
    const newKey = async (account: string): Promise<string> =>
      (await registry.createKey(account, null)).key;
    const usedBy = async (account: string): Promise<number | undefined> =>
      (await registry.usage(account))[0]?.used;

    beforeEach(async () => {
      nowMs = START;
      state = await create();
      registry = await openRegistry(state.location, clock, "change");
    });
    afterEach(async () => {
      for (const gatekeeper of gatekeepers.splice(0)) await gatekeeper.close();
      await registry.close();
      await state.remove();
    });

    test("a key is worth what its account is worth; others are worth nothing", async () => {
      await registry.addAccount("acme", "starter", null);
      const key = await newKey("acme");
      const gatekeeper = await serve();
      expect(await gatekeeper.authenticate(key)).toEqual({
        ok: true,
        account: "acme",
        tier: "starter",
        subject: "account:acme",
      });
      const { createKey } = await import("../../src/access/key.ts");
      for (const other of [createKey(), "", "x", keyIdOf(key), `${key} `, key.toLowerCase()]) {
        expect(codeOf(await gatekeeper.authenticate(other))).toBe("invalid_key");
      }
    });

    test("changes reach a running gatekeeper", async () => {
      await registry.addAccount("acme", "pro", null);
      const gatekeeper = await serve();
      const key = await newKey("acme");
      const keyId = keyIdOf(key);
      await expectSoon(gatekeeper, key, "ok");
      await registry.suspendKey(keyId, true);
      await registry.suspendKey(keyId, true);
      await expectSoon(gatekeeper, key, "key_suspended");
      await registry.suspendKey(keyId, false);
      await expectSoon(gatekeeper, key, "ok");
      await registry.setAccount("acme", { suspended: true });
      await expectSoon(gatekeeper, key, "key_suspended");
      await registry.setAccount("acme", { suspended: false, tier: "starter" });
      await vi.waitFor(async () => {
        const verdict = await gatekeeper.authenticate(key);
        expect(verdict).toMatchObject({ ok: true, account: "acme", tier: "starter" });
      }, WITHIN_FIVE_SECONDS);
      await registry.revokeKey(keyId);
      await expectSoon(gatekeeper, key, "invalid_key");
    });

    test("a key looked up before it was made is found once it is", async () => {
      await registry.addAccount("acme", "pro", null);
      const gatekeeper = await serve();
      const other = await openRegistry(state.location, clock, "change");
      const made = await other.createKey("acme", "ci");
      await other.close();
      await expectSoon(gatekeeper, made.key, "ok");
      expect(made.record).toMatchObject({ account: "acme", label: "ci", suspended: false });
      expect(JSON.stringify(await registry.keys())).not.toContain(made.key);
    });

    test("a trial lapses N times 24 hours after it began, and a tier ends it", async () => {
      await registry.addAccount("acme", "starter", 14);
      const key = await newKey("acme");
      const gatekeeper = await serve();
      nowMs = START + 14 * 24 * HOUR_MS - 1;
      expect(codeOf(await gatekeeper.authenticate(key))).toBe("ok");
      nowMs += 1;
      expect(codeOf(await gatekeeper.authenticate(key))).toBe("trial_lapsed");
      await registry.setAccount("acme", { tier: "starter" });
      await expectSoon(gatekeeper, key, "ok");
      expect((await registry.account("acme")).trial).toBeNull();
    });

    test("a rotated key goes on to the end of the overlap", async () => {
      await registry.addAccount("acme", "starter", null);
      const old = await newKey("acme");
      const gatekeeper = await serve();
      await expectSoon(gatekeeper, old, "ok");
      const { key, replaced } = await registry.rotateKey(keyIdOf(old), 24 * HOUR_MS);
      expect(replaced).toMatchObject({ replaced_by: keyIdOf(key) });
      await expectSoon(gatekeeper, key, "ok");
      nowMs = START + 24 * HOUR_MS - 1;
      expect(codeOf(await gatekeeper.authenticate(old))).toBe("ok");
      nowMs += 1;
      await expectSoon(gatekeeper, old, "invalid_key");
      expect(codeOf(await gatekeeper.authenticate(key))).toBe("ok");
      await expect(registry.rotateKey(keyIdOf(old), 0)).rejects.toThrow(/rotated out/);
      const next = await registry.rotateKey(keyIdOf(key), 0);
      await expectSoon(gatekeeper, key, "invalid_key");
      await expectSoon(gatekeeper, next.key, "ok");
    });

    test("an account holds the keys its tier allows, whoever creates them at once", async () => {
      await registry.addAccount("acme", "starter", null);
      const other = await openRegistry(state.location, clock, "change");
      const attempts = await Promise.allSettled(
        Array.from({ length: 8 }, (_, index) =>
          (index % 2 === 0 ? registry : other).createKey("acme", null),
        ),
      );
      await other.close();
      const made = attempts.filter((attempt) => attempt.status === "fulfilled");
      expect(made).toHaveLength(2);
      for (const attempt of attempts) {
        if (attempt.status === "rejected") expect(attempt.reason).toBeInstanceOf(RefusedError);
      }
      expect(await registry.keys("acme")).toHaveLength(2);
      const first = made[0]?.value.record.key_id as string;
      await registry.rotateKey(first, HOUR_MS);
      await expect(registry.createKey("acme", null)).rejects.toThrow(RefusedError);
      await registry.revokeKey(made[1]?.value.record.key_id as string);
      await registry.createKey("acme", null);
      await expect(registry.createKey("acme", null)).rejects.toThrow(/holds 2 keys/);
    });

    test("what does not exist, exists already or does not fit is refused", async () => {
      await registry.addAccount("acme", "pro", null);
      await expect(registry.addAccount("acme", "pro", null)).rejects.toThrow(ConflictError);
      for (const bad of ["", "Acme", "a b", "a:b", "../x", "a".repeat(64), "-a"]) {
        await expect(registry.addAccount(bad, "pro", null)).rejects.toThrow(InputError);
        await expect(registry.account(bad)).rejects.toThrow(/no such account/);
      }
      await expect(registry.createKey("nobody", null)).rejects.toThrow(/"nobody"/);
      await expect(registry.usage("nobody")).rejects.toThrow(InputError);
      await expect(registry.revokeKey("cbk_00000000")).rejects.toThrow(/"cbk_00000000"/);
      const keys = await Promise.all([1, 2, 3].map(() => newKey("acme")));
      const whole = keys[0] as string;
      await expect(registry.revokeKey(whole)).rejects.toThrow(/first 12 characters/);
      await expect(registry.revokeKey(whole)).rejects.not.toThrow(whole.slice(12));
      await expect(registry.setAccount("acme", { tier: "starter" })).rejects.toThrow(RefusedError);
      expect((await registry.account("acme")).tier).toBe("pro");
      await registry.revokeKey(keyIdOf(whole));
      await registry.revokeKey(keyIdOf(whole));
      await expect(registry.suspendKey(keyIdOf(whole), true)).rejects.toThrow(/revoked/);
    });

    test("exactly the limit is granted, however many ask at once", async () => {
      const gatekeeper = await serve();
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
      await registry.addAccount("acme", "starter", null);
      const gatekeeper = await serve();
      for (let call = 0; call < 5; call++) await gatekeeper.take("account:acme", 25_000, START);
      await stop(gatekeeper);
      expect(await registry.usage("acme")).toEqual([
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
      await registry.setAccount("acme", { tier: "pro" });
      const next = await serve();
      expect(await next.take("account:acme", null, START)).toEqual({ granted: true, used: 6 });
      await stop(next);
      expect(await registry.usage()).toMatchObject([{ used: 6, limit: null, remaining: null }]);
    });

    test("counts are written while the gatekeeper runs", async () => {
      await registry.addAccount("acme", "starter", null);
      const gatekeeper = await serve();
      await gatekeeper.take("account:acme", 25_000, START);
      await vi.waitFor(async () => expect(await usedBy("acme")).toBe(1), WITHIN_FIVE_SECONDS);
    });

    test.each(["2026-02", "2028-02", "2026-04", "2026-07", "2026-12"])(
      "the count of %s ends with the month",
      async (month) => {
        const [year, number] = month.split("-").map(Number) as [number, number];
        const end = Date.UTC(year, number, 1);
        const gatekeeper = await serve();
        nowMs = end - 1;
        const last = [0, 1, 2].map(async () => gatekeeper.take("account:acme", 2, nowMs));
        expect((await Promise.all(last)).map(({ granted }) => granted)).toEqual([
          true,
          true,
          false,
        ]);
        nowMs = end;
        expect(await gatekeeper.take("account:acme", 2, end)).toEqual({ granted: true, used: 1 });
        // A call that arrived before the turn and is counted after it belongs to the old month.
        expect(await gatekeeper.take("account:acme", 3, end - 1)).toEqual({
          granted: true,
          used: 3,
        });
        await stop(gatekeeper);
        const next = await serve();
        expect(await next.used("account:acme", end - 1)).toBe(3);
        expect(await next.used("account:acme", end)).toBe(1);
      },
    );

    test("addresses are known by a hash of the state and the month", async () => {
      const gatekeeper = await serve();
      const subject = gatekeeper.addressSubject("203.0.113.7", START);
      expect(subject).toMatch(/^address:[A-Za-z0-9_-]{22}$/);
      expect(gatekeeper.addressSubject("203.0.113.7", START + 1)).toBe(subject);
      expect(gatekeeper.addressSubject("203.0.113.8", START)).not.toBe(subject);
      expect(gatekeeper.addressSubject("203.0.113.7", START + 30 * 24 * HOUR_MS)).not.toBe(subject);
      await stop(gatekeeper);
      expect((await serve()).addressSubject("203.0.113.7", START)).toBe(subject);
    });

    test("without the state known keys go on, counts are kept, and written once", async () => {
      await registry.addAccount("acme", "starter", null);
      const [key, unseen] = [await newKey("acme"), await newKey("acme")];
      const gatekeeper = await serve();
      await expectSoon(gatekeeper, key, "ok");
      await gatekeeper.take("account:acme", 25_000, START);
      await vi.waitFor(async () => expect(await usedBy("acme")).toBe(1), WITHIN_FIVE_SECONDS);
      await state.breakDown();
      await vi.waitFor(() => expect(gatekeeper.healthy).toBe(false), WITHIN_FIVE_SECONDS);
      expect(codeOf(await gatekeeper.authenticate(key))).toBe("ok");
      expect(codeOf(await gatekeeper.authenticate(unseen))).toBe("state_unavailable");
      for (let call = 0; call < 10; call++) {
        const { granted, used } = await gatekeeper.take("account:acme", 8, START);
        expect({ granted, used }).toEqual({ granted: call < 7, used: Math.min(call + 2, 8) });
      }
      await gatekeeper.take("account:late", 5, START);
      nowMs = START + HOUR_MS;
      expect(codeOf(await gatekeeper.authenticate(key))).toBe("ok");
      nowMs += 1;
      expect(codeOf(await gatekeeper.authenticate(key))).toBe("state_unavailable");
      await state.restore();
      await vi.waitFor(() => expect(gatekeeper.healthy).toBe(true), {
        ...WITHIN_FIVE_SECONDS,
        timeout: 20_000,
      });
      await expectSoon(gatekeeper, key, "ok");
      await expectSoon(gatekeeper, unseen, "ok");
      expect(await gatekeeper.take("account:acme", 25_000, START)).toEqual({
        granted: true,
        used: 9,
      });
      await stop(gatekeeper);
      await registry.close();
      registry = await openRegistry(state.location, clock, "change");
      expect(await usedBy("acme")).toBe(9);
      await registry.addAccount("late", "starter", null);
      expect(await usedBy("late")).toBe(1);
    });
  });
}

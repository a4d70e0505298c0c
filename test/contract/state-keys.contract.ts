/** The promises of every state driver about keys and accounts. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { TIERS } from "../../src/market/tier.ts";
import { keyIdOf } from "../../src/state/api-keys.ts";
import { LINK_PREFIX } from "../../src/lib/secrets.ts";
import { openRegistry } from "./open-registry.ts";
import { ConflictError, InputError, RefusedError } from "../../src/lib/errors.ts";
import { codeOf, HOUR_MS, START, StateInUse, SOON } from "./state-under-test.ts";
import type { StateUnderTest } from "./state-under-test.ts";

/** The part of `stateContract` on keys. */
export function stateKeysContract(name: string, create: () => Promise<StateUnderTest>): void {
  describe(`state on ${name}`, () => {
    let use: StateInUse;
    beforeEach(async () => {
      use = await StateInUse.open(await create());
    });
    afterEach(() => use.close());

    test("a key gets its account's tier; any other text is an invalid key", async () => {
      const subject = await use.account("acme", "starter");
      const key = await use.newKey("acme");
      const accounts = await use.serve();
      expect(await accounts.verdicts.authenticate(key)).toEqual({
        refusal: null,
        account: "acme",
        tier: TIERS.starter,
        subject,
        keyId: keyIdOf(key),
        path: null,
        trialEndsAtMs: null,
        keyExpiresAtMs: null,
        isReplaced: false,
      });
      const { createKey } = await import("../../src/state/api-keys.ts");
      for (const other of [createKey(), "", "x", keyIdOf(key), `${key} `, key.toLowerCase()]) {
        expect(codeOf(await accounts.verdicts.authenticate(other))).toBe("invalid_key");
      }
    });

    test("a link is no key and a key is no link, remembered or not", async () => {
      await use.account("acme", "starter");
      const key = await use.newKey("acme");
      const { token } = await use.registry.createLink("acme", "/export.csv", null);
      for (const isRemembered of [false, true]) {
        const { verdicts } = await use.serve();
        if (isRemembered) {
          expect(codeOf(await verdicts.authenticate(token, LINK_PREFIX))).toBe("ok");
          expect(codeOf(await verdicts.authenticate(key))).toBe("ok");
        }
        expect(verdicts.known(token)).toMatchObject({ refusal: "invalid_key", account: null });
        expect(codeOf(await verdicts.authenticate(token))).toBe("invalid_key");
        expect(codeOf(await verdicts.authenticate(key, LINK_PREFIX))).toBe("invalid_key");
      }
    });

    test("changes reach a running accounts", async () => {
      await use.registry.addAccount("acme", "pro", null);
      const accounts = await use.serve();
      const key = await use.newKey("acme");
      const keyId = keyIdOf(key);
      await use.expectSoon(accounts, key, "ok");
      await use.registry.suspendKey(keyId, true);
      await use.registry.suspendKey(keyId, true);
      await use.expectSoon(accounts, key, "key_suspended");
      await use.registry.suspendKey(keyId, false);
      await use.expectSoon(accounts, key, "ok");
      await use.registry.setAccount("acme", { suspended: true });
      await use.expectSoon(accounts, key, "key_suspended");
      await use.registry.setAccount("acme", { suspended: false, tier: "starter" });
      await vi.waitFor(async () => {
        const verdict = await accounts.verdicts.authenticate(key);
        expect(verdict).toMatchObject({ refusal: null, account: "acme", tier: TIERS.starter });
      }, SOON);
      await use.registry.revokeKey(keyId);
      await use.expectSoon(accounts, key, "invalid_key");
    });

    test("the number of accounts is known from the start, and follows changes", async () => {
      await use.registry.addAccount("acme", "pro", null);
      const accounts = await use.serve();
      expect(accounts.size).toBe(1);
      const expectAccounts = (wanted: number): Promise<void> =>
        vi.waitFor(() => expect(accounts.size).toBe(wanted), SOON);
      await use.registry.addAccount("other", "starter", null);
      await expectAccounts(2);
      await use.newKey("acme");
      await use.registry.removeAccount("acme");
      await expectAccounts(1);
      await use.registry.removeAccount("other");
      await expectAccounts(0);
    });

    test("an account is removed with its keys, and a running accounts refuses them", async () => {
      const acme = await use.account("acme", "pro");
      await use.account("other", "pro");
      const keys = [await use.newKey("acme"), await use.newKey("acme")] as const;
      const others = await use.newKey("other");
      const accounts = await use.serve();
      for (const key of keys) await use.expectSoon(accounts, key, "ok");
      await accounts.counts.take(acme, null, START, keyIdOf(keys[0]));
      expect(await use.registry.removeAccount("acme")).toMatchObject({ name: "acme" });
      for (const key of keys) await use.expectSoon(accounts, key, "invalid_key");
      expect(codeOf(await accounts.verdicts.authenticate(others))).toBe("ok");
      expect((await use.registry.accounts()).map(({ name }) => name)).toEqual(["other"]);
      expect((await use.registry.keys()).map(({ key_id }) => key_id)).toEqual([keyIdOf(others)]);
      await expect(use.registry.revokeKey(keyIdOf(keys[1]))).rejects.toThrow("no such key");
      await expect(use.registry.removeAccount("acme")).rejects.toThrow(InputError);
      use.clock.nowMs += 1_000;
      const again = await use.account("acme", "pro");
      expect(again).not.toBe(acme);
      expect(await use.registry.keys("acme")).toEqual([]);
      expect(await use.usedBy("acme")).toBe(0);
    });

    test("an account keeps its note until it is changed or removed", async () => {
      await use.registry.addAccount("acme", "pro", null, "invoice to Ann");
      expect(await use.registry.setAccount("acme", { suspended: true })).toMatchObject({
        note: "invoice to Ann",
      });
      await use.registry.setAccount("acme", { note: "invoice to Bea" });
      expect((await use.registry.account("acme")).note).toBe("invoice to Bea");
      await use.registry.setAccount("acme", { note: null });
      expect((await use.registry.account("acme")).note).toBeNull();
    });

    test("a key that was looked up before it existed is found when it exists", async () => {
      await use.registry.addAccount("acme", "pro", null);
      const accounts = await use.serve();
      const other = await openRegistry(use.state.location, use.clock, "create");
      const made = await other.createKey("acme", "ci");
      await other.close();
      await use.expectSoon(accounts, made.key, "ok");
      expect(made).toMatchObject({ account: "acme", label: "ci" });
      expect(JSON.stringify(await use.registry.keys())).not.toContain(made.key);
    });

    test("a trial lapses N times 24 hours after its start, and a new tier ends it", async () => {
      await use.registry.addAccount("acme", "starter", 14);
      const key = await use.newKey("acme");
      const accounts = await use.serve();
      use.clock.nowMs = START + 14 * 24 * HOUR_MS - 1;
      expect(codeOf(await accounts.verdicts.authenticate(key))).toBe("ok");
      use.clock.nowMs += 1;
      expect(codeOf(await accounts.verdicts.authenticate(key))).toBe("trial_lapsed");
      await use.registry.setAccount("acme", { tier: "starter" });
      await use.expectSoon(accounts, key, "ok");
      expect((await use.registry.account("acme")).trial).toBeNull();
    });

    test("a rotated key is valid until the end of the overlap", async () => {
      await use.registry.addAccount("acme", "starter", null);
      const old = await use.newKey("acme");
      const accounts = await use.serve();
      await use.expectSoon(accounts, old, "ok");
      const { key, replaces } = await use.registry.rotateKey(keyIdOf(old), 24 * HOUR_MS);
      expect(replaces).toBe(keyIdOf(old));
      expect(await use.registry.keys("acme")).toMatchObject([
        { key_id: replaces, status: "rotating", replaced_by: keyIdOf(key) },
        { key_id: keyIdOf(key), status: "active", replaced_by: null },
      ]);
      await use.expectSoon(accounts, key, "ok");
      use.clock.nowMs = START + 24 * HOUR_MS - 1;
      expect(codeOf(await accounts.verdicts.authenticate(old))).toBe("ok");
      use.clock.nowMs += 1;
      await use.expectSoon(accounts, old, "invalid_key");
      expect(codeOf(await accounts.verdicts.authenticate(key))).toBe("ok");
      await expect(use.registry.rotateKey(keyIdOf(old), 0)).rejects.toThrow(/rotated out/);
      const next = await use.registry.rotateKey(keyIdOf(key), 0);
      await use.expectSoon(accounts, key, "invalid_key");
      await use.expectSoon(accounts, next.key, "ok");
    });

    test("a key with an end is void from that instant on, also where it is remembered", async () => {
      await use.registry.addAccount("acme", "starter", null);
      const end = "2026-11-22T00:00:00.000Z";
      const made = await use.registry.createKey("acme", "ci", end);
      expect(made.expires_at).toBe(end);
      const accounts = await use.serve();
      await use.expectSoon(accounts, made.key, "ok");
      use.clock.nowMs = Date.parse(end) - 1;
      expect(codeOf(await accounts.verdicts.authenticate(made.key))).toBe("ok");
      await use.state.breakDown();
      await vi.waitFor(() => expect(accounts.trouble).not.toBeNull(), SOON);
      expect(codeOf(await accounts.verdicts.authenticate(made.key))).toBe("ok");
      use.clock.nowMs = Date.parse(end);
      expect(codeOf(await accounts.verdicts.authenticate(made.key))).toBe("invalid_key");
      await use.state.restore();
      await vi.waitFor(() => expect(accounts.trouble).toBeNull(), {
        ...SOON,
        timeout: 600_000,
      });
      await use.expectSoon(accounts, made.key, "invalid_key");
      await use.registry.close();
      use.registry = await openRegistry(use.state.location, use.clock, "use");
      expect(await use.registry.keys("acme")).toMatchObject([{ status: "expired" }]);
      const refused = use.registry.rotateKey(made.key_id, 0);
      await expect(refused).rejects.toThrow(`ended at ${end}`);
      await expect(use.registry.suspendKey(made.key_id, true)).rejects.toThrow(InputError);
      // It makes room for another one.
      await use.newKey("acme");
      await use.newKey("acme");
      await expect(use.registry.createKey("acme", null)).rejects.toThrow(/holds 2 keys/);
      const late = use.registry.createKey("acme", null, end);
      await expect(late).rejects.toThrow(InputError);
      await expect(late).rejects.toThrow(`A key until ${end}: expected a date`);
    });

    test("a key that replaces one with an end has the same end", async () => {
      await use.registry.addAccount("acme", "starter", null);
      const end = "2026-11-22T00:00:00.000Z";
      const old = await use.registry.createKey("acme", null, end);
      const soon = await use.registry.rotateKey(old.key_id, HOUR_MS);
      expect(soon).toMatchObject({ expires_at: end, replaced_until: "2026-11-21T10:30:00.000Z" });
      // The overlap is longer than the key would have been valid.
      const last = await use.registry.rotateKey(soon.key_id, 48 * HOUR_MS);
      expect(last).toMatchObject({ expires_at: end, replaced_until: end });
      expect((await use.registry.keys("acme")).map(({ status }) => status)).toEqual([
        "rotating",
        "rotating",
        "active",
      ]);
      const accounts = await use.serve();
      use.clock.nowMs = Date.parse(end);
      for (const { key } of [old, soon, last]) {
        expect(codeOf(await accounts.verdicts.authenticate(key))).toBe("invalid_key");
      }
      expect((await use.registry.keys("acme")).map(({ status }) => status)).toEqual([
        "rotated_out",
        "rotated_out",
        "expired",
      ]);
    });

    test("the day of a key's last use is known, and costs one write a day", async () => {
      await use.registry.addAccount("acme", "pro", null);
      const [used, idle] = [keyIdOf(await use.newKey("acme")), keyIdOf(await use.newKey("acme"))];
      const lastUse = async (): Promise<unknown> =>
        (await use.registry.keys("acme")).map(({ last_used_on }) => last_used_on);
      expect(await lastUse()).toEqual([null, null]);
      const accounts = await use.serve();
      for (const day of ["2026-11-21", "2026-11-22", "2026-12-01", "2027-12-31"]) {
        use.clock.nowMs = Date.parse(`${day}T23:59:59.999Z`);
        accounts.counts.noteUse(used, use.clock.nowMs);
        expect(accounts.counts.hasUnwritten).toBe(true);
        await accounts.counts.flush();
        for (let call = 0; call < 3; call++) accounts.counts.noteUse(used, use.clock.nowMs);
        expect(accounts.counts.hasUnwritten).toBe(false);
        expect(await lastUse()).toEqual([day, null]);
        // A request of the day before that ends late changes nothing.
        accounts.counts.noteUse(used, use.clock.nowMs);
      }
      use.clock.nowMs = Date.parse("2027-12-30T12:00:00.000Z");
      accounts.counts.noteUse(used, use.clock.nowMs);
      accounts.counts.noteUse(idle, use.clock.nowMs);
      await accounts.counts.flush();
      expect(await lastUse()).toEqual(["2027-12-31", "2027-12-30"]);
    });

    test("many accounts are added in one step, or none is", async () => {
      await use.registry.addAccount("taken", "pro", null);
      const wanted = Array.from({ length: 1_000 }, (_, at) => ({
        name: `n${at}`,
        tier: "starter" as const,
        trialDays: at % 2 === 0 ? 7 : null,
        note: at % 3 === 0 ? `note ${at}` : null,
      }));
      const other = { ...wanted[0]!, name: "taken" };
      const seen: string[][] = [];
      const refused = use.registry.importAccounts([...wanted, other], (taken) => {
        seen.push([...taken.keys()]);
        throw new ConflictError("no");
      });
      await expect(refused).rejects.toThrow(ConflictError);
      expect(seen).toEqual([["taken"]]);
      expect(await use.registry.accounts()).toHaveLength(1);
      const second = await openRegistry(use.state.location, use.clock, "use");
      const refuse = (taken: ReadonlyMap<string, number>): void => {
        if (taken.size > 0) throw new ConflictError(`${taken.size} are taken`);
      };
      // Of two that overlap one adds all, and the other finds all taken.
      const both = await Promise.allSettled([
        use.registry.importAccounts(wanted, refuse),
        second.importAccounts(wanted, refuse),
      ]);
      await second.close();
      expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      const lost = both.find(({ status }) => status === "rejected") as PromiseRejectedResult;
      expect(lost.reason).toEqual(new ConflictError("1000 are taken"));
      const all = await use.registry.accounts();
      expect(all).toHaveLength(1_001);
      expect(new Set(all.map(({ account_id }) => account_id)).size).toBe(1_001);
      expect(await use.registry.account("n6")).toMatchObject({
        trial: { days: 7, started_at: "2026-11-21T09:30:00.000Z" },
        note: "note 6",
      });
    });

    test("parallel commands create no more keys than the tier allows", async () => {
      await use.registry.addAccount("acme", "starter", null);
      const other = await openRegistry(use.state.location, use.clock, "create");
      const attempts = await Promise.allSettled(
        Array.from({ length: 8 }, (_, index) =>
          (index % 2 === 0 ? use.registry : other).createKey("acme", null),
        ),
      );
      await other.close();
      const made = attempts.filter((attempt) => attempt.status === "fulfilled");
      expect(made).toHaveLength(2);
      for (const attempt of attempts) {
        if (attempt.status === "rejected") expect(attempt.reason).toBeInstanceOf(RefusedError);
      }
      expect(await use.registry.keys("acme")).toHaveLength(2);
      const first = made[0]?.value.key_id as string;
      await use.registry.rotateKey(first, HOUR_MS);
      await expect(use.registry.createKey("acme", null)).rejects.toThrow(RefusedError);
      await use.registry.revokeKey(made[1]?.value.key_id as string);
      await use.registry.createKey("acme", null);
      await expect(use.registry.createKey("acme", null)).rejects.toThrow(/holds 2 keys/);
    });

    test("unknown names, existing names and values that are not allowed are refused", async () => {
      await use.registry.addAccount("acme", "pro", null);
      await expect(use.registry.addAccount("acme", "pro", null)).rejects.toThrow(ConflictError);
      for (const bad of ["", "Acme", "a b", "a:b", "../x", "a".repeat(64), "-a"]) {
        await expect(use.registry.addAccount(bad, "pro", null)).rejects.toThrow(InputError);
        await expect(use.registry.account(bad)).rejects.toThrow(/no such account/);
      }
      await expect(use.registry.createKey("nobody", null)).rejects.toThrow(/"nobody"/);
      await expect(use.registry.usage("nobody")).rejects.toThrow(InputError);
      await expect(use.registry.revokeKey("cbk_00000000")).rejects.toThrow(/"cbk_00000000"/);
      const keys = await Promise.all([1, 2, 3].map(() => use.newKey("acme")));
      const whole = keys[0] as string;
      await expect(use.registry.revokeKey(whole)).rejects.toThrow(/first 12 characters/);
      await expect(use.registry.revokeKey(whole)).rejects.not.toThrow(whole.slice(12));
      await expect(use.registry.setAccount("acme", { tier: "starter" })).rejects.toThrow(
        RefusedError,
      );
      expect((await use.registry.account("acme")).tier).toBe("pro");
      await use.registry.revokeKey(keyIdOf(whole));
      await use.registry.revokeKey(keyIdOf(whole));
      await expect(use.registry.suspendKey(keyIdOf(whole), true)).rejects.toThrow(/revoked/);
    });
  });
}

/** The promises of every state driver about keys and accounts. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { keyIdOf } from "../../src/state/keys.ts";
import { openRegistry } from "./open-registry.ts";
import { ConflictError, InputError, RefusedError } from "../../src/lib/errors.ts";
import { codeOf, HOUR_MS, START, StateInUse, WITHIN_FIVE_SECONDS } from "./state-under-test.ts";
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
      await use.registry.addAccount("acme", "starter", null);
      const key = await use.newKey("acme");
      const gatekeeper = await use.serve();
      expect(await gatekeeper.verdicts.authenticate(key)).toEqual({
        ok: true,
        account: "acme",
        tier: "starter",
        subject: "account:acme",
        keyId: keyIdOf(key),
      });
      const { createKey } = await import("../../src/state/keys.ts");
      for (const other of [createKey(), "", "x", keyIdOf(key), `${key} `, key.toLowerCase()]) {
        expect(codeOf(await gatekeeper.verdicts.authenticate(other))).toBe("invalid_key");
      }
    });

    test("changes reach a running gatekeeper", async () => {
      await use.registry.addAccount("acme", "pro", null);
      const gatekeeper = await use.serve();
      const key = await use.newKey("acme");
      const keyId = keyIdOf(key);
      await use.expectSoon(gatekeeper, key, "ok");
      await use.registry.suspendKey(keyId, true);
      await use.registry.suspendKey(keyId, true);
      await use.expectSoon(gatekeeper, key, "key_suspended");
      await use.registry.suspendKey(keyId, false);
      await use.expectSoon(gatekeeper, key, "ok");
      await use.registry.setAccount("acme", { suspended: true });
      await use.expectSoon(gatekeeper, key, "key_suspended");
      await use.registry.setAccount("acme", { suspended: false, tier: "starter" });
      await vi.waitFor(async () => {
        const verdict = await gatekeeper.verdicts.authenticate(key);
        expect(verdict).toMatchObject({ ok: true, account: "acme", tier: "starter" });
      }, WITHIN_FIVE_SECONDS);
      await use.registry.revokeKey(keyId);
      await use.expectSoon(gatekeeper, key, "invalid_key");
    });

    test("an account is removed with its keys, and a running gatekeeper refuses them", async () => {
      await use.registry.addAccount("acme", "pro", null);
      await use.registry.addAccount("other", "pro", null);
      const keys = [await use.newKey("acme"), await use.newKey("acme")] as const;
      const others = await use.newKey("other");
      const gatekeeper = await use.serve();
      for (const key of keys) await use.expectSoon(gatekeeper, key, "ok");
      await gatekeeper.counts.take("account:acme", null, START, keyIdOf(keys[0]));
      expect(await use.registry.removeAccount("acme")).toMatchObject({ name: "acme" });
      for (const key of keys) await use.expectSoon(gatekeeper, key, "invalid_key");
      expect(codeOf(await gatekeeper.verdicts.authenticate(others))).toBe("ok");
      expect((await use.registry.accounts()).map(({ name }) => name)).toEqual(["other"]);
      expect((await use.registry.keys()).map(({ key_id }) => key_id)).toEqual([keyIdOf(others)]);
      await expect(use.registry.revokeKey(keyIdOf(keys[1]))).rejects.toThrow("no such key");
      await expect(use.registry.removeAccount("acme")).rejects.toThrow(InputError);
      await use.registry.addAccount("acme", "pro", null);
      expect(await use.registry.keys("acme")).toEqual([]);
      expect(await use.usedBy("acme")).toBe(1);
    });

    test("an account keeps its note until it is changed or removed", async () => {
      await use.registry.addAccount("acme", "pro", null, "invoice to Ann");
      expect(await use.registry.setAccount("acme", { suspended: true })).toMatchObject({
        note: "invoice to Ann",
      });
      await use.registry.setAccount("acme", { note: "invoice to Bea" });
      expect((await use.registry.account("acme")).note).toBe("invoice to Bea");
      await use.registry.setAccount("acme", { note: "" });
      expect((await use.registry.account("acme")).note).toBeNull();
    });

    test("a key that was looked up before it existed is found when it exists", async () => {
      await use.registry.addAccount("acme", "pro", null);
      const gatekeeper = await use.serve();
      const other = await openRegistry(use.state.location, use.clock, "create");
      const made = await other.createKey("acme", "ci");
      await other.close();
      await use.expectSoon(gatekeeper, made.key, "ok");
      expect(made).toMatchObject({ account: "acme", label: "ci" });
      expect(JSON.stringify(await use.registry.keys())).not.toContain(made.key);
    });

    test("a trial lapses N times 24 hours after its start, and a new tier ends it", async () => {
      await use.registry.addAccount("acme", "starter", 14);
      const key = await use.newKey("acme");
      const gatekeeper = await use.serve();
      use.clock.nowMs = START + 14 * 24 * HOUR_MS - 1;
      expect(codeOf(await gatekeeper.verdicts.authenticate(key))).toBe("ok");
      use.clock.nowMs += 1;
      expect(codeOf(await gatekeeper.verdicts.authenticate(key))).toBe("trial_lapsed");
      await use.registry.setAccount("acme", { tier: "starter" });
      await use.expectSoon(gatekeeper, key, "ok");
      expect((await use.registry.account("acme")).trial).toBeNull();
    });

    test("a rotated key is valid until the end of the overlap", async () => {
      await use.registry.addAccount("acme", "starter", null);
      const old = await use.newKey("acme");
      const gatekeeper = await use.serve();
      await use.expectSoon(gatekeeper, old, "ok");
      const { key, replaces } = await use.registry.rotateKey(keyIdOf(old), 24 * HOUR_MS);
      expect(replaces).toBe(keyIdOf(old));
      expect(await use.registry.keys("acme")).toMatchObject([
        { key_id: replaces, status: "rotating", replaced_by: keyIdOf(key) },
        { key_id: keyIdOf(key), status: "active", replaced_by: null },
      ]);
      await use.expectSoon(gatekeeper, key, "ok");
      use.clock.nowMs = START + 24 * HOUR_MS - 1;
      expect(codeOf(await gatekeeper.verdicts.authenticate(old))).toBe("ok");
      use.clock.nowMs += 1;
      await use.expectSoon(gatekeeper, old, "invalid_key");
      expect(codeOf(await gatekeeper.verdicts.authenticate(key))).toBe("ok");
      await expect(use.registry.rotateKey(keyIdOf(old), 0)).rejects.toThrow(/rotated out/);
      const next = await use.registry.rotateKey(keyIdOf(key), 0);
      await use.expectSoon(gatekeeper, key, "invalid_key");
      await use.expectSoon(gatekeeper, next.key, "ok");
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

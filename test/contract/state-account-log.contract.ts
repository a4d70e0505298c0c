/** The promises of every state driver about the log of accounts, and changes of many accounts at once. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RefusedError } from "../../src/lib/errors.ts";
import { keySha256 } from "../../src/state/api-keys.ts";
import { withDriver } from "../../src/state/open.ts";
import { openRegistry } from "./open-registry.ts";
import { HOUR_MS, StateInUse } from "./state-under-test.ts";
import type { StateUnderTest } from "./state-under-test.ts";

const AT = "2026-11-21T09:30:00.000Z";

/** The part of `stateContract` on the log of accounts. */
export function stateAccountLogContract(name: string, create: () => Promise<StateUnderTest>): void {
  describe(`state on ${name}`, () => {
    let use: StateInUse;
    beforeEach(async () => {
      use = await StateInUse.open(await create());
    });
    afterEach(() => use.close());

    const told = async (account?: string): Promise<unknown> =>
      (await use.registry.log(account)).map(({ action, key_id, before, after }) => [
        action,
        key_id,
        before,
        after,
      ]);
    const content = () => withDriver(use.state.location, "use", (state) => state.readAll());

    test("has each change of an account, its keys and its links, and no secret", async () => {
      const { registry } = use;
      const { account_id } = await registry.addAccount("acme", "starter", 14, "by phone");
      const acme = { tier: "starter", trial_until: "2026-12-05T09:30:00.000Z", suspended: false };
      const first = await registry.createKey("acme", "ci");
      const second = await registry.rotateKey(first.key_id, HOUR_MS);
      const link = await registry.createLink("acme", "/export.csv", null);
      for (const suspended of [true, true, false])
        await registry.suspendKey(second.key_id, suspended);
      await registry.revokeKey(second.key_id);
      await registry.revokeKey(second.key_id);
      await registry.revokeLink(link.link_id);
      await registry.setAccount("acme", { suspended: true });
      await registry.setAccount("acme", { tier: "pro", note: null });
      await registry.setAccount("acme", { tier: "pro" });
      await expect(registry.createKey("nobody", null)).rejects.toThrow("nobody");
      await registry.removeAccount("acme");
      const key = {
        label: "ci",
        expires_at: null,
        suspended: false,
        revoked_at: null,
        replaced_by: null,
      };
      const until = "2026-11-21T10:30:00.000Z";
      expect(await told()).toEqual([
        ["accounts add", null, null, { ...acme, note: "by phone" }],
        ["keys create", first.key_id, null, key],
        ["keys rotate", second.key_id, null, key],
        [
          "keys rotate",
          first.key_id,
          { expires_at: null, replaced_by: null },
          { expires_at: until, replaced_by: second.key_id },
        ],
        [
          "links create",
          link.link_id,
          null,
          { label: null, path: "/export.csv", revoked_at: null },
        ],
        ["keys suspend", second.key_id, { suspended: false }, { suspended: true }],
        ["keys resume", second.key_id, { suspended: true }, { suspended: false }],
        ["keys revoke", second.key_id, { revoked_at: null }, { revoked_at: AT }],
        ["links revoke", link.link_id, { revoked_at: null }, { revoked_at: AT }],
        ["accounts set", null, { suspended: false }, { suspended: true }],
        [
          "accounts set",
          null,
          { tier: "starter", trial_until: acme.trial_until, note: "by phone" },
          { tier: "pro", trial_until: null, note: null },
        ],
        [
          "accounts rm",
          null,
          {
            tier: "pro",
            trial_until: null,
            suspended: true,
            note: null,
            keys: [first.key_id, second.key_id, link.link_id].join(" "),
          },
          null,
        ],
      ]);
      const entries = await registry.log("acme");
      expect(entries.map(({ number }) => number)).toEqual(entries.map((_entry, at) => at + 1));
      for (const entry of entries)
        expect(entry).toMatchObject({
          at: AT,
          account: "acme",
          account_id,
          by: expect.any(String),
        });
      const log = JSON.stringify((await content()).items.filter(([item]) => /log/.test(item)));
      for (const secret of [first.key, second.key, link.token]) {
        expect(log).not.toContain(secret.slice(12, 20));
        expect(log).not.toContain(keySha256(secret));
      }
    });

    test("numbers the changes of parallel commands in their order, with who made each", async () => {
      const [one, two] = [
        use.registry,
        await openRegistry(use.state.location, use.clock, "use", "B"),
      ];
      const names = Array.from({ length: 12 }, (_, at) => `n${at}`);
      await Promise.all(
        names.map((each, at) => (at % 2 ? two : one).addAccount(each, "pro", null)),
      );
      await two.close();
      const entries = await use.registry.log();
      expect(entries.map(({ number }) => number)).toEqual(names.map((_name, at) => at + 1));
      for (const { account, by } of entries)
        expect(by === "B").toBe(Number(account.slice(1)) % 2 === 1);
    });

    test("stays when the account is removed, until its counts go", async () => {
      await use.registry.addAccount("acme", "starter", null);
      await use.registry.addAccount("acme-2", "starter", null);
      await use.registry.removeAccount("acme");
      await use.registry.addAccount("acme", "pro", null);
      const actions = async (account: string) =>
        (await use.registry.log(account)).map(({ action }) => action);
      expect(await actions("acme")).toEqual(["accounts add", "accounts rm", "accounts add"]);
      expect(new Set((await use.registry.log("acme")).map((each) => each.account_id)).size).toBe(2);
      await expect(use.registry.log("nobody")).rejects.toThrow('Account "nobody"');
      await expect(use.registry.log("a:b")).rejects.toThrow('Account "a:b"');
      // 400 days after the month of its removal, the next removal forgets it.
      use.clock.nowMs = Date.parse("2028-01-05T00:00:00.000Z");
      await use.registry.removeAccount("acme-2");
      expect(await actions("acme")).toEqual(["accounts add"]);
      expect(await actions("acme-2")).toEqual(["accounts add", "accounts rm"]);
    });

    test("is kept in what 0.2.0 reads: facts, and counts by month", async () => {
      const acme = await use.account("acme", "pro");
      const accounts = await use.serve();
      await accounts.counts.take(acme, null, use.clock.nowMs, "cbk_acme0001");
      const { items, counts } = await content();
      expect(counts).toHaveLength(3);
      // 0.2.0 takes an account from each item below `accounts`, copies no other items from Redis than these, and
      // forgets counts by the month.
      for (const [item] of items) expect(item).toMatch(/^(?:accounts:[^:]+$|facts:)/);
      for (const { month } of counts) expect(month).toBe("2026-11");
    });

    test("an import changes accounts to their rows, all or none; the same again changes nothing", async () => {
      const { registry } = use;
      await registry.addAccount("trial", "starter", 14, "old");
      await registry.addAccount("lapsed", "starter", 14);
      await registry.addAccount("kept", "pro", null, "kept");
      for (let key = 0; key < 3; key++) await registry.createKey("kept", null);
      const before = await registry.accounts();
      use.clock.nowMs += 20 * 24 * HOUR_MS;
      const existing: unknown[] = [];
      const refused = registry.importAccounts(
        [
          { name: "kept", tier: "starter" },
          { name: "new", tier: "pro" },
        ],
        (found) => {
          existing.push(...found);
          throw new RefusedError("too many keys");
        },
      );
      await expect(refused).rejects.toThrow("too many keys");
      expect(existing).toEqual([["kept", 1]]);
      expect(await registry.accounts()).toEqual(
        before.map((one) =>
          expect.objectContaining({ account_id: one.account_id, tier: one.tier }),
        ),
      );

      const rows = [
        { name: "trial", tier: "starter", trialDays: 14, note: null },
        { name: "lapsed", tier: "pro", trialDays: undefined, note: undefined },
        { name: "kept", tier: "pro", trialDays: 7, note: undefined },
        { name: "new", tier: "starter", trialDays: null, note: "new" },
      ] as const;
      const done = await registry.importAccounts(rows, () => undefined);
      const lapsed = "2026-12-05T09:30:00.000Z";
      expect(done).toMatchObject({
        added: [{ name: "new", tier: "starter", trial: null, note: "new" }],
        changed: [
          // The trial of as many days goes on, so it has lapsed.
          { account: "trial", before: { note: "old" }, after: { note: null } },
          {
            account: "lapsed",
            before: { tier: "starter", trial_until: lapsed },
            after: { tier: "pro", trial_until: null },
          },
          {
            account: "kept",
            before: { trial_until: null },
            after: { trial_until: "2026-12-18T09:30:00.000Z" },
          },
        ],
        unchanged: [],
      });
      expect(await registry.account("kept")).toMatchObject({ note: "kept" });
      expect(await told("trial")).toContainEqual([
        "accounts import",
        null,
        { note: "old" },
        { note: null },
      ]);
      const written = (await content()).items;
      expect(await registry.importAccounts(rows, () => undefined)).toEqual({
        added: [],
        changed: [],
        unchanged: rows.map(({ name: each }) => each),
      });
      expect((await content()).items).toEqual(written);
    });

    test("keys for many accounts are made in one step, or none is", async () => {
      const { registry } = use;
      for (const each of ["a", "b", "full"]) await registry.addAccount(each, "starter", null);
      for (let key = 0; key < 2; key++) await registry.createKey("full", null);
      const seen: unknown[] = [];
      const refused = registry.createKeys(["a", "nobody", "full"], null, null, (unknown, full) => {
        seen.push([...unknown], [...full]);
        throw new RefusedError("no");
      });
      await expect(refused).rejects.toThrow(RefusedError);
      expect(seen).toEqual([["nobody"], ["full"]]);
      expect(await registry.keys()).toHaveLength(2);
      const made = await registry.createKeys(["b", "a"], "many", null, () => undefined);
      expect(made.map(({ account, label }) => [account, label])).toEqual([
        ["b", "many"],
        ["a", "many"],
      ]);
      const accounts = await use.serve();
      for (const { account, key } of made)
        expect(await accounts.verdicts.authenticate(key)).toMatchObject({
          refusal: null,
          account,
        });
      const entries = (await registry.log()).slice(-2);
      expect(entries.map(({ account, key_id }) => [account, key_id])).toEqual(
        made.map(({ account, key_id }) => [account, key_id]),
      );
    });
  });
}

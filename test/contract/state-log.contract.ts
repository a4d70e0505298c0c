/** What a state remembers of the logs of stores. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { UnreachableError } from "../../src/lib/errors.ts";
import { remembering, seenOf, type SeenLog } from "../../src/snapshot/log/lost.ts";
import { change } from "../../src/state/accounts.ts";
import { withDriver, withRegistry } from "../../src/state/open.ts";
import { StateInUse, type StateUnderTest, SOON } from "./state-under-test.ts";

const sha256 = (digit: string): string => digit.repeat(64);
const [ONE, OTHER] = [1, 2].map((n) => `00000000-0000-4000-8000-00000000000${n}`);
const PLACE = "/srv/snapshots";

/** The log of a store with a mark, up to the entry with this number. */
const seen = (number: number, digit: string, more: Partial<SeenLog> = {}): SeenLog => ({
  store: ONE as string,
  first: sha256("1"),
  number,
  sha256: sha256(digit),
  locations: [PLACE],
  ...more,
});

export function stateLogContract(name: string, create: () => Promise<StateUnderTest>): void {
  describe(`${name}: the log that was seen`, () => {
    let use: StateInUse;
    beforeEach(async () => {
      use = await StateInUse.open(await create());
    });
    afterEach(() => use.close());

    test("the newest entry stays, also for proxies that open later", async () => {
      const accounts = await use.serve();
      const see = async (log: SeenLog) => {
        await accounts.see(log);
        return accounts.seen();
      };
      expect(await accounts.seen()).toEqual([]);
      expect(await see(seen(9, "a"))).toEqual([seen(9, "a")]);
      // 10 is more than 9, though it comes first as a text.
      expect(await see(seen(10, "b"))).toEqual([seen(10, "b")]);
      expect(await see(seen(9, "a"))).toEqual([seen(10, "b")]);
      expect(await see(seen(10, "c"))).toEqual([seen(10, "b")]);
      expect(await (await use.serve()).seen()).toEqual([seen(10, "b")]);
      await use.stop(accounts);
      expect(await (await use.serve()).seen()).toEqual([seen(10, "b")]);
    });

    test("of many that are seen at once, the newest one stays", async () => {
      const all = await Promise.all([use.serve(), use.serve(), use.serve()]);
      const numbers = Array.from({ length: 60 }, (_, at) => ((at * 37) % 60) + 1);
      await Promise.all(
        numbers.map((number, at) => (all[at % 3] as (typeof all)[0]).see(seen(number, "d"))),
      );
      for (const accounts of all) {
        expect(await accounts.seen()).toEqual([seen(60, "d")]);
      }
    });

    test("each store has its own, and a location belongs to the store that was there last", async () => {
      const accounts = await use.serve();
      await accounts.see(seen(9, "a"));
      await accounts.see(seen(2, "b", { store: OTHER as string, first: sha256("2") }));
      await accounts.see(
        seen(3, "c", { store: null, first: sha256("3"), locations: ["s3://b/p"] }),
      );
      await accounts.see(seen(10, "d", { locations: ["/mnt/same"] }));
      const logs = await accounts.seen();
      expect(logs).toEqual([
        seen(10, "d", { locations: ["/mnt/same"] }),
        seen(2, "b", { store: OTHER as string, first: sha256("2") }),
        seen(3, "c", { store: null, first: sha256("3"), locations: ["s3://b/p"] }),
      ]);
      const numberOf = (store: string | null, first: string | null, location: string) =>
        seenOf(logs, { store, first, location })?.number ?? null;
      expect(numberOf(ONE as string, sha256("9"), "/elsewhere")).toBe(10);
      expect(numberOf("00000000-0000-4000-8000-000000000003", null, PLACE)).toBeNull();
      // Without a mark: by the first entry, and if none is known by that, by the location.
      expect(numberOf(null, sha256("3"), "/elsewhere")).toBe(3);
      expect(numberOf(null, sha256("9"), PLACE)).toBe(2);
      expect(numberOf(null, null, PLACE)).toBe(2);
      expect(numberOf(null, null, "/elsewhere")).toBeNull();
    });

    test("the log of a store can be taken up in place of the one that was seen", async () => {
      const accounts = await use.serve();
      await accounts.see(seen(3, "e"));
      await accounts.see(seen(7, "f", { store: OTHER as string, locations: ["/other"] }));
      const names = { store: ONE as string, first: sha256("1"), location: PLACE };
      const takeUp = (log: SeenLog | null) =>
        withRegistry(
          use.state.location,
          { now: () => Date.parse("2026-11-21T00:00:00Z") },
          "use",
          async (registry) => [await registry.takeUpLog(names, log), await registry.log()] as const,
          "ops",
        );
      const details = { store: ONE, entry: 3, sha256: sha256("e") };
      const entry = { account: "-", account_id: "-", action: "state forget-log", by: "ops" };
      const [forgotten, log] = await takeUp(seen(2, "d"));
      expect(forgotten).toEqual(seen(3, "e"));
      expect(log).toMatchObject([
        {
          ...entry,
          before: details,
          after: { store: ONE, entry: 2, sha256: sha256("d") },
        },
      ]);
      const other = seen(7, "f", { store: OTHER as string, locations: ["/other"] });
      expect(await accounts.seen()).toEqual([other, seen(2, "d")]);
      // The log that is remembered already is also taken up.
      const same = { store: ONE, entry: 2, sha256: sha256("d") };
      expect((await takeUp(seen(2, "d")))[1]).toMatchObject([
        {},
        { ...entry, before: same, after: same },
      ]);
      expect((await takeUp(null))[1]).toMatchObject([{}, {}, { ...entry, after: null }]);
      expect(await accounts.seen()).toEqual([other]);
      // There is no log to forget and none to take up.
      expect((await takeUp(null))[1]).toHaveLength(3);
    });

    test("what a release before 0.4.0 remembered counts for the first store that is served", async () => {
      const accounts = await use.serve();
      await withDriver(use.state.location, "use", (driver) =>
        change(driver, async (write) =>
          write("facts:seen-entry", { number: 5, sha256: sha256("a") }),
        ),
      );
      const old = { store: null, first: null, number: 5, sha256: sha256("a"), locations: [] };
      expect(await accounts.seen()).toEqual([old]);
      expect(seenOf([old], { store: ONE as string, first: sha256("1"), location: PLACE })).toBe(
        old,
      );
      await accounts.see(seen(6, "b"));
      expect(await accounts.seen()).toEqual([seen(6, "b")]);
      expect(remembering([old], seen(4, "b"))).toEqual([seen(5, "a")]);
    });

    test("while the state does not answer, nothing is remembered by mistake", async () => {
      const accounts = await use.serve();
      await accounts.see(seen(3, "e"));
      await use.state.breakDown();
      await expect.poll(() => accounts.trouble).not.toBeNull();
      await expect(accounts.see(seen(4, "f"))).rejects.toThrow(UnreachableError);
      await use.state.restore();
      await expect.poll(() => accounts.seen().catch(() => null), SOON).toEqual([seen(3, "e")]);
    });
  });
}

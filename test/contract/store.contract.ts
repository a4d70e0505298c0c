/** The promises of every object store (src/ports/store.ts), as tests over a factory. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ObjectStore, StoredObject } from "../../src/ports/store.ts";

/** An empty store, the same place opened a second time (as by another process), and its removal. */
export interface StoreUnderTest {
  readonly store: ObjectStore;
  readonly other: ObjectStore;
  /** All names in the place, with hidden ones, listed without the driver. */
  rawNames(): Promise<string[]>;
  dispose(): Promise<void>;
}

export function describeStore(name: string, make: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    let place: StoreUnderTest;
    let store: ObjectStore;
    let other: ObjectStore;
    beforeAll(async () => {
      place = await make();
      ({ store, other } = place);
    });
    afterAll(() => place.dispose());

    test("an empty store has no objects, and reading it is no error", async () => {
      const { store: empty, dispose } = await make();
      try {
        expect(await empty.get("publications/0000000001.json")).toBeNull();
        expect(await empty.open("publications/0000000001.json")).toBeNull();
        expect(await keysOf(empty, "")).toEqual([]);
        await empty.delete("publications/0000000001.json");
      } finally {
        await dispose();
      }
    });

    test("prove passes and leaves nothing behind", async () => {
      const { store: proven, other: prover, rawNames, dispose } = await make();
      try {
        await Promise.all([proven.prove(), prover.prove(), proven.prove()]);
        expect(await rawNames()).toEqual([]);
        expect(await keysOf(proven, "")).toEqual([]);
      } finally {
        await dispose();
      }
    });

    test("mayWrite passes on a store that does not exist yet, and leaves nothing behind", async () => {
      const { store: fresh, rawNames, dispose } = await make();
      try {
        await fresh.mayWrite();
        expect(await rawNames()).toEqual([]);
      } finally {
        await dispose();
      }
    });

    test("the first create wins, and its bytes stay", async () => {
      expect(await store.create("once/a.json", Buffer.from("first"))).toBe("created");
      expect(await store.create("once/a.json", Buffer.from("second"))).toBe("taken");
      expect(await other.create("once/a.json", Buffer.from("third"))).toBe("taken");
      expect((await other.get("once/a.json"))?.toString()).toBe("first");
      expect((await store.get("once/a.json"))?.toString()).toBe("first");
    });

    test("an object with more bytes than the reader wants is damage, and named", async () => {
      await store.create("large/a.json", Buffer.alloc(1_000));
      expect(await other.get("large/a.json", 1_000)).toHaveLength(1_000);
      await expect(other.get("large/a.json", 999)).rejects.toMatchObject({
        exitCode: 6,
        message: `${other.location}/large/a.json has 1000 bytes, expected 999 or less`,
      });
      expect(await other.get("large/none.json", 999)).toBeNull();
      expect(await other.get("large/a.json")).toHaveLength(1_000);
    });

    test("exactly one of 20 racers creates the object, and every reader sees its bytes", async () => {
      for (let round = 0; round < 5; round++) {
        const key = `race/${round}.json`;
        const outcomes = await Promise.all(
          Array.from({ length: 20 }, async (_, racer) => {
            const through = racer % 2 === 0 ? store : other;
            const outcome = await through.create(key, Buffer.from(`racer ${racer}`));
            // A caller that has an answer also sees the whole object.
            return { racer, outcome, seen: (await through.get(key))?.toString() };
          }),
        );
        const winners = outcomes.filter(({ outcome }) => outcome === "created");
        expect(winners).toHaveLength(1);
        const bytes = `racer ${winners[0]?.racer}`;
        expect(outcomes.map(({ seen }) => seen)).toEqual(outcomes.map(() => bytes));
      }
    });

    test.for([
      ["no bytes", Buffer.alloc(0)],
      ["one byte", Buffer.from([0])],
      ["every byte value", Buffer.from(Array.from({ length: 256 }, (_, value) => value))],
      ["line ends and a byte order mark", Buffer.from("\ufeffa\r\nb\nc\r")],
      ["65,536 bytes", randomBytes(65_536)],
      ["a million random bytes", randomBytes(1_000_003)],
    ] as const)("bytes come back as they were: %s", async ([title, bytes]) => {
      const key = `bytes/${title.replaceAll(/[^a-z0-9]/g, "-")}`;
      expect(await store.create(key, bytes)).toBe("created");
      const read = await other.get(key);
      expect(read).toBeInstanceOf(Buffer);
      expect(read?.equals(bytes)).toBe(true);
      const opened = await other.open(key);
      expect(opened?.sizeBytes).toBe(bytes.length);
      const streamed = await new Response(opened?.stream ?? null).bytes();
      expect(Buffer.from(streamed).equals(bytes)).toBe(true);
      expect(await objectsOf(store, key)).toMatchObject([{ key, sizeBytes: bytes.length }]);
    });

    test("only the view of a larger buffer is stored, and later changes of the buffer have no effect", async () => {
      const whole = new Uint8Array([1, 2, 3, 4, 5, 6]);
      await store.create("bytes/view", whole.subarray(2, 4));
      whole.fill(9);
      const read = await store.get("bytes/view");
      expect([...(read ?? [])]).toEqual([3, 4]);
      read?.fill(7);
      expect([...((await store.get("bytes/view")) ?? [])]).toEqual([3, 4]);
    });

    test("streams are read in pieces and in parallel, and can be cancelled", async () => {
      const bytes = randomBytes(700_000);
      await store.create("streams/a", bytes);
      const bodies = await Promise.all(
        Array.from({ length: 8 }, async () => {
          const opened = await store.open("streams/a");
          return Buffer.from(await new Response(opened?.stream ?? null).bytes());
        }),
      );
      expect(bodies.every((body) => body.equals(bytes))).toBe(true);
      for (let times = 0; times < 30; times++) {
        const reader = (await store.open("streams/a"))?.stream.getReader();
        const first = await reader?.read();
        expect(bytes.subarray(0, first?.value?.length).equals(first?.value ?? bytes)).toBe(true);
        await reader?.cancel();
      }
      await (await store.open("streams/a"))?.stream.cancel();
    });

    test("list returns keys in ascending order for any prefix, with sizes and times", async () => {
      const keys = [
        "list/a-b/1.json",
        "list/a.json",
        "list/a/1.json",
        "list/a/10.json",
        "list/a/2/deep/er.json",
        "list/a0/1.json",
        "list/B.json",
        "list/b.json",
        "list/b_.json",
      ];
      for (const key of keys.toReversed()) await store.create(key, Buffer.from(key));
      const sorted = keys.toSorted();
      expect(await keysOf(other, "list/")).toEqual(sorted);
      const all = await keysOf(other, "");
      expect(all).toEqual(all.toSorted());
      expect(all.filter((key) => key.startsWith("list/"))).toEqual(sorted);
      const prefixes = [
        "list",
        "list/a",
        "list/a/",
        "list/a/1",
        "list/a.",
        "list/a/2/deep/er.json",
      ];
      for (const prefix of [
        ...prefixes,
        "list/none/",
        "list/a/2/deep/er.json/",
        "zzz",
        "/",
        "../",
      ]) {
        const expected = all.filter((key) => key.startsWith(prefix));
        expect(await keysOf(other, prefix), prefix).toEqual(expected);
      }
      for (const object of await objectsOf(store, "list/")) {
        expect(object.sizeBytes).toBe(object.key.length);
      }
    });

    test("list returns more than 1,000 keys, and its reader can stop at any of them", async () => {
      const keys = Array.from({ length: 1_105 }, (_, n) => `many/${String(n).padStart(5, "0")}`);
      const bytes = Buffer.from("x");
      const outcomes = await Promise.all(keys.map((key) => store.create(key, bytes)));
      expect(new Set(outcomes)).toEqual(new Set(["created"]));
      expect(await keysOf(other, "many/")).toEqual(keys);
      const seen: string[] = [];
      for await (const { key } of other.list("many/")) if (seen.push(key) === 3) break;
      expect(seen).toEqual(keys.slice(0, 3));
    });

    test("delete removes one key and no other, and a second delete is no error", async () => {
      await store.create("gone/x/a.json", Buffer.from("a"));
      await store.create("gone/x/ab.json", Buffer.from("ab"));
      await store.delete("gone/x/a.json");
      await store.delete("gone/x/a.json");
      await store.delete("gone/none/at-all.json");
      expect(await other.get("gone/x/a.json")).toBeNull();
      expect(await keysOf(other, "gone/")).toEqual(["gone/x/ab.json"]);
      await store.delete("gone/x/ab.json");
      expect(await keysOf(other, "gone/")).toEqual([]);
      expect(await other.create("gone/x/a.json", Buffer.from("again"))).toBe("created");
      expect((await store.get("gone/x/a.json"))?.toString()).toBe("again");
    });

    test("parallel creates and deletes in one folder lose nothing", async () => {
      await Promise.all(
        Array.from({ length: 40 }, async (_, n) => {
          const through = n % 2 === 0 ? store : other;
          const key = `churn/${n % 4}/${n}`;
          expect(await through.create(key, Buffer.from(key))).toBe("created");
          if (n % 3 !== 0) await through.delete(key);
        }),
      );
      const left = Array.from({ length: 40 }, (_, n) => `churn/${n % 4}/${n}`);
      const expected = left.filter((_, n) => n % 3 === 0).toSorted();
      expect(await keysOf(store, "churn/")).toEqual(expected);
    });

    test.for([
      "odd/-",
      "odd/_",
      "odd/a..b",
      "odd/a.",
      "odd/0",
      "odd/UPPER.case",
      "odd/1/2/3/4/5/6/7/8/9",
      `odd/${"n".repeat(200)}.json`,
      "o",
    ])("odd but valid key %s", async (key) => {
      expect(await store.create(key, Buffer.from(key))).toBe("created");
      expect((await other.get(key))?.toString()).toBe(key);
      expect(await keysOf(other, key)).toContain(key);
      await other.delete(key);
      expect(await store.get(key)).toBeNull();
    });

    test.for([
      "",
      "/",
      "/etc/passwd",
      "..",
      "../outside",
      "a/../../outside",
      "a/./b",
      "a//b",
      "a/",
      ".hidden",
      "a/.hidden/b",
      "a\0b",
      "a\\b",
      "a b",
      "ä",
      "%2e%2e/x",
      "n".repeat(256),
      "a/".repeat(500) + "a",
    ])("no object has the key %j", async (key) => {
      await expect(store.create(key, Buffer.from("x"))).rejects.toThrow(TypeError);
      expect(await store.get(key)).toBeNull();
      expect(await store.open(key)).toBeNull();
      await store.delete(key);
    });
  });
}

export async function objectsOf(store: ObjectStore, prefix: string): Promise<StoredObject[]> {
  const objects: StoredObject[] = [];
  for await (const object of store.list(prefix)) objects.push(object);
  return objects;
}

export const keysOf = async (store: ObjectStore, prefix: string): Promise<string[]> =>
  (await objectsOf(store, prefix)).map(({ key }) => key);

/** Worlds of many seeds, and that a broken promise is found. */
import "./sync-zlib.ts";
import { expect, test } from "vitest";
import type { ObjectStore } from "../../src/ports/store.ts";
import { parsePublicationKey } from "../../src/store/paths.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import { runs } from "../property/runs.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { levelText, publisher } from "./actors.ts";
import { HISTORIES, sessionNumber, type History } from "./histories.ts";
import { StorePromises } from "./store-promises.ts";
import { planOf, Worlds } from "./world.ts";

/** Ten times as many at night. */
const { numRuns } = runs(2_000);

test("every promise is kept in every world", async () => {
  const worlds = new Worlds();
  for (let seed = 1; seed <= numRuns; seed += 1) await worlds.run(planOf(seed));
});

test("the same seed gives the same trace", async () => {
  for (const seed of [1, 2, 3]) {
    const [one, two] = [await new Worlds().run(planOf(seed)), await new Worlds().run(planOf(seed))];
    expect(one.length).toBeGreaterThan(100);
    expect(two).toEqual(one);
  }
});

test("a world runs without an actor or failures that its seed draws", async () => {
  const without = new Set(["failures", "proxy 1", "operator"]);
  const trace = await new Worlds().run({ seed: 3, without });
  expect(trace.filter((line) => /^(?:proxy 1|operator)|refused:|unanswered:/.test(line))).toEqual(
    [],
  );
});

test("the levels of a world are decimal text in every session", () => {
  const sessions = Array.from({ length: 100 }, (_, n) => sessionNumber(n));
  const levels = sessions.flatMap((session) => [0, 1].map((n) => levelText(10, session, n)));
  expect(levels.filter((text) => !/^10\.\d{3}$/.test(text))).toEqual([]);
  expect(new Set(levels).size).toBe(200);
});

async function begun(): Promise<{
  store: MemoryStore;
  model: StorePromises;
  clock: { ms: number; now(): number };
}> {
  const clock = { ms: 0, now: () => clock.ms };
  const store = new MemoryStore();
  await (HISTORIES[0] as History).make(store, clock);
  const model = new StorePromises(store);
  await model.begin();
  return { store, model, clock };
}

test("a removal of an object that the head needs breaks a promise, also a publication that nobody made", async () => {
  const { store, model, clock } = await begun();
  const keys: string[] = [];
  for await (const { key } of store.list("sessions/")) keys.push(key);
  const removals = await Promise.allSettled(
    keys.map((key) => model.written("prune", { kind: "delete", key }, undefined)),
  );
  const refused = removals.filter(({ status }) => status === "rejected");
  // The last two of three snapshots are needed.
  const needed = keys.filter((key) => !key.startsWith("sessions/2026-11-29T12Z/"));
  expect(refused).toHaveLength(needed.length);

  const order = { session: sessionNumber(3), variant: 0, revise: null };
  clock.ms += 43_200_000;
  const report = await publisher("publisher", order).run(store, clock);
  expect(report.made).toEqual({ number: 4, snapshot: "2026-12-01T00Z/r1" });
  await expect(model.end(new Map([["publisher", report]]))).rejects.toThrow(
    "publisher says it made [4], and made []",
  );
});

/** What a run may do wrong, and what some world must then say. */
const WRONG: readonly [string, RegExp, (store: ObjectStore) => ObjectStore][] = [
  [
    "prunes that do not name a snapshot before they remove it",
    /which the head or the one before it needs|lacks/,
    (store) =>
      creating(store, async (key, bytes, create) =>
        String(bytes).includes('"action":"prune"') ? "created" : create(key, bytes),
      ),
  ],
  [
    "runs that write an entry without its signature",
    /0000000\d{3}\.json is written without its signature/,
    (store) =>
      creating(store, async (key, bytes, create) =>
        create(key, Buffer.from(String(bytes).replace(/,"signature":"[^"]*"\}\n$/, "}\n"))),
      ),
  ],
  [
    "runs that write something beside an entry",
    /0000000\d{3}\.sig is no entry of the log/,
    (store) =>
      creating(store, async (key, bytes, create) => {
        if (parsePublicationKey(key) !== null) await create(key.replace(/json$/, "sig"), bytes);
        return create(key, bytes);
      }),
  ],
];

test.for(WRONG)("%s are found", async ([, message, wrong]) => {
  const worlds = new Worlds(wrong);
  const broken: string[] = [];
  for (let seed = 1; seed <= 400 && !message.test(broken.at(-1) ?? ""); seed += 1) {
    await worlds.run(planOf(seed)).catch((error: Error) => broken.push(error.message));
  }
  expect(broken.at(-1)).toMatch(message);
});

/** The same store, with another way to create objects. */
function creating(
  store: ObjectStore,
  instead: (
    key: string,
    bytes: Uint8Array,
    create: (key: string, bytes: Uint8Array) => Promise<"created" | "taken">,
  ) => Promise<"created" | "taken">,
): ObjectStore {
  const intercepted = new InterceptedStore(store, (_operation, run) => run());
  const create = intercepted.create.bind(intercepted);
  intercepted.create = (key, bytes) =>
    instead(key, bytes, (itsKey, itsBytes) => create(itsKey, itsBytes));
  return intercepted;
}

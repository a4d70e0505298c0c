/** Races in their short form; and a broken promise is counted as a loss. */
import { expect, test } from "vitest";
import { InterceptedStore } from "./crash-store.ts";
import { levelText, publisher } from "../../tools/faults/race-actors.ts";
import { HISTORIES, sessionNumber, type History } from "../../tools/faults/race-histories.ts";
import { RaceModel } from "../../tools/faults/race-model.ts";
import { localRaces } from "../../tools/faults/races.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { seedOf } from "../../src/demo/random.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { parsePublicationKey } from "../../src/store/paths.ts";
import { Tally } from "../../tools/faults/fault.ts";
import { RaceOrders } from "../../tools/faults/race-orders.ts";
import { expectNothingLost, SEED } from "./short.ts";

test("nothing is lost when publishers, rollbacks and prunes run at once", async () => {
  await expectNothingLost(localRaces);
});

test("the levels of a race are decimal text in every session", () => {
  const sessions = Array.from({ length: 100 }, (_, n) => sessionNumber(n));
  const levels = sessions.flatMap((session) => [0, 1].map((n) => levelText(10, session, n)));
  expect(levels.filter((text) => !/^10\.\d{3}$/.test(text))).toEqual([]);
  expect(new Set(levels).size).toBe(200);
});

test.each([805077502, 2209060117])(
  "order %i, in which another run comes before a rollback, ends that rollback with a conflict",
  async (order) => {
    await new RaceOrders().run(order);
  },
);

test.each([2955069474, 361526749])(
  "order %i, in which a prune takes what another prune keeps, ends both without damage",
  async (order) => {
    await new RaceOrders().run(order);
  },
);

async function begun(): Promise<{
  store: MemoryStore;
  model: RaceModel;
  clock: { ms: number; now(): number };
}> {
  const clock = { ms: 0, now: () => clock.ms };
  const store = new MemoryStore();
  await (HISTORIES[0] as History).make(store, clock);
  const model = new RaceModel(store);
  await model.begin();
  return { store, model, clock };
}

test("a removal of an object that the head needs is a loss, also a publication that nobody made", async () => {
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

/** What a run may do wrong, and what some race must then say. */
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

test.for(WRONG)("%s lose in some race", async ([what, message, wrong]) => {
  const orders = new RaceOrders(wrong);
  const told: string[] = [];
  const tally = new Tally(what, (text) => told.push(text));
  const seed = SEED;
  for (let race = 0; race < 400 && !told.some((text) => message.test(text)); race += 1) {
    await tally.inject(`order ${race}`, () => orders.run(seedOf(`${seed} ${race}`)));
  }
  expect(tally.row.lost, `seed ${seed}`).toBe(told.length);
  expect(told.at(-1)).toMatch(message);
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

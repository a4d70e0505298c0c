/** Races in their short form; and a broken promise is counted as a loss. */
import { expect, test } from "vitest";
import { InterceptedStore } from "./crash-store.ts";
import { publisher } from "./race-actors.ts";
import { HISTORIES, sessionNumber, type History } from "./race-histories.ts";
import { RaceModel } from "./race-model.ts";
import { raceFaults } from "./races.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { seedOf } from "../../src/demo/random.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { Tally } from "./fault.ts";
import { RaceOrders } from "./race-orders.ts";
import { expectNothingLost, SEED } from "./short.ts";

test("nothing is lost when publishers, rollbacks and prunes run at once", async () => {
  await expectNothingLost(raceFaults);
}, 400_000);

async function begun(): Promise<{
  store: MemoryStore;
  model: RaceModel;
  clock: { ms: number; now(): number };
}> {
  const clock = { ms: 0, now: () => clock.ms };
  const store = new MemoryStore(clock);
  await (HISTORIES[0] as History).make(store, clock);
  const model = new RaceModel(store);
  await model.begin();
  return { store, model, clock };
}

test("a removal of what the head needs is a loss, and so is a publication that nobody made", async () => {
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

test("prunes that do not name a snapshot before they remove it lose a head in some race", async () => {
  const silent = (store: ObjectStore): ObjectStore => {
    const intercepted = new InterceptedStore(store, (_operation, run) => run());
    const create = intercepted.create.bind(intercepted);
    intercepted.create = async (key, bytes, mediaType) =>
      String(bytes).includes('"action":"prune"') ? "created" : create(key, bytes, mediaType);
    return intercepted;
  };
  const orders = new RaceOrders(silent);
  const told: string[] = [];
  const tally = new Tally("prunes without entries", (text) => told.push(text));
  const seed = SEED;
  for (let race = 0; race < 400 && tally.row.lost === 0; race += 1) {
    await tally.inject(`order ${race}`, () => orders.run(seedOf(`${seed} ${race}`)));
  }
  expect(tally.row.lost, `seed ${seed}`).toBe(1);
  expect(told.join("\n")).toMatch(/which the head or the one before it needs|lacks/);
}, 200_000);

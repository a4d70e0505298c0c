/** Races in their short form; and a broken promise is counted as a loss. */
import { expect, test } from "vitest";
import { InterceptedStore } from "./crash-store.ts";
import { levelText, publisher } from "../../tools/faults/race-actors.ts";
import { HISTORIES, sessionNumber, type History } from "../../tools/faults/race-histories.ts";
import { RaceModel } from "../../tools/faults/race-model.ts";
import { raceFaults } from "../../tools/faults/races.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { seedOf } from "../../src/demo/random.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { announcementOf, signatureOfEntry } from "../../src/snapshot/entry-signature.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { parsePublicationKey, signatureKey } from "../../src/store/paths.ts";
import { GOLDEN_KEY } from "../golden/golden-key.ts";
import { Tally } from "../../tools/faults/fault.ts";
import { RaceOrders } from "../../tools/faults/race-orders.ts";
import { expectNothingLost, SEED } from "./short.ts";

test("nothing is lost when publishers, rollbacks and prunes run at once", async () => {
  await expectNothingLost(raceFaults);
}, 600_000);

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

const KEY_OF_ENTRY = /(\d{10})-([0-9a-f]{64})\.sig$/;

/** What a run may do wrong, and what some race must then say. */
const WRONG: readonly [string, RegExp, (store: ObjectStore) => ObjectStore][] = [
  [
    "prunes that do not name a snapshot before they remove it",
    /which the head or the one before it needs|lacks/,
    (store) => {
      const left = new Set<string>();
      return creating(store, async (key, bytes, create) => {
        if (String(bytes).includes('"action":"prune"')) left.add(key.replace(/json$/, "sig"));
        else if (!left.has(key)) return create(key, bytes);
        return "created";
      });
    },
  ],
  [
    "runs that sign an entry before they append it",
    /entry \d+ is signed before it is in the log/,
    (store) =>
      creating(store, async (key, bytes, create) => {
        const number = parsePublicationKey(key);
        const signature = signatureOfEntry(sha256Hex(bytes), GOLDEN_KEY);
        if (number !== null) await create(signatureKey(number), signature);
        return create(key, bytes);
      }),
  ],
  [
    "runs that do not announce an entry",
    /entry \d+ is unsigned/,
    (store) =>
      creating(store, async (key, bytes, create) =>
        KEY_OF_ENTRY.test(key) ? "created" : create(key, bytes),
      ),
  ],
  [
    "runs that announce an entry with its signature",
    /holds a signature of the log/,
    (store) =>
      creating(store, async (key, bytes, create) => {
        const [, , sha256] = KEY_OF_ENTRY.exec(key) ?? [];
        return create(key, sha256 === undefined ? bytes : signatureOfEntry(sha256, GOLDEN_KEY));
      }),
  ],
  [
    "runs that take every entry for announced",
    /entry \d+ is signed, and no run appended it/,
    (store) => {
      const credulous = new InterceptedStore(store, (_operation, run) => run());
      const get = credulous.get.bind(credulous);
      credulous.get = async (key, bytesMax) => {
        const [, , sha256] = KEY_OF_ENTRY.exec(key) ?? [];
        return sha256 === undefined ? get(key, bytesMax) : announcementOf(sha256, GOLDEN_KEY);
      };
      return credulous;
    },
  ],
];

test.for(WRONG)("%s lose in some race", { timeout: 200_000 }, async ([what, message, wrong]) => {
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
  intercepted.create = (key, bytes, mediaType) =>
    instead(key, bytes, (itsKey, itsBytes) => create(itsKey, itsBytes, mediaType));
  return intercepted;
}

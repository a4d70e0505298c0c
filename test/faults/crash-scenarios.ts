/** What is under way when a fault strikes, and what must hold whatever became of it. */
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { sessionStartMs } from "../../src/market/session.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { at, catalogOf, mustPublish, quotesOf } from "../cli/market.ts";
import { AttendedStore } from "./crash-store.ts";

export const SESSIONS = ["2026-11-20T12Z", "2026-11-21T00Z", "2026-11-21T12Z"] as const;
const [OLD, HEAD, NEXT] = SESSIONS;
const IDS = ["a", "b", "c"];
const CATALOG = catalogOf([{ id: "a" }, { id: "b" }, { id: "c", board: "semiconductor" }]);

export interface Scenario {
  readonly name: string;
  /** Fills an empty store with what is there before. */
  prepare(store: ObjectStore): Promise<void>;
  /** What the fault strikes. `rival`: the same store, out of the fault's reach. */
  attack(store: ObjectStore, rival: ObjectStore): Promise<unknown>;
  /** The next run of it, which must succeed. */
  next(store: ObjectStore): Promise<unknown>;
  /** Which snapshots may be the head after the fault, by session, and which after the next run. */
  readonly headAfterFault: readonly string[];
  readonly headAfterNext: string;
}

const clock = { now: () => sessionStartMs(at(NEXT)) + 300_000 };
const publish = (store: ObjectStore, session: string): Promise<string> => {
  const place = SESSIONS.findIndex((each) => each === session);
  const quotes = quotesOf(Object.fromEntries(IDS.map((id, n) => [id, 10 + n + place / 10])));
  return mustPublish(store, { session, quotes, catalog: CATALOG });
};

const publishing: Scenario = {
  name: "publish",
  prepare: async (store) => void (await publish(store, HEAD)),
  attack: (store) => publish(store, NEXT),
  next: (store) => publish(store, NEXT),
  headAfterFault: [HEAD, NEXT],
  headAfterNext: NEXT,
};

/** Another run publishes the same just before: the one attacked removes what it has written. */
const outrun: Scenario = {
  ...publishing,
  name: "publish, outrun",
  attack: (store, rival) => {
    let isOutrun = false;
    const losing = new AttendedStore(store, async ({ kind, key }, run) => {
      if (kind === "create" && key.startsWith("publications/") && !isOutrun) {
        isOutrun = true;
        await publish(rival, NEXT);
      }
      return run();
    });
    return publish(losing, NEXT);
  },
};

const rollingBack: Scenario = {
  name: "rollback",
  prepare: async (store) => {
    await publish(store, OLD);
    await publish(store, HEAD);
  },
  attack: (store) => rollBack(store, OLD, "check", clock),
  next: (store) => rollBack(store, OLD, "check", clock),
  headAfterFault: [OLD, HEAD],
  headAfterNext: OLD,
};

const pruning: Scenario = {
  name: "prune",
  prepare: async (store) => {
    for (const session of SESSIONS) await publish(store, session);
  },
  attack: (store) => prune(store, 0, false, AGED_CLOCK),
  next: (store) => prune(store, 0, false, AGED_CLOCK),
  headAfterFault: [NEXT],
  headAfterNext: NEXT,
};
/** A year on: all but the head and the one before it may go. */
const AGED_CLOCK = { now: () => clock.now() + 366 * 86_400_000 };

export const SCENARIOS: readonly Scenario[] = [publishing, outrun, rollingBack, pruning];

export function scenarioNamed(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name === name);
  if (found === undefined) throw new Error(`There is no scenario ${JSON.stringify(name)}`);
  return found;
}

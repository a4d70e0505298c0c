/** The commands that faults strike, all with keys, and what must hold afterwards. */
import { copyStore } from "../../src/desk/copy-store.ts";
import { prune } from "../../src/desk/prune.ts";
import { repairSnapshots } from "../../src/desk/repair.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { sessionStartMs } from "../../src/market/session.ts";
import { ANY_TIME } from "../../test/store/log-entries.ts";
import { MemoryStore } from "../../test/store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { parsePublicationKey } from "../../src/store/paths.ts";
import { at, catalogOf, mustPublish, quotesOf } from "../../test/cli/small-market.ts";
import { STRICT } from "../../test/golden/golden-key.ts";
import { InterceptedStore } from "../../test/faults/crash-store.ts";

export const SESSIONS = ["2026-11-20T12Z", "2026-11-21T00Z", "2026-11-21T12Z"] as const;
const [OLD, HEAD, NEXT] = SESSIONS;
const IDS = ["a", "b", "c"];
const CATALOG = catalogOf([{ id: "a" }, { id: "b" }, { id: "c", board: "semiconductor" }]);

export interface Scenario {
  readonly name: string;
  /** Fills an empty store with what the command needs. */
  prepare(store: ObjectStore): Promise<void>;
  /** The command that the fault strikes. `rival`: the same store without the fault. */
  attack(store: ObjectStore, rival: ObjectStore): Promise<unknown>;
  /** The next run of the command, which must succeed. */
  next(store: ObjectStore): Promise<unknown>;
  /** The sessions that the head may have after the fault, and the one it has after the next run. */
  readonly headAfterFault: readonly string[];
  readonly headAfterNext: string;
}

const clock = { now: () => sessionStartMs(at(NEXT)) + 300_000 };
const publish = (store: ObjectStore, session: string): Promise<string> => {
  const place = SESSIONS.findIndex((each) => each === session);
  const quotes = quotesOf(Object.fromEntries(IDS.map((id, n) => [id, 10 + n + place / 10])));
  return mustPublish(store, { session, quotes, catalog: CATALOG, keys: STRICT });
};

const publishing: Scenario = {
  name: "publish",
  prepare: async (store) => void (await publish(store, HEAD)),
  attack: (store) => publish(store, NEXT),
  next: (store) => publish(store, NEXT),
  headAfterFault: [HEAD, NEXT],
  headAfterNext: NEXT,
};

/** Another run publishes the same input first, so the struck run removes its files. */
const outrun: Scenario = {
  ...publishing,
  name: "publish, outrun",
  attack: (store, rival) => {
    let isOutrun = false;
    const losing = new InterceptedStore(store, async ({ kind, key }, run) => {
      if (kind === "create" && parsePublicationKey(key) !== null && !isOutrun) {
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
  attack: (store) => rollBack(store, OLD, "check", clock, STRICT),
  next: (store) => rollBack(store, OLD, "check", clock, STRICT),
  headAfterFault: [OLD, HEAD],
  headAfterNext: OLD,
};

const pruning: Scenario = {
  name: "prune",
  prepare: async (store) => {
    for (const session of SESSIONS) await publish(store, session);
  },
  attack: (store) => prune(store, 0, false, AGED_CLOCK, STRICT, ANY_TIME),
  next: (store) => prune(store, 0, false, AGED_CLOCK, STRICT, ANY_TIME),
  headAfterFault: [NEXT],
  headAfterNext: NEXT,
};

/** A prune with the same words begins first and appends later: both write the same bytes. */
const pruningAlike: Scenario = {
  ...pruning,
  name: "prune, another alike",
  attack: async (store, rival) => {
    let begun: Promise<unknown> | null = null;
    const struck = (): Promise<unknown> => (begun ??= pruning.attack(store, rival));
    const losing = new InterceptedStore(rival, async ({ kind, key }, run) => {
      if (kind === "create" && parsePublicationKey(key) !== null) await struck().catch(() => {});
      return run();
    });
    await pruning.attack(losing, rival);
    await struck();
  },
};

/** A year later: prune may remove all snapshots but the head and the one before it. */
const AGED_CLOCK = { now: () => clock.now() + 366 * 86_400_000 };

/** A copy of three sessions into a store that has the first one. */
const copying: Scenario = {
  name: "copy",
  prepare: async (store) => void (await publish(store, OLD)),
  attack: (store) => copyInto(store),
  next: (store) => copyInto(store),
  headAfterFault: SESSIONS,
  headAfterNext: NEXT,
};
let source: Promise<ObjectStore> | null = null;

const filled = (): Promise<ObjectStore> =>
  (source ??= (async () => {
    const store = new MemoryStore();
    for (const session of SESSIONS) await publish(store, session);
    return store;
  })());

const copyInto = async (store: ObjectStore): Promise<void> =>
  void (await copyStore(await filled(), store, false, () => {}));

/** A copy of all three sessions, which is to lose what a prune of its source took. */
const mirroring: Scenario = {
  name: "copy --mirror",
  prepare: copyInto,
  attack: (store) => mirrorInto(store),
  next: (store) => mirrorInto(store),
  headAfterFault: [NEXT],
  headAfterNext: NEXT,
};
let pruned: Promise<ObjectStore> | null = null;

async function mirrorInto(store: ObjectStore): Promise<void> {
  pruned ??= (async () => {
    const copy = new MemoryStore();
    await copyInto(copy);
    await prune(copy, 0, false, AGED_CLOCK, STRICT, ANY_TIME);
    return copy;
  })();
  await copyStore(await pruned, store, false, () => {}, true);
}

/** A copy in which an old snapshot lacks its manifest and a file, and has another one of wrong bytes. */
const repairing: Scenario = {
  name: "repair",
  prepare: async (store) => {
    await copyInto(store);
    const [wrong, ...lost] = ["pro/board.json", "pro/export.csv", "manifest.json"].map(
      (path) => `sessions/${OLD}/r1/${path}`,
    );
    for (const key of [wrong, ...lost]) await store.delete(key ?? "");
    await store.create(wrong ?? "", Buffer.from("wrong"));
  },
  attack: async (store) => repairSnapshots(store, await filled(), null),
  next: async (store) => repairSnapshots(store, await filled(), null),
  headAfterFault: [NEXT],
  headAfterNext: NEXT,
};

export const SCENARIOS: readonly Scenario[] = [
  publishing,
  outrun,
  rollingBack,
  pruning,
  pruningAlike,
  copying,
  mirroring,
  repairing,
];

export function scenarioNamed(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name === name);
  if (found === undefined) throw new Error(`Unknown scenario ${JSON.stringify(name)}`);
  return found;
}

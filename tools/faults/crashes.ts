/**
 * Runs that are killed (SIGKILL) at each of their writes. Afterwards the head is the old snapshot or the new one,
 * complete; the log has no gap; the next run succeeds; and then `verify --all` finds no damage, and every entry is
 * signed. Until then no proxy accepts it. In test/world writes fail, tear and hang, and runs race, inside one process.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { ObjectStore } from "../../src/ports/store.ts";
import {
  interceptWrites,
  InterceptedStore,
  isLogWrite,
  type Operation,
} from "../../test/faults/crash-store.ts";
import { LogWitness } from "../../test/faults/log-witness.ts";
import { KILL_MOMENTS, type KillOrder } from "./crash-child.ts";
import { requireSigned, requireVerified, wholeHead } from "./crash-head.ts";
import { folderPlace, withS3, type Place } from "./crash-places.ts";
import { SCENARIOS, type Scenario } from "./crash-scenarios.ts";
import { Tally, type FaultOptions, type FaultRow, type Faults } from "./fault.ts";

/** One child process for each of two cores. */
const RUNS_AT_ONCE = 2;
/** Each moment strikes every n-th write and begins at another one: in the long form all moments together strike every write of a folder. */
const STRIDES = { full: { folder: 3, S3: 6 }, short: { folder: 48, S3: 96 } } as const;
/** The short form strikes the writes of a publish, and the writes to the log of these. */
const KILLED_AT_LOG: Readonly<Record<Place["name"], readonly string[]>> = {
  folder: ["publish", "rollback", "prune"],
  S3: ["publish"],
};

/** A run of a scenario that is killed at one write. Throws if it ends by itself. */
export type Strike = (order: KillOrder) => Promise<void>;

export const localCrashes: Faults = (options) =>
  crashesIn(folderPlace(join(options.folder, "crashes")), options);

export const s3Crashes: Faults = (options) =>
  withS3(options.say, (place) => crashesIn(place, options));

export const crashFaults: Faults = async (options) => [
  ...(await localCrashes(options)),
  ...(await s3Crashes(options)),
];

/** Kills a run of every scenario, at one write after the other. */
export async function crashesIn(
  place: Place,
  { scale, seed, say }: FaultOptions,
  strike: Strike = killRun,
): Promise<FaultRow[]> {
  const tallies = KILL_MOMENTS.map(
    (moment) => [moment, new Tally(`kill -9 ${moment} a write, ${place.name}`, say)] as const,
  );
  for (const scenario of SCENARIOS) {
    const isWhole = scale === "full" || scenario === SCENARIOS[0];
    const isAtLog = scale === "full" || KILLED_AT_LOG[place.name].includes(scenario.name);
    if (!isWhole && !isAtLog) continue;
    const template = await place.empty();
    await scenario.prepare(template);
    const counted = await place.copy(template);
    const writes = await writesOf(scenario, counted);
    await place.remove(counted);
    for (const [start, [moment, tally]] of tallies.entries()) {
      const stride = STRIDES[scale][place.name];
      const steps = writes.flatMap((write, at) => {
        const isDue = isWhole && at % stride === start;
        return isDue || (isAtLog && isLogWrite(write)) ? [at + 1] : [];
      });
      say(`${tally.row.fault}: ${scenario.name}, ${steps.length} of ${writes.length} writes`);
      const queue = steps.values();
      await Promise.all(
        Array.from({ length: RUNS_AT_ONCE }, async () => {
          for (const step of queue) {
            await tally.inject(`${scenario.name}, write ${step}, seed ${seed}`, async () => {
              const store = await place.copy(template);
              const { location } = store;
              const order = { location, scenario: scenario.name, step, moment, seed };
              await crashOnce(place, store, scenario, () => strike(order)).finally(() =>
                place.remove(store),
              );
            });
          }
        }),
      );
    }
    await place.remove(template);
  }
  return tallies.map(([, { row }]) => row);
}

async function crashOnce(
  place: Place,
  store: ObjectStore,
  scenario: Scenario,
  strike: () => Promise<void>,
): Promise<void> {
  const witness = await LogWitness.begin(store);
  await strike();
  // The run that was killed also appends.
  await witness.trust();
  await witness.poll();
  const fresh = await place.again(store);
  try {
    await requireHead(fresh, scenario.headAfterFault);
    await scenario.next(witness.watched(fresh));
    await requireHead(fresh, [scenario.headAfterNext]);
    await requireVerified(fresh);
    await requireSigned(fresh);
    await witness.end();
  } finally {
    await fresh.close();
  }
}

async function requireHead(store: ObjectStore, sessions: readonly string[]): Promise<void> {
  const { head } = await wholeHead(store);
  if (sessions.some((session) => head.startsWith(`${session}/`))) return;
  throw new Error(`The head is ${head}, expected ${sessions.join(" or ")}`);
}

/** The writes that the scenario makes, in their order. */
async function writesOf(scenario: Scenario, store: ObjectStore): Promise<Operation[]> {
  const writes: Operation[] = [];
  const noting = interceptWrites((_step, operation, run) => {
    writes.push(operation);
    return run();
  });
  await scenario.attack(new InterceptedStore(store, noting), store);
  return writes;
}

export async function killRun(order: KillOrder): Promise<void> {
  const script = join(import.meta.dirname, "crash-child.ts");
  const child = spawn(process.execPath, [script, JSON.stringify(order)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (text) => (said += String(text)));
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  if (signal !== "SIGKILL") throw new Error(`The run ended by itself, with ${code}: ${said}`);
}

/**
 * Runs that fail, hang or are killed at every single write. Promised is that whatever becomes of
 * them the head is the old snapshot or the new one, whole; that the log has no gap; that the next
 * run succeeds; and that `verify --all` finds nothing then.
 */
import { join } from "node:path";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { requireVerified, wholeHead } from "./crash-head.ts";
import { folderPlace, MEMORY, withS3, type Place } from "./crash-places.ts";
import { SCENARIOS, type Scenario } from "./crash-scenarios.ts";
import {
  countWrites,
  fails,
  failsFromThenOn,
  hangs,
  killed,
  type Strike,
  type Struck,
} from "./crash-strikes.ts";
import { Tally, type FaultOptions, type FaultRow, type Faults } from "./fault.ts";

/** Children are started two at a time: so many cores are to be had everywhere. */
const RUNS_AT_ONCE = 2;

/** In the long form on S3: each kind strikes every sixth write, and all kinds together every write. */
const S3_STRIDE = 6;

/** A kind of fault: what strikes, and every how many writes in the short form, by place. */
export interface Crash {
  readonly fault: string;
  readonly strike: Strike;
  readonly strides: Readonly<Record<string, number>>;
  /** What hung goes on when the next run is over, and has to leave everything as that left it. */
  readonly goesOnLater?: boolean;
}

const IN_PROCESS = { memory: 24, folder: 6, S3: 72 };
const KILLS = { folder: 16, S3: 96 };
const CRASHES: readonly Crash[] = [
  { fault: "write fails", strike: fails("before"), strides: IN_PROCESS },
  { fault: "write fails after it was made", strike: fails("after"), strides: IN_PROCESS },
  { fault: "write and all after it fail", strike: failsFromThenOn, strides: IN_PROCESS },
  { fault: "write hangs", strike: hangs("before"), strides: IN_PROCESS },
  { fault: "write hangs after it was made", strike: hangs("after"), strides: IN_PROCESS },
  {
    fault: "write hangs and is made after the next run",
    strike: hangs("before"),
    strides: IN_PROCESS,
    goesOnLater: true,
  },
  { fault: "kill -9 before a write", strike: killed("before"), strides: KILLS },
  { fault: "kill -9 amid a write", strike: killed("amid"), strides: KILLS },
  { fault: "kill -9 after a write", strike: killed("after"), strides: KILLS },
];

export const crashFaults: Faults = async (options) => {
  const rows = [
    ...(await crashesIn(MEMORY, CRASHES, options)),
    ...(await crashesIn(folderPlace(join(options.folder, "crashes")), CRASHES, options)),
  ];
  await withS3(options.say, async (place) => {
    rows.push(...(await crashesIn(place, CRASHES, options)));
  });
  return rows;
};

/** Throws each kind, where it is one for this place, at the writes of every scenario. */
export async function crashesIn(
  place: Place,
  crashes: readonly Crash[],
  { scale, seed, say }: FaultOptions,
): Promise<FaultRow[]> {
  const tallies = new Map(crashes.map((crash) => [crash, new Tally(rowName(crash, place), say)]));
  for (const scenario of SCENARIOS) {
    const template = await place.empty();
    await scenario.prepare(template);
    const counted = await place.copy(template);
    const writes = await countWrites(scenario, counted);
    await place.remove(counted);
    for (const [crash, tally] of tallies) {
      const stride = crash.strides[place.name];
      if (stride === undefined) continue;
      // The short form strikes all scenarios in memory, and a publish everywhere.
      if (scale === "short" && place !== MEMORY && scenario !== SCENARIOS[0]) continue;
      say(`${rowName(crash, place)}: ${scenario.name}, ${writes} writes`);
      const steps = stepsOf(
        writes,
        scale === "short" ? stride : place.name === "S3" ? S3_STRIDE : 1,
        crashes.indexOf(crash),
      );
      const queue = steps.values();
      await Promise.all(
        Array.from({ length: RUNS_AT_ONCE }, async () => {
          for (const step of queue) {
            await tally.throw(`${scenario.name}, write ${step}, seed ${seed}`, () =>
              crashOnce(place, template, scenario, crash, step, seed),
            );
          }
        }),
      );
    }
    await place.remove(template);
  }
  return [...tallies.values()].map(({ row }) => row).filter(({ thrown }) => thrown > 0);
}

async function crashOnce(
  place: Place,
  template: ObjectStore,
  scenario: Scenario,
  { strike, goesOnLater = false }: Crash,
  step: number,
  seed: number,
): Promise<void> {
  const store = await place.copy(template);
  let struck: Struck | null = null;
  try {
    struck = await strike(scenario, store, step, seed);
    const fresh = await place.again(store);
    try {
      const allowed = struck.isDone ? [scenario.headAfterNext] : scenario.headAfterFault;
      await requireHead(fresh, allowed);
      await scenario.next(fresh);
      if (goesOnLater) await struck.finish();
      await requireHead(fresh, [scenario.headAfterNext]);
      await requireVerified(fresh);
    } finally {
      if (fresh !== store) await fresh.close();
    }
  } finally {
    await struck?.finish();
    await place.remove(store);
  }
}

async function requireHead(store: ObjectStore, sessions: readonly string[]): Promise<void> {
  const { head } = await wholeHead(store);
  if (sessions.some((session) => head.startsWith(`${session}/`))) return;
  throw new Error(`The head is ${head}, expected ${sessions.join(" or ")}`);
}

/**
 * Each kind begins elsewhere, so that with strides no larger than their number every write is
 * struck by one; larger ones also take the last write, the one that readers see.
 */
const stepsOf = (writes: number, stride: number, start: number): number[] =>
  Array.from({ length: writes }, (_, at) => at + 1).filter(
    (step) => step % stride === start % stride || (stride > CRASHES.length && step === writes),
  );

const rowName = ({ fault }: Crash, { name }: Place): string => `${fault}, ${name}`;

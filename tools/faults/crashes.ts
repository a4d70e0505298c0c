/**
 * Runs that fail, hang or are killed, at each of their writes. Afterwards the head is the old
 * snapshot or the new one, complete; the log has no gap; the next run succeeds; and then
 * `verify --all` finds no damage, and every entry is signed. Until then no proxy accepts it.
 */
import { join } from "node:path";
import type { ObjectStore } from "../../src/ports/store.ts";
import { requireSigned, requireVerified, wholeHead } from "./crash-head.ts";
import { folderPlace, MEMORY, withS3, type Place } from "./crash-places.ts";
import { SCENARIOS, type Scenario } from "./crash-scenarios.ts";
import { isLogWrite, type Operation } from "../../test/faults/crash-store.ts";
import {
  fails,
  failsFromThenOn,
  hangs,
  killed,
  writesOf,
  type Strike,
  type Struck,
} from "./crash-strikes.ts";
import { Tally, type FaultOptions, type FaultRow, type Faults } from "./fault.ts";
import { LogWitness } from "../../test/faults/log-witness.ts";

/** One child process for each of two cores. */
const RUNS_AT_ONCE = 2;

/** In the long form: each kind strikes every n-th write, and all kinds together every write. */
const LONG_STRIDES: Readonly<Record<string, number>> = { memory: 1, folder: 3, S3: 6 };

/** A kind of fault. `strides`: the short form strikes every n-th write, by kind of store. */
export interface Crash {
  readonly fault: string;
  readonly strike: Strike;
  readonly strides: Readonly<Record<string, number>>;
  /** Where the short form also strikes each write to the log; the long form does it everywhere. */
  readonly logIn?: "memory" | "folder";
  /** The write that hangs continues after the next run, and must change nothing then. */
  readonly goesOnLater?: boolean;
}

/** The short form kills these at their writes to the log. */
const KILLED_AT_LOG = ["publish", "rollback", "prune"];
const IN_PROCESS = { memory: 72, folder: 6, S3: 72 };
const KILLS = { strides: { folder: 48, S3: 96 }, logIn: "folder" } as const;
const CRASHES: readonly Crash[] = [
  { fault: "write fails", strike: fails("before"), strides: IN_PROCESS, logIn: "memory" },
  { fault: "write fails after taking effect", strike: fails("after"), strides: IN_PROCESS },
  { fault: "write and all later ones fail", strike: failsFromThenOn, strides: IN_PROCESS },
  { fault: "write hangs", strike: hangs("before"), strides: IN_PROCESS },
  { fault: "write hangs after taking effect", strike: hangs("after"), strides: IN_PROCESS },
  {
    fault: "write hangs and takes effect after the next run",
    strike: hangs("before"),
    strides: IN_PROCESS,
    goesOnLater: true,
  },
  { fault: "kill -9 before a write", strike: killed("before"), ...KILLS },
  { fault: "kill -9 during a write", strike: killed("during"), ...KILLS },
  { fault: "kill -9 after a write", strike: killed("after"), ...KILLS },
];

/** In memory and in a folder. */
export const localCrashes: Faults = async (options) => [
  ...(await crashesIn(MEMORY, CRASHES, options)),
  ...(await crashesIn(folderPlace(join(options.folder, "crashes")), CRASHES, options)),
];

export const s3Crashes: Faults = (options) =>
  withS3(options.say, (place) => crashesIn(place, CRASHES, options));

export const crashFaults: Faults = async (options) => [
  ...(await localCrashes(options)),
  ...(await s3Crashes(options)),
];

/** Injects each kind of fault that has a stride for this place, at the writes of every scenario. */
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
    const writes = await writesOf(scenario, counted);
    await place.remove(counted);
    for (const [crash, tally] of tallies) {
      if (crash.strides[place.name] === undefined) continue;
      const steps = stepsOf(scenario, writes, place, crash, scale, crashes.indexOf(crash));
      if (steps.length === 0) continue;
      say(`${rowName(crash, place)}: ${scenario.name}, ${steps.length} of ${writes.length} writes`);
      const queue = steps.values();
      await Promise.all(
        Array.from({ length: RUNS_AT_ONCE }, async () => {
          for (const step of queue) {
            await tally.inject(`${scenario.name}, write ${step}, seed ${seed}`, () =>
              crashOnce(place, template, scenario, crash, step, seed),
            );
          }
        }),
      );
    }
    await place.remove(template);
  }
  return [...tallies.values()].map(({ row }) => row).filter(({ injected }) => injected > 0);
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
    const witness = await LogWitness.begin(store);
    struck = await strike(scenario, witness.watched(store), step, seed);
    // A run in another process also appends.
    await witness.trust();
    await witness.poll();
    const fresh = await place.again(store);
    try {
      const allowed = struck.isDone ? [scenario.headAfterNext] : scenario.headAfterFault;
      await requireHead(fresh, allowed);
      await scenario.next(witness.watched(fresh));
      if (goesOnLater) await struck.finish();
      await requireHead(fresh, [scenario.headAfterNext]);
      await requireVerified(fresh);
      await requireSigned(fresh);
      await witness.end();
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
 * The writes to strike, counted from 1. Each kind starts at another write: if the stride is at most the
 * number of kinds, some kind strikes every write. A larger stride also includes the last write. The
 * long form strikes the writes to the log with every kind. The short form strikes all scenarios in memory, and elsewhere a publish.
 */
function stepsOf(
  scenario: Scenario,
  writes: readonly Operation[],
  { name }: Place,
  { strides, logIn }: Crash,
  scale: FaultOptions["scale"],
  start: number,
): number[] {
  const isFull = scale === "full";
  const stride = (isFull ? LONG_STRIDES[name] : strides[name]) as number;
  const isWhole = isFull || name === MEMORY.name || scenario === SCENARIOS[0];
  const isOfLog =
    isFull || (logIn === name && (name === MEMORY.name || KILLED_AT_LOG.includes(scenario.name)));
  return writes.flatMap((write, at) => {
    const step = at + 1;
    const isLast = stride > CRASHES.length && step === writes.length;
    const isDue = isWhole && (step % stride === start % stride || isLast);
    return isDue || (isOfLog && isLogWrite(write)) ? [step] : [];
  });
}

const rowName = ({ fault }: Crash, { name }: Place): string => `${fault}, ${name}`;

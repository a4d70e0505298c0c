/**
 * Runs a scenario in this process and kills the process with SIGKILL at one write: before the write
 * starts, during it, or when it is durable. The argument is a KillOrder, in JSON.
 */
import { flushCompileCache } from "node:module";
import { uniformAt } from "../../src/demo/random.ts";
import { openPlaced } from "./crash-places.ts";
import { scenarioNamed } from "./crash-scenarios.ts";
import { interceptWrites, InterceptedStore } from "../../test/faults/crash-store.ts";
import { LogWitness } from "../../test/faults/log-witness.ts";

export const KILL_MOMENTS = ["before", "during", "after"] as const;

export interface KillOrder {
  readonly location: string;
  readonly scenario: string;
  /** The write, counted from 1. */
  readonly step: number;
  readonly moment: (typeof KILL_MOMENTS)[number];
  readonly seed: number;
}

if (import.meta.main) await main(JSON.parse(process.argv[2] ?? "") as KillOrder);

async function main({ location, scenario, step, moment, seed }: KillOrder): Promise<void> {
  const store = await openPlaced(location);
  const witness = await LogWitness.begin(store);
  const kill = (): never => {
    witness.requireKept();
    process.kill(process.pid, "SIGKILL");
    // The signal may arrive after the call has returned.
    for (;;);
  };
  const times: number[] = [];
  const intercept = interceptWrites(async (at, _operation, run) => {
    // A process that is killed does not save what Node has compiled for it.
    if (at === step) flushCompileCache();
    if (at === step && moment === "before") kill();
    const startedAt = performance.now();
    const writing = run();
    if (at === step && moment === "during") {
      // At a random point of the average time that the writes so far have taken.
      const usualMs = times.reduce((sum, each) => sum + each, 0) / Math.max(1, times.length);
      const killAtMs = startedAt + (usualMs || 2) * uniformAt(seed, step);
      while (performance.now() < killAtMs) await new Promise((resolve) => setImmediate(resolve));
      kill();
    }
    const result = await writing;
    if (at === step) kill();
    times.push(performance.now() - startedAt);
    return result;
  });
  const struck = witness.watched(new InterceptedStore(store, intercept));
  await scenarioNamed(scenario).attack(struck, witness.watched(store));
  throw new Error(`The scenario ended before its write ${step}`);
}

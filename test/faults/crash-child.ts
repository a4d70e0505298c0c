/**
 * Runs a scenario in this process and ends it with SIGKILL at one of its writes: before the write
 * is begun, amid it, or when it is durable. Its argument is the order, in JSON.
 */
import { uniformAt } from "../../src/demo/random.ts";
import { openPlaced } from "./crash-places.ts";
import { scenarioNamed } from "./crash-scenarios.ts";
import { aroundWrites, AttendedStore } from "./crash-store.ts";

export const KILL_MOMENTS = ["before", "amid", "after"] as const;

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
  const times: number[] = [];
  const around = aroundWrites(async (at, _operation, run) => {
    const startedAt = performance.now();
    if (at === step && moment === "before") kill();
    const writing = run();
    if (at === step && moment === "amid") {
      // Somewhere in the time that a write takes here, as far as is known.
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
  await scenarioNamed(scenario).attack(new AttendedStore(store, around), store);
  throw new Error(`The scenario ended before its write ${step}`);
}

function kill(): never {
  process.kill(process.pid, "SIGKILL");
  // The signal ends the process within the call, or this does not return either.
  for (;;);
}

/** The faults that strike one write of a run: it fails, hangs, or the process is killed there. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { UnreachableError } from "../../src/lib/errors.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import type { KillOrder } from "./crash-child.ts";
import type { Scenario } from "./crash-scenarios.ts";
import { aroundWrites, AttendedStore, type Operation } from "./crash-store.ts";

/** What became of the run that was struck. */
export interface Struck {
  /** Whether the run said that it had done what it was to do. */
  readonly isDone: boolean;
  /** Lets go on what hangs, and waits for the end of the run. */
  finish(): Promise<void>;
}

/** Strikes the scenario at its write `step`. Throws where the run never gets there. */
export type Strike = (
  scenario: Scenario,
  store: ObjectStore,
  step: number,
  seed: number,
) => Promise<Struck>;

/** How many writes the scenario makes. */
export async function countWrites(scenario: Scenario, store: ObjectStore): Promise<number> {
  let writes = 0;
  const counting = aroundWrites((step, _operation, run) => {
    writes = step;
    return run();
  });
  await scenario.attack(new AttendedStore(store, counting), store);
  return writes;
}

/** The store says no before it has done anything, or after it has done it all. */
export const fails = (moment: "before" | "after"): Strike =>
  inProcess(async (isStruck, operation, run) => {
    if (isStruck && moment === "after") await run();
    if (isStruck) throw unreachable(operation);
    return run();
  });

/** From this write on the store says no to every one. */
export const failsFromThenOn: Strike = (scenario, store, step, seed) => {
  let isBroken = false;
  return inProcess(async (isStruck, operation, run) => {
    isBroken ||= isStruck;
    if (isBroken) throw unreachable(operation);
    return run();
  })(scenario, store, step, seed);
};

/** The write gives no answer, until `finish`. */
export const hangs = (moment: "before" | "after"): Strike => {
  return (scenario, store, step, seed) => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: hung, resolve: hang } = Promise.withResolvers<void>();
    const strike = inProcess(
      async (isStruck, _operation, run) => {
        if (!isStruck) return run();
        const result = moment === "after" ? await run() : null;
        hang();
        await released;
        return result ?? run();
      },
      hung,
      release,
    );
    return strike(scenario, store, step, seed);
  };
};

/** The run is a process of its own, which ends with SIGKILL. */
export const killed =
  (moment: KillOrder["moment"]): Strike =>
  async (scenario, { location }, step, seed) => {
    const order: KillOrder = { location, scenario: scenario.name, step, moment, seed };
    const script = join(import.meta.dirname, "crash-child.ts");
    const child = spawn(process.execPath, [script, JSON.stringify(order)], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (text) => (said += String(text)));
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    if (signal !== "SIGKILL") throw new Error(`The run ended by itself, with ${code}: ${said}`);
    return { isDone: false, finish: async () => {} };
  };

function inProcess(
  around: <T>(isStruck: boolean, operation: Operation, run: () => Promise<T>) => Promise<T>,
  hung: Promise<void> = new Promise(() => {}),
  release: () => void = () => {},
): Strike {
  return async (scenario, store, step) => {
    let wasStruck = false;
    const stepped = aroundWrites((at, operation, run) => {
      wasStruck ||= at === step;
      return around(at === step, operation, run);
    });
    const run = scenario.attack(new AttendedStore(store, stepped), store).then(
      () => true,
      () => false,
    );
    const isDone = await Promise.race([run, hung.then(() => false)]);
    if (!wasStruck) throw new Error(`The run ended before its write ${step}`);
    return {
      isDone,
      finish: async () => {
        release();
        await run;
      },
    };
  };
}

const unreachable = ({ kind, key }: Operation): UnreachableError =>
  new UnreachableError(`cannot ${kind} ${key}: the fault that was thrown`);

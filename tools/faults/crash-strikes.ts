/** Faults at one write of a run: the write fails or hangs, or the process is killed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { UnreachableError } from "../../src/lib/errors.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import type { KillOrder } from "./crash-child.ts";
import type { Scenario } from "./crash-scenarios.ts";
import {
  interceptWrites,
  InterceptedStore,
  type Operation,
} from "../../test/faults/crash-store.ts";

/** A run after the fault. */
export interface Struck {
  /** Whether the run reported success. */
  readonly isDone: boolean;
  /** Lets a write that hangs continue, and waits for the end of the run. */
  finish(): Promise<void>;
}

/** Injects the fault at write `step` of the scenario. Throws if the run ends before that write. */
export type Strike = (
  scenario: Scenario,
  store: ObjectStore,
  step: number,
  seed: number,
) => Promise<Struck>;

/** The writes that the scenario makes, in their order. */
export async function writesOf(scenario: Scenario, store: ObjectStore): Promise<Operation[]> {
  const writes: Operation[] = [];
  const noting = interceptWrites((_step, operation, run) => {
    writes.push(operation);
    return run();
  });
  await scenario.attack(new InterceptedStore(store, noting), store);
  return writes;
}

/** The write fails, before or after it takes effect. */
export const fails = (moment: "before" | "after"): Strike =>
  inProcess(async (isStruck, operation, run) => {
    if (isStruck && moment === "after") await run();
    if (isStruck) throw unreachable(operation);
    return run();
  });

/** This write and all later ones fail. */
export const failsFromThenOn: Strike = (scenario, store, step, seed) => {
  let isBroken = false;
  return inProcess(async (isStruck, operation, run) => {
    isBroken ||= isStruck;
    if (isBroken) throw unreachable(operation);
    return run();
  })(scenario, store, step, seed);
};

/** The write hangs until `finish` is called, before or after it takes effect. */
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

/** The run is a process of its own, which is killed with SIGKILL. */
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
  intercept: <T>(isStruck: boolean, operation: Operation, run: () => Promise<T>) => Promise<T>,
  hung: Promise<void> = new Promise(() => {}),
  release: () => void = () => {},
): Strike {
  return async (scenario, store, step) => {
    let wasStruck = false;
    const stepped = interceptWrites((at, operation, run) => {
      wasStruck ||= at === step;
      return intercept(at === step, operation, run);
    });
    const run = scenario.attack(new InterceptedStore(store, stepped), store).then(
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
  new UnreachableError(`cannot ${kind} ${key}: injected fault`);

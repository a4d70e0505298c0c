/**
 * The world: publishers, rollbacks, prunes, copies, proxies with their callers, and the operator of the keys, over one
 * store and one state. A seed decides who takes part, each order, each failure, and the time. After each step the
 * promises are checked (store-promises.ts, service-promises.ts), and at the end that everything goes on.
 */
import "./sync-zlib.ts";
import { createHash } from "node:crypto";
import { copyStore } from "../../src/desk/copy-store.ts";
import { sessionAt, SESSION_MS } from "../../src/market/session.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { INPUTS, LEDGER, publicationKey, SESSIONS } from "../../src/store/paths.ts";
import { requireSigned, requireVerified } from "../../tools/faults/crash-head.ts";
import { copied } from "../../tools/faults/crash-places.ts";
import { InterceptedStore, isLogWrite, isWrite, type Operation } from "../faults/crash-store.ts";
import { LogWitness } from "../faults/log-witness.ts";
import { readPublications } from "../store/log-entries.ts";
import { MemoryStore } from "../store/memory-store.ts";
import {
  copier,
  isAboutTheLog,
  publisher,
  pruner,
  roller,
  stranger,
  type Actor,
  type Report,
} from "./actors.ts";
import { HISTORIES, sessionNumber, type History } from "./histories.ts";
import { IDLE, Scheduler, type Failure, type Gate, type Step } from "./scheduler.ts";
import { ServicePromises } from "./service-promises.ts";
import { StorePromises } from "./store-promises.ts";
import { WorldState } from "./world-state.ts";

const HOUR_MS = 3_600_000;
/** A world takes half a second: a hundred times as long is for ever. */
const STUCK_MS = 60_000;
/** The share of worlds with somebody who appends without the key. */
const STRANGERS = 0.15;
/** The share of worlds in which operations fail, and the largest share of operations that do. */
const FAILING = 0.4;
const FAILURES_MAX = 0.06;
/** The share of worlds in which actors are stopped for an hour or more, as a machine that sleeps is. */
const STOPPING = 0.3;
/** The share of failed writes of files that leave half of the object, as a disk without power does. */
const TORN = 0.4;
/** The share of actors whose clock differs from the others', and how far apart such clocks are at most. */
const SKEWED = 0.2;
const SKEW_MS = HOUR_MS;
/** So many times as often in the state, which is used less. */
const STATE_FAILURES = 4;

/** A world: its seed, and who or what does not take part although the seed says so. */
export interface Plan {
  readonly seed: number;
  readonly without: ReadonlySet<string>;
}

export const planOf = (seed: number): Plan => ({ seed, without: new Set() });

/** Who took part, and what happened so far. */
interface Told {
  readonly actors: string[];
  readonly trace: string[];
}

/** A broken promise, with what happened before. */
export class BrokenPromise extends Error {
  readonly plan: Plan;
  /** Who took part. */
  readonly actors: readonly string[];

  constructor(plan: Plan, { actors, trace }: Told, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(`seed ${plan.seed}: ${reason}\n${trace.join("\n")}`, { cause });
    this.plan = plan;
    this.actors = actors;
  }
}

/** Runs worlds. Fills each history once, and copies it for each world. */
export class Worlds {
  readonly #intercepted: (store: ObjectStore) => ObjectStore;
  readonly #filled = new Map<History, { store: MemoryStore; endMs: number }>();

  /** `intercepted` may wrap the store that the actors get. */
  constructor(intercepted: (store: ObjectStore) => ObjectStore = (store) => store) {
    this.#intercepted = intercepted;
  }

  /** Runs one world and returns what happened. Throws BrokenPromise, also if something waits for ever. */
  async run(plan: Plan): Promise<readonly string[]> {
    const told: Told = { actors: [], trace: [] };
    const { promise: stuck, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      reject(new Error(`Something waits for ever after ${told.trace.at(-1)}`));
    }, STUCK_MS);
    try {
      await Promise.race([this.#run(plan, told), stuck]);
      return told.trace;
    } catch (error) {
      throw new BrokenPromise(plan, told, error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #run(plan: Plan, { actors: players, trace }: Told): Promise<void> {
    const { seed, without } = plan;
    const clock = { ms: 0, now: () => clock.ms };
    const store = new MemoryStore();
    const rate = (place: number | string): number => digestRate(seed, place);
    const history = HISTORIES[Math.floor(rate(0) * HISTORIES.length)] as History;
    trace.push(history.name);
    let state: WorldState | null = null;
    try {
      const { store: filled, endMs } = await this.#history(history);
      clock.ms = endMs;
      await copied(filled, store);
      clock.ms += Math.round((2 + rate(1) ** 3 * 300) * HOUR_MS);
      state = await WorldState.create(clock);
      const promises = new StorePromises(store);
      await promises.begin();
      const witness = await LogWitness.begin(store);
      const service = new ServicePromises(store, state, clock, rate);
      await service.begin();

      const copy = new MemoryStore("memory:copy");
      const reports = new Map<string, Report | null>();
      const failed = new Set<string>();
      let writesCopy: Gate | null = null;
      const gatedCopy = new InterceptedStore(copy, ({ kind, key }, run) =>
        writesCopy === null ? run() : writesCopy({ kind: `copy.${kind}`, key }, run),
      );
      const actors = racers(rate, sessionAt(clock.ms), gatedCopy).filter(
        ({ name }) => !without.has(name),
      );
      const share = rate("failing") < FAILING ? rate("failures") * FAILURES_MAX : 0;
      const isStopping = rate("stopping") < STOPPING;
      const done = new Map<string, number>();
      const failureOf = (actor: string, operation: Step): Failure | null => {
        const at = (done.get(actor) ?? 0) + 1;
        done.set(actor, at);
        const drawn = rate(`failure ${actor} ${at}`);
        const its = isStoreStep(operation) ? share : share * STATE_FAILURES;
        if (drawn >= its || without.has("failures")) return null;
        return rate(`unanswered ${actor} ${at}`) < 0.5 ? "refused" : "unanswered";
      };
      const scheduler = new Scheduler(seed, {
        before: (actor, operation) => {
          // A run of more than an hour is the rare case: then a prune may remove the files of a running
          // publish, and a prune stops itself.
          const isQuiet = !actors.some(({ name }) => scheduler.isUnderWay(name));
          if (scheduler.draw() < (isQuiet ? 0.2 : isStopping ? 0.01 : 0))
            clock.ms += Math.round(scheduler.draw() * 3 * HOUR_MS);
          const isSafe = actor === "stranger" || operation.kind === IDLE;
          const failure = isSafe ? null : failureOf(actor, operation);
          const isCount = operation.kind === "state.count";
          // SQLite has counted no batch that failed.
          const kind = failure !== null && isCount ? "refused" : failure;
          if (kind === null) return null;
          failed.add(actor);
          const isTorn =
            kind === "refused" &&
            isTearable(operation) &&
            rate(`torn ${actor} ${done.get(actor)}`) < TORN;
          if (isTorn) {
            const { key, bytes = Buffer.alloc(0) } = operation;
            void store.create(key, bytes.subarray(0, bytes.length / 2));
          }
          trace.push(`${actor} ${isTorn ? "torn" : kind}:`);
          return kind;
        },
        after: async (actor, operation, result) => {
          const end = result === "taken" ? " taken" : result instanceof Error ? " failed" : "";
          if (operation.kind === IDLE) return;
          trace.push(`${actor} ${operation.kind} ${operation.key}${end}`);
          if (!isStoreStep(operation)) return;
          // A write that failed may have happened.
          if (isWrite(operation)) {
            service.written(operation);
            await promises.written(actor, operation, result);
          }
          if (isLogWrite(operation)) await witness.poll();
        },
      });
      for (const [at, actor] of actors.entries()) {
        reports.set(actor.name, null);
        scheduler.add(actor.name, killOf(rate, at), async (gate) => {
          const own = new InterceptedStore(store, gate);
          if (actor.kind === "copy") writesCopy = gate;
          const its = actor.kind === "stranger" ? own : this.#intercepted(witness.watched(own));
          const skewMs =
            rate(`skewed ${actor.name}`) < SKEWED
              ? Math.round((rate(`skew ${actor.name}`) - 0.5) * SKEW_MS)
              : 0;
          reports.set(actor.name, await actor.run(its, { now: () => clock.ms + skewMs }));
        });
      }
      players.push(...actors.map(({ name }) => name));
      for (const { name, run } of service.actors) {
        if (without.has(name)) continue;
        players.push(name);
        scheduler.add(
          name,
          () => false,
          (gate: Gate) => run(gate, (told) => trace.push(told)),
        );
      }
      await scheduler.play();
      const strange = await witness.stranger();
      for (const { name, kind } of actors) {
        requireExpected(kind, reports.get(name) ?? null, strange !== null, failed.has(name));
      }
      await promises.end(reports, failed);
      await service.end(failed);
      await nextRun(store, witness, clock, strange);
      if (strange === null) await service.caughtUp();
      await requireCopied(store, copy);
    } finally {
      await state?.close();
    }
  }

  async #history(history: History): Promise<{ store: MemoryStore; endMs: number }> {
    const known = this.#filled.get(history);
    if (known !== undefined) return known;
    const clock = { ms: 0, now: () => clock.ms };
    const store = new MemoryStore();
    await history.make(store, clock);
    const filled = { store, endMs: clock.ms };
    this.#filled.set(history, filled);
    return filled;
  }
}

/** Two to four publishers, up to two rollbacks, one or two prunes, sometimes a copy and a stranger. */
function racers(rate: (place: number) => number, current: number, copy: ObjectStore): Actor[] {
  const among = <T>(place: number, choices: readonly T[]): T =>
    choices[Math.floor(rate(place) * choices.length)] as T;
  const sessions = [2, 3, 3, 3, 4].map(sessionNumber).filter((session) => session <= current);
  return [
    ...Array.from({ length: among(2, [2, 2, 2, 3, 4]) }, (_, n) =>
      publisher(`publisher ${n + 1}`, {
        session: among(10 + n, sessions),
        variant: among(20 + n, [0, 0, 1]),
        revise: among(30 + n, [null, null, "check"]),
      }),
    ),
    ...Array.from({ length: among(3, [0, 1, 1, 2]) }, (_, n) =>
      roller(`rollback ${n + 1}`, among(40 + n, ["head~1", "head~2", ...OLD_SNAPSHOTS])),
    ),
    ...Array.from({ length: among(4, [1, 1, 2]) }, (_, n) =>
      pruner(`prune ${n + 1}`, among(50 + n, [0, 0, 1])),
    ),
    ...(rate(61) < 0.4 ? [copier("copy", copy)] : []),
    ...(rate(60) < STRANGERS ? [stranger("stranger")] : []),
  ];
}

/** Some actors are killed: after one of their first operations, or after a write to the log. */
function killOf(rate: (place: number) => number, at: number): (operation: Step) => boolean {
  const drawn = rate(100 + at);
  const isAtLog = drawn < 0.15;
  let left = drawn < 0.3 ? 1 + Math.floor(rate(200 + at) ** 2 * (isAtLog ? 4 : 200)) : 0;
  return (operation) =>
    (!isAtLog || (isStoreStep(operation) && isLogWrite(operation))) && (left -= 1) === 0;
}

const OLD_SNAPSHOTS = ["2026-11-29T12Z", "2026-11-30T00Z", "2026-11-30T12Z"];

/**
 * A rollback to a snapshot that is half removed fails (exit code 6), and the head stays. Every run can
 * fail so after the entry of a stranger.
 */
function requireExpected(
  kind: Actor["kind"],
  report: Report | null,
  isStrange: boolean,
  hasFailed: boolean,
): void {
  if (report === null || [0, 2, 4].includes(report.code)) return;
  if (hasFailed && report.code === 5) return;
  if (kind === "rollback" && report.code === 6 && !isAboutTheLog(report.said)) return;
  if (isStrange && report.code === 6) return;
  throw new Error(`exit code ${report.code}: ${report.said}`);
}

/**
 * After the race the next session can be published, and no promise is broken. An entry of a stranger
 * is refused, and has to be removed first.
 */
async function nextRun(
  store: MemoryStore,
  witness: LogWitness,
  clock: { ms: number; now(): number },
  strange: number | null,
): Promise<void> {
  clock.ms += SESSION_MS;
  const order = { session: sessionAt(clock.ms), variant: 0, revise: "check" };
  const run = (): Promise<Report> => publisher("next", order).run(witness.watched(store), clock);
  if (strange !== null) {
    const { code, said } = await run();
    if (code !== 6)
      throw new Error(`After a stranger's entry the next run ended with ${code}: ${said}`);
    await witness.poll();
    await store.delete(publicationKey(strange));
  }
  const model = new StorePromises(store);
  await model.begin();
  const report = await run();
  if (report.made === null)
    throw new Error(`The next run ended with ${report.code}: ${report.said}`);
  await model.written("next", { kind: "create", key: "" }, "");
  await requireSigned(store);
  await witness.end();
}

/**
 * A copy has no entry before the objects that it names, wherever it was killed. One that nothing disturbs then has the
 * whole log, and its head verifies.
 */
async function requireCopied(store: MemoryStore, copy: MemoryStore): Promise<void> {
  if ((await readPublications(copy)).length > 0) await requireVerified(copy);
  const whole = new MemoryStore("memory:whole");
  await copyStore(store, whole, false, () => {});
  await requireVerified(whole);
}

const isStoreStep = (operation: Step): operation is Operation =>
  !/^(?:state|copy)\./.test(operation.kind);

/** An entry of the log, or what claims a name, is written whole or not at all. */
const isTearable = (operation: Step): operation is Operation =>
  isStoreStep(operation) &&
  operation.kind === "create" &&
  [SESSIONS, LEDGER, INPUTS].some((folder) => operation.key.startsWith(folder));

function digestRate(seed: number, place: number | string): number {
  return createHash("sha256").update(`${seed} ${place}`).digest().readUInt32LE() / 2 ** 32;
}

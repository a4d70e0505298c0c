/** Races in memory, one operation at a time, in a random order that a seed determines. */
import { createHash } from "node:crypto";
import { sessionAt, SESSION_MS } from "../../src/market/session.ts";
import { MemoryStore } from "../../test/store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { publicationKey } from "../../src/store/paths.ts";
import { requireSigned } from "./crash-head.ts";
import { copied } from "./crash-places.ts";
import { isLogWrite, isWrite, type Operation } from "../../test/faults/crash-store.ts";
import { LogWitness } from "../../test/faults/log-witness.ts";
import {
  isAboutTheLog,
  publisher,
  pruner,
  roller,
  stranger,
  type Actor,
  type Report,
} from "./race-actors.ts";
import { HISTORIES, sessionNumber, type History } from "./race-histories.ts";
import { RaceModel } from "./race-model.ts";
import { Scheduler } from "./race-scheduler.ts";

const HOUR_MS = 3_600_000;
/** The share of races with somebody who appends without the key. */
const STRANGERS = 0.15;

/** Runs races. Fills each history once, and copies it for each race. */
export class RaceOrders {
  readonly #intercepted: (store: ObjectStore) => ObjectStore;
  readonly #filled = new Map<History, { store: MemoryStore; endMs: number }>();

  /** `intercepted` may wrap the store that the actors get. */
  constructor(intercepted: (store: ObjectStore) => ObjectStore = (store) => store) {
    this.#intercepted = intercepted;
  }

  /** Runs one race. If a promise is broken, throws with the order of operations. */
  async run(seed: number): Promise<void> {
    const clock = { ms: 0, now: () => clock.ms };
    const store = new MemoryStore();
    const model = new RaceModel(store);
    const trace: string[] = [];
    const rate = (place: number): number => digestRate(seed, place);
    const history = HISTORIES[Math.floor(rate(0) * HISTORIES.length)] as History;
    trace.push(history.name);
    const { store: filled, endMs } = await this.#history(history);
    clock.ms = endMs;
    await copied(filled, store);
    clock.ms += Math.round((2 + rate(1) ** 3 * 300) * HOUR_MS);
    await model.begin();
    const witness = await LogWitness.begin(store);

    const reports = new Map<string, Report | null>();
    const actors = racers(rate, sessionAt(clock.ms));
    const scheduler = new Scheduler(seed, {
      before: () => {
        // No run takes an hour: then a prune may remove the files of a running publish, and a
        // prune stops itself.
        if (actors.some(({ name }) => scheduler.isUnderWay(name))) return;
        if (scheduler.draw() < 0.2) clock.ms += Math.round(scheduler.draw() * 3 * HOUR_MS);
      },
      after: async (actor, operation, result) => {
        trace.push(
          `${actor} ${operation.kind} ${operation.key}${result === "taken" ? " taken" : ""}`,
        );
        if (isWrite(operation)) await model.written(actor, operation, result);
        if (isLogWrite(operation)) await witness.poll();
      },
    });
    for (const [at, actor] of actors.entries()) {
      reports.set(actor.name, null);
      const its = actor.kind === "stranger" ? store : this.#intercepted(witness.watched(store));
      scheduler.add(actor.name, its, killOf(rate, at), async (own) => {
        reports.set(actor.name, await actor.run(own, clock));
      });
    }
    try {
      await scheduler.play();
      const strange = await witness.stranger();
      for (const { name, kind } of actors) {
        requireExpected(kind, reports.get(name) ?? null, strange !== null);
      }
      await model.end(reports);
      await nextRun(store, witness, clock, strange);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`seed ${seed}: ${reason}\n${trace.join("\n")}`, { cause: error });
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

/** Two to four publishers, up to two rollbacks, one or two prunes, sometimes a stranger. */
function racers(rate: (place: number) => number, current: number): Actor[] {
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
    ...(rate(60) < STRANGERS ? [stranger("stranger")] : []),
  ];
}

/** Some actors are killed: after one of their first operations, or after a write to the log. */
function killOf(rate: (place: number) => number, at: number): (operation: Operation) => boolean {
  const drawn = rate(100 + at);
  const isAtLog = drawn < 0.15;
  let left = drawn < 0.3 ? 1 + Math.floor(rate(200 + at) * (isAtLog ? 4 : 40)) : 0;
  return (operation) => (!isAtLog || isLogWrite(operation)) && (left -= 1) === 0;
}

const OLD_SNAPSHOTS = ["2026-11-29T12Z", "2026-11-30T00Z", "2026-11-30T12Z"];

/**
 * A rollback to a snapshot that is half removed fails (exit code 6), and the head stays. Every run can
 * fail so after the entry of a stranger.
 */
function requireExpected(kind: Actor["kind"], report: Report | null, isStrange: boolean): void {
  if (report === null || [0, 2, 4].includes(report.code)) return;
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
  const model = new RaceModel(store);
  await model.begin();
  const report = await run();
  if (report.made === null)
    throw new Error(`The next run ended with ${report.code}: ${report.said}`);
  await model.written("next", { kind: "create", key: "" }, "");
  await requireSigned(store);
  await witness.end();
}

function digestRate(seed: number, place: number): number {
  return createHash("sha256").update(`${seed} ${place}`).digest().readUInt32LE() / 2 ** 32;
}

/** Races in folders and on S3, where operations of several actors run at the same time. */
import { setTimeout as sleep } from "node:timers/promises";
import { uniformAt } from "../../src/demo/random.ts";
import { createClock, DAY_MS } from "../../src/lib/clock.ts";
import { sessionStartMs } from "../../src/market/session.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { at as sessionOf } from "../../test/cli/small-market.ts";
import { requireSigned, requireVerified, wholeHead } from "./crash-head.ts";
import type { Place } from "./crash-places.ts";
import { InterceptedStore } from "../../test/faults/crash-store.ts";
import { LogWitness } from "../../test/faults/log-witness.ts";
import {
  isAboutTheLog,
  publisher,
  pruner,
  roller,
  type Actor,
  type Report,
} from "../../test/world/actors.ts";

const DELAY_MAX_MS = 4;
/** Age of the first published session. */
const OLDEST_SESSIONS = 8;

/** The session that is raced for: its month differs from the month of the sessions before. */
const NEWEST = sessionOf("2026-12-02T00Z");
/** The same session on every day: what a race does depends on its seed. */
const clock = createClock("2026-12-02T00:05:00Z");

/** Publishes four sessions as if days ago, and rolls the last one back. */
export async function fillPast(store: ObjectStore): Promise<void> {
  const past = { ms: 0, now: () => past.ms };
  const must = async (actor: Actor): Promise<void> => {
    const { code, said } = await actor.run(store, past);
    if (code !== 0) throw new Error(said);
  };
  for (let ago = OLDEST_SESSIONS; ago > OLDEST_SESSIONS - 4; ago -= 1) {
    const session = NEWEST - ago;
    past.ms = sessionStartMs(session) + 60_000;
    await must(publisher("before", { session, variant: 0, revise: null }));
  }
  await must(roller("before", "head~1"));
}

/** Runs publishers, a rollback and prunes at once, each with a store object of its own. */
export async function mixedCrowd(place: Place, store: ObjectStore, seed: number): Promise<void> {
  const rate = (at: number): number => uniformAt(seed, at);
  const actors: Actor[] = [0, 1, 2].map((n) =>
    publisher(`publisher ${n + 1}`, {
      session: NEWEST - (rate(n) < 0.5 ? 0 : OLDEST_SESSIONS - 3),
      variant: rate(10 + n) < 0.7 ? 0 : 1,
      revise: rate(20 + n) < 0.5 ? "check" : null,
    }),
  );
  actors.push(roller("rollback 1", `head~${1 + Math.floor(rate(30) * 4)}`));
  actors.push(pruner("prune 1", 0), pruner("prune 2", 0));
  const reports = await atOnce(place, store, actors, seed);
  for (const [at, { code, said }] of reports.entries()) {
    const mayBeDamaged = actors[at]?.kind === "rollback";
    if ([0, 2, 4].includes(code) || (code === 6 && mayBeDamaged && !isAboutTheLog(said))) continue;
    throw new Error(`${actors[at]?.name}: exit code ${code}: ${said}`);
  }
  await requireReported(store, reports);
}

/** Runs `publishers` of one session at once into an empty store, half of them with other levels. */
export async function crowdOfPublishers(
  place: Place,
  store: ObjectStore,
  publishers: number,
  seed: number,
): Promise<void> {
  const actors = Array.from({ length: publishers }, (_, n) =>
    publisher(`publisher ${n + 1}`, { session: NEWEST, variant: n % 2, revise: null }),
  );
  const reports = await atOnce(place, store, actors, seed);
  const log = await requireReported(store, reports);
  const tally = (code: number): number => reports.filter((each) => each.code === code).length;
  // Publishers with the winner's levels have nothing to do; the others get a conflict.
  const half = publishers / 2;
  if (log !== 1 || tally(0) !== half || tally(4) !== half) {
    throw new Error(`${log} publications; ${tally(0)} ended with 0 and ${tally(4)} with 4`);
  }
}

/** Proxies poll the log meanwhile. */
async function atOnce(
  place: Place,
  store: ObjectStore,
  actors: readonly Actor[],
  seed: number,
): Promise<Report[]> {
  const witness = await LogWitness.begin(store);
  let areRunning = true;
  const polled = (async () => {
    for (; areRunning; await sleep(DELAY_MAX_MS)) await witness.poll();
  })().catch((error: unknown) => error);
  const reports = await Promise.all(
    actors.map(async (actor, at) => {
      const own = await place.again(store);
      let drawn = 0;
      const delayed = new InterceptedStore(witness.watched(own), async (_operation, run) => {
        await sleep(uniformAt(seed + at, (drawn += 1)) * DELAY_MAX_MS);
        return run();
      });
      try {
        return await actor.run(delayed, clock);
      } finally {
        if (own !== store) await own.close();
      }
    }),
  ).finally(() => (areRunning = false));
  const failure = await polled;
  if (failure !== undefined) throw failure;
  await witness.end();
  return reports;
}

/**
 * Throws unless the store verifies and its log gained exactly the reported publications. Returns the
 * length of the log.
 */
async function requireReported(store: ObjectStore, reports: readonly Report[]): Promise<number> {
  const { log } = await wholeHead(store);
  const made = reports.flatMap((report) => report.made ?? []);
  const recent = log.filter(({ at }) => Date.parse(at) > clock.now() - DAY_MS);
  const numbers = made.map(({ number }) => number).sort((a, b) => a - b);
  if (String(numbers) !== String(recent.map(({ number }) => number))) {
    throw new Error(`The log gained ${recent.length} publications; reported: ${String(numbers)}`);
  }
  await requireVerified(store);
  await requireSigned(store);
  return log.length;
}

/** Races in folders and on S3, where the operations of many really are under way at once. */
import { setTimeout as sleep } from "node:timers/promises";
import { uniformAt } from "../../src/demo/random.ts";
import { sessionAt, SESSION_MS } from "../../src/market/session.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { requireVerified, wholeHead } from "./crash-head.ts";
import type { Place } from "./crash-places.ts";
import { AttendedStore } from "./crash-store.ts";
import { publisher, pruner, roller, type Actor, type Report } from "./race-actors.ts";

const DELAY_MAX_MS = 4;
const DAY_MS = 86_400_000;
/** How long ago the first session was published: in sessions. */
const OLDEST = 8;

/** The machine's clock: S3 and folders date their objects by it. */
const clock = { now: () => Date.now() };

/** A store of four sessions, the last of them rolled back, published days ago. */
export async function fillPast(store: ObjectStore): Promise<void> {
  const past = { ms: 0, now: () => past.ms };
  const newest = sessionAt(Date.now());
  const must = async (actor: Actor): Promise<void> => {
    const { code, said } = await actor.run(store, past);
    if (code !== 0) throw new Error(said);
  };
  for (let ago = OLDEST; ago > OLDEST - 4; ago -= 1) {
    past.ms = (newest - ago) * SESSION_MS + 60_000;
    await must(publisher("before", { session: newest - ago, variant: 0, revise: null }));
  }
  await must(roller("before", "head~1"));
}

/** Publishers, rollbacks and a prune at once, each in a store object of its own. */
export async function mixedCrowd(place: Place, store: ObjectStore, seed: number): Promise<void> {
  const newest = sessionAt(Date.now());
  const rate = (at: number): number => uniformAt(seed, at);
  const actors: Actor[] = [0, 1, 2].map((n) =>
    publisher(`publisher ${n + 1}`, {
      session: newest - (rate(n) < 0.5 ? 0 : OLDEST - 3),
      variant: rate(10 + n) < 0.7 ? 0 : 1,
      revise: rate(20 + n) < 0.5 ? "check" : null,
    }),
  );
  actors.push(roller("rollback 1", `head~${1 + Math.floor(rate(30) * 4)}`));
  actors.push(pruner("prune 1", 0), pruner("prune 2", 0));
  const reports = await atOnce(place, store, actors, seed);
  for (const [at, { code, said }] of reports.entries()) {
    const mayBeDamaged = actors[at]?.kind === "rollback";
    if ([0, 2, 4].includes(code) || (code === 6 && mayBeDamaged)) continue;
    throw new Error(`${actors[at]?.name}: exit code ${code}: ${said}`);
  }
  await requireTold(store, reports);
}

/** As many publishers of one session, half of them with other levels, into an empty store. */
export async function crowdOfPublishers(
  place: Place,
  store: ObjectStore,
  publishers: number,
  seed: number,
): Promise<void> {
  const session = sessionAt(Date.now());
  const actors = Array.from({ length: publishers }, (_, n) =>
    publisher(`publisher ${n + 1}`, { session, variant: n % 2, revise: null }),
  );
  const reports = await atOnce(place, store, actors, seed);
  const log = await requireTold(store, reports);
  const tally = (code: number): number => reports.filter((each) => each.code === code).length;
  // Those with the winner's levels have nothing to do; the others are told that it came first.
  const half = publishers / 2;
  if (log !== 1 || tally(0) !== half || tally(4) !== half) {
    throw new Error(`${log} publications; ${tally(0)} ended with 0 and ${tally(4)} with 4`);
  }
}

async function atOnce(
  place: Place,
  store: ObjectStore,
  actors: readonly Actor[],
  seed: number,
): Promise<Report[]> {
  return Promise.all(
    actors.map(async (actor, at) => {
      const own = await place.again(store);
      let drawn = 0;
      const delayed = new AttendedStore(own, async (_operation, run) => {
        await sleep(uniformAt(seed + at, (drawn += 1)) * DELAY_MAX_MS);
        return run();
      });
      try {
        return await actor.run(delayed, clock);
      } finally {
        if (own !== store) await own.close();
      }
    }),
  );
}

/** The log is whole, holds what was reported, each once, and verifies. Returns its length. */
async function requireTold(store: ObjectStore, reports: readonly Report[]): Promise<number> {
  const { log } = await wholeHead(store);
  const made = reports.flatMap((report) => report.made ?? []);
  const recent = log.filter(({ at }) => Date.parse(at) > Date.now() - DAY_MS);
  const numbers = made.map(({ number }) => number).sort((a, b) => a - b);
  if (String(numbers) !== String(recent.map(({ number }) => number))) {
    throw new Error(`The log gained ${recent.length} publications; reported: ${String(numbers)}`);
  }
  await requireVerified(store);
  return log.length;
}

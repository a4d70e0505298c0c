/**
 * `npm run soak`: a month of a publisher's life, and what was promised checked after every step.
 *
 * 30 days are 60 sessions, each published by the command line into one folder; four proxies (real
 * `serve` processes) share it and one Redis and answer a modest load all the while. Time is put
 * forward by 12 hours between sessions: commands get it by CHIPBOARD_NOW, running proxies by
 * a step of the clock they ask (soak-clock.ts), so that one of them lives through the whole month,
 * and a month's end, with what it has in memory. Within a session time runs as it does.
 *
 * Each session is published in one of several ways, most of them faults; then other faults are
 * thrown, dealt from a shuffled deck so that every kind comes equally often. After each: the log
 * has no gap and only grew; the head verifies whole; all proxies come to serve it; boards,
 * histories, index and baskets equal a second calculation from rows kept beside; every answer
 * seen was of exactly one publication, byte for byte, or the refusal due to that key; every account
 * is charged with exactly the answers given. In the full form three more days are on S3.
 */
import { join } from "node:path";
import { readPublications } from "../../src/snapshot/publication-log.ts";
import { testService } from "../services/services.ts";
import { Tally, type FaultOptions, type FaultRow, type Faults } from "./fault.ts";
import { checkLife, checkUsage } from "./soak-checks.ts";
import { DESK } from "./soak-desk.ts";
import { MINUTE_MS, SoakLife, sessionOf } from "./soak-life.ts";
import { Memory } from "./soak-memory.ts";
import { allSay, OUTAGES } from "./soak-outages.ts";
import { folderPlace, onS3, type StorePlace } from "./soak-place.ts";
import { publishPlainly, PUBLISHING, type SoakFault } from "./soak-publishing.ts";

/** Times since a session's beginning at which it is published. */
const PUBLISHED_MS = 5 * MINUTE_MS;
const FIRST: SoakFault = { name: "the first publish", run: begun };
const PLAIN: SoakFault = { name: "publish", run: publishPlainly };

interface Plan {
  readonly first: string;
  readonly days: number;
  readonly faultsPerSession: number;
  readonly trialDays: number;
}

/** All of them cross a month's end. */
const PLANS = {
  full: { first: "2026-11-16T00Z", days: 30, faultsPerSession: 1.5, trialDays: 10 },
  short: { first: "2026-11-29T00Z", days: 4, faultsPerSession: 0.6, trialDays: 2 },
  s3: { first: "2026-11-30T00Z", days: 3, faultsPerSession: 1.5, trialDays: 2 },
} as const satisfies Record<string, Plan>;

export const soakFaults: Faults = async (options) => {
  const tallies = new Map<string, Tally>();
  const folder = join(options.folder, "folder");
  const place = await folderPlace(join(folder, "snapshots"));
  await live(options, PLANS[options.scale], folder, place, tallies);
  const service = options.scale === "full" ? testService("s3") : null;
  if (service !== null) {
    try {
      await onS3(service, `soak-${options.seed}-${process.pid}`, (bucket) =>
        live(options, PLANS.s3, join(options.folder, "s3"), bucket, tallies),
      );
    } finally {
      service.stop();
    }
  }
  return [...tallies.values()].map(({ row }): FaultRow => row);
};

/** One life from the first session to the last. */
async function live(
  options: FaultOptions,
  plan: Plan,
  folder: string,
  place: StorePlace,
  tallies: Map<string, Tally>,
): Promise<void> {
  const { say } = options;
  const first = sessionOf(plan.first);
  const sessions = plan.days * 2;
  const tally = (name: string): Tally => {
    const known = tallies.get(name) ?? new Tally(name, say);
    tallies.set(name, known);
    return known;
  };
  const publications = tally(
    place.args[1]?.startsWith("s3:") ? "publications on S3" : "publications",
  );
  const life = await SoakLife.begin(folder, place, options.seed, first, plan.trialDays);
  const ways = deck(life, [PLAIN, ...PUBLISHING]);
  const faults = deck(life, [...OUTAGES, ...DESK]);
  const memory = new Memory(life.proxies);
  let due = 0;
  try {
    for (let at = 0; at < sessions; at += 1) {
      await life.passTo(first + at, PUBLISHED_MS);
      const way = at === 0 ? FIRST : ways();
      await publications.throw(`publication ${at + 1}`, async () => {
        if (way === FIRST || way === PLAIN) return attempt(life, way);
        let loss: unknown = null;
        await tally(way.name).throw(`session ${at + 1}`, async () => {
          await attempt(life, way).catch((error: unknown) => {
            loss = error;
            throw error;
          });
        });
        if (loss !== null) throw loss;
      });
      due += at === 0 ? 0 : plan.faultsPerSession;
      for (; due >= 1; due -= 1) {
        const fault = faults();
        await tally(fault.name).throw(`session ${at + 1}`, () => attempt(life, fault));
      }
      if (at + 1 === Math.ceil(sessions / 3)) await memory.sample();
      if (at % 5 === 4) say(`session ${at + 1} of ${sessions}, ${life.load.answers} answers`);
    }
    await tally("calls of the month, by `usage`").throw("at the end", () => checkUsage(life));
    await tally("proxies' memory over the run").throw("at the end", () => memory.check(say));
  } finally {
    await life.close();
  }
}

/** Throws the fault, then checks everything; where that fails, readies what is left for the next. */
async function attempt(life: SoakLife, fault: SoakFault): Promise<void> {
  try {
    await fault.run(life);
    await checkLife(life);
  } catch (error) {
    await mend(life).catch(() => undefined);
    throw error;
  }
}

async function begun(life: SoakLife): Promise<void> {
  await life.publishFirst();
  await life.startProxies();
}

async function mend(life: SoakLife): Promise<void> {
  await life.load.pause();
  life.load.takeFaults();
  life.publications = (await readPublications(life.store)).length;
  for (const proxy of life.proxies) {
    if (!proxy.isUp) await proxy.start(life.env());
    proxy.isDisturbed = false;
  }
  await allSay(life.proxies, "state", "ok");
  life.load.isStateAway = false;
  await life.load.greet();
  life.load.resume();
}

/** Deals kinds of faults: all of them in some order, then all again in another. */
function deck(life: SoakLife, kinds: readonly SoakFault[]): () => SoakFault {
  let rest: SoakFault[] = [];
  return () => {
    if (rest.length === 0) rest = life.draws.shuffled(kinds);
    return rest.pop() as SoakFault;
  };
}

/**
 * `npm run soak`: a month of a publisher's life, and what is promised checked after every step.
 *
 * 30 days are 60 sessions, each published by the command line into one folder. Three proxies (real
 * `serve` processes) share it and one Redis and answer a modest load all the while. Time is put
 * forward by 12 hours between sessions: commands get it by CHIPBOARD_NOW, running proxies by a step
 * of their clock (soak-clock.ts), so that one of them lives through the whole month, and a month's
 * end, with what it has in memory.
 *
 * Each session is published in one of several ways; then faults are dealt from a shuffled deck, so
 * that every kind comes equally often. After each: the log has no gap and only grew; the head
 * verifies whole; all proxies come to serve it; boards, histories, index and baskets equal a second
 * calculation; every answer was one file of one publication, byte for byte, or the refusal due to
 * its tier; every caller is charged with exactly the answers given.
 */
import { parseSession, type Session } from "../../src/market/session.ts";
import { readPublications } from "../../src/snapshot/publication-log.ts";
import { Tally, type FaultRow, type Faults } from "./fault.ts";
import { checkLife } from "./soak-checks.ts";
import { allSay, FAULTS, PUBLISHING, type SoakFault } from "./soak-faults.ts";
import { SoakLife } from "./soak-life.ts";
import type { SoakProxy } from "./soak-proxy.ts";

/** When a session is published, after its beginning. */
export const PUBLISHED_MS = 5 * 60_000;

/** Both cross a month's end. */
const PLANS = {
  full: { first: "2026-11-16T00Z", sessions: 60, faultsPerSession: 1.5 },
  short: { first: "2026-11-30T00Z", sessions: 3, faultsPerSession: 1 },
} as const;

/** What the last sample of memory may be above the largest of the first third. */
const GROWTH = 1.25;
const SLACK_BYTES = 48_000_000;

export const soakFaults: Faults = async ({ scale, seed, folder, say }) => {
  const { first, sessions, faultsPerSession } = PLANS[scale];
  const firstSession = parseSession(first) as Session;
  const tallies = new Map<string, Tally>();
  const tally = (name: string): Tally => {
    const known = tallies.get(name) ?? new Tally(name, say);
    tallies.set(name, known);
    return known;
  };
  const life = await SoakLife.begin(folder, seed, firstSession);
  const ways = deck(life, PUBLISHING);
  const faults = deck(life, FAULTS);
  let earlyBytes = 0;
  let due = 0;
  try {
    for (let at = 0; at < sessions; at += 1) {
      await life.passTo(firstSession + at, PUBLISHED_MS);
      const way = at === 0 ? { name: "the first publish", run: begin } : ways();
      await tally(way.name).throw(`session ${at + 1}`, () => attempt(life, way));
      due += at === 0 ? 0 : faultsPerSession;
      for (; due >= 1; due -= 1) {
        const fault = faults();
        await tally(fault.name).throw(`session ${at + 1}`, () => attempt(life, fault));
      }
      if (at + 1 === Math.ceil(sessions / 3)) earlyBytes = await largestRssBytes(life.proxies);
      if (at % 5 === 4) say(`session ${at + 1} of ${sessions}, ${life.load.answers} answers`);
    }
    await tally("proxies' memory over the run").throw("at the end", async () => {
      const bytes = await largestRssBytes(life.proxies);
      const grown = `${earlyBytes} bytes after a third of the run, ${bytes} at its end`;
      say(`largest proxy: ${grown}`);
      if (bytes > earlyBytes * GROWTH + SLACK_BYTES) throw new Error(grown);
    });
  } finally {
    await life.close();
  }
  return [...tallies.values()].map(({ row }): FaultRow => row);
};

/** Publishes the first session and starts the proxies. */
export async function begin(life: SoakLife): Promise<void> {
  await life.publishFirst();
  await life.startProxies();
}

/** Throws the fault and checks everything; if that fails, mends what is needed to go on. */
async function attempt(life: SoakLife, fault: SoakFault): Promise<void> {
  try {
    await fault.run(life);
    await checkLife(life);
  } catch (error) {
    await mend(life).catch(() => undefined);
    throw error;
  }
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
  await life.load.greet();
  life.load.resume();
}

async function largestRssBytes(proxies: readonly SoakProxy[]): Promise<number> {
  return Math.max(...(await Promise.all(proxies.map((proxy) => proxy.rssBytes()))));
}

/** Deals kinds of faults: all of them in some order, then all again in another. */
function deck(life: SoakLife, kinds: readonly SoakFault[]): () => SoakFault {
  let rest: SoakFault[] = [];
  return () => {
    if (rest.length === 0) rest = life.draws.shuffled(kinds);
    return rest.pop() as SoakFault;
  };
}

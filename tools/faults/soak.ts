/**
 * `npm run soak`: simulates a month of publishing, and checks all promises after every step.
 *
 * 30 days are 60 sessions. The program signs and publishes each one into the same folder, and goes on only
 * from signed entries. The proxies do the same. Three proxies (real `serve` processes) serve this folder,
 * share one Redis, and answer a modest load all the time. Between sessions the time is put forward by 12
 * hours: commands get it as CHIPBOARD_NOW, running proxies by a step of their clock (soak-clock.ts). One
 * proxy runs for the whole month, over the end of a calendar month.
 *
 * Each session is published in one of several ways. Then faults are drawn from a shuffled deck, so that all
 * kinds occur equally often. After each: the log has no gap, its old entries are unchanged, and every entry
 * is signed; the head verifies; all proxies serve it; boards, histories, index and baskets equal a second
 * calculation; every answer was one file of one publication, byte for byte, or the refusal for its tier; and
 * the count of each caller is the number of its answers.
 */
import { parseSession, type Session } from "../../src/market/session.ts";
import { readPublications } from "../../test/store/log-entries.ts";
import { Tally, type FaultRow, type Faults } from "./fault.ts";
import { checkLife } from "./soak-checks.ts";
import { allSay, FAULTS, PUBLISHING, type SoakFault } from "./soak-faults.ts";
import { SoakLife } from "./soak-life.ts";
import type { SoakProxy } from "./soak-proxy.ts";

/** A session is published this long after its start. */
export const PUBLISHED_MS = 5 * 60_000;

/** Both include the end of a month. */
const PLANS = {
  full: { first: "2026-11-16T00Z", sessions: 60, faultsPerSession: 1.5 },
  short: { first: "2026-11-30T00Z", sessions: 3, faultsPerSession: 1 },
} as const;

/** Allowed growth of the largest proxy's memory, from the first third of the run to its end. */
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
      await tally(way.name).inject(`session ${at + 1}`, () => attempt(life, way));
      due += at === 0 ? 0 : faultsPerSession;
      for (; due >= 1; due -= 1) {
        const fault = faults();
        await tally(fault.name).inject(`session ${at + 1}`, () => attempt(life, fault));
      }
      if (at + 1 === Math.ceil(sessions / 3)) earlyBytes = await largestRssBytes(life.proxies);
      if (at % 5 === 4) say(`session ${at + 1} of ${sessions}, ${life.load.answers} answers`);
    }
    await tally("proxies' memory over the run").inject("at the end", async () => {
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

/** Injects the fault and checks everything; if that fails, repairs what the next step needs. */
async function attempt(life: SoakLife, fault: SoakFault): Promise<void> {
  try {
    await fault.run(life);
    await checkLife(life);
  } catch (error) {
    await repair(life).catch(() => undefined);
    throw error;
  }
}

async function repair(life: SoakLife): Promise<void> {
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

/** Draws kinds of faults: all of them in a random order, then again in another order. */
function deck(life: SoakLife, kinds: readonly SoakFault[]): () => SoakFault {
  let rest: SoakFault[] = [];
  return () => {
    if (rest.length === 0) rest = life.draws.shuffled(kinds);
    return rest.pop() as SoakFault;
  };
}

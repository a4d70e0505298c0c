/**
 * A log that begins with the golden one and goes on for 60 sessions with revisions, corrections, rollbacks, a
 * renamed contract, a missed session and a slow clock; and every answer that keys got while each of its
 * entries was the head.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { rollBack } from "../../src/desk/rollback.ts";
import { sessionKey, sessionStartMs, sessionUtc, type Session } from "../../src/market/session.ts";
import { KEY_TIER_NAMES, TIERS, type KeyTierName } from "../../src/market/tier.ts";
import { DATA_ROUTES } from "../../src/public/routes.ts";
import { readHead } from "../store/log-entries.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { MemoryStore } from "../store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { publicationKey, snapshotText } from "../../src/store/paths.ts";
import { at, lines, mustPublish, type Run } from "../cli/small-market.ts";
import { EXPECTED, INPUTS } from "../golden/golden-market.ts";
import { dataPaths } from "./addresses.ts";
import type { Received } from "./client.ts";
import {
  copyOf,
  SESSION,
  sessionsMs,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";

const GOLDEN = new FolderStore(EXPECTED);
/** The last entry of the golden log that the log begins with, and the entries after it. */
export const GOLDEN_LAST = 9;
const GOLDEN_NEXT = "sessions/2026-11-21T00Z/";

const RENAMED_IN = 2;
const MISSED = 30;
/** The contract that is renamed, before and after. */
export const [FORMER_ID, PRESENT_ID] = ["echo-new", "echo-stack"];
/** Corrected, carried, delisted, renamed. */
const IDS = ["alpha-16gb", "charlie-1tb", "delta-old", FORMER_ID, PRESENT_ID];
const INDICES = ["composite", "ssd", "gpu"];
const BASKETS = ["weights=1,2.5", "quantities=3,20"].map(
  (basket) => `${DATA_ROUTES.index.path}?ids=foxtrot-gpu,alpha-16gb&${basket}`,
);

/** Paths of every kind of file that the tier has in any snapshot, and of baskets if it may. */
export function pathsOf(tier: KeyTierName): string[] {
  const stored = dataPaths(tier, IDS, INDICES);
  return TIERS[tier].baskets ? [...stored, ...BASKETS] : stored;
}

/** An entry of the log that made a head, and the answers of that time. */
export interface Vintage {
  readonly number: number;
  readonly atMs: number;
  /** Of the head. */
  readonly session: Session;
  readonly snapshot: string;
  /** By path. */
  readonly answers: Readonly<Record<KeyTierName, ReadonlyMap<string, Received>>>;
}

export interface RecordedLog {
  readonly store: MemoryStore;
  /** Oldest first. */
  readonly vintages: readonly Vintage[];
  /** The time of the last entry. */
  readonly endMs: number;
}

/** Publishes the log up to that many sessions after the golden one, and records every answer. */
export async function recordLog(sessions: number): Promise<RecordedLog> {
  const recorder = await Recorder.start();
  try {
    for (let number = 2; number <= GOLDEN_LAST; number += 1) {
      await recorder.append(number);
    }
    for (let ahead = 0; ahead < sessions; ahead += 1) {
      if (ahead !== MISSED) await publishDay(recorder, ahead);
    }
    const { store, vintages } = recorder;
    return { store, vintages, endMs: recorder.clock.ms };
  } finally {
    await recorder.proxy.close();
  }
}

/** All that happens in one session. */
async function publishDay(recorder: Recorder, ahead: number): Promise<void> {
  await recorder.publish(ahead, 5, inputOf(ahead));
  if (ahead % 9 === 4) {
    // The clock of this run is slow: its entry has the time of the one before.
    const minutes = ahead === 13 ? 1 : 45;
    await recorder.publish(ahead, minutes, { quotes: correction(ahead), revise: "Late report" });
  }
  if (ahead % 20 === 7) {
    const attribution = `Invented levels, as credited in session ${ahead}`;
    const revise = "Another credit line";
    await recorder.publish(ahead, 50, { ...inputOf(ahead), attribution, revise });
  }
  if (ahead === 20 || ahead === 48) {
    await recorder.rollBack(ahead - 1, ahead, 180);
    const revise = "The right feed";
    await recorder.publish(ahead, 240, { quotes: quotes(ahead + 1), revise });
  }
  if (ahead === 41) await recorder.rollBack(ahead - 3, ahead, 300);
}

const sessionOf = (ahead: number): Session => SESSION + ahead;
const input = (name: string): string => readFileSync(join(INPUTS, name), "utf8");

function inputOf(ahead: number): Run {
  if (ahead < RENAMED_IN) return { quotes: input(`quotes-${5 + ahead}.csv`) };
  if (ahead > RENAMED_IN) return { quotes: quotes(ahead) };
  return { catalog: input("catalog-7.csv"), quotes: input("quotes-7.csv") };
}

/** Levels that move in every session. Every third one lacks a contract, whose level is carried. */
export function quotes(ahead: number): string {
  const levels = { "alpha-16gb": 3.5, "bravo-8gb": 18, [PRESENT_ID]: 420, "foxtrot-gpu": 1_810 };
  const given = ahead % 3 === 0 ? levels : { ...levels, "charlie-1tb": 62 };
  const rows = Object.entries(given).map(([id, usd], index) => {
    const percent = ((ahead * (index + 3)) % 11) - 5;
    return `${id},${(usd * (1 + percent / 100)).toFixed(3)}`;
  });
  return lines("id,spot_usd", ...rows);
}

const correction = (ahead: number): string =>
  lines(
    "id,session_utc,spot_usd",
    `alpha-16gb,${sessionUtc(sessionOf(ahead - 1))},${(3 + ahead / 100).toFixed(2)}`,
    `foxtrot-gpu,${sessionUtc(sessionOf(ahead))},${1_700 + ahead}`,
  );

/** Publishes into the store with all gates open. */
export const publishInto = (
  store: ObjectStore,
  session: Session,
  nowMs: number,
  run: Run,
): Promise<string> =>
  mustPublish(store, {
    session: sessionKey(session),
    nowMs,
    minCoverageMicros: 0,
    maxGapSessions: 10_000,
    acceptMoves: true,
    allowSparse: true,
    ...run,
  });

class Recorder {
  readonly store: MemoryStore;
  readonly clock: TestClock;
  readonly proxy: TestProxy;
  readonly vintages: Vintage[] = [];

  private constructor(store: MemoryStore, clock: TestClock, proxy: TestProxy) {
    this.store = store;
    this.clock = clock;
    this.proxy = proxy;
  }

  /** A proxy over the golden store as it was when entry 1 was new. */
  static async start(): Promise<Recorder> {
    const store = await copyOf(GOLDEN);
    for (let number = GOLDEN_LAST + 1; number > 1; number -= 1) {
      await store.delete(publicationKey(number));
    }
    for await (const { key } of GOLDEN.list(GOLDEN_NEXT)) await store.delete(key);
    const clock = new TestClock(sessionStartMs(at("2026-11-18T00Z")) + 5 * 60_000);
    // The grace is so long that no delay is raised, also not after a rollback over some sessions.
    const graceMs = sessionsMs(100);
    // A streamed file is read from the store again for each answer.
    const proxy = await startTestProxy({ store, clock, pollMs: 5, graceMs, cacheBytes: 0 });
    const recorder = new Recorder(store, clock, proxy);
    await recorder.#record();
    return recorder;
  }

  /** Appends an entry of the golden log. */
  async append(number: number): Promise<void> {
    const key = publicationKey(number);
    await this.store.create(key, (await GOLDEN.get(key)) as Buffer);
    await this.#record();
  }

  async publish(ahead: number, minutes: number, run: Run): Promise<void> {
    await publishInto(this.store, sessionOf(ahead), this.#nowMs(ahead, minutes), run);
    await this.#record();
  }

  /** Rolls back to the last revision of the session `to`. */
  async rollBack(to: number, ahead: number, minutes: number): Promise<void> {
    const now = () => this.#nowMs(ahead, minutes);
    await rollBack(this.store, sessionKey(sessionOf(to)), "The feed was wrong", { now });
    await this.#record();
  }

  #nowMs(ahead: number, minutes: number): number {
    return sessionStartMs(sessionOf(ahead)) + minutes * 60_000;
  }

  /** Waits until the head is served, then asks for every path with every key. */
  async #record(): Promise<void> {
    const head = await readHead(this.store);
    if (head === null) throw new Error("The store is empty");
    const atMs = Date.parse(head.at);
    this.clock.ms = Math.max(this.clock.ms, atMs);
    for (;;) {
      const { json } = await this.proxy.get("/readyz");
      if (json.publication === head.number) break;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const answers: Partial<Record<KeyTierName, ReadonlyMap<string, Received>>> = {};
    for (const tier of KEY_TIER_NAMES) {
      const ofTier = new Map<string, Received>();
      for (const path of pathsOf(tier)) {
        ofTier.set(path, await this.proxy.get(path, { key: this.proxy[tier] }));
      }
      answers[tier] = ofTier;
    }
    const { number, session } = head;
    this.vintages.push({
      number,
      atMs,
      session,
      snapshot: snapshotText(head),
      answers: answers as Vintage["answers"],
    });
  }
}

/**
 * A small market over seven sessions: a late listing (echo-new), a carried level (charlie-1tb), a
 * drop (delta-old), a break (bravo-8gb), a correction and a withdrawal, a rollback and the
 * revision that replaced the session. The last session brings another catalog: a unit that a break
 * changes (bravo-8gb), another id (echo-stack), a delisting (delta-old) and the first price types.
 * From the third entry on, a key that everybody can know signs the log.
 * Nothing depends on the time or place of publishing.
 */
import { join } from "node:path";
import { sourceOf, type InputSource } from "../../src/feed/source.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { parseSession, sessionStartMs, type Session } from "../../src/market/session.ts";
import { publishMoves } from "../store/publish-moves.ts";
import type { LogKeys } from "../../src/snapshot/log/sign.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { SIGNED } from "./golden-key.ts";
import { USUAL_REQUEST } from "../../src/publish/request.ts";

export const EXPECTED = join(import.meta.dirname, "expected");
export const INPUTS = join(import.meta.dirname, "inputs");

interface Step {
  /** Where the inputs are; by default the golden store's. */
  readonly folder?: string;
  readonly session: string;
  readonly minutes: number;
  /** Of the first step, which also reads closes.csv. */
  readonly attribution?: string;
  readonly catalog?: string;
  readonly quotes: string;
  readonly revise?: string;
  readonly why?: string;
  readonly keys?: LogKeys;
}

export async function publishGolden(store: ObjectStore): Promise<void> {
  await publishStep(store, { session: "2026-11-18T00Z", minutes: 5, attribution: "Invented levels, for tests", catalog: "catalog.csv", quotes: "quotes-1.csv" });
  await publishStep(store, { session: "2026-11-18T12Z", minutes: 5, quotes: "quotes-2.csv" });
  await publishStep(store, { session: "2026-11-19T00Z", minutes: 5, quotes: "quotes-3.csv", keys: SIGNED });
  await publishStep(store, { session: "2026-11-19T12Z", minutes: 5, quotes: "quotes-4.csv", keys: SIGNED });
  await publishStep(store, { session: "2026-11-20T00Z", minutes: 5, quotes: "quotes-5.csv", keys: SIGNED });
  await publishStep(store, { session: "2026-11-20T00Z", minutes: 40, quotes: "correction.csv", revise: "The source restated two levels", keys: SIGNED });
  await publishStep(store, { session: "2026-11-20T12Z", minutes: 5, quotes: "quotes-6-wrong.csv", keys: SIGNED });
  const clock = { now: () => startMs("2026-11-20T12Z") + 30 * 60_000 };
  await rollBack(store, "2026-11-20T00Z", "The feed was of another day", clock, SIGNED);
  await publishStep(store, { session: "2026-11-20T12Z", minutes: 50, quotes: "quotes-6.csv", revise: "The right feed", keys: SIGNED });
  await publishStep(store, { session: "2026-11-21T00Z", minutes: 5, catalog: "catalog-7.csv", quotes: "quotes-7.csv", keys: SIGNED });
}

export async function publishStep(store: ObjectStore, step: Step): Promise<void> {
  // The manifest has the name, so it must not say where the folder is.
  const inputOf = (name: string): InputSource => ({ ...sourceOf(join(step.folder ?? INPUTS, name)), name });
  const nowMs = startMs(step.session) + step.minutes * 60_000;
  await publishMoves(
    {
      ...USUAL_REQUEST,
      catalog: step.catalog === undefined ? null : inputOf(step.catalog),
      quotes: [inputOf(step.quotes)],
      closes: step.attribution === undefined ? [] : [inputOf("closes.csv")],
      session: parseSession(step.session) as Session,
      attribution: step.attribution ?? null,
      revise: step.revise ?? null,
      why: step.why ?? null,
      ...(step.keys === undefined ? {} : { keys: step.keys }),
      gates: {
        maxMoveMicros: 50_000_000,
        maxIndexMoveMicros: 25_000_000,
        maxBoardMoveMicros: 15_000_000,
        minCoverageMicros: 60_000_000,
        maxUnchangedSessions: 8, maxGapSessions: 14,
        maxCarryDays: 45,
        acceptMoves: false,
        allowSparse: false,
      },
    },
    store,
    { now: () => nowMs },
    () => {},
  );
}

const startMs = (key: string): number => sessionStartMs(parseSession(key) as Session);

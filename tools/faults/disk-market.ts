/** A small market that is published session by session, for failing disks and jumping clocks. */
import assert from "node:assert/strict";
import { ChipboardError } from "../../src/lib/errors.ts";
import type { InputSource } from "../../src/feed/source.ts";
import { parseSession, sessionStartMs, type Session } from "../../src/market/session.ts";
import { publishMoves } from "../../test/store/publish-moves.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { catalogOf, quotesOf } from "../../test/cli/small-market.ts";
import type { Ran } from "../../test/program/program.ts";
import { requireVerified, wholeHead } from "./crash-head.ts";
import { USUAL_REQUEST } from "../../src/publish/request.ts";

const IDS = Array.from({ length: 5 }, (_, at) => `item-${at}`);
export const CATALOG = catalogOf(IDS);
export const quotesAt = (usd: number): string =>
  quotesOf(Object.fromEntries(IDS.map((id, at) => [id, usd + at])));

/** The session that is already published, and the one whose publish meets the fault. */
export const HEAD = parseSession("2026-11-20T12Z") as Session;
export const NEXT = HEAD + 1;
export const HEAD_NAME = "2026-11-20T12Z/r1";
/** The snapshot of NEXT: runs that failed may have used up the first revisions. */
export const NEXT_HEAD = /^2026-11-21T00Z\/r\d+$/;

/** The exit code of a publish and its message of one line. */
export interface Publishing {
  readonly code: number;
  readonly said: string;
}

export interface PublishingOptions {
  /** Epoch milliseconds; by default five minutes after the start of the session. */
  readonly nowMs?: number;
  /** Level of the first contract; each other one is 1 higher than the one before it. */
  readonly usd?: number;
  readonly revise?: string;
}

/** Publishes the session, with the catalog if the store is empty. Rethrows unexpected errors. */
export async function publishSession(
  store: ObjectStore,
  session: Session,
  { nowMs = sessionStartMs(session) + 300_000, usd = 10, revise }: PublishingOptions = {},
): Promise<Publishing> {
  const isEmpty = (await store.list("publications/")[Symbol.asyncIterator]().next()).done === true;
  try {
    await publishMoves(
      {
        ...USUAL_REQUEST,
        catalog: isEmpty ? source("catalog", CATALOG) : null,
        quotes: [source("quotes", quotesAt(usd))],
        session,
        revise: revise ?? null,
        gates: {
          maxMoveMicros: 50_000_000,
          maxIndexMoveMicros: 25_000_000,
          maxBoardMoveMicros: 15_000_000,
          minCoverageMicros: 80_000_000,
          maxUnchangedSessions: 8,
          maxGapSessions: 14,
          maxCarryDays: 45,
          acceptMoves: true,
          allowSparse: false,
        },
      },
      store,
      { now: () => nowMs },
      () => {},
    );
    return { code: 0, said: "" };
  } catch (error) {
    if (!(error instanceof ChipboardError)) throw error;
    const { exitCode, message } = error;
    assert.ok(!message.includes("\n") && message.length < 1_000, message);
    return { code: exitCode, said: message };
  }
}

export const publishHead = async (store: ObjectStore): Promise<void> => {
  assert.deepEqual(await publishSession(store, HEAD), { code: 0, said: "" });
};

/** Throws unless this snapshot is the head and complete. */
export async function requireHead(store: ObjectStore, name: string | RegExp): Promise<void> {
  const { head } = await wholeHead(store);
  if (typeof name === "string") assert.equal(head, name);
  else assert.match(head, name);
  await requireVerified(store);
}

/** Publishes NEXT, now without a fault. Throws unless it becomes the head. */
export async function requireNextPublished(store: ObjectStore): Promise<void> {
  assert.deepEqual(await publishSession(store, NEXT), { code: 0, said: "" });
  await requireHead(store, NEXT_HEAD);
}

/** Throws unless the program ended with this exit code and an error that matches `reason`. */
export function requireFailure({ code, stderr }: Ran, expected: number, reason: RegExp): void {
  assert.equal(code, expected, stderr);
  const error = stderr.split("\n").find((line) => line.startsWith("error: "));
  assert.match(error ?? stderr, reason);
  assert.doesNotMatch(stderr, /^ +at |node:internal/m);
}

function source(stem: string, text: string): InputSource {
  return {
    name: `${stem}.csv`,
    format: "csv",
    async *open() {
      yield Buffer.from(text);
    },
  };
}

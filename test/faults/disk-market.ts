/** A small market published session by session, on disks that fail and clocks that jump. */
import assert from "node:assert/strict";
import { ChipboardError } from "../../src/lib/errors.ts";
import type { Source } from "../../src/feed/source.ts";
import { parseSession, sessionStartMs, type Session } from "../../src/market/session.ts";
import { publish } from "../../src/publish/publish.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { catalogOf, quotesOf } from "../cli/market.ts";
import { requireVerified, wholeHead } from "./crash-head.ts";

const IDS = Array.from({ length: 5 }, (_, at) => `item-${at}`);
export const CATALOG = catalogOf(IDS);
export const quotesAt = (usd: number): string =>
  quotesOf(Object.fromEntries(IDS.map((id, at) => [id, usd + at])));

/** The session that is published when a fault comes, and the one that is being published then. */
export const HEAD = parseSession("2026-11-20T12Z") as Session;
export const NEXT = HEAD + 1;
export const HEAD_NAME = "2026-11-20T12Z/r1";
export const NEXT_NOW = "2026-11-21T00:05:00Z";
/** The snapshot published for it: runs that failed may have taken the first revisions. */
export const NEXT_HEAD = /^2026-11-21T00Z\/r\d+$/;

/** How a publish ended: the exit code and what it says, one line. */
export interface Publishing {
  readonly code: number;
  readonly said: string;
}

export interface PublishingOptions {
  /** Epoch milliseconds; without it five minutes into the session. */
  readonly nowMs?: number;
  /** Of the first contract; the others follow. */
  readonly usd?: number;
  readonly revise?: string;
}

/** Publishes the session; with the catalog where the store is empty. Throws what is no expected failure. */
export async function publishSession(
  store: ObjectStore,
  session: Session,
  { nowMs = sessionStartMs(session) + 300_000, usd = 10, revise }: PublishingOptions = {},
): Promise<Publishing> {
  const isEmpty = (await store.list("publications/")[Symbol.asyncIterator]().next()).done === true;
  try {
    await publish(
      {
        catalog: isEmpty ? source("catalog", CATALOG) : null,
        quotes: [source("quotes", quotesAt(usd))],
        closes: [],
        session,
        attribution: null,
        revise: revise ?? null,
        dryRun: false,
        gates: {
          maxMoveMicros: 50_000_000,
          minCoverageMicros: 80_000_000,
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

/** Throws where the head is another snapshot than this one, or not whole. */
export async function requireHead(store: ObjectStore, name: string | RegExp): Promise<void> {
  const { head } = await wholeHead(store);
  if (typeof name === "string") assert.equal(head, name);
  else assert.match(head, name);
  await requireVerified(store);
}

/** The fault is gone: what it kept from being published is published, whole. */
export async function requireNextPublished(store: ObjectStore): Promise<void> {
  assert.deepEqual(await publishSession(store, NEXT), { code: 0, said: "" });
  await requireHead(store, NEXT_HEAD);
}

function source(stem: string, text: string): Source {
  return {
    name: `${stem}.csv`,
    format: "csv",
    async *open() {
      yield Buffer.from(text);
    },
  };
}

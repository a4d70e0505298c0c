/**
 * The actors of a race: publishers, rollbacks and prunes, which sign the log and require its
 * signatures; somebody without the key; and the report of each.
 */
import type { Clock } from "../../src/lib/clock.ts";
import { ChipboardError } from "../../src/lib/errors.ts";
import { USUAL_LIMITS } from "../../src/feed/finding.ts";
import type { InputSource } from "../../src/feed/source.ts";
import { copyStore } from "../../src/desk/copy-store.ts";
import { prune } from "../../src/desk/prune.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import type { Session } from "../../src/market/session.ts";
import { publish } from "../store/begun.ts";
import { appendEntry } from "../../src/snapshot/log/append.ts";
import { NO_KEYS } from "../../src/snapshot/log/sign.ts";
import { readLogEnd } from "../../src/snapshot/log/walk.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { ANY_TIME, EMPTY_PRUNE } from "../store/log-entries.ts";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { STRICT } from "../golden/golden-key.ts";
import { USUAL_REQUEST } from "../../src/publish/request.ts";

/** What an actor reports when it has ended. */
export interface Report {
  /** The publication that it claims to have made, or null. */
  readonly made: { readonly number: number; readonly snapshot: string } | null;
  /** The exit code; 0: done, or nothing to do. */
  readonly code: number;
  readonly said: string;
}

export interface Actor {
  readonly name: string;
  readonly kind: "publish" | "rollback" | "prune" | "copy" | "stranger";
  run(store: ObjectStore, clock: Clock): Promise<Report>;
}

export interface PublisherOrder {
  readonly session: Session;
  /** One digit; another one gives other levels. */
  readonly variant: number;
  readonly revise: string | null;
}

export const publisher = (name: string, { session, variant, revise }: PublisherOrder): Actor => ({
  name,
  kind: "publish",
  run: (store, clock) =>
    reported(async () => {
      const { outcome, publication, snapshot } = await publish(
        {
          ...USUAL_REQUEST,
          catalog: CATALOG,
          quotes: [quotes(session, variant)],
          session,
          revise,
          keys: STRICT,
          gates: { ...USUAL_LIMITS, maxGapSessions: 1_000, acceptMoves: false, allowSparse: false },
        },
        store,
        clock,
        () => {},
      );
      const isMade = outcome === "published" && publication !== null;
      return isMade ? { number: publication, snapshot: snapshotText(snapshot) } : null;
    }),
});

export const roller = (name: string, reference: string): Actor => ({
  name,
  kind: "rollback",
  run: (store, clock) =>
    reported(async () => {
      const { outcome, publication, snapshot } = await rollBack(
        store,
        reference,
        "check",
        clock,
        STRICT,
        ANY_TIME,
      );
      if (outcome === "unchanged") return null;
      return { number: publication, snapshot };
    }),
});

export const pruner = (name: string, keepDays: number): Actor => ({
  name,
  kind: "prune",
  run: (store, clock) =>
    reported(async () => {
      await prune(store, keepDays, false, clock, STRICT, ANY_TIME);
      return null;
    }),
});

/** Copies the store to another one, which nobody else uses. */
export const copier = (name: string, to: ObjectStore): Actor => ({
  name,
  kind: "copy",
  run: (store) =>
    reported(async () => {
      await copyStore(store, to, false, () => {});
      return null;
    }),
});

/**
 * Somebody who can write to the store and has no key: appends an entry that follows the log, fits
 * whatever the others do, and is unsigned. After it every run is refused.
 */
export const stranger = (name: string): Actor => ({
  name,
  kind: "stranger",
  run: (store, clock) =>
    reported(async () => {
      const { newest } = await readLogEnd(store);
      // The first actor appends.
      await appendEntry(store, EMPTY_PRUNE, newest, clock.now(), ANY_TIME, NO_KEYS);
      return null;
    }),
});

/** Reports expected failures; rethrows others. */
async function reported(task: () => Promise<Report["made"]>): Promise<Report> {
  try {
    return { made: await task(), code: 0, said: "" };
  } catch (error) {
    if (!(error instanceof ChipboardError)) throw error;
    return { made: null, code: error.exitCode, said: error.message };
  }
}

/** Whether an actor was refused because of the log, which nobody damages. */
export const isAboutTheLog = (said: string): boolean =>
  /publications\/|signed log|changed while/.test(said);

const IDS = ["a", "b"];
const CATALOG = textSource("catalog.csv", catalogOf(IDS));
const quotes = (session: Session, variant: number): InputSource => {
  const levels = IDS.map((id, n) => [id, levelText(10 + n, session, variant)]);
  return textSource("quotes.csv", quotesOf(Object.fromEntries(levels)));
};

/** A level in US dollars, with three decimals in every session; `variant` is one digit. */
export const levelText = (dollars: number, session: Session, variant: number): string =>
  `${dollars}.${String(session % 100).padStart(2, "0")}${variant}`;

function textSource(name: string, text: string): InputSource {
  return {
    name,
    format: "csv",
    open: async function* () {
      yield Buffer.from(text);
    },
  };
}

/**
 * A store whose log has 2,000 entries over 40 snapshots: 110 contracts with three years of closes are
 * published for 40 sessions, then the head goes back and forth between these snapshots. Publishes
 * and entries are made by the program's own functions; only the proof of a snapshot that precedes a
 * rollback is left out, because 1,960 of them would take an hour.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { sourceOf } from "../../src/feed/source.ts";
import { USUAL_LIMITS } from "../../src/feed/finding.ts";
import { publish } from "../../test/store/begun.ts";
import type { PublishResult } from "../../src/publish/release.ts";
import { appendRollback } from "../../src/snapshot/log/append.ts";
import { mustRead, readLogEnd } from "../../src/snapshot/log/walk.ts";
import { ANY_TIME, readPublications } from "../../test/store/log-entries.ts";
import { NO_KEYS, type LogKeys } from "../../src/snapshot/log/sign.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { openStore } from "../../src/store/open-store.ts";
import type { Session } from "../../src/market/session.ts";
import { FIRST_SESSION, instantIn, writeMarket, type MarketFiles } from "./bench-market.ts";
import { CONTRACTS } from "./bench-service.ts";
import { USUAL_REQUEST } from "../../src/publish/request.ts";

export const SNAPSHOTS = 40;
export const ENTRIES = 2_000;

const CLOSE_DAYS = 3 * 365;
/** All rollbacks fit into the last session, so that none is overdue. */
const ROLLBACK_EVERY_MS = 20_000;
/** Has no divisor in common with SNAPSHOTS, so that all snapshots have their turn. */
const STEP = 13;

/** A folder with snapshots. */
interface VintageStore {
  readonly location: string;
  /** When each entry was appended (ISO 8601), beginning with entry 1. */
  readonly instants: readonly string[];
}

/** Publishes and rolls back in a new folder below `folder`. */
export async function buildVintages(folder: string): Promise<VintageStore> {
  const location = join(folder, "store");
  const inputs = join(folder, "inputs");
  mkdirSync(inputs);
  const market = writeMarket(inputs, CONTRACTS, SNAPSHOTS, CLOSE_DAYS);
  const store = await openStore(location);
  try {
    for (const { session } of market.quotes) await publishQuotes(store, market, session);
    await appendRollbacks(store, ENTRIES - SNAPSHOTS, ROLLBACK_EVERY_MS);
    return { location, instants: (await readPublications(store)).map(({ at }) => at) };
  } finally {
    await store.close();
  }
}

/** Publishes a session of the market; the first one with its catalog and its closes. */
export async function publishQuotes(
  store: ObjectStore,
  { catalog, closes, quotes }: MarketFiles,
  session: Session,
  keys: LogKeys = NO_KEYS,
): Promise<PublishResult> {
  const isFirst = session === FIRST_SESSION;
  const file = quotes.find((each) => each.session === session)?.file;
  if (file === undefined) throw new Error(`The market has no session ${session}`);
  return publish(
    {
      ...USUAL_REQUEST,
      catalog: isFirst ? sourceOf(catalog) : null,
      quotes: [sourceOf(file)],
      closes: isFirst ? closes.map((each) => sourceOf(each)) : [],
      session,
      gates: { ...USUAL_LIMITS, acceptMoves: false, allowSparse: false },
      keys,
    },
    store,
    { now: () => Date.parse(instantIn(session)) },
    () => {},
  );
}

/**
 * Appends so many rollbacks after the publishes that the log consists of, one every `everyMs`, to all
 * snapshots in turns. The last one goes to the newest snapshot.
 */
export async function appendRollbacks(
  store: ObjectStore,
  count: number,
  everyMs: number,
  keys: LogKeys = NO_KEYS,
): Promise<void> {
  const published = await readPublications(store);
  let { newest } = await readLogEnd(store);
  for (let left = count - 1; left >= 0; left -= 1) {
    const target = published.at(-1 - ((left * STEP) % published.length));
    if (newest === null || target === undefined) throw new Error("Nothing is published");
    const { session, revision, manifest_sha256, roots } = target;
    const appended = await appendRollback(
      store,
      {
        action: "rollback",
        session,
        revision,
        reason: null,
        manifest_sha256,
        corrections: 0,
        roots,
      },
      newest,
      Date.parse(newest.entry.at) + everyMs,
      ANY_TIME,
      [],
      keys,
    );
    newest = appended && (await mustRead(store, appended.number));
  }
}

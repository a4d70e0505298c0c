/** Publishes one feed, and checks that it is published correctly or refused with its lines. */
import assert from "node:assert/strict";
import type { InputSource } from "../../src/feed/source.ts";
import { parseSession, sessionStartMs, type Session } from "../../src/market/session.ts";
import type { publish as realPublish } from "../../test/store/begun.ts";
import type { PublishResult } from "../../src/publish/release.ts";
import { MemoryStore } from "../../test/store/memory-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { headFeed, validFeed, type Feed } from "./feed-mutations.ts";
import { requirePublished, requireWhole } from "./feed-published.ts";
import type { FeedRandom } from "./feed-random.ts";
import { requireRefusal } from "./feed-refusal.ts";
import { FEED_KINDS, FEED_SESSION, HEAD_SESSION, type FeedKind } from "./feed-table.ts";
import { USUAL_REQUEST } from "../../src/publish/request.ts";

export type Publish = typeof realPublish;

/** A store that records in `touched` which keys are written or deleted. */
class WatchedStore extends MemoryStore {
  readonly touched = new Set<string>();

  override create(key: string, bytes: Uint8Array): Promise<"created" | "taken"> {
    this.touched.add(key);
    return super.create(key, bytes);
  }

  override delete(key: string): Promise<void> {
    this.touched.add(key);
    return super.delete(key);
  }
}

export class FeedTrials {
  readonly #publish: Publish;
  readonly #random: FeedRandom;
  readonly #head: ReadonlyMap<string, Buffer>;
  readonly #verifiedOneIn: number;
  #published = 0;

  private constructor(
    publish: Publish,
    random: FeedRandom,
    verifiedOneIn: number,
    head: ReadonlyMap<string, Buffer>,
  ) {
    this.#publish = publish;
    this.#random = random;
    this.#verifiedOneIn = verifiedOneIn;
    this.#head = head;
  }

  /**
   * Publishes HEAD_SESSION; each feed of FEED_SESSION is then published onto a copy of it. One in
   * `verifiedOneIn` snapshots is verified completely, with its workbook.
   */
  static async begin(
    publish: Publish,
    random: FeedRandom,
    verifiedOneIn: number,
  ): Promise<FeedTrials> {
    const store = new MemoryStore();
    const trials = new FeedTrials(publish, random, verifiedOneIn, new Map());
    await trials.#run(
      store,
      HEAD_SESSION,
      ["catalog", "quotes"].map((kind) => headFeed(kind as FeedKind)),
    );
    return new FeedTrials(publish, random, verifiedOneIn, await contentOf(store));
  }

  /** A new store with HEAD_SESSION. */
  async store(): Promise<WatchedStore> {
    const store = new WatchedStore();
    for (const [key, bytes] of this.#head) await store.create(key, bytes);
    store.touched.clear();
    return store;
  }

  /** Throws if the feed is neither published correctly nor refused with its lines. */
  async publish(feed: Feed): Promise<"published" | "refused"> {
    const store = await this.store();
    const feeds = FEED_KINDS.map((kind) => (kind === feed.kind ? feed : validFeed(kind)));
    let result: PublishResult;
    try {
      result = await this.#run(store, FEED_SESSION, feeds);
    } catch (error) {
      requireRefusal(error, feeds);
      assert.notEqual(feed.outcome, "published", `refused: ${String(error)} ${detailsOf(error)}`);
      assert.deepEqual([...store.touched], [], "something was written");
      return "refused";
    }
    assert.notEqual(feed.outcome, "refused", "published");
    await requirePublished(store, result, feeds);
    this.#published += 1;
    if (this.#published % this.#verifiedOneIn === 0) await requireWhole(store, result);
    return "published";
  }

  #run(store: ObjectStore, sessionText: string, feeds: readonly Feed[]): Promise<PublishResult> {
    const session = parseSession(sessionText) as Session;
    const of = (kind: FeedKind): InputSource[] =>
      feeds.filter((feed) => feed.kind === kind).map((feed) => sourceOf(feed, this.#random));
    return this.#publish(
      {
        ...USUAL_REQUEST,
        catalog: of("catalog")[0] ?? null,
        quotes: of("quotes"),
        closes: of("closes"),
        session,
        attribution: "Levels made up by a test",
        gates: {
          maxMoveMicros: 50_000_000,
          maxIndexMoveMicros: 25_000_000,
          maxBoardMoveMicros: 15_000_000,
          minCoverageMicros: 80_000_000,
          maxUnchangedSessions: 1_000_000,
          maxGapSessions: 1_000_000,
          maxCarryDays: 45,
          acceptMoves: !this.#random.oneIn(4),
          allowSparse: !this.#random.oneIn(4),
        },
      },
      store,
      { now: () => sessionStartMs(session) + 300_000 },
      () => {},
    );
  }
}

/** All objects of the store, by key. */
export async function contentOf(store: ObjectStore): Promise<Map<string, Buffer>> {
  const content = new Map<string, Buffer>();
  for await (const { key } of store.list("")) {
    content.set(key, (await store.get(key)) as Buffer);
  }
  return content;
}

/** Delivers the bytes in pieces that are cut anywhere, like a stream. */
function sourceOf({ kind, format, bytes }: Feed, random: FeedRandom): InputSource {
  const cuts = Array.from({ length: random.below(4) }, () => random.below(bytes.length + 1));
  const ends = [...cuts.sort((a, b) => a - b), bytes.length];
  return {
    name: `${kind}.${format}`,
    format,
    async *open() {
      let from = 0;
      for (const to of ends) {
        yield bytes.subarray(from, to);
        from = to;
      }
    },
  };
}

const detailsOf = (error: unknown): string =>
  error instanceof Error && "details" in error ? JSON.stringify(error.details) : "";

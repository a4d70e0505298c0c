/** Feeds as files for the program, in a process of its own. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { publish } from "../../test/store/begun.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { chipboard } from "../../test/program/program.ts";
import { Tally, type FaultOptions, type FaultRow } from "./fault.ts";
import { validFeed, type Feed } from "./feed-mutations.ts";
import { FeedRandom } from "./feed-random.ts";
import { requireReadable } from "./feed-refusal.ts";
import { FEED_KINDS, FEED_SESSION } from "./feed-table.ts";
import { contentOf, FeedTrials } from "./feed-trial.ts";

/** Publishes `count` feeds with the program, which must do the same as `publish` in this process. */
export async function publishWithProgram(
  { folder, seed, say }: FaultOptions,
  count: number,
  feedOf: (random: FeedRandom) => Feed,
): Promise<FaultRow> {
  const fault = "feeds through the program";
  const random = new FeedRandom(seed, fault);
  const trials = await FeedTrials.begin(publish, random, 1);
  const tally = new Tally(fault, say);
  for (let number = 0; number < count; number += 1) {
    const feed = feedOf(random);
    const place = mkdtempSync(join(folder, "feed-"));
    await tally.inject(`seed ${seed}, number ${number}, ${feed.kind}: ${feed.story}`, () =>
      publishOne(trials, feed, place),
    );
    rmSync(place, { recursive: true });
  }
  return tally.row;
}

async function publishOne(trials: FeedTrials, feed: Feed, place: string): Promise<void> {
  const store = new FolderStore(join(place, "store"));
  for (const [key, bytes] of await contentOf(await trials.store())) await store.create(key, bytes);
  const before = await contentOf(store);
  const files = FEED_KINDS.flatMap((kind) => {
    const { format, bytes } = kind === feed.kind ? feed : validFeed(kind);
    writeFileSync(join(place, `${kind}.${format}`), bytes);
    return [`--${kind}`, `${kind}.${format}`];
  });
  const { code, stderr } = await chipboard(
    ["publish", ...files, "--store", "store", "--session", FEED_SESSION],
    { cwd: place },
  );
  if (code === 0) {
    assert.notEqual(feed.outcome, "refused");
    assert.deepEqual((await verifySnapshots(store, null)).damages, []);
    return;
  }
  assert.ok(code === 2 || code === 3 || code === 4, `exit code ${code}: ${stderr.slice(0, 2_000)}`);
  assert.notEqual(feed.outcome, "published", stderr);
  const lines = stderr.slice(stderr.search(/^error: /m)).split("\n");
  assert.match(lines[0] ?? "", /^error: /);
  lines.forEach(requireReadable);
  assert.deepEqual(await contentOf(store), before, "something was written");
}

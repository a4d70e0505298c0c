/** Clocks that jump by a day, back and forth, between publishes, prunes, listings and verifies. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { listPublications } from "../../src/desk/list.ts";
import { USUAL_LIMITS } from "../../src/feed/finding.ts";
import { RefusedError } from "../../src/lib/errors.ts";
import { prune } from "../../src/desk/prune.ts";
import { sessionAt, sessionKey, sessionStartMs } from "../../src/market/session.ts";
import { readEntries, readPublications } from "../../test/store/log-entries.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../../test/store/memory-store.ts";
import { wholeHead } from "./crash-head.ts";
import { chipboard, environment } from "../../test/program/program.ts";
import { HEAD, publishHead, publishSession, quotesAt } from "./disk-market.ts";
import { requireFailure, requireHead } from "./disk-market.ts";
import { FeedRandom } from "./feed-random.ts";
import { Tally, type FaultOptions, type FaultRow } from "./fault.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const JUMPS_MS = [
  -DAY_MS,
  DAY_MS,
  -DAY_MS,
  DAY_MS,
  DAY_MS,
  -12 * HOUR_MS,
  12 * HOUR_MS,
  0,
  31 * DAY_MS,
  -31 * DAY_MS,
];

export const jumpingClocks = async (options: FaultOptions): Promise<FaultRow[]> => [
  await publishByJumpingClock(options, publishSession),
  await commandsByJumpingClock(options),
];

/** Publishes the session that the clock is in, prunes and lists by a clock that jumps. */
export async function publishByJumpingClock(
  { scale, seed, say }: Omit<FaultOptions, "folder">,
  publish: typeof publishSession,
): Promise<FaultRow> {
  const tally = new Tally("clock jumps by a day, publishing", say);
  const random = new FeedRandom(seed, "clock");
  const clock = { ms: sessionStartMs(HEAD) + 300_000, now: () => clock.ms };
  const store = new MemoryStore();
  await publishHead(store);
  let head = HEAD;
  for (let step = 0; step < { short: 30, full: 400 }[scale]; step += 1) {
    const jump = random.pick(JUMPS_MS);
    clock.ms += jump;
    const now = sessionAt(clock.ms);
    const act = random.below(4);
    await tally.inject(`seed ${seed}, step ${step}, by ${jump / HOUR_MS} h`, async () => {
      const before = await readPublications(store);
      const newestMs = Date.parse((await readEntries(store)).at(-1)?.at ?? "");
      const isAway = Math.abs(now - sessionAt(newestMs)) > USUAL_LIMITS.maxGapSessions;
      if (act < 2) {
        // In half of the cases the session after the clock's.
        const session = now + act;
        // Levels that never move would be refused as an old file.
        const usd = 10 + (Math.abs(session - HEAD) % 1_000);
        const { code, said } = await publish(store, session, { nowMs: clock.ms, usd });
        const isFar = isAway || session > head + USUAL_LIMITS.maxGapSessions;
        const appends = session > head;
        const expected = act === 1 ? 2 : session < head ? 4 : appends && isFar ? 3 : 0;
        assert.equal(code, expected, `${sessionKey(session)} on ${sessionKey(head)}: ${said}`);
        const added = (await readPublications(store)).length - before.length;
        assert.equal(added, expected === 0 && appends ? 1 : 0);
        if (expected === 0) head = session;
      } else if (act === 2) {
        // A prune with nothing to append passes by any clock.
        await prune(store, random.below(3), false, clock).catch((error: unknown) => {
          assert.ok(isAway && error instanceof RefusedError, String(error));
        });
        assert.deepEqual(await readPublications(store), before);
        // Prune keeps the publication before the head: a rollback returns to it.
        await requireStored(store, before.at(-2)?.session ?? head);
      } else {
        const { publications } = await listPublications(store, clock, null);
        const listed = publications.filter((row) => "counts" in row);
        assert.equal(listed.length, before.length);
      }
      await requireHead(store, `${sessionKey(head)}/r1`);
    });
  }
  return tally.row;
}

async function requireStored(store: MemoryStore, session: number): Promise<void> {
  assert.notEqual(await store.get(`sessions/${sessionKey(session)}/r1/manifest.json`), null);
}

/** The same with the program, whose clock CHIPBOARD_NOW sets. */
async function commandsByJumpingClock({ scale, folder, say }: FaultOptions): Promise<FaultRow> {
  const tally = new Tally("clock jumps by a day, commands", say);
  const store = new FolderStore(join(folder, "clock"));
  await publishHead(store);
  writeFileSync(join(folder, "clock.csv"), quotesAt(10));
  for (let day = 0; day < { short: 1, full: 4 }[scale]; day += 1) {
    const session = HEAD + 1 + 2 * day;
    const at = (days: number) => ({
      cwd: folder,
      env: environment(new Date(sessionStartMs(session) + 300_000 + days * DAY_MS).toISOString()),
    });
    const words = ["publish", "--quotes", "clock.csv", "--store", "clock"];
    const named = [...words, "--session", sessionKey(session)];
    const { head } = await wholeHead(store);
    await tally.inject(`day ${day}: publish a day early`, async () => {
      requireFailure(await chipboard(named, at(-1)), 2, / has not begun: the clock is in /);
      await requireHead(store, head);
    });
    await tally.inject(`day ${day}: publish in time`, async () => {
      const { code, stderr } = await chipboard(words, at(0));
      assert.equal(code, 0, stderr);
      await requireHead(store, `${sessionKey(session)}/r1`);
    });
    await tally.inject(`day ${day}: publish again by a clock a day back`, async () => {
      requireFailure(await chipboard(words, at(-1)), 4, / is older than the head, /);
      await requireHead(store, `${sessionKey(session)}/r1`);
    });
    for (const days of scale === "full" ? [-1, 1, 0] : [-1]) {
      await tally.inject(`day ${day}: verify and prune, by ${days} days`, async () => {
        for (const command of ["verify --all", "prune --keep-days 0", "ls"]) {
          const args = ["snapshots", ...command.split(" "), "--store", "clock"];
          const { code, stderr } = await chipboard(args, at(days));
          assert.equal(code, 0, `${command}: ${stderr}`);
        }
        await requireHead(store, `${sessionKey(session)}/r1`);
      });
    }
  }
  return tally.row;
}

/** Clocks that jump by a day, back and forth, between publishes, prunes, listings and verifies. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { listPublications } from "../../src/desk/list.ts";
import { prune } from "../../src/desk/prune.ts";
import { sessionAt, sessionKey, sessionStartMs } from "../../src/market/session.ts";
import { readPublications } from "../../src/snapshot/publication-log.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { wholeHead } from "./crash-head.ts";
import { HEAD, publishHead, publishSession, quotesAt, requireHead } from "./disk-market.ts";
import { program, requireFailure } from "./disk-program.ts";
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

/** A desk that publishes the session that its clock is in, and prunes by it. */
export async function publishByJumpingClock(
  { scale, seed, say }: Omit<FaultOptions, "folder">,
  publish: typeof publishSession,
): Promise<FaultRow> {
  const tally = new Tally("clock jumps by a day, publishing", say);
  const random = new FeedRandom(seed, "clock");
  const clock = { ms: sessionStartMs(HEAD) + 300_000, now: () => clock.ms };
  const store = new MemoryStore(clock);
  await publishHead(store);
  let head = HEAD;
  for (let step = 0; step < { short: 30, full: 400 }[scale]; step += 1) {
    const jump = random.pick(JUMPS_MS);
    clock.ms += jump;
    const now = sessionAt(clock.ms);
    const act = random.below(4);
    await tally.throw(`seed ${seed}, step ${step}, by ${jump / HOUR_MS} h`, async () => {
      const before = await readPublications(store);
      if (act < 2) {
        // One session further than the clock is, in half of the cases.
        const session = now + act;
        const { code, said } = await publish(store, session, { nowMs: clock.ms });
        const expected = act === 1 ? 2 : session < head ? 4 : 0;
        assert.equal(code, expected, `${sessionKey(session)} on ${sessionKey(head)}: ${said}`);
        const added = (await readPublications(store)).length - before.length;
        assert.equal(added, expected === 0 && session > head ? 1 : 0);
        if (expected === 0) head = session;
      } else if (act === 2) {
        await prune(store, random.below(3), false, clock);
        assert.deepEqual(await readPublications(store), before);
        // What a rollback goes to is kept beside the head.
        await requireStored(store, before.at(-2)?.session ?? head);
      } else {
        const { rows } = await listPublications(store, clock, null);
        const listed = rows.filter(({ kind }) => kind === "publication");
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

/** The same by the program, whose clock CHIPBOARD_NOW sets. */
async function commandsByJumpingClock({ scale, folder, say }: FaultOptions): Promise<FaultRow> {
  const tally = new Tally("clock jumps by a day, commands", say);
  const store = new FolderStore(join(folder, "clock"));
  await publishHead(store);
  writeFileSync(join(folder, "clock.csv"), quotesAt(10));
  for (let day = 0; day < { short: 1, full: 4 }[scale]; day += 1) {
    const session = HEAD + 1 + 2 * day;
    const at = (days: number) => ({
      cwd: folder,
      now: new Date(sessionStartMs(session) + 300_000 + days * DAY_MS).toISOString(),
    });
    const words = ["publish", "--quotes", "clock.csv", "--store", "clock"];
    const named = [...words, "--session", sessionKey(session)];
    const { head } = await wholeHead(store);
    await tally.throw(`day ${day}: publish a day early`, async () => {
      requireFailure(await program(named, at(-1)), 2, / has not begun: the clock is in /);
      await requireHead(store, head);
    });
    await tally.throw(`day ${day}: publish in time`, async () => {
      const { code, stderr } = await program(words, at(0));
      assert.equal(code, 0, stderr);
      await requireHead(store, `${sessionKey(session)}/r1`);
    });
    await tally.throw(`day ${day}: publish again by a clock a day back`, async () => {
      requireFailure(await program(words, at(-1)), 4, / is older than the head, /);
      await requireHead(store, `${sessionKey(session)}/r1`);
    });
    for (const days of scale === "full" ? [-1, 1, 0] : [-1]) {
      await tally.throw(`day ${day}: verify and prune, by ${days} days`, async () => {
        for (const command of ["verify --all", "prune --keep-days 0", "ls"]) {
          const args = ["snapshots", ...command.split(" "), "--store", "clock"];
          const { code, stderr } = await program(args, at(days));
          assert.equal(code, 0, `${command}: ${stderr}`);
        }
        await requireHead(store, `${sessionKey(session)}/r1`);
      });
    }
  }
  return tally.row;
}

/** Disks that fail and clocks that jump: the head stays whole, and what fails says so. */
import { expect, test } from "vitest";
import { lostBeforePublish } from "./disk-lost.ts";
import { publishSession } from "./disk-market.ts";
import { diskFaults } from "./disks.ts";
import { expectNothingLost } from "./short.ts";

test("each fault a few times: nothing lost", { timeout: 600_000 }, () =>
  expectNothingLost(diskFaults),
);

const BROKEN: Record<string, typeof publishSession> = {
  "an object left behind by a publish that failed": async (store, session, options) => {
    const ended = await publishSession(store, session, options);
    if (ended.code !== 0) await store.create("sessions/2026-11-21T00Z/r1/x", Buffer.of(1), "");
    return ended;
  },
  "a publish that only says it was one": async () => ({ code: 0, said: "" }),
  "a failure that names nothing": async () => ({ code: 6, said: "damaged" }),
};

test.for(Object.entries(BROKEN))("counted as lost: %s", { timeout: 60_000 }, async ([, broken]) => {
  const told: string[] = [];
  const options = {
    scale: "full",
    folder: "",
    seed: 7,
    say: (text: string) => told.push(text),
  } as const;
  const { lost } = await lostBeforePublish(options, broken);
  expect(lost).toBeGreaterThan(0);
  expect(told).toHaveLength(lost);
});

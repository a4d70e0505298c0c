/** Failing disks and jumping clocks in their short form; and a loss is counted. */
import { expect, test } from "vitest";
import { publishByJumpingClock } from "../../tools/faults/disk-clock.ts";
import { publishSession } from "../../tools/faults/disk-market.ts";
import { diskFaults } from "../../tools/faults/disks.ts";
import { expectNothingLost } from "./short.ts";

test("nothing is lost to full disks, missing permissions and jumping clocks", () =>
  expectNothingLost(diskFaults));

const BROKEN: Record<string, typeof publishSession> = {
  "a publish that reports success but writes nothing": async () => ({ code: 0, said: "" }),
  "a refusal with another exit code": async (...args) => {
    const ended = await publishSession(...args);
    return ended.code === 0 ? ended : { ...ended, code: 6 };
  },
  "a publish into another session": (store, session, options) =>
    publishSession(store, session - 1, options),
};

test.for(Object.entries(BROKEN))("counted as lost: %s", async ([, broken]) => {
  const told: string[] = [];
  const say = (text: string): unknown => told.push(text);
  const { lost } = await publishByJumpingClock({ scale: "short", seed: 7, say }, broken);
  expect(lost).toBeGreaterThan(0);
  expect(told).toHaveLength(lost);
});

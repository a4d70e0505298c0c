/** Crashes in their short form; and a broken promise is counted as a loss. */
import { expect, test } from "vitest";
import { parsePublicationKey } from "../../src/store/paths.ts";
import { MEMORY } from "../../tools/faults/crash-places.ts";
import { InterceptedStore } from "./crash-store.ts";
import { fails, type Strike } from "../../tools/faults/crash-strikes.ts";
import { crashesIn, localCrashes } from "../../tools/faults/crashes.ts";
import { expectNothingLost } from "./short.ts";

test("a run that fails, hangs or is killed at a write leaves the old head or the new one", async () => {
  await expectNothingLost(localCrashes);
});

test("a store that names a head before its files are there is counted as a loss", async () => {
  // Deletes a file of the new head after it was read back, when the log entry is written.
  const losing: Strike = (scenario, store, step, seed) => {
    const forgetful = new InterceptedStore(store, async ({ kind, key }, run) => {
      if (kind === "create" && parsePublicationKey(key) !== null) {
        await store.delete("sessions/2026-11-21T12Z/r1/report.html");
      }
      return run();
    });
    return fails("after")(scenario, forgetful, step, seed);
  };
  const told: string[] = [];
  const options = { scale: "short", folder: "", seed: 1, say: (text: string) => told.push(text) };
  const crash = { fault: "a file is lost", strike: losing, strides: { memory: 10 } };
  const [row] = await crashesIn(MEMORY, [crash], options as Parameters<typeof crashesIn>[2]);
  // Readers see it only if the publication was written: once each for publish and rollback.
  expect(row?.lost).toBeGreaterThan(0);
  expect(row?.lost).toBeLessThan(row?.injected ?? 0);
  expect(told.filter((text) => text.startsWith("LOST"))).toHaveLength(row?.lost ?? 0);
  expect(told.join("\n")).toContain("lacks sessions/2026-11-21T12Z/r1/report.html");
});

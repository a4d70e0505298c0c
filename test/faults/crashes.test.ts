/** Kills at writes in their short form; and a broken promise is counted as a loss. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { folderPlace } from "../../tools/faults/crash-places.ts";
import { crashesIn, killRun, localCrashes, s3Crashes } from "../../tools/faults/crashes.ts";
import { publicationKey } from "../../src/store/paths.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { testService } from "../services/services.ts";
import { expectNothingLost } from "./short.ts";

const s3 = testService("s3");
for (const [name, value] of Object.entries(s3?.env ?? {})) vi.stubEnv(name, value);
afterAll(() => s3?.stop());

test("a run that is killed at a write leaves the old head or the new one", () =>
  expectNothingLost(localCrashes));

test.skipIf(s3 === null)("on S3 as well", () => expectNothingLost(s3Crashes));

test("a head that is named before its files are there is counted as a loss", async () => {
  const folder = mkdtempSync(join(tmpdir(), "chipboard-crashes-"));
  const told: string[] = [];
  const options = {
    scale: "short",
    folder,
    seed: 1,
    say: (text: string) => told.push(text),
  } as const;
  try {
    const rows = await crashesIn(folderPlace(folder), options, async (order) => {
      await killRun(order);
      const store = new FolderStore(order.location);
      if ((await store.get(publicationKey(2))) === null) return;
      await store.delete("sessions/2026-11-21T12Z/r1/report.html");
    });
    const injected = rows.reduce((sum, row) => sum + row.injected, 0);
    const lost = rows.reduce((sum, row) => sum + row.lost, 0);
    // Readers see it only if the publication was written.
    expect(lost).toBeGreaterThan(0);
    expect(lost).toBeLessThan(injected);
    expect(told.filter((text) => text.startsWith("LOST"))).toHaveLength(lost);
    expect(told.join("\n")).toContain("lacks sessions/2026-11-21T12Z/r1/report.html");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

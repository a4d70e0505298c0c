/** Runs faults as a test, in their short form: each kind is injected, and nothing is lost. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import type { Faults } from "../../tools/faults/fault.ts";

/** Always the same, so that only a change of the code changes the result; `npm run faults` draws others. */
export const SEED = 20261121;

export async function expectNothingLost(faults: Faults): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "chipboard-faults-"));
  const told: string[] = [];
  const seed = Number(process.env["CHIPBOARD_TEST_SEED"] ?? SEED);
  try {
    const rows = await faults({ scale: "short", folder, seed, say: (text) => told.push(text) });
    const losses = told.filter((text) => text.startsWith("LOST"));
    expect({ seed, losses }).toEqual({ seed, losses: [] });
    expect(rows).not.toEqual([]);
    for (const { fault, injected, survived, lost } of rows) {
      expect({ fault, survived, lost }).toEqual({ fault, survived: injected, lost: 0 });
      expect(injected, fault).toBeGreaterThan(0);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

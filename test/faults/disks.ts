/**
 * Disks that fail: full, read-only, denied, with files gone; and clocks that jump. The head stays
 * whole, what fails says so clearly, and the next run succeeds once the fault is gone.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { jumpingClocks } from "./disk-clock.ts";
import { deniedFolders } from "./disk-denied.ts";
import { fullDisks } from "./disk-full.ts";
import { lostFiles } from "./disk-lost.ts";
import { brokenStates } from "./disk-state.ts";
import type { FaultOptions, FaultRow, Faults } from "./fault.ts";

const PARTS: Readonly<Record<string, Faults>> = {
  full: fullDisks,
  denied: deniedFolders,
  lost: lostFiles,
  state: brokenStates,
  clock: jumpingClocks,
};

export async function diskFaults(options: FaultOptions): Promise<FaultRow[]> {
  const rows: FaultRow[] = [];
  for (const [name, part] of Object.entries(PARTS)) {
    const folder = join(options.folder, name);
    mkdirSync(folder);
    rows.push(...(await part({ ...options, folder })));
    options.say(`${name}: done`);
  }
  return rows;
}

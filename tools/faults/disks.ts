/**
 * Disks that are full or read-only, missing permissions, and clocks that jump. The head stays
 * complete, the error names the cause, and the next run succeeds when the fault is over.
 */
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { jumpingClocks } from "./disk-clock.ts";
import { deniedFolders } from "./disk-denied.ts";
import { fullDisks } from "./disk-full.ts";
import type { FaultOptions, FaultRow, Faults } from "./fault.ts";

const PARTS: Readonly<Record<string, Faults>> = {
  denied: deniedFolders,
  clock: jumpingClocks,
  full: fullDisks,
};

export async function diskFaults(options: FaultOptions): Promise<FaultRow[]> {
  const rows: FaultRow[] = [];
  // Publishers that run as nobody must be able to enter it.
  chmodSync(options.folder, 0o755);
  for (const [name, part] of Object.entries(PARTS)) {
    const folder = join(options.folder, name);
    mkdirSync(folder);
    const own = await part({ ...options, folder });
    for (const { fault, injected, lost } of own) {
      options.say(`${name}: ${fault}: ${injected} injected, ${lost} lost`);
    }
    rows.push(...own);
  }
  return rows;
}

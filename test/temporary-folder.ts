/**
 * The folder for everything that tests write: in memory where there is room for it, because a store waits for the disk
 * after each file. It is removed at the end. Set up once for a run (vitest.config.ts).
 */
import { chmodSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const IN_MEMORY = "/dev/shm";
/** More than a whole run needs. A container often has 64 MB. */
const BYTES_NEEDED = 8e9;

export default function setUp(): () => void {
  const folder = mkdtempSync(join(hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir(), "chipboard-tests-"));
  // As open as /tmp, for programs of other users.
  chmodSync(folder, 0o1777);
  // Workers and the programs that they start take it from here.
  process.env["TMPDIR"] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

function hasRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= BYTES_NEEDED;
  } catch {
    return false;
  }
}

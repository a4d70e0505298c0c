/** Folders that may not be written: from the start, and from the middle of a publish on. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { FolderStore } from "../../src/store/folder-store.ts";
import { endWithUs } from "../bench/child.ts";
import { HEAD_NAME, NEXT_NOW, publishHead, quotesAt, requireHead } from "./disk-market.ts";
import { requireNextPublished } from "./disk-market.ts";
import { program, requireFailure } from "./disk-program.ts";
import { Tally, type FaultOptions, type FaultRow } from "./fault.ts";

const CHILD = join(import.meta.dirname, "disk-denied-child.ts");

/** The folder must be one that everybody can enter. */
export const deniedFolders = async (options: FaultOptions): Promise<FaultRow[]> => [
  await deniedFromTheStart(options),
  await deniedMidway(options),
];

/** The store, or one of the folders in it, through the program. */
async function deniedFromTheStart({ scale, folder, say }: FaultOptions): Promise<FaultRow> {
  const tally = new Tally("read-only folder", say);
  writeFileSync(join(folder, "quotes.csv"), quotesAt(10));
  const place = join(folder, "read-only");
  const parts = ["", "publications", "sessions", "ledger"];
  for (const part of scale === "full" ? parts : parts.slice(0, 1)) {
    await tally.throw(`store/${part}`, async () => {
      rmSync(place, { recursive: true, force: true });
      const store = new FolderStore(place);
      await publishHead(store);
      // All but the one part may be written by everybody.
      for (const entry of readdirSync(place, { recursive: true, withFileTypes: true })) {
        if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), 0o777);
      }
      chmodSync(place, 0o777);
      chmodSync(join(place, part), 0o555);
      const args = ["publish", "--quotes", "quotes.csv", "--store", "read-only"];
      const denied = await program(args, { cwd: folder, now: NEXT_NOW, isUnprivileged: true });
      requireFailure(
        denied,
        5,
        /^error: --store "read-only": cannot write to it: permission denied \(EACCES\)$/,
      );
      await requireHead(store, HEAD_NAME);
      chmodSync(join(place, part), 0o777);
      const { code, stderr } = await program(args, {
        cwd: folder,
        now: NEXT_NOW,
        isUnprivileged: true,
      });
      assert.equal(code, 0, stderr);
      await requireHead(store, /^2026-11-21T00Z\/r\d+$/);
      await requireNextPublished(store);
    });
  }
  return tally.row;
}

/** Before each write of a publish, or before some of them. */
async function deniedMidway({ scale, folder, say }: FaultOptions): Promise<FaultRow> {
  const tally = new Tally("permission lost while publishing", say);
  const place = join(folder, "denied");
  mkdirSync(place);
  chmodSync(place, 0o777);
  const child = spawn(process.execPath, [CHILD, place, "1", scale === "full" ? "1" : "15"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  endWithUs(child);
  const closed = once(child, "close");
  for await (const line of createInterface({ input: child.stdout })) {
    const { write, lost } = JSON.parse(line) as { write: number; lost: string | null };
    await tally.throw(`before write ${write}`, () => {
      if (lost !== null) throw new Error(lost);
    });
  }
  const [code] = await closed;
  assert.equal(code, 0, "the publisher without permission did not end");
  return tally.row;
}

/** Folders that are read-only from the start, or that become so during a publish. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { FolderStore } from "../../src/store/folder-store.ts";
import { chipboard, endWithUs } from "../../test/program/program.ts";
import { HEAD_NAME, publishHead, quotesAt, requireHead } from "./disk-market.ts";
import { requireFailure, requireNextPublished } from "./disk-market.ts";
import { Tally, type FaultOptions, type FaultRow } from "./fault.ts";

const CHILD = join(import.meta.dirname, "disk-denied-child.ts");

/** Every user must be able to enter the folder of the options. */
export const deniedFolders = async (options: FaultOptions): Promise<FaultRow[]> => [
  await deniedFromTheStart(options),
  await deniedMidway(options),
];

/** Runs the program while the store, or one of its folders, is read-only. */
async function deniedFromTheStart({ scale, folder, say }: FaultOptions): Promise<FaultRow> {
  const tally = new Tally("read-only folder", say);
  writeFileSync(join(folder, "quotes.csv"), quotesAt(10));
  const place = join(folder, "read-only");
  const parts = ["", "publications", "sessions", "ledger", "inputs"];
  for (const part of scale === "full" ? parts : parts.slice(0, 1)) {
    await tally.inject(`store/${part}`, async () => {
      rmSync(place, { recursive: true, force: true });
      const store = new FolderStore(place);
      await publishHead(store);
      // Every user may read all of it, and write to all parts but this one.
      for (const entry of readdirSync(place, { recursive: true, withFileTypes: true })) {
        chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o777 : 0o644);
      }
      chmodSync(place, 0o777);
      chmodSync(join(place, part), 0o555);
      const args = ["publish", "--quotes", "quotes.csv", "--store", "read-only"];
      const options = { cwd: folder, unprivileged: true };
      const denied = await chipboard(args, options);
      requireFailure(
        denied,
        5,
        /^error: --store "read-only": cannot write to it: permission denied \(EACCES\)$/,
      );
      await requireHead(store, HEAD_NAME);
      chmodSync(join(place, part), 0o777);
      const { code, stderr } = await chipboard(args, options);
      assert.equal(code, 0, stderr);
      await requireHead(store, /^2026-11-21T00Z\/r\d+$/);
      await requireNextPublished(store);
    });
  }
  return tally.row;
}

/** Removes the permission before each write of a publish, or in the short form before some. */
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
    await tally.inject(`before write ${write}`, () => {
      if (lost !== null) throw new Error(lost);
    });
  }
  const [code] = await closed;
  assert.equal(code, 0, "the publisher without permission failed");
  return tally.row;
}

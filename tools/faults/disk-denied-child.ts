/**
 * Publishes again and again, as the user nobody if it is started as root. Each time the folder becomes
 * read-only before the n-th write. `node disk-denied-child.ts FOLDER FIRST STEP` prints, for each n from
 * FIRST on, `{"write": n, "lost": null}` or the loss.
 */
import assert from "node:assert/strict";
import { chmodSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { FolderStore } from "../../src/store/folder-store.ts";
import { InterceptedStore, isWrite } from "../../test/faults/crash-store.ts";
import {
  HEAD_NAME,
  NEXT,
  NEXT_HEAD,
  publishHead,
  publishSession,
  requireHead,
  requireNextPublished,
} from "./disk-market.ts";

const NOBODY = 65_534;

const [folder = "", first = "1", step = "1"] = process.argv.slice(2);
if (process.getuid?.() === 0) {
  process.setgroups?.([]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
}
for (let write = Number(first); ; write += Number(step)) {
  const place = join(folder, `denied-${write}`);
  let isReached = true;
  let lost: string | null = null;
  try {
    isReached = await publishDenied(place, write);
  } catch (error) {
    lost = error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  setMode(place, 0o755);
  rmSync(place, { recursive: true });
  if (!isReached) break;
  console.log(JSON.stringify({ write, lost }));
}

/** False if the publish has fewer writes. */
async function publishDenied(place: string, write: number): Promise<boolean> {
  const store = new FolderStore(place);
  await publishHead(store);
  let writes = 0;
  const denying = new InterceptedStore(store, (operation, run) => {
    // In turn the whole store and only its subfolders: then a file can be written, but not renamed.
    if (isWrite(operation) && (writes += 1) === write) setMode(place, 0o555, write % 2 === 0);
    return run();
  });
  const { code, said } = await publishSession(denying, NEXT);
  if (writes < write) {
    assert.equal(code, 0, said);
    return false;
  }
  if (code === 0) {
    // Only the removal of the claim failed; the next prune removes it.
    await requireHead(store, NEXT_HEAD);
  } else {
    assert.equal(code, 5, said);
    assert.match(said, /^--store ".*": cannot write .+: permission denied \(EACCES\)$/);
    await requireHead(store, HEAD_NAME);
  }
  setMode(place, 0o755);
  await requireNextPublished(store);
  return true;
}

/** Sets the mode of the folders below `place`, and of `place` itself unless `isLeftOut`. */
function setMode(place: string, mode: number, isLeftOut = false): void {
  if (!isLeftOut) chmodSync(place, 0o755);
  for (const entry of readdirSync(place, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), mode);
  }
  if (!isLeftOut) chmodSync(place, mode);
}

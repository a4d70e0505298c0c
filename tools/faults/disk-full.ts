/** Disks that are full or read-only, and file size limits, during a publish. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { FolderStore } from "../../src/store/folder-store.ts";
import { chipboard } from "../../test/program/program.ts";
import { CATALOG, HEAD_NAME, NEXT, publishHead, publishSession } from "./disk-market.ts";
import { quotesAt, requireFailure, requireHead, requireNextPublished } from "./disk-market.ts";
import { Tally, type FaultOptions, type FaultRow } from "./fault.ts";

const STEP_BYTES = 4_096;
const DISK_BYTES = 16 * 1_048_576;

/** A disk that is small enough to fill. */
export class SmallDisk {
  readonly path: string;
  readonly #ballast: string;

  private constructor(path: string) {
    this.path = path;
    this.#ballast = join(path, "ballast");
  }

  /** Null if this user may not mount a disk. */
  static mount(path: string): SmallDisk | null {
    mkdirSync(path, { recursive: true });
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "none", path], {
        stdio: "ignore",
      });
      return new SmallDisk(path);
    } catch {
      return null;
    }
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Leaves at most this many bytes free. */
  fill(freeBytes: number): void {
    this.empty();
    writeFileSync(this.#ballast, Buffer.alloc(Math.max(0, this.freeBytes - freeBytes), 1));
  }

  empty(): void {
    rmSync(this.#ballast, { force: true });
  }

  makeReadOnly(isReadOnly: boolean): void {
    execFileSync("mount", ["-o", `remount,${isReadOnly ? "ro" : "rw"}`, this.path]);
  }

  unmount(): void {
    execFileSync("umount", [this.path]);
  }
}

/** If this user may not mount a disk, only the file size limits are injected. */
export async function fullDisks(options: FaultOptions): Promise<FaultRow[]> {
  const { folder, say } = options;
  const whole = join(folder, "whole");
  await publishHead(new FolderStore(whole));
  const rows = [await fileLimits(options, whole)];
  const disk = SmallDisk.mount(join(folder, "disk"));
  if (disk === null) {
    say("not injected: full disks (this user may not mount one)");
    return rows;
  }
  try {
    rows.unshift(
      await fillLevels(options, disk, whole),
      await readOnlyMounts(options, disk, whole),
    );
  } finally {
    disk.unmount();
  }
  return rows;
}

async function fillLevels(
  { scale, say }: FaultOptions,
  disk: SmallDisk,
  whole: string,
): Promise<FaultRow> {
  const tally = new Tally("disk full while publishing", say);
  const place = join(disk.path, "store");
  const store = new FolderStore(place);
  const renew = (): void => {
    rmSync(place, { recursive: true, force: true });
    cpSync(whole, place, { recursive: true });
  };
  renew();
  const before = disk.freeBytes;
  await requireNextPublished(store);
  const neededBytes = before - disk.freeBytes;
  const step = scale === "full" ? STEP_BYTES : Math.ceil(neededBytes / 6 / STEP_BYTES) * STEP_BYTES;
  for (let free = 0; free < neededBytes; free += step) {
    await tally.inject(`${free} of ${neededBytes} bytes left`, async () => {
      renew();
      disk.fill(free);
      const { code, said } = await publishSession(store, NEXT);
      assert.equal(code, 5);
      assert.match(said, /^--store ".*": cannot write .+: no space left on device \(ENOSPC\)$/);
      await requireHead(store, HEAD_NAME);
      disk.empty();
      await requireNextPublished(store);
    });
    disk.empty();
  }
  return tally.row;
}

async function readOnlyMounts(
  { scale, say }: FaultOptions,
  disk: SmallDisk,
  whole: string,
): Promise<FaultRow> {
  const tally = new Tally("disk that turned read-only", say);
  const place = join(disk.path, "read-only");
  const store = new FolderStore(place);
  for (let number = 0; number < { short: 1, full: 10 }[scale]; number += 1) {
    await tally.inject(`number ${number}`, async () => {
      rmSync(place, { recursive: true, force: true });
      cpSync(whole, place, { recursive: true });
      disk.makeReadOnly(true);
      try {
        const { code, said } = await publishSession(store, NEXT);
        assert.equal(code, 5);
        assert.match(said, /^--store ".*": cannot write to it: read-only file system \(EROFS\)$/);
        await requireHead(store, HEAD_NAME);
      } finally {
        disk.makeReadOnly(false);
      }
      await requireNextPublished(store);
    });
  }
  return tally.row;
}

/** `ulimit -f`: on any file system, a write beyond the limit fails as on a full disk. */
async function fileLimits({ scale, folder, say }: FaultOptions, whole: string): Promise<FaultRow> {
  const tally = new Tally("file size limit while publishing", say);
  writeFileSync(join(folder, "quotes.csv"), quotesAt(10));
  writeFileSync(join(folder, "catalog.csv"), CATALOG);
  const place = join(folder, "limited");
  const sizes = readdirSync(whole, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name)).size);
  const largestKilobytes = Math.floor((Math.max(...sizes) - 1) / 1_024);
  const times = { short: 2, full: 24 }[scale];
  const levels = Array.from({ length: times }, (_, at) =>
    Math.round((at * largestKilobytes) / times),
  );
  for (const fileLimitKilobytes of new Set(levels)) {
    await tally.inject(`files of up to ${fileLimitKilobytes} kB`, async () => {
      rmSync(place, { recursive: true, force: true });
      cpSync(whole, place, { recursive: true });
      const args = ["publish", "--quotes", "quotes.csv", "--store", "limited"];
      const failed = await chipboard(args, { cwd: folder, fileLimitKilobytes });
      requireFailure(
        failed,
        5,
        /^error: --store "limited": cannot write .+: file too large \(EFBIG\)$/,
      );
      const store = new FolderStore(place);
      await requireHead(store, HEAD_NAME);
      const { code, stderr } = await chipboard(args, { cwd: folder });
      assert.equal(code, 0, stderr);
      await requireHead(store, /^2026-11-21T00Z\/r\d+$/);
    });
  }
  return tally.row;
}

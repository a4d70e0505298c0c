/**
 * Reads the files of a folder to which others may write. Nothing here waits for another process, as a
 * plain open(2) of a named pipe does, reads without end, as from a device, or follows a link out of it.
 */
import { constants } from "node:fs";
import { open, realpath, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "../lib/errors.ts";

const PIECE_BYTES = 65_536;
/** Windows has neither flag, and no named pipes among its files. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0);

/** An open file, to be closed by its reader. */
export interface OpenFile {
  readonly sizeBytes: number;
  /** The bytes from `at` up to `end`: of those that it had when it was opened. */
  bytes(at?: number, end?: number): Promise<Buffer>;
  /** The next piece; null at the end. */
  piece(): Promise<Buffer | null>;
  close(): Promise<void>;
}

/**
 * Opens the file at the path `path` below the folder `root`; null: a folder is there. Says what else it is,
 * or that a folder between it and `root` is a link. Throws the errors of the operating system.
 */
export async function openFile(root: string, path: string): Promise<OpenFile | string | null> {
  const folder = dirname(path);
  const [realRoot, realFolder] = await Promise.all([realpath(root), realpath(join(root, folder))]);
  const file =
    realFolder === join(realRoot, folder) &&
    (await open(join(root, path), FLAGS).catch((error: unknown) => {
      if (errorCode(error) === "ELOOP") return false;
      throw error;
    }));
  if (typeof file === "boolean") return "a link, or behind one";
  const status = await file.stat();
  if (status.isFile()) return openFileOf(file, status.size);
  await file.close();
  return status.isDirectory() ? null : "a pipe or a device";
}

const openFileOf = (file: FileHandle, sizeBytes: number): OpenFile => ({
  sizeBytes,
  bytes: async (at = 0, end = sizeBytes) => {
    const bytes = Buffer.allocUnsafeSlow(Math.max(0, Math.min(end, sizeBytes) - at));
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, at + length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  },
  piece: async () => {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    const { bytesRead } = await file.read(piece, 0, PIECE_BYTES);
    return bytesRead === 0 ? null : piece.subarray(0, bytesRead);
  },
  close: () => file.close(),
});

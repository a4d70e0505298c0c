/**
 * Reads the files of a folder to which others may write. Nothing here waits for another process, as a
 * plain open(2) of a named pipe does, or reads without end, as from a device.
 */
import { constants } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";

const PIECE_BYTES = 65_536;
/** Windows has no such flag, and no named pipes among its files. */
const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** An open file, to be closed by its reader. */
export interface OpenFile {
  readonly sizeBytes: number;
  /** As many bytes as it had when it was opened. */
  bytes(): Promise<Buffer>;
  /** The next piece; null at the end. */
  piece(): Promise<Buffer | null>;
  close(): Promise<void>;
}

/** Opens a file; says what else there is at the path. Throws the errors of the operating system. */
export async function openFile(path: string): Promise<OpenFile | "folder" | "neither"> {
  const file = await open(path, WITHOUT_WAITING);
  const status = await file.stat();
  if (status.isFile()) return opened(file, status.size);
  await file.close();
  return status.isDirectory() ? "folder" : "neither";
}

const opened = (file: FileHandle, sizeBytes: number): OpenFile => ({
  sizeBytes,
  bytes: async () => {
    const bytes = Buffer.allocUnsafeSlow(sizeBytes);
    let length = 0;
    while (length < sizeBytes) {
      const { bytesRead } = await file.read(bytes, length, sizeBytes - length, length);
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

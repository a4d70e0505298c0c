import { createHash } from "node:crypto";

/** Bytes that only this key has, of any length: the key's digest, over and over. */
export function contentOf(key: string, sizeBytes: number): Buffer {
  return Buffer.alloc(sizeBytes, createHash("sha256").update(key).digest());
}

import { createHash } from "node:crypto";

/** Bytes of any length that are unique to a key: its digest, repeated. */
export function contentOf(key: string, sizeBytes: number): Buffer {
  return Buffer.alloc(sizeBytes, createHash("sha256").update(key).digest());
}

/** Reads objects that are small unless somebody has put others in their place. */
import { DamageError } from "../lib/errors.ts";
import type { ObjectStore } from "./object-store.ts";

/**
 * The bytes; null if there is no such key. Throws DamageError, without reading it, for an object of more
 * than `maxBytes`.
 */
export async function getAtMost(
  store: ObjectStore,
  key: string,
  maxBytes: number,
): Promise<Buffer | null> {
  const object = await store.open(key);
  if (object === null) return null;
  const { sizeBytes, stream } = object;
  if (sizeBytes > maxBytes) {
    await stream.cancel();
    const found = `has ${sizeBytes} bytes, expected ${maxBytes} or less`;
    throw new DamageError(`${store.location}/${key} ${found}`);
  }
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

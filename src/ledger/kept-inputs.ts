/**
 * The inputs of runs as they came. `inputs/<sha256>-<N>.gz` has in one gzip member the bytes whose digest
 * is in its name, so it is proven by its name alone. They are the record behind the levels: no prune
 * removes them, and the proxy never reads them.
 */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { MAX_INPUT_MEGABYTES } from "../lib/limits.ts";
import { DamageError, reasonOf } from "../lib/errors.ts";
import type { ObjectStore } from "../ports/store.ts";
import { parseInputKey } from "../store/paths.ts";

const INPUT_BYTES_MAX = MAX_INPUT_MEGABYTES * 1_000_000;

/** The largest gzip of so many bytes: no encoder adds more to bytes that it cannot shorten. */
const codedBytesMax = (bytes: number): number => Math.ceil(bytes * 1.01) + 1_000;

/**
 * The stored bytes of a kept input, after its content was compared with its name. Throws DamageError if it is
 * missing, has other content, or has more bytes than a manifest names, or any input can have, beyond which
 * nothing is unpacked.
 */
export async function readInput(
  store: ObjectStore,
  key: string,
  namedBytes = INPUT_BYTES_MAX,
): Promise<Buffer> {
  const bytesMax = Math.min(namedBytes, INPUT_BYTES_MAX);
  const where = `${store.location}/${key}`;
  const stored = await store.get(key, codedBytesMax(bytesMax));
  if (stored === null) throw new DamageError(`${where} is missing`);
  const hash = createHash("sha256");
  let sizeBytes = 0;
  try {
    for await (const piece of unpack(stored)) {
      sizeBytes += piece.length;
      if (sizeBytes > bytesMax) throw new Error("it has more of them");
      hash.update(piece);
    }
  } catch (cause) {
    const expected = `expected gzip of ${bytesMax} bytes or fewer`;
    throw new DamageError(`${where} is damaged: ${expected} (${reasonOf(cause)})`, [], { cause });
  }
  if (hash.digest("hex") === parseInputKey(key)) return stored;
  throw new DamageError(`${where} is damaged: its name is not the SHA-256 of its content`);
}

/** The content of what `readInput` returned, in pieces. */
export const unpack = (stored: Uint8Array): AsyncIterable<Buffer> =>
  Readable.from([stored]).pipe(createGunzip());

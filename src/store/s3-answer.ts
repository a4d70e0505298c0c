/** Bounds the answers of an S3 server in time and memory, also of one that sends without end. */
import { Readable } from "node:stream";
import { S3Client, type S3ClientConfig } from "@aws-sdk/client-s3";
import { tooLarge } from "../ports/store.ts";

/** The largest answer that is no object: a page of a listing has 1,000 keys, in about 1 MB. */
const LISTING_BYTES_MAX = 10_000_000;
/** An answer may take this long, and longer only if so many bytes come on average. */
const SLOW_AFTER_MS = 60_000;
export const BYTES_PER_MS_MIN = 10;

/** A client that fails if an answer is too slow, or too large for anything but an object. */
export function boundedClient(config: S3ClientConfig): S3Client {
  const client = new S3Client(config);
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        const result = await next(args);
        const response = result.response as { statusCode: number; body: Readable };
        const isObject = commandName === "GetObjectCommand" && response.statusCode < 300;
        const { body } = response;
        const pieces = inTime(body, isObject ? Infinity : LISTING_BYTES_MAX);
        response.body = Readable.from(pieces, { objectMode: false });
        response.body.once("close", () => body.destroy());
        return result;
      },
    { name: "bounded", step: "deserialize", priority: "low" },
  );
  return client;
}

/**
 * Passes the pieces of an answer on. Fails if they have more than `bytesMax` bytes, or if waiting for
 * them takes too long; the time that their reader takes does not count.
 */
export async function* inTime(
  source: AsyncIterable<Uint8Array>,
  bytesMax: number,
  now: () => number = () => performance.now(),
): AsyncGenerator<Uint8Array> {
  let length = 0;
  let waitedMs = 0;
  let askedAt = now();
  for await (const piece of source) {
    waitedMs += now() - askedAt;
    length += piece.length;
    if (length > bytesMax) throw failure(`the answer has more than ${bytesMax} bytes`);
    if (waitedMs > SLOW_AFTER_MS + length / BYTES_PER_MS_MIN) {
      const seconds = Math.round(waitedMs / 1000);
      throw failure(`the answer is too slow, ${length} bytes in ${seconds} seconds`);
    }
    yield piece;
    askedAt = now();
  }
}

/** The SDK adds no words of its own to an error with metadata, and does not repeat the request. */
const failure = (message: string): Error => Object.assign(new Error(message), { $metadata: {} });

/**
 * All bytes of an object. Throws DamageError, naming `where`, as soon as they are more than `bytesMax`.
 */
export async function bytesOf(
  pieces: AsyncIterable<Uint8Array>,
  bytesMax: number,
  where: string,
): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  let length = 0;
  for await (const piece of pieces) {
    const end = length + piece.length;
    if (end > bytesMax) throw tooLarge(where, end, bytesMax);
    // A server can send byte for byte: a list of the pieces would take a hundred times their size.
    if (end > bytes.length) {
      bytes = Buffer.concat([bytes.subarray(0, length)], Math.min(2 * end, bytesMax));
    }
    bytes.set(piece, length);
    length = end;
  }
  return bytes.subarray(0, length);
}

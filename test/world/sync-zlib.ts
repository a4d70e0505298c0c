/**
 * Import it before everything else: Node's zlib then works in the caller's turn. Its threads would end in an order that no
 * seed decides.
 */
import { createRequire, syncBuiltinESMExports } from "node:module";
import { Transform, type TransformCallback } from "node:stream";
import type * as Zlib from "node:zlib";

const zlib = createRequire(import.meta.url)("node:zlib") as typeof Zlib;

type Sync = (bytes: Buffer, options?: object) => Buffer;
type Callback = (error: unknown, result?: Buffer) => void;

/** The function with a callback, by the one that returns. */
const calling =
  (sync: Sync) =>
  (bytes: Buffer, ...rest: [Callback] | [object, Callback]): void => {
    const callback = rest.at(-1) as Callback;
    const options = rest.length > 1 ? rest[0] : {};
    let result: Buffer;
    try {
      result = sync(bytes, options);
    } catch (error) {
      process.nextTick(callback, error);
      return;
    }
    process.nextTick(callback, null, result);
  };

/** The stream, which gives its output at its end. */
const streaming = (sync: Sync) =>
  class extends Transform {
    readonly #pieces: Buffer[] = [];
    readonly #options: object | undefined;

    constructor(options?: object) {
      super();
      this.#options = options;
    }

    override _transform(piece: Buffer, _encoding: string, done: TransformCallback): void {
      this.#pieces.push(piece);
      done();
    }

    override _flush(done: TransformCallback): void {
      try {
        done(null, sync(Buffer.concat(this.#pieces), this.#options));
      } catch (error) {
        done(error as Error);
      }
    }
  };

const Gzip = streaming(zlib.gzipSync);
const Gunzip = streaming(zlib.gunzipSync);

const replaced = {
  gzip: calling(zlib.gzipSync),
  gunzip: calling(zlib.gunzipSync),
  inflateRaw: calling(zlib.inflateRawSync),
  createGzip: (options?: object) => new Gzip(options),
  createGunzip: (options?: object) => new Gunzip(options),
  // The archive of a workbook extends it.
  DeflateRaw: streaming(zlib.deflateRawSync),
};
for (const [name, value] of Object.entries(replaced))
  Object.defineProperty(zlib, name, { value, enumerable: true, configurable: true });
syncBuiltinESMExports();

/** The web's stream, in the caller's turn. */
class SyncDecompressionStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor() {
    const pieces: Uint8Array[] = [];
    super({
      transform: (piece) => void pieces.push(piece),
      flush: (controller) => controller.enqueue(zlib.gunzipSync(Buffer.concat(pieces))),
    });
  }
}
globalThis.DecompressionStream = SyncDecompressionStream;

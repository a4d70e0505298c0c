/** The thread of coder.ts: codes one body a message. */
import { setPriority, constants as osConstants } from "node:os";
import { parentPort } from "node:worker_threads";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { CodedMessage } from "./coder.ts";

/** Quality of the small files that are asked for most, and of large ones, where it costs time. */
const BROTLI_QUALITY = { small: 9, large: 5 };
const LARGE_BYTES = 64 * 1024;

// On Linux this is the priority of the calling thread; elsewhere it would be the whole process's.
if (process.platform === "linux") setPriority(osConstants.priority.PRIORITY_BELOW_NORMAL);

parentPort?.on("message", (plain: Uint8Array) => {
  const quality = plain.length < LARGE_BYTES ? BROTLI_QUALITY.small : BROTLI_QUALITY.large;
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    [constants.BROTLI_PARAM_LGWIN]: windowBits(plain.length),
  };
  // Copies, so that what is handed over is just as long as the form.
  const br = new Uint8Array(brotliCompressSync(plain, { params }));
  const gzip = new Uint8Array(gzipSync(plain));
  const message: CodedMessage = { br, gzip };
  parentPort?.postMessage(message, [br.buffer, gzip.buffer]);
});

/** A window as large as the body: a larger one takes memory and time, and finds nothing more. */
const windowBits = (bytes: number): number =>
  Math.min(
    constants.BROTLI_DEFAULT_WINDOW,
    Math.max(constants.BROTLI_MIN_WINDOW_BITS, Math.ceil(Math.log2(bytes + 16))),
  );

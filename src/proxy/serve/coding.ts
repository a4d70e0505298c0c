/** Content codings: makes the coded forms of a body. */
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import pLimit from "p-limit";

/** A content coding (RFC 9110, 8.4); identity: not coded. */
export type Coding = "br" | "gzip" | "identity";

/** The coded forms of a body that are smaller than the body. */
export type CodedForms = ReadonlyMap<Coding, Buffer>;

/** The codings that a body may have. */
export const CODINGS: ReadonlySet<Coding> = new Set(["br", "gzip"]);

const compressed = { br: promisify(brotliCompress), gzip: promisify(gzip) };

/** A compromise between size and time: files are coded once in 12 hours and may be megabytes. */
const BROTLI_QUALITY = 6;

/** Coding a larger body, such as a history file, may take seconds. */
const SMALL_MAX_BYTES = 1_000_000;

/**
 * Makes coded forms in Node's thread pool while the proxy answers. It codes one body at a time, and
 * one large body beside it, so that boards do not wait for a history file.
 */
export class Coder {
  readonly #turns = pLimit(1);
  readonly #turnsOfLarge = pLimit(1);

  /** The coded forms of `plain`. Never rejects: if zlib fails, the result is empty. */
  async forms(plain: Buffer): Promise<CodedForms> {
    const turns = plain.length > SMALL_MAX_BYTES ? this.#turnsOfLarge : this.#turns;
    try {
      return await turns(codedForms, plain);
    } catch (error) {
      process.emitWarning(`A body of ${plain.length} bytes is not coded: ${String(error)}`);
      return new Map();
    }
  }
}

async function codedForms(plain: Buffer): Promise<CodedForms> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    [constants.BROTLI_PARAM_LGWIN]: windowBits(plain.length),
  };
  const forms: [Coding, Buffer][] = [
    ["br", await compressed.br(plain, { params })],
    ["gzip", await compressed.gzip(plain)],
  ];
  return new Map(forms.filter(([, bytes]) => bytes.length < plain.length));
}

/** A window as large as the body: a larger one costs memory and time and compresses no better. */
const windowBits = (bytes: number): number =>
  Math.min(
    constants.BROTLI_DEFAULT_WINDOW,
    Math.max(constants.BROTLI_MIN_WINDOW_BITS, Math.ceil(Math.log2(bytes + 16))),
  );

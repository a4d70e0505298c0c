/** Entity tags and content codings: makes the coded forms of a body and chooses one for a caller. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import pLimit from "p-limit";

/** A content coding (RFC 9110, 8.4); identity: not coded. */
export type Coding = "br" | "gzip" | "identity";

/** The coded forms of a body that are smaller than the body. */
export type CodedForms = ReadonlyMap<Coding, Buffer>;

/** The codings that a body may have. */
export const CODINGS: ReadonlySet<Coding> = new Set(["br", "gzip"]);

const TAG_BYTES = 16;

/**
 * A strong entity tag (RFC 9110, 8.8.3). `parts` name the content but do not include its bytes, so
 * that nobody can guess levels and check them against a tag.
 */
export const tagOf = (...parts: readonly string[]): string =>
  `"${createHash("sha256").update(parts.join("\n")).digest().subarray(0, TAG_BYTES).toString("base64url")}"`;

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

/**
 * Chooses a coding out of `forms` or identity. The highest weight wins; at equal weights br comes
 * before gzip and gzip before identity. Without a header it is identity. If the caller accepts none
 * of them it is identity, too: RFC 9110, 12.5.3, lets a server ignore the field.
 */
export function chooseCoding(
  acceptEncoding: string | undefined,
  forms: Pick<ReadonlySet<Coding>, "has" | "size">,
): Coding {
  if (acceptEncoding === undefined || acceptEncoding === "" || forms.size === 0) return "identity";
  // Most programs send only this.
  if (acceptEncoding === "gzip" && forms.has("gzip")) return "gzip";
  const weights = parseWeights(acceptEncoding);
  const rest = weights.get("*");
  let best: Coding = "identity";
  // Identity is acceptable even if the header does not name it, but any coding it names wins.
  let bestWeight = weights.get("identity") ?? (rest === 0 ? 0 : Number.MIN_VALUE);
  for (const coding of ["gzip", "br"] as const) {
    if (!forms.has(coding)) continue;
    const named = weights.get(coding) ?? (coding === "gzip" ? weights.get("x-gzip") : undefined);
    const weight = named ?? rest ?? 0;
    if (weight > 0 && weight >= bestWeight) [best, bestWeight] = [coding, weight];
  }
  return best;
}

const WEIGHTED = /^([^;]*?)\s*;\s*q=([01](?:\.\d{0,3})?)\s*$/;

/**
 * The weights that an Accept… field gives, by lower-case item. Skips items with an invalid weight
 * (RFC 9110, 12.4.2) or other parameters; a weight above 1 counts as 1.
 */
export function parseWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(",")) {
    const parts = item.includes(";") ? WEIGHTED.exec(item) : [item, item, "1"];
    if (parts === null) continue;
    weights.set((parts[1] as string).trim(), Math.min(1, Number(parts[2])));
  }
  return weights;
}

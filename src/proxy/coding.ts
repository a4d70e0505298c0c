/** Entity tags, and the content codings of bodies: which there are, and which one a caller gets. */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { Limiter } from "../lib/limiter.ts";

/** How a body is coded on the way (RFC 9110, 8.4); identity: as it is. */
export type Coding = "br" | "gzip" | "identity";

/** A body's forms that are smaller than it. */
export type CodedForms = ReadonlyMap<Coding, Buffer>;

const TAG_BYTES = 16;

/**
 * A strong entity tag (RFC 9110, 8.8.3). `parts` name what it stands for; the bytes themselves are
 * not among them, so that nobody can try out levels against a tag.
 */
export const tagOf = (...parts: readonly string[]): string =>
  `"${createHash("sha256").update(parts.join("\n")).digest().subarray(0, TAG_BYTES).toString("base64url")}"`;

const compressed = { br: promisify(brotliCompress), gzip: promisify(gzip) };

/** A compromise for files that are made once in 12 hours, and may be megabytes. */
const BROTLI_QUALITY = 6;

/** Makes coded forms beside the answers: in the threads of Node's own pool, one body after another. */
export class Coder {
  readonly #turns = new Limiter(1);

  /** The forms of `plain` that are smaller than it. Never rejects: where zlib fails there are none. */
  async forms(plain: Buffer): Promise<CodedForms> {
    try {
      return await this.#turns.run(() => codedForms(plain));
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

/** A window as large as the body: a larger one takes memory and time, and finds nothing more. */
const windowBits = (bytes: number): number =>
  Math.min(
    constants.BROTLI_DEFAULT_WINDOW,
    Math.max(constants.BROTLI_MIN_WINDOW_BITS, Math.ceil(Math.log2(bytes + 16))),
  );

/**
 * The coding to answer with, of those in `forms` (identity always is). The highest weight wins; of
 * equal weights br, then gzip, then identity. No header: identity. Where nothing there is would be
 * acceptable, identity: RFC 9110, 12.5.3, lets a server ignore the field rather than fail.
 */
export function chooseCoding(
  acceptEncoding: string | undefined,
  forms: ReadonlyMap<Coding, unknown>,
): Coding {
  if (acceptEncoding === undefined || acceptEncoding === "" || forms.size === 0) return "identity";
  // Most programs name one coding and nothing else: nothing is to be weighed then.
  if (acceptEncoding === "gzip" && forms.has("gzip")) return "gzip";
  const weights = parseWeights(acceptEncoding);
  const rest = weights.get("*");
  let best: Coding = "identity";
  // Identity not mentioned is acceptable, but anything asked for by name is preferred to it.
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

/** Items whose weight is none (RFC 9110, 12.4.2) are left out; one above 1 counts as 1. */
function parseWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of header.toLowerCase().split(",")) {
    const parts = item.includes(";") ? WEIGHTED.exec(item) : [item, item, "1"];
    if (parts === null) continue;
    weights.set((parts[1] as string).trim(), Math.min(1, Number(parts[2])));
  }
  return weights;
}

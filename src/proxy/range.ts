/** Requests for a part of a file (RFC 9110, 14): one range of bytes of the uncoded file. */
import type { IncomingHttpHeaders } from "node:http";
import type { FlatFields } from "./answer.ts";
import { deny } from "./problems.ts";
import type { Representation } from "./snapshot/representation.ts";
import type { ByteRange } from "./snapshot/stream.ts";

/** One range in a list that may have empty elements (RFC 9110, 14.1.1 and 5.6.1.2). */
const ONE_RANGE = /^bytes=(?:(?:[ \t]*,)+[ \t]*)?(\d*)-(\d*)(?:[ \t]*,)*[ \t]*$/i;

/**
 * What Range asks for in a file of `sizeBytes`. Null: the whole file. That is also the answer to
 * several ranges, another unit and a malformed field, which a server may ignore (RFC 9110, 14.2).
 */
export function parseRange(field: string, sizeBytes: number): ByteRange | "unsatisfiable" | null {
  const parts = ONE_RANGE.exec(field);
  if (parts === null) return null;
  const [, from = "", to = ""] = parts;
  if (from === "") {
    if (to === "") return null;
    if (Number(to) === 0) return "unsatisfiable";
    // The last bytes of an empty file: content-range has no form for that part.
    if (sizeBytes === 0) return null;
    return { first: Math.max(0, sizeBytes - Number(to)), last: sizeBytes - 1 };
  }
  const first = Number(from);
  const last = to === "" ? Infinity : Number(to);
  if (last < first) return null;
  return first < sizeBytes ? { first, last: Math.min(last, sizeBytes - 1) } : "unsatisfiable";
}

/**
 * The answer to a request with Range for this file: the part, or a refusal if the file has no byte
 * of it. Null: the whole file, because of the field or because If-Range names another
 * representation (RFC 9110, 13.1.5: the strong tag, or exactly the date of Last-Modified).
 */
export function requestedPart(
  whole: Representation,
  { range, "if-range": ifRange, "sec-fetch-site": fetchSite }: IncomingHttpHeaders,
): Representation | null {
  if (range === undefined) return null;
  const { etag, modifiedMs, sizeBytes } = whole;
  const validators: unknown[] = [undefined, etag, new Date(modifiedMs).toUTCString()];
  if (!validators.includes(ifRange)) return null;
  const wanted = parseRange(range, sizeBytes);
  if (wanted === "unsatisfiable") {
    const detail = `The file has ${sizeBytes} bytes; Range asks for none of them.`;
    return { ...whole, refusal: deny("range_not_satisfiable", detail, { sizeBytes }) };
  }
  return wanted === null ? null : partOf(whole, wanted, fetchSite !== undefined);
}

/**
 * Chromium compares Unencoded-Digest, which is of the whole file, with the bytes of the part, and fails
 * the fetch. So a part for a browser has none. Browsers send Sec-Fetch-Site; other programs may send
 * Sec-Fetch-Mode, as the fetch of Node does.
 */
function partOf(whole: Representation, range: ByteRange, isForBrowser: boolean): Representation {
  const { body, sizeBytes } = whole;
  const fields = isForBrowser ? without(whole.fields, "unencoded-digest") : whole.fields;
  const { first, last } = range;
  return {
    ...whole,
    status: 206,
    fields: partFields(fields, last - first + 1, `bytes ${first}-${last}/${sizeBytes}`),
    body:
      typeof body === "function"
        ? () => body(range)
        : typeof body === "string"
          ? body.slice(first, last + 1)
          : body.subarray(first, last + 1),
  };
}

function without(fields: FlatFields, name: string): FlatFields {
  const at = fields.indexOf(name);
  return at === -1 ? fields : fields.toSpliced(at, 2);
}

function partFields(whole: FlatFields, sizeBytes: number, contentRange: string): FlatFields {
  const fields = whole.with(whole.indexOf("content-length") + 1, String(sizeBytes));
  return [...fields, "content-range", contentRange];
}

/** Asks the public API, as any caller does: with the key fields given, and no others. */
import { reasonOf } from "../lib/errors.ts";

const API = "/api/public/v1";
const JSON_TYPE = /^application\/(?:problem\+)?json\b/;
const REQUEST_MS = 30_000;

export interface Answer {
  readonly isRefused: boolean;
  /** The address that answered, with its query. */
  readonly address: string;
  /** The entry of the log that the answer is of. */
  readonly publication: number | null;
  /** SHA-256 (hex) of the body; null where the service does not say it. */
  readonly sha256: string | null;
  /** As sent; of a refusal a problem document (RFC 9457). */
  readonly body: string;
}

/** Asks for a path below `/api/public/v1`; parameters that are undefined are left out. Never throws. */
export type Ask = (
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
) => Promise<Answer>;

/** Asks the service at `url`, the address before `/api`, with these header fields. */
export function apiAt(url: string, fields: Readonly<Record<string, string>>): Ask {
  return async (path, query) => {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) parameters.append(name, String(value));
    }
    let address = `${url}${API}${path}${parameters.size === 0 ? "" : `?${parameters.toString()}`}`;
    try {
      let response = await get(address, fields);
      const moved = response.headers.get("location") ?? "";
      if (response.status === 308 && moved.includes(`${API}/`)) {
        // Always below `url`: behind a prefix the location has it, too, and a key goes nowhere else.
        address = url + moved.slice(moved.indexOf(API));
        response = await get(address, fields);
      }
      const type = response.headers.get("content-type") ?? "no media type";
      if (!JSON_TYPE.test(type)) {
        throw new Error(`${address} answers ${response.status} with ${type}, expected JSON`);
      }
      const digest = /sha-256=:(.+):/.exec(response.headers.get("unencoded-digest") ?? "")?.[1];
      return {
        isRefused: !response.ok,
        address,
        publication: Number(response.headers.get("x-publication")) || null,
        sha256: digest === undefined ? null : Buffer.from(digest, "base64").toString("hex"),
        body: await response.text(),
      };
    } catch (error) {
      // The error of fetch has the reason in its cause.
      const reason = reasonOf(error instanceof Error ? (error.cause ?? error) : error);
      const detail = `The service at ${url} gives no answer: ${reason}`;
      const body = JSON.stringify({ title: "Service unreachable", detail });
      return { isRefused: true, address, publication: null, sha256: null, body };
    }
  };
}

const get = (address: string, headers: Readonly<Record<string, string>>): Promise<Response> =>
  fetch(address, { headers, redirect: "manual", signal: AbortSignal.timeout(REQUEST_MS) });

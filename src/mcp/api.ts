/** Asks the public API, as any caller does: with the key fields given, and no others. */
import { reasonOf } from "../lib/errors.ts";

const REQUEST_MS = 30_000;

/** What the API answers. */
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
    let address = `${url}/api/public/v1${path}${parameters.size === 0 ? "" : `?${parameters.toString()}`}`;
    try {
      let response = await get(address, fields);
      const moved = response.headers.get("location");
      if (response.status === 308 && moved !== null) {
        const target = new URL(moved, address);
        // A key goes to no other origin.
        if (target.origin !== new URL(url).origin)
          throw new Error(`it redirects to ${target.origin}`);
        address = target.href;
        response = await get(address, fields);
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
      const detail = `The service does not answer: ${reasonOf(error)}`;
      const body = JSON.stringify({ title: "Service unreachable", detail });
      return { isRefused: true, address, publication: null, sha256: null, body };
    }
  };
}

const get = (address: string, headers: Readonly<Record<string, string>>): Promise<Response> =>
  fetch(address, { headers, redirect: "manual", signal: AbortSignal.timeout(REQUEST_MS) });

/** Asks the public API, as any caller does: with the key fields given, and no others. */
import { ANSWER_BYTES_MAX, ANSWER_MS, ASKED_AT_ONCE } from "../lib/limits.ts";
import { createHash } from "node:crypto";
import type { Agent } from "node:http";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { reasonOf } from "../lib/errors.ts";
import { agentFor, get, type HttpAnswer } from "../lib/http-get.ts";

const API = "/api/public/v1";
const JSON_TYPE = /^application\/(?:problem\+)?json\b/;

export interface ApiAnswer {
  readonly isRefused: boolean;
  /** The address that answered, with its query. */
  readonly address: string;
  /** The entry of the log that the answer is of. */
  readonly publication: number | null;
  /** SHA-256 (hex) of the whole answer; null: there is none. */
  readonly sha256: string | null;
  /** As sent; of a refusal a problem document (RFC 9457). */
  readonly body: string;
}

/** Asks for a path below `/api/public/v1`; parameters that are undefined are left out. Never throws. */
export type Ask = (
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
) => Promise<ApiAnswer>;

/** The connections to the service at `url`. */
export const connectionsTo = (url: string): Agent => agentFor(url, ASKED_AT_ONCE);

/** Asks the service at `url`, the address before `/api`, with these header fields. */
export function apiAt(
  url: string,
  fields: Readonly<Record<string, string>>,
  agent = connectionsTo(url),
): Ask {
  const headers = { ...fields, "accept-encoding": "gzip" };
  const request = { agent, headers, maxBytes: ANSWER_BYTES_MAX, timeoutMs: ANSWER_MS };
  return async (path, query) => {
    const parameters = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) parameters.append(name, String(value));
    }
    let address = `${url}${API}${path}${parameters.size === 0 ? "" : `?${parameters.toString()}`}`;
    try {
      let response = await get(address, request);
      const moved = response.headers.location ?? "";
      if (response.status === 308 && moved.includes(`${API}/`)) {
        // Always below `url`: behind a prefix the location also has it, and a key goes nowhere else.
        address = url + moved.slice(moved.indexOf(API));
        response = await get(address, request);
      }
      const { status } = response;
      const type = response.headers["content-type"] ?? "no media type";
      if (!JSON_TYPE.test(type)) {
        throw new Error(`${address} answers ${status} with ${type}, expected JSON`);
      }
      const digestHeader = String(response.headers["unencoded-digest"]);
      const digest = /sha-256=:(.+):/.exec(digestHeader)?.[1];
      const body = await textOf(response);
      return {
        isRefused: status < 200 || status > 299,
        address,
        publication: Number(response.headers["x-publication"]) || null,
        sha256:
          digest === undefined
            ? createHash("sha256").update(body).digest("hex")
            : Buffer.from(digest, "base64").toString("hex"),
        body: jsonIn(body, `${address} answers ${status}`),
      };
    } catch (error) {
      const detail = `The service at ${url} gives no answer: ${reasonOf(error)}`;
      const body = JSON.stringify({ title: "Service unreachable", detail });
      return { isRefused: true, address, publication: null, sha256: null, body };
    }
  };
}

/** The text as it is. Throws if it is no JSON. */
function jsonIn(text: string, what: string): string {
  try {
    JSON.parse(text);
  } catch {
    throw new Error(`${what} with a body that is no JSON`);
  }
  return text;
}

async function textOf({ headers, body }: HttpAnswer): Promise<string> {
  if (headers["content-encoding"] !== "gzip") return body.toString("utf8");
  const inflated = await promisify(gunzip)(body, { maxOutputLength: ANSWER_BYTES_MAX });
  return inflated.toString("utf8");
}

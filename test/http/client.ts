/** An HTTP client that shows exact header fields and bytes, with a new connection for each call. */
import { createHash } from "node:crypto";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { gunzipSync } from "node:zlib";
import { checkAgainstOpenApi } from "./recorder.ts";

export interface CallOptions {
  readonly method?: string;
  /** Sent as Authorization: Bearer. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
  readonly ca?: string;
}

export interface Received {
  readonly status: number;
  /** With SAME_ID in place of the request's id, as is the body of a refusal. */
  readonly headers: IncomingHttpHeaders;
  /** As sent. */
  readonly requestId: string;
  /** As sent. */
  readonly raw: Buffer;
  /** After decoding. */
  readonly body: Buffer;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- bodies are checked by the recorder
  readonly json: any;
}

/** Stands for the id of each request, so that two answers to one request are the same. */
export const SAME_ID = "3c6ef372fe94f82ba54ff53a42";

/** Every answer is checked against the OpenAPI document and its digest on the way. */
export async function call(url: string, options: CallOptions = {}): Promise<Received> {
  const { method = "GET", key, headers, body, ca } = options;
  const received = await new Promise<Omit<Received, "text" | "json" | "requestId">>(
    (resolve, reject) => {
      const send = url.startsWith("https:") ? httpsRequest : httpRequest;
      const target = /^(https?:\/\/[^/]+)(.*)$/.exec(url) as RegExpExecArray;
      const { hostname, port } = new URL(target[1] as string);
      const request = send(
        {
          hostname,
          port,
          path: target[2] === "" ? "/" : target[2],
          method,
          agent: false,
          ...(ca !== undefined && { ca }),
          headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers },
        },
        (response) => {
          const pieces: Buffer[] = [];
          response.on("data", (piece: Buffer) => pieces.push(piece));
          response.on("error", reject);
          response.on("end", () => {
            const raw = Buffer.concat(pieces);
            const coding = raw.length === 0 ? undefined : response.headers["content-encoding"];
            resolve({
              status: response.statusCode as number,
              headers: response.headers,
              raw,
              body: decoded(raw, coding),
            });
          });
        },
      );
      request.on("error", reject);
      request.end(body);
    },
  );
  const text = received.body.toString("utf8");
  const isJson = /json/.test(received.headers["content-type"] ?? "") && text !== "";
  const whole = { ...received, text, json: isJson ? JSON.parse(text) : undefined };
  checkAgainstOpenApi(method, url, whole);
  checkDigest(method, url, whole);
  return masked(whole);
}

/** The answer with SAME_ID in place of the request's id. Only refusals have the id in their bodies. */
function masked(received: Omit<Received, "requestId">): Received {
  const requestId = received.headers["x-request-id"] as string;
  const headers = { ...received.headers, "x-request-id": SAME_ID };
  if (!received.text.includes(requestId)) return { ...received, headers, requestId };
  const text = received.text.replaceAll(requestId, SAME_ID);
  const raw = Buffer.from(text);
  const json = received.json && { ...received.json, request_id: SAME_ID };
  return { status: received.status, headers, requestId, raw, body: raw, text, json };
}

/** The value of Unencoded-Digest for these bytes. */
export const digestField = (bytes: Uint8Array): string =>
  `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;

/** Data, entries of the log and their signatures, also for HEAD, have the digest of their bytes without coding. */
function checkDigest(
  method: string,
  url: string,
  { status, headers, body }: Pick<Received, "status" | "headers" | "body">,
): void {
  const isProvable = "x-publication" in headers || new URL(url).pathname.startsWith("/log/");
  const isData = (status === 200 || status === 206) && isProvable;
  const found = headers["unencoded-digest"];
  // A part has the digest of the whole file, which only the tests of parts know.
  const expected = !isData
    ? undefined
    : status === 206 || method === "HEAD"
      ? found
      : digestField(body);
  const isRight = found === expected && (!isData || /^sha-256=:[\w+/]{43}=:$/.test(String(found)));
  if (!isRight)
    throw new Error(`${status}: unencoded-digest is ${String(found)}, not ${String(expected)}`);
}

function decoded(raw: Buffer, coding: string | undefined): Buffer {
  return coding === "gzip" ? gunzipSync(raw) : raw;
}

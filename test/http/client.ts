/** An HTTP client that shows exact header fields and bytes, with a new connection for each call. */
import { createHash } from "node:crypto";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";
import { gunzipSync } from "node:zlib";
import { answer, fieldsOf } from "../../src/core/answer.ts";
import type { World } from "../../src/core/world.ts";
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
  const received = await new Promise<Sent>((resolve, reject) => {
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
          const status = response.statusCode as number;
          resolve({ status, headers: response.headers, raw: Buffer.concat(pieces) });
        });
      },
    );
    request.on("error", reject);
    request.end(body);
  });
  return checked(method, url, received);
}

/** An answer as it came. */
type Sent = Pick<Received, "status" | "headers" | "raw">;

function checked(method: string, url: string, sent: Sent): Received {
  const coding = sent.raw.length === 0 ? undefined : sent.headers["content-encoding"];
  const body = decoded(sent.raw, coding);
  const text = body.toString("utf8");
  const isJson = /[/+]json/.test(sent.headers["content-type"] ?? "") && text !== "";
  const whole = { ...sent, body, text, json: isJson ? JSON.parse(text) : undefined };
  checkAgainstOpenApi(method, url, whole);
  checkDigest(method, url, whole);
  return masked(whole);
}

/** Of these fields Node takes the first; others it joins. */
const FIRST_ONLY = /^(?:authorization|content-length|host|if-modified-since|if-unmodified-since)$/;

/** The same from the core, without a socket. `origin` is the service's address. */
export async function callCore(
  world: World,
  origin: string,
  target: string,
  { method = "GET", key, headers: given = {}, body = "" }: CallOptions = {},
): Promise<Received> {
  const fields: [string, string][] = [["Host", new URL(origin).host]];
  if (key !== undefined) fields.push(["Authorization", `Bearer ${key}`]);
  if (body !== "") fields.push(["Content-Length", String(body.length)]);
  for (const [name, values] of Object.entries(given)) {
    // A parser of HTTP takes blanks around a value away.
    for (const value of [values].flat()) fields.push([name, value.trim()]);
  }
  const headers: Record<string, string> = {};
  for (const [sent, value] of fields) {
    const name = sent.toLowerCase();
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    else if (!FIRST_ONLY.test(name)) headers[name] = `${before}, ${value}`;
  }
  const sent = await answer(
    {
      method,
      target,
      httpVersion: "1.1",
      headers,
      rawHeaders: fields.flat(),
      peer: "127.0.0.1",
      arrivedMs: 0,
    },
    world,
  );
  const pieces = sent.body === null || method === "HEAD" ? [] : sent.body;
  const parts = pieces instanceof Uint8Array ? [pieces] : await Array.fromAsync<Uint8Array>(pieces);
  sent.done();
  const names = fieldsOf(sent);
  const found: Record<string, string> = {};
  for (let at = 0; at < names.length; at += 2) found[names[at] as string] = names[at + 1] as string;
  return checked(method, origin + target, {
    status: sent.status,
    headers: found,
    raw: Buffer.concat(parts),
  });
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

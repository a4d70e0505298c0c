/**
 * Downloads the complete body of an HTTP answer. An answer that does not say where it ends is
 * refused: a cut within the digits of a level would give another valid level.
 */
import { FEED_MS } from "../lib/limits.ts";
import { once } from "node:events";
import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { addAbortSignal, pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { createClock } from "../lib/clock.ts";
import type { Proxies } from "../lib/proxies.ts";
import { counted } from "../lib/text.ts";
import { USER_AGENT } from "../lib/version.ts";

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

interface FeedAnswer {
  /** Unpacked if it is gzip. Reading it fails if it ends early. */
  readonly body: Readable;
  readonly headers: IncomingHttpHeaders;
}

/** A refusal by a server that says when to ask again. */
export class RetryLater extends Error {
  readonly afterMs: number;
  constructor(message: string, afterMs: number) {
    super(message);
    this.afterMs = afterMs;
  }
}

/**
 * Resolves with a 200 answer. Follows redirects within the origin, and to the hosts of `mayRedirectTo`, which do not
 * get `headers`: these may be secret. Rejects with an Error whose message quotes nothing of a body: a RetryLater if
 * the answer has `Retry-After`.
 */
export async function download(
  url: URL,
  headers: Readonly<Record<string, string>>,
  proxyEnv: Proxies,
  mayRedirectTo: readonly string[] = [],
): Promise<FeedAnswer> {
  const signal = AbortSignal.timeout(FEED_MS);
  let at = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const options = {
      agent: new (at.protocol === "https:" ? HttpsAgent : HttpAgent)({ proxyEnv }),
      headers: {
        "user-agent": USER_AGENT,
        ...(at.origin === url.origin && headers),
        "accept-encoding": "gzip",
      },
      signal,
    };
    const response = addAbortSignal(signal, await answerOf(at, options));
    const { statusCode = 0, headers: answered } = response;
    if (statusCode === 200) return { body: bodyOf(response), headers: answered };
    response.destroy();
    const { location } = answered;
    if (!REDIRECTS.has(statusCode) || location === undefined) throw refusal(statusCode, answered);
    at = redirectTarget(location, at, mayRedirectTo);
  }
  throw new Error(`the server redirects more than ${MAX_REDIRECTS} times`);
}

function refusal(statusCode: number, headers: IncomingHttpHeaders): Error {
  const message = `the server answered ${statusCode}, expected 200`;
  const afterMs = retryAfterMs(headers);
  if (afterMs === null) return new Error(message);
  const seconds = Math.ceil(afterMs / 1_000);
  return new RetryLater(`${message}; it asks to wait ${counted(seconds, "second")}`, afterMs);
}

/** Retry-After (RFC 9110, 10.2.3) in milliseconds: seconds, or a date by the server's clock if it tells it. */
function retryAfterMs({ "retry-after": text = "", date = "" }: IncomingHttpHeaders): number | null {
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000;
  const untilMs = text.endsWith(" GMT") ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(untilMs)) return null;
  return Math.max(0, untilMs - (Date.parse(date) || createClock(undefined).now()));
}

async function answerOf(
  url: URL,
  options: { agent: HttpAgent; headers: Record<string, string>; signal: AbortSignal },
): Promise<IncomingMessage> {
  const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, options);
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  // From here on the reader of the body gets the errors.
  request.on("error", () => undefined);
  return response;
}

function redirectTarget(location: string, from: URL, allowed: readonly string[]): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (to?.origin === from.origin) return to;
  const target = to === null || !/^https?:$/.test(to.protocol) ? null : to;
  const expected = `expected redirects within ${from.origin}`;
  if (target === null) throw new Error(`the server redirects to an invalid address, ${expected}`);
  const found = `the server redirects to ${target.origin}`;
  if (from.protocol === "https:" && target.protocol !== "https:")
    throw new Error(`${found}, expected https`);
  const names = allowed.map((host) => host.toLowerCase());
  if (!names.includes(target.host) && !names.includes(target.hostname))
    throw new Error(`${found}, ${expected}; --allow-host ${target.host} follows it`);
  // Of an address of this host, only the host was named.
  [target.username, target.password] = ["", ""];
  return target;
}

function bodyOf(response: IncomingMessage): Readable {
  const { headers } = response;
  const transferCoding = headers["transfer-encoding"];
  const endIsTold =
    transferCoding === undefined
      ? headers["content-length"] !== undefined
      : /(?:^|,)\s*chunked$/i.test(transferCoding.trim());
  const refuse = (reason: string): Error => {
    response.destroy();
    return new Error(reason);
  };
  if (!endIsTold) {
    throw refuse(
      "the answer has neither a content-length nor chunked coding, so a truncated body could not be detected",
    );
  }
  const coding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (coding === "identity" || coding === "") return response;
  if (coding !== "gzip") throw refuse("the answer is compressed, expected gzip or no compression");
  return pipeline(response, createGunzip(), () => undefined);
}

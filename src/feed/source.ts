/** Sources of input: a file, standard input (`-`) or an http(s) address. */
import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { parseServerTime, type ServerTime } from "../lib/clock.ts";
import { outboundProxies } from "../lib/config.ts";
import { errorCode, InputError } from "../lib/errors.ts";
import { FEED_MS } from "../lib/limits.ts";
import type { Proxies } from "../lib/proxies.ts";
import { isAddress, shownLocation } from "../lib/secrets.ts";
import { decoded } from "../lib/text.ts";

/** The formats of input. `ndjson`: an object per line. */
export type Format = "csv" | "json" | "ndjson";

/** One input. */
export interface InputSource {
  /** For messages. The name of an address leaves out user, password, query and the token of a link. */
  readonly name: string;
  /** Null: only the content shows the format. */
  readonly format: Format | null;
  /** A server's answer, which may be secret: messages quote nothing of one that is no table. */
  readonly isAnswer?: true;
  /**
   * The bytes in chunks. The iteration throws InputError if the source cannot be read, with `waitFor` if
   * it may be there later. Standard input can be opened only once.
   */
  open(): AsyncIterable<Uint8Array>;
  /** What the server's last answer said of the time; null: nothing. */
  serverTime?(): ServerTime | null;
}

const FORMAT_OF_EXTENSION: Readonly<Record<string, Format>> = {
  csv: "csv",
  json: "json",
  ndjson: "ndjson",
  jsonl: "ndjson",
};

/**
 * The source that an argument names, not yet opened. `headers` (by lower-case name) go with the requests to an
 * address, and are never shown. An address can redirect to `allowedHosts`. Throws InputError for an address of another
 * scheme, and for a variable such as HTTP_PROXY that names no proxy.
 */
export function sourceOf(
  location: string,
  headers: Readonly<Record<string, string>> = {},
  allowedHosts: readonly string[] = [],
): InputSource {
  if (location === "") throw new InputError(`"": expected a file, - or an http(s) address`);
  if (location === "-") {
    return {
      name: "standard input",
      format: null,
      open: () => bytesOf("standard input", process.stdin),
    };
  }
  if (/^https?:\/\//i.test(location) && URL.canParse(location)) {
    return addressSource(location, headers, allowedHosts);
  }
  if (isAddress(location)) {
    const shown = shownLocation(location).replace(/[?#].*$/s, "");
    throw new InputError(`${shown}: expected a file, - or an http(s) address`);
  }
  return {
    name: location,
    format: formatOf(location),
    open: () => bytesOf(location, createReadStream(location)),
  };
}

/** User and password of an address are sent as Basic credentials (RFC 7617), and never shown. */
function addressSource(
  location: string,
  feedHeaders: Readonly<Record<string, string>>,
  allowedHosts: readonly string[],
): InputSource {
  const url = new URL(location);
  const user = `${decoded(url.username)}:${decoded(url.password)}`;
  const own =
    user === ":" ? {} : { authorization: `Basic ${Buffer.from(user).toString("base64")}` };
  const headers = { ...feedHeaders, ...own };
  [url.username, url.password, url.hash] = ["", "", ""];
  const name = shownLocation(`${url.origin}${url.pathname}`);
  const proxies = outboundProxies();
  let serverTime: ServerTime | null = null;
  return {
    name,
    format: formatOf(url.pathname),
    isAnswer: true,
    serverTime: () => serverTime,
    async *open() {
      // Loads what speaks HTTP only for an address: Node takes long to load it.
      const { download, RetryLater } = await import("./download.ts");
      let body: Readable;
      try {
        const answer = await download(url, headers, proxies, allowedHosts);
        serverTime = parseServerTime(name, answer.headers);
        body = answer.body;
      } catch (cause) {
        const retryAfterMs = cause instanceof RetryLater ? cause.afterMs : 0;
        throw unreadable("fetch", name, cause, true, retryAfterMs, proxyHint(url, proxies, cause));
      }
      yield* bytesOf(name, body, true);
    },
  };
}

function formatOf(location: string): Format | null {
  const extension = /\.([a-z]+)$/i.exec(location)?.[1]?.toLowerCase();
  return (extension !== undefined && FORMAT_OF_EXTENSION[extension]) || null;
}

/** A stream's bytes. `comesLater`: a source that breaks off may be whole later. */
async function* bytesOf(
  name: string,
  stream: Readable,
  comesLater = false,
): AsyncIterable<Uint8Array> {
  try {
    yield* stream;
  } catch (cause) {
    throw unreadable("read", name, cause, comesLater || errorCode(cause) === "ENOENT");
  }
}

/** If no answer came, a proxy may be the reason. */
function proxyHint({ protocol }: URL, proxies: Proxies, cause: unknown): string {
  const variable = protocol.replace(":", "_proxy");
  const isAsked = errorCode(cause) !== "" && proxies[variable] !== undefined;
  return isAsked ? `; ${variable.toUpperCase()} names a proxy` : "";
}

function unreadable(
  verb: string,
  name: string,
  cause: unknown,
  comesLater: boolean,
  retryAfterMs = 0,
  hint = "",
): InputError {
  const message = `Cannot ${verb} ${name}: ${reasonOf(cause)}${hint}`;
  const options = comesLater ? { waitFor: message, retryAfterMs } : {};
  return new InputError(message, [], { cause, ...options });
}

function reasonOf(cause: unknown): string {
  switch (errorCode(cause)) {
    case "ENOENT":
      return "no such file";
    case "EACCES":
      return "permission denied";
    case "EISDIR":
      return "it is a folder";
    case "ABORT_ERR":
      return `no complete answer within ${FEED_MS / 1_000} seconds`;
    case "ECONNRESET":
      return "the connection ended before the answer was complete";
    case "Z_BUF_ERROR":
      return "the gzip data ends early";
    default:
      return cause instanceof Error ? cause.message.trim() : String(cause);
  }
}

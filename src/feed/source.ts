/** Sources of input: a file, standard input (`-`) or an http(s) address. */
import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";
import { errorCode, InputError } from "../lib/errors.ts";
import { download } from "./download.ts";

/** The formats of input. `ndjson`: an object per line. */
export type Format = "csv" | "json" | "ndjson";

/** One input. A run opens it only once. */
export interface Source {
  /** For messages. The name of an address leaves out user, password and query. */
  readonly name: string;
  /** Null: only the content shows the format. */
  readonly format: Format | null;
  /** The bytes in chunks. The iteration throws InputError if the source cannot be read. */
  open(): AsyncIterable<Uint8Array>;
}

const FORMAT_OF_EXTENSION: Readonly<Record<string, Format>> = {
  csv: "csv",
  json: "json",
  ndjson: "ndjson",
  jsonl: "ndjson",
};

/** The source that an argument names, not yet opened. Throws InputError for other addresses. */
export function sourceOf(location: string): Source {
  if (location === "") throw new InputError(`"": expected a file, - or an http(s) address`);
  if (location === "-") {
    return {
      name: "standard input",
      format: null,
      open: () => named("standard input", process.stdin),
    };
  }
  if (/^https?:\/\//i.test(location) && URL.canParse(location)) return addressSource(location);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(location)) {
    const shown = location.replace(/^([^:]+:\/\/).*@/s, "$1***@").replace(/[?#].*$/s, "");
    throw new InputError(`${shown}: expected a file, - or an http(s) address`);
  }
  return {
    name: location,
    format: formatOf(location),
    open: () => named(location, createReadStream(location)),
  };
}

/** User and password of an address are sent as Basic credentials (RFC 7617), and never shown. */
function addressSource(location: string): Source {
  const url = new URL(location);
  const user = `${plain(url.username)}:${plain(url.password)}`;
  const headers =
    user === ":" ? {} : { authorization: `Basic ${Buffer.from(user).toString("base64")}` };
  [url.username, url.password, url.hash] = ["", "", ""];
  const name = `${url.origin}${url.pathname}`;
  return {
    name,
    format: formatOf(url.pathname),
    async *open() {
      let bytes: Readable;
      try {
        bytes = await download(url, headers);
      } catch (cause) {
        throw new InputError(`Cannot fetch ${name}: ${reasonOf(cause)}`, [], { cause });
      }
      yield* named(name, bytes);
    },
  };
}

/** Decodes the percent-encoding of a part of an address; unchanged if a `%` is malformed. */
function plain(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function formatOf(location: string): Format | null {
  const extension = /\.([a-z]+)$/i.exec(location)?.[1]?.toLowerCase();
  return (extension !== undefined && FORMAT_OF_EXTENSION[extension]) || null;
}

async function* named(name: string, stream: Readable): AsyncIterable<Uint8Array> {
  try {
    yield* stream;
  } catch (cause) {
    throw new InputError(`Cannot read ${name}: ${reasonOf(cause)}`, [], { cause });
  }
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
      return "no complete answer within 60 seconds";
    case "ECONNRESET":
      return "the connection ended before the answer was complete";
    case "Z_BUF_ERROR":
      return "the gzip data ends early";
    default:
      return cause instanceof Error ? cause.message.trim() : String(cause);
  }
}

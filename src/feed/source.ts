/** Where input comes from: a file, standard input (`-`), an http(s) address. */
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { redactedUrl } from "../redact.ts";
import { InputError } from "../errors.ts";

/** The formats of input. `ndjson`: an object a line. */
export type Format = "csv" | "json" | "ndjson";

/** Input, opened once a run. */
export interface Source {
  /** For messages; without user and password. */
  readonly name: string;
  /** Null where only the content can tell. */
  readonly format: Format | null;
  /** The bytes, in chunks. Throws InputError, when they are taken, where it cannot be read. */
  open(): AsyncIterable<Uint8Array>;
}

const FETCH_TIMEOUT_MS = 60_000;

const FORMAT_OF_EXTENSION: Readonly<Record<string, Format>> = {
  csv: "csv",
  json: "json",
  ndjson: "ndjson",
  jsonl: "ndjson",
};

/** The source that a command-line word names; nothing is opened yet. Throws InputError for another kind of address. */
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
    throw new InputError(`${redactedUrl(location)}: expected a file, - or an http(s) address`);
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
  [url.username, url.password] = ["", ""];
  const name = user === ":" ? location : url.href;
  return { name, format: formatOf(name), open: () => download(name, headers) };
}

/** A part of an address without percent-encoding; as it is where a `%` encodes nothing. */
function plain(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function formatOf(location: string): Format | null {
  const extension = /\.([a-z]+)(?:[?#].*)?$/i.exec(location)?.[1]?.toLowerCase();
  return (extension !== undefined && FORMAT_OF_EXTENSION[extension]) || null;
}

async function* named(name: string, stream: Readable): AsyncIterable<Uint8Array> {
  try {
    yield* stream;
  } catch (cause) {
    throw new InputError(`Cannot read ${name}: ${reasonOf(cause)}`, [], { cause });
  }
}

async function* download(
  address: string,
  headers: Readonly<Record<string, string>>,
): AsyncIterable<Uint8Array> {
  let response: Response;
  try {
    response = await fetch(address, { headers, signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
  } catch (cause) {
    throw new InputError(`Cannot fetch ${address}: ${reasonOf(cause)}`, [], { cause });
  }
  if (!response.ok || response.body === null) {
    throw new InputError(`Cannot fetch ${address}: the server answered ${response.status}`);
  }
  yield* named(address, Readable.fromWeb(response.body));
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const code = "code" in cause ? cause.code : undefined;
  if (code === "ENOENT") return "no such file";
  if (code === "EACCES") return "permission denied";
  if (code === "EISDIR") return "it is a folder";
  const inner = cause.cause;
  return (inner instanceof Error && inner.message !== "" ? inner.message : cause.message).trim();
}

/**
 * A store in an S3 bucket, with the same keys as in a folder, below the location's prefix. A
 * conditional put creates a key if it is absent: `If-None-Match: *` (RFC 9110, 13.1.2). The server
 * answers 412 if the key exists, and 409 while another put of it is running. Some servers ignore the
 * condition; `prove` finds out.
 */
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type ListObjectsV2CommandInput,
  type ListObjectsV2CommandOutput,
  type S3Client,
  type S3ClientConfig,
} from "@aws-sdk/client-s3";
import pLimit from "p-limit";
import { parseServerTime, type ServerTime } from "../lib/clock.ts";
import { outboundProxies } from "../lib/config.ts";
import { InputError, UnreachableError } from "../lib/errors.ts";
import { shownLocation } from "../lib/secrets.ts";
import { byteStream } from "./byte-stream.ts";
import { isKey, requireKey } from "./object-keys.ts";
import { CACHE_CONTROL, mediaTypeOf } from "./media-types.ts";
import { tooLarge, WHOLE_BYTES_MAX, type ObjectPart } from "../ports/store.ts";
import type { ObjectStore, OpenObject, StoredObject } from "../ports/store.ts";
import type { S3Settings } from "./open-store.ts";
import { boundedClient, BYTES_PER_MS_MIN, bytesOf } from "./s3-answer.ts";
import { isBrokenConnection, parts, s3Error, type S3Place, type S3Verb } from "./s3-error.ts";

/** Requests at the same time. More gain nothing with a single server. */
const MAX_AT_ONCE = 16;
/** Attempts of the SDK itself after 5xx, throttling and broken connections, with jitter in between. */
const MAX_ATTEMPTS = 4;
/** Our repeats in cases that the SDK does not repeat: a conflict (409), a body that breaks off. */
const MAX_REPEATS = 6;
const REPEAT_DELAY_MS = 50;
const CONNECTION_TIMEOUT_MS = 5_000;
/** For the first byte of the answer; a write has time for its own bytes as well. */
const REQUEST_TIMEOUT_MS = 20_000;
/** Without a byte in either direction, even if that is because a stream's reader pauses. */
const IDLE_TIMEOUT_MS = 60_000;
/** A probe has 6 bytes. Some more are read to say that they are others. */
const PROBE_BYTES_MAX = 1_000_000;
/** A server that lists pages without objects again and again would never end. */
const IDLE_PAGES_MAX = 1_000;

/**
 * Opens `s3://bucket` or `s3://bucket/prefix`, without sending a request. The SDK looks for credentials
 * when it needs them. Throws InputError for any other location.
 */
export async function openS3Store(
  location: string,
  settings: S3Settings,
  option: string,
): Promise<ObjectStore> {
  const [, bucket = "", prefix = ""] =
    /^s3:\/\/([A-Za-z0-9][A-Za-z0-9._-]{1,254})(?:\/(.*?))?\/*$/.exec(location) ?? [];
  if (bucket === "" || (prefix !== "" && !isKey(prefix))) {
    throw new InputError(
      `${option} ${JSON.stringify(shownLocation(location))}: expected s3://bucket/prefix, the prefix made of A-Z a-z 0-9 . _ - and /`,
    );
  }
  const place = {
    location: prefix === "" ? `s3://${bucket}` : `s3://${bucket}/${prefix}`,
    option,
    endpoint: settings.endpoint,
  };
  return new S3Store(bucket, prefix === "" ? "" : `${prefix}/`, await connect(settings), place);
}

class S3Store implements ObjectStore {
  readonly location: string;
  readonly #bucket: string;
  /** "" or ending in "/". */
  readonly #prefix: string;
  readonly #client: S3Client;
  readonly #place: S3Place;
  readonly #limit = pLimit(MAX_AT_ONCE);
  #serverTime: ServerTime | null = null;

  constructor(bucket: string, prefix: string, client: S3Client, place: S3Place) {
    this.location = place.location;
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#client = client;
    this.#place = place;
    client.middlewareStack.add(
      (next) => async (args) => {
        const result = await next(args);
        const { headers } = result.response as { headers: Readonly<Record<string, string>> };
        this.#serverTime = parseServerTime(this.location, headers) ?? this.#serverTime;
        return result;
      },
      { name: "serverTime", step: "deserialize", priority: "low" },
    );
  }

  async get(key: string, bytesMax = WHOLE_BYTES_MAX, part?: ObjectPart): Promise<Buffer | null> {
    return isKey(key) ? this.#read(key, bytesMax, part) : null;
  }

  async open(key: string): Promise<OpenObject | null> {
    if (!isKey(key)) return null;
    const body = await this.#body(key).catch((error: unknown) => this.#fail("read", key, error));
    if (body === null) return null;
    const { pieces, sizeBytes } = body;
    const iterator = pieces[Symbol.asyncIterator]();
    const stream = byteStream({
      read: async () => {
        const { value } = await iterator.next().catch((error) => this.#fail("read", key, error));
        return value ?? null;
      },
      close: async () => void pieces.destroy(),
    });
    return { sizeBytes, stream };
  }

  async create(key: string, bytes: Uint8Array): Promise<"created" | "taken"> {
    requireKey(key);
    return this.#put(key, bytes);
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    yield* await this.#list(prefix).catch((error: unknown) => this.#fail("list", prefix, error));
  }

  /** Reads the whole list and sorts it: some servers list in another order. */
  async #list(prefix: string): Promise<StoredObject[]> {
    const input = { Bucket: this.#bucket, Prefix: `${this.#prefix}${prefix}` };
    const sizes = new Map<string, number>();
    const tokens = new Set<string>();
    let token: string | undefined;
    /** The pages since the last one with a key of the store. */
    let idlePages = 0;
    do {
      const page = await this.#page({ ...input, ContinuationToken: token });
      const sizeBefore = sizes.size;
      for (const { Key = "", Size = 0 } of page.Contents ?? []) {
        const key = Key.slice(this.#prefix.length);
        // An object with another key belongs to others, or is a running probe.
        if (!isKey(key)) continue;
        // A server that sends the same page again and again would never end.
        if (sizes.has(key)) throw new Error(`the server lists ${key} twice`);
        sizes.set(key, Size);
      }
      idlePages = sizes.size > sizeBefore ? 0 : idlePages + 1;
      if (idlePages > IDLE_PAGES_MAX) {
        throw new Error(`the server lists ${IDLE_PAGES_MAX} pages without a key of the store`);
      }
      token = page.IsTruncated === false ? undefined : page.NextContinuationToken || undefined;
      if (token === undefined && page.IsTruncated === true) {
        throw new Error("the server lists a part, and does not say how to get the rest");
      }
      if (token !== undefined && tokens.has(token)) {
        throw new Error("the server repeats a page of its list");
      }
      if (token !== undefined) tokens.add(token);
    } while (token !== undefined);
    const objects = [...sizes].map(([key, sizeBytes]) => ({ key, sizeBytes }));
    return objects.sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  /** A page of a list. Some servers have no folder where nothing is stored, and answer 404. */
  async #page(input: ListObjectsV2CommandInput): Promise<ListObjectsV2CommandOutput> {
    try {
      return await this.#client.send(new ListObjectsV2Command(input));
    } catch (error) {
      const { name, status } = parts(error);
      // "Error": the body is no answer of S3.
      const isEmpty = status === 404 && name !== "Error" && !/bucket/i.test(name);
      if (!isEmpty || input.ContinuationToken !== undefined) throw error;
      return { $metadata: {}, IsTruncated: false };
    }
  }

  async delete(key: string): Promise<void> {
    if (isKey(key)) await this.#remove(key);
  }

  /** S3 cannot check permissions without a write, so this creates and removes a probe, as `prove` does. */
  mayWrite(): Promise<void> {
    return this.prove();
  }

  /** Lets four writers race for one key, with about six small requests. */
  async prove(): Promise<void> {
    const probe = `.probe-${randomUUID()}`;
    const bytes = Buffer.from("probe\n");
    try {
      const racers = Array.from({ length: 4 }, () => this.#put(probe, bytes));
      // All of them must end before the probe is removed.
      await Promise.allSettled(racers);
      const created = (await Promise.all(racers)).filter((outcome) => outcome === "created");
      if (created.length > 1) {
        throw this.#unsafe(
          "the server ignores If-None-Match on this bucket, so publishing is unsafe; expected a server that enforces it (Ceph ignores it where versioning is on)",
        );
      }
      const read = await this.#read(probe, PROBE_BYTES_MAX);
      if (read === null || !read.equals(bytes)) {
        throw this.#unsafe(
          "the server does not return the bytes that were written; check --s3-endpoint",
        );
      }
    } finally {
      // A probe that stays is hidden and harmless. The earlier error is the one to report.
      await this.#remove(probe).catch(() => {});
    }
  }

  /** The SDK corrects for a wrong clock by itself, so that requests succeed all the same. */
  serverTime(): ServerTime | null {
    return this.#serverTime;
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  #read(key: string, bytesMax: number, part?: ObjectPart): Promise<Buffer | null> {
    const read = async (): Promise<Buffer | null> => {
      const body = await this.#body(key, part);
      if (body === null) return null;
      const { sizeBytes, pieces } = body;
      const where = `${this.location}/${key}`;
      if (sizeBytes <= bytesMax) return bytesOf(pieces, sizeBytes || bytesMax, where);
      pieces.destroy();
      throw tooLarge(where, sizeBytes, bytesMax);
    };
    return this.#limit(() => this.#repeated("read", key, read, isBrokenConnection));
  }

  /** The size is 0 if the server does not say it. */
  async #body(
    key: string,
    part?: ObjectPart,
  ): Promise<{ sizeBytes: number; pieces: Readable } | null> {
    const command = new GetObjectCommand({
      Bucket: this.#bucket,
      Key: `${this.#prefix}${key}`,
      ...(part && { Range: `bytes=${part.at}-${part.end - 1}` }),
    });
    try {
      const { Body, ContentLength } = await this.#client.send(command);
      if (Body === undefined) return null;
      return { sizeBytes: ContentLength ?? 0, pieces: Body as Readable };
    } catch (error) {
      if (error instanceof Error && error.name === "NoSuchKey") return null;
      throw error;
    }
  }

  #put(key: string, bytes: Uint8Array): Promise<"created" | "taken"> {
    const put = async () => {
      const command = new PutObjectCommand({
        Bucket: this.#bucket,
        Key: `${this.#prefix}${key}`,
        Body: bytes,
        ContentLength: bytes.length,
        ContentType: mediaTypeOf(key),
        CacheControl: CACHE_CONTROL,
        IfNoneMatch: "*",
      });
      try {
        const requestTimeout = REQUEST_TIMEOUT_MS + bytes.length / BYTES_PER_MS_MIN;
        await this.#client.send(command, { requestTimeout });
        return "created";
      } catch (error) {
        if (parts(error).status === 412) return "taken";
        throw error;
      }
    };
    const isConflict = (error: unknown) => parts(error).status === 409;
    return this.#limit(() => this.#repeated("write", key, put, isConflict));
  }

  async #remove(key: string): Promise<void> {
    const command = new DeleteObjectCommand({ Bucket: this.#bucket, Key: `${this.#prefix}${key}` });
    await this.#limit(() => this.#client.send(command)).catch((error: unknown) =>
      this.#fail("remove", key, error),
    );
  }

  /** Repeats the task after a random and growing delay, while `mayHelp` says so of its error. */
  async #repeated<T>(
    verb: S3Verb,
    key: string,
    task: () => Promise<T>,
    mayHelp: (error: unknown) => boolean,
  ): Promise<T> {
    for (let repeat = 0; ; repeat++) {
      try {
        return await task();
      } catch (error) {
        if (repeat === MAX_REPEATS || !mayHelp(error)) this.#fail(verb, key, error);
        await sleep(Math.random() * REPEAT_DELAY_MS * 2 ** repeat);
      }
    }
  }

  #fail(verb: S3Verb, key: string, error: unknown): never {
    throw s3Error(this.#place, verb, key, error);
  }

  #unsafe(why: string): UnreachableError {
    const { option, location } = this.#place;
    return new UnreachableError(`${option} ${JSON.stringify(location)}: ${why}`);
  }
}

async function connect(settings: S3Settings): Promise<S3Client> {
  const agent = { keepAlive: true, maxSockets: Infinity, proxyEnv: outboundProxies() };
  const config: S3ClientConfig = {
    forcePathStyle: settings.pathStyle ?? false,
    // Servers other than Amazon's refuse streams with trailing checksums.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    retryMode: "standard",
    maxAttempts: MAX_ATTEMPTS,
    requestHandler: {
      connectionTimeout: CONNECTION_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      socketTimeout: IDLE_TIMEOUT_MS,
      httpAgent: agent,
      httpsAgent: agent,
    },
    ...(settings.endpoint === undefined ? {} : { endpoint: settings.endpoint }),
    ...(settings.region === undefined ? {} : { region: settings.region }),
  };
  const client = boundedClient(config);
  if (settings.endpoint === undefined || settings.region !== undefined) return client;
  // Servers other than Amazon's accept any region, but a signature needs one.
  const region = await client.config.region().catch(() => null);
  if (region !== null) return client;
  client.destroy();
  return boundedClient({ ...config, region: "us-east-1" });
}

/**
 * A store in an S3 bucket: the same keys as in a folder, below the location's prefix. Created if
 * absent by a conditional put, `If-None-Match: *` (RFC 9110, 13.1.2): the server answers 412 where
 * the key is there, and 409 where another put of it is under way. Not every server keeps to that;
 * `prove` finds out.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from "@aws-sdk/client-s3";
import { InputError, UnreachableError } from "../errors.ts";
import { byteStream } from "./byte-stream.ts";
import { isKey, requireKey } from "./keys.ts";
import { Limiter } from "../limiter.ts";
import type { ObjectStore, OpenObject, StoredObject } from "./object-store.ts";
import type { S3Settings } from "./open-store.ts";
import { isBrokenConnection, s3Error, type S3Verb } from "./s3-error.ts";

/** Requests under way at once; more bring nothing on one connection to one server. */
const MAX_AT_ONCE = 16;
/** The SDK's own attempts on 5xx, throttling and broken connections, with jitter in between. */
const MAX_ATTEMPTS = 4;
/** Our attempts where the SDK makes none: a conflict (409), a body that breaks off. */
const MAX_REPEATS = 6;
const REPEAT_DELAY_MS = 50;
const CONNECTION_TIMEOUT_MS = 5_000;
/** Until the answer begins. */
const REQUEST_TIMEOUT_MS = 20_000;
/** Without a byte either way, also because a stream's reader does not read on. */
const IDLE_TIMEOUT_MS = 60_000;
/** Objects never change, and are nobody's but the reader's: the data are licensed by the caller. */
const CACHE_CONTROL = "private, max-age=31536000, immutable";

/**
 * Opens `s3://bucket` or `s3://bucket/prefix`. Nothing is sent yet; credentials are found the AWS
 * way when they are needed. Throws InputError where the location is none.
 */
export async function openS3Store(location: string, settings: S3Settings): Promise<ObjectStore> {
  const [, bucket = "", prefix = ""] =
    /^s3:\/\/([A-Za-z0-9][A-Za-z0-9._-]{1,254})(?:\/(.*?))?\/*$/.exec(location) ?? [];
  if (bucket === "" || (prefix !== "" && !isKey(prefix))) {
    throw new InputError(
      `--store ${JSON.stringify(location)}: expected s3://bucket/prefix, the prefix made of A-Z a-z 0-9 . _ - and /`,
    );
  }
  if (settings.endpoint !== undefined && !isHttpUrl(settings.endpoint)) {
    throw new InputError(
      `--s3-endpoint ${JSON.stringify(settings.endpoint)}: expected a URL such as https://s3.example.com`,
    );
  }
  return new S3Store(bucket, prefix, await connect(settings), settings.endpoint);
}

class S3Store implements ObjectStore {
  readonly location: string;
  readonly #bucket: string;
  /** "" or ending in "/". */
  readonly #prefix: string;
  readonly #client: S3Client;
  readonly #endpoint: string | undefined;
  readonly #limiter = new Limiter(MAX_AT_ONCE);

  constructor(bucket: string, prefix: string, client: S3Client, endpoint: string | undefined) {
    this.location = prefix === "" ? `s3://${bucket}` : `s3://${bucket}/${prefix}`;
    this.#bucket = bucket;
    this.#prefix = prefix === "" ? "" : `${prefix}/`;
    this.#client = client;
    this.#endpoint = endpoint;
  }

  async get(key: string): Promise<Buffer | null> {
    if (!isKey(key)) return null;
    const read = async () => {
      const body = await this.#body(key);
      return body === null ? null : Buffer.from(await body.transformToByteArray());
    };
    return this.#limiter.run(() => this.#repeated("read", key, read, isBrokenConnection));
  }

  async open(key: string): Promise<OpenObject | null> {
    if (!isKey(key)) return null;
    const body = await this.#body(key).catch((error: unknown) => this.#fail("read", key, error));
    if (body === null) return null;
    const reader = body.transformToWebStream().getReader();
    const stream = byteStream({
      read: async () => {
        const { value } = await reader.read().catch((error) => this.#fail("read", key, error));
        return value ?? null;
      },
      close: () => reader.cancel().catch(() => {}),
    });
    return { sizeBytes: body.sizeBytes, stream };
  }

  async create(key: string, bytes: Uint8Array, mediaType: string): Promise<"created" | "taken"> {
    requireKey(key);
    return this.#put(key, bytes, mediaType);
  }

  async *list(prefix: string): AsyncIterable<StoredObject> {
    const input = { Bucket: this.#bucket, Prefix: `${this.#prefix}${prefix}` };
    try {
      for await (const page of paginateListObjectsV2({ client: this.#client }, input)) {
        for (const { Key = "", Size = 0, LastModified } of page.Contents ?? []) {
          const key = Key.slice(this.#prefix.length);
          // What is no key of ours was put there by others, or is a probe under way.
          if (!isKey(key)) continue;
          yield { key, sizeBytes: Size, modifiedAtMs: LastModified?.getTime() ?? 0 };
        }
      }
    } catch (error) {
      this.#fail("list", prefix, error);
    }
  }

  async delete(key: string): Promise<void> {
    if (isKey(key)) await this.#remove(key);
  }

  /** S3 has no way to ask without trying: the probe objects come and go, as in `prove`. */
  mayWrite(): Promise<void> {
    return this.prove();
  }

  /** Lets several writers race for one key; sends half a dozen small requests. */
  async prove(): Promise<void> {
    const probe = `.probe-${randomUUID()}`;
    const bytes = Buffer.from("probe\n");
    try {
      const racers = Array.from({ length: 4 }, () => this.#put(probe, bytes, "text/plain"));
      // All of them have to be over before the probe is removed.
      await Promise.allSettled(racers);
      const created = (await Promise.all(racers)).filter((outcome) => outcome === "created");
      if (created.length > 1) throw this.#unfit();
      const body = await this.#body(probe).catch((error: unknown) =>
        this.#fail("read", probe, error),
      );
      const read = body === null ? null : Buffer.from(await body.transformToByteArray());
      if (read === null || !read.equals(bytes)) {
        throw new UnreachableError(
          `--store ${JSON.stringify(this.location)}: the server does not return the bytes that were put; check --s3-endpoint`,
        );
      }
    } finally {
      // A probe left behind is hidden and harmless; what went wrong before it counts.
      await this.#remove(probe).catch(() => {});
    }
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  async #body(key: string): Promise<S3Body | null> {
    const command = new GetObjectCommand({ Bucket: this.#bucket, Key: `${this.#prefix}${key}` });
    try {
      const { Body, ContentLength } = await this.#client.send(command);
      return Body === undefined ? null : Object.assign(Body, { sizeBytes: ContentLength ?? 0 });
    } catch (error) {
      if (error instanceof Error && error.name === "NoSuchKey") return null;
      throw error;
    }
  }

  #put(key: string, bytes: Uint8Array, mediaType: string): Promise<"created" | "taken"> {
    const put = async () => {
      const command = new PutObjectCommand({
        Bucket: this.#bucket,
        Key: `${this.#prefix}${key}`,
        Body: bytes,
        ContentLength: bytes.length,
        ContentType: mediaType,
        CacheControl: CACHE_CONTROL,
        IfNoneMatch: "*",
      });
      try {
        await this.#client.send(command);
        return "created";
      } catch (error) {
        if (httpStatus(error) === 412) return "taken";
        throw error;
      }
    };
    const isConflict = (error: unknown) => httpStatus(error) === 409;
    return this.#limiter.run(() => this.#repeated("write", key, put, isConflict));
  }

  async #remove(key: string): Promise<void> {
    const command = new DeleteObjectCommand({ Bucket: this.#bucket, Key: `${this.#prefix}${key}` });
    await this.#limiter
      .run(() => this.#client.send(command))
      .catch((error: unknown) => this.#fail("remove", key, error));
  }

  /** Runs the task again, after a random and growing while, where its error says that it may help. */
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
    throw s3Error({ location: this.location, endpoint: this.#endpoint }, verb, key, error);
  }

  #unfit(): UnreachableError {
    return new UnreachableError(
      `--store ${JSON.stringify(this.location)}: the server ignores If-None-Match on this bucket, so publishing is unsafe; expected a server that enforces it (Ceph ignores it where versioning is on)`,
    );
  }
}

type S3Body = { sizeBytes: number } & {
  transformToByteArray(): Promise<Uint8Array>;
  transformToWebStream(): ReadableStream<Uint8Array>;
};

async function connect(settings: S3Settings): Promise<S3Client> {
  const agent = { keepAlive: true, maxSockets: Infinity };
  const config: S3ClientConfig = {
    forcePathStyle: settings.pathStyle ?? false,
    // Streams and trailing checksums are refused by other servers than Amazon's.
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
  const client = new S3Client(config);
  if (settings.endpoint === undefined || settings.region !== undefined) return client;
  // Servers other than Amazon's take any region, but a signature needs one.
  const region = await client.config.region().catch(() => null);
  if (region !== null) return client;
  client.destroy();
  return new S3Client({ ...config, region: "us-east-1" });
}

function httpStatus(error: unknown): number | null {
  const status = (error as { $metadata?: { httpStatusCode?: unknown } } | null)?.$metadata
    ?.httpStatusCode;
  return typeof status === "number" ? status : null;
}

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && ["http:", "https:"].includes(url.protocol);
}

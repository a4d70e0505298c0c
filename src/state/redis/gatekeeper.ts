/**
 * The state in Redis as a serving proxy holds it, beside others: verdicts remembered, every call
 * counted by Redis itself, changes of the registry seen within about half a second.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "../../clock.ts";
import { reasonOf, UnreachableError } from "../../errors.ts";
import type { Gatekeeper, KeyVerdict, MaybePromise, Subject, TakeResult } from "../gatekeeper.ts";
import { addressSubject, createAddressSecret } from "../address-subject.ts";
import {
  connectRedis,
  REDIS_FORMAT,
  REDIS_KEYS,
  redisFailure,
  type RedisConnection,
} from "./connection.ts";
import { RedisMeter } from "./meter.ts";
import { Verdicts, type Reachability } from "../verdicts.ts";

const CHECK_MS = 500;
/** How long `close` tries to write what is counted while Redis does not answer. */
const CLOSE_PATIENCE_MS = 3_000;
const CLOSE_RETRY_MS = 100;

/** Connects for a `serve`. Throws InputError for a bad address, or UnreachableError. */
export async function openRedisGatekeeper(url: string, clock: Clock): Promise<Gatekeeper> {
  const connection = await connectRedis(url, "change");
  const { client, location } = connection;
  try {
    await client.set(REDIS_KEYS.addressSecret, createAddressSecret(), "NX");
    const secret = await client.get(REDIS_KEYS.addressSecret);
    return new RedisGatekeeper(connection, clock, String(secret));
  } catch (error) {
    client.disconnect();
    throw redisFailure(location, error);
  }
}

class RedisGatekeeper implements Gatekeeper, Reachability {
  readonly #addressSecret: string;
  readonly #connection: RedisConnection;
  readonly #verdicts: Verdicts;
  readonly #meter: RedisMeter;
  readonly #timer: NodeJS.Timeout;
  #trouble: string | null = null;
  #version: string | null | undefined;
  #checking: Promise<void> | null = null;

  constructor(connection: RedisConnection, clock: Clock, secret: string) {
    this.#addressSecret = secret;
    this.#connection = connection;
    this.#verdicts = new Verdicts(connection.storage, clock, this);
    this.#meter = new RedisMeter(connection.client, clock, this);
    this.#timer = setInterval(() => void this.#check(), CHECK_MS).unref();
    connection.client.on("close", () => this.failed(new Error("the connection was closed")));
    connection.client.on("ready", () => void this.#check());
  }

  get healthy(): boolean {
    return this.#trouble === null;
  }

  get trouble(): string | null {
    return this.#trouble;
  }

  authenticate(key: string): MaybePromise<KeyVerdict> {
    return this.#verdicts.authenticate(key);
  }

  addressSubject(address: string, atMs: number): Subject {
    return addressSubject(this.#addressSecret, address, atMs);
  }

  take(subject: Subject, limit: number | null, atMs: number): MaybePromise<TakeResult> {
    return this.#meter.take(subject, limit, atMs);
  }

  used(subject: Subject, atMs: number): MaybePromise<number> {
    return this.#meter.used(subject, atMs);
  }

  /** Throws UnreachableError where counts could not be written. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const deadline = performance.now() + CLOSE_PATIENCE_MS;
    await this.#meter.flush();
    while (this.#meter.hasUnwritten && performance.now() < deadline) {
      await delay(CLOSE_RETRY_MS);
      await this.#check();
    }
    const isWritten = !this.#meter.hasUnwritten;
    const { client, location } = this.#connection;
    client.removeAllListeners("close").removeAllListeners("ready");
    client.disconnect();
    if (isWritten) return;
    throw new UnreachableError(`State ${location} (--state): the last calls could not be written`);
  }

  failed(error: unknown): void {
    this.#trouble = reasonOf(error);
    this.#meter.answerHere();
    // A connection without replies may still deliver them late; a new one cannot.
    const { client } = this.#connection;
    const isSilent = error instanceof Error && error.message === "Command timed out";
    if (isSilent && client.status === "ready") client.disconnect(true);
  }

  #check(): Promise<void> {
    this.#checking ??= this.#checkOnce().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  async #checkOnce(): Promise<void> {
    try {
      const { client } = this.#connection;
      const [format, version] = await client.mget(REDIS_KEYS.format, REDIS_KEYS.version);
      if (format !== REDIS_FORMAT) throw new Error(`"${REDIS_KEYS.format}" is gone`);
      if (version !== this.#version || this.#trouble !== null) this.#verdicts.invalidate();
      this.#version = version;
      if (await this.#meter.flush()) this.#trouble = null;
    } catch (error) {
      this.failed(error);
    }
  }
}

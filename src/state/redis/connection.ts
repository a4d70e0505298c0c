/**
 * A connection to the Redis that holds the state. Everything is under the prefix `chipboard:`:
 *
 *   chipboard:format                       3; marks the prefix as ours. "emptied": Redis lost
 *                                          everything while a proxy used it
 *   chipboard:version                      counts the changes of the registry
 *   chipboard:accounts:… keys:… key-ids:…  the registry's items (accounts.ts), read by unstorage's
 *   chipboard:facts:…                      redis driver
 *   chipboard:calls:<month>:<subject>      calls counted; expire by themselves
 *   chipboard:writers:<id>                 the last batch of counts that a process wrote
 *
 * Calls to Redis fail at once without a connection, and after a second without a reply (calls of commands after 30
 * seconds). They never queue. The client reconnects by itself.
 */
import type { Redis } from "ioredis";
import { createStorage, type Storage } from "unstorage";
import redisDriver from "unstorage/drivers/redis";
import { ChipboardError, InputError, reasonOf, UnreachableError } from "../../lib/errors.ts";
import { REST_OF_REDIS, shownLocation } from "../../lib/secrets.ts";
import { NoStateError, type CountName, type StatePurpose } from "../../ports/state.ts";

const PREFIX = "chipboard";
/** The key of Redis that holds an item of the registry, or anything else of this name. */
export const keyOf = (name: string): string => `${PREFIX}:${name}`;
export const callsKey = ({ month, subject }: CountName): string =>
  keyOf(`calls:${month}:${subject}`);
export const FORMAT_KEY = keyOf("format");
export const VERSION_KEY = keyOf("version");

/** The value of `chipboard:format`. A state with another number belongs to a later version. */
export const REDIS_FORMAT = "3";
/** Stands in its place after Redis has lost everything, so that commands also report that. */
export const EMPTIED = "emptied";
/** The names that are written beside the format. If they exist without it, Redis lost the rest. */
const OUR_NAME = /^(?:version$|(?:accounts|keys|key-ids|facts|calls|writers):)/;
const CONNECT_TIMEOUT_MS = 5_000;
/** A proxy must not wait long. */
const REPLY_TIMEOUT_MS = 1_000;
/** A command can, and a copy writes a whole state in one step. */
const PATIENT_TIMEOUT_MS = 30_000;
const RECONNECT_MAX_MS = 500;
const SCANNED_AT_ONCE = 1_000;

const NO_CLUSTER =
  "cluster mode is not supported; expected one primary, with or without replicas (cluster mode disabled)";
const HINTS: readonly (readonly [answer: RegExp, hint: string])[] = [
  [
    /^(?:NOAUTH|WRONGPASS)/,
    "; give both as redis://user:password@host:port (without a user: redis://:password@…)",
  ],
  [/^(?:OOM|MISCONF|NOREPLICAS)/, "; it answers reads, and takes no writes for now"],
  [/^(?:MOVED|ASK|CROSSSLOT)/, `; ${NO_CLUSTER}`],
];

/** A connection to a Redis whose prefix is ours. */
export interface RedisConnection {
  /** For messages; without a password. */
  readonly location: string;
  readonly client: Redis;
  /** All names below the prefix, and the items of the registry, over the same connection. */
  readonly storage: Storage;
  /** See StateDriver. */
  readonly created: string | null;
  /** Makes a one-line message of a failure of Redis. Returns a ChipboardError as it is. */
  failure(cause: unknown): ChipboardError;
}

/**
 * Connects to the Redis at `url`. Marks the prefix as ours if it is unused and the purpose allows that.
 * Throws InputError for a bad address, and UnreachableError if Redis does not answer, or has no, or
 * another, state.
 */
export async function connectRedis(url: string, purpose: StatePurpose): Promise<RedisConnection> {
  const location = shownLocation(url);
  requireRedisUrl(url, location);
  const driver = redisDriver({
    url,
    base: PREFIX,
    // Its replies need no HELLO, which a user with few rights cannot send.
    protocol: 2,
    scanCount: SCANNED_AT_ONCE,
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: purpose === "serve" ? REPLY_TIMEOUT_MS : PATIENT_TIMEOUT_MS,
    // The check needs INFO. A Redis that is still loading says so in every reply anyway.
    enableReadyCheck: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt) => Math.min(50 * attempt, RECONNECT_MAX_MS),
  });
  const client = driver.getInstance?.() as Redis;
  let lastError: unknown;
  client.on("error", (error) => (lastError = error));
  client.on("connect", () => (lastError = undefined));
  const failure = (cause: unknown): ChipboardError => {
    if (cause instanceof ChipboardError) return cause;
    // An event says why a connection failed; a command only says that there is no connection.
    const isVague = cause instanceof Error && /^(Connection is|Stream isn't)/.test(cause.message);
    const reason = reasonIn(isVague ? (lastError ?? "there is no connection") : cause);
    const hint = HINTS.find(([answer]) => answer.test(reason))?.[1] ?? "";
    const message = `State ${location} (--state) cannot be used: ${reason}${hint}`;
    return new UnreachableError(message, [], { cause });
  };
  const storage = createStorage({ driver });
  try {
    await client.connect();
    const isNew = await requireOurPrefix(client, storage, location, purpose);
    return { location, client, storage, created: isNew ? location : null, failure };
  } catch (error) {
    client.disconnect();
    throw failure(error);
  }
}

/** The first line of what went wrong. */
export function reasonIn(cause: unknown): string {
  // If Node tried several addresses, its error has no message, but a list of errors.
  const isOfSeveral = cause instanceof AggregateError && cause.errors.length > 0;
  return reasonOf(isOfSeveral ? cause.errors[0] : cause).split("\n")[0] as string;
}

/** After a password with a `/`, `?` or `#`, a parser takes the real host for a path. */
function requireRedisUrl(url: string, location: string): void {
  const parsed = URL.parse(url);
  const rest = parsed === null ? "" : parsed.pathname + parsed.search + parsed.hash;
  const isPlace = REST_OF_REDIS.test(rest);
  if (parsed !== null && parsed.hostname !== "" && isPlace && isDecodable(url)) return;
  throw new InputError(
    `--state ${JSON.stringify(location)}: expected redis://[:password@]host:port/db; ` +
      "in user and password write / as %2F, ? as %3F, # as %23, @ as %40 and % as %25",
  );
}

function isDecodable(url: string): boolean {
  try {
    return decodeURIComponent(url) !== "";
  } catch {
    return false;
  }
}

/** Returns whether this call marked the prefix. */
async function requireOurPrefix(
  client: Redis,
  storage: Storage,
  location: string,
  purpose: StatePurpose,
): Promise<boolean> {
  await requireNoCluster(client);
  let format = await client.get(FORMAT_KEY);
  if (format === null) {
    const [name] = await storage.getKeys();
    // Another chipboard may have marked the prefix during the scan.
    format = await client.get(FORMAT_KEY);
    if (format === null && name !== undefined) {
      if (OUR_NAME.test(name)) throw emptiedError(location);
      throw new Error(`its keys "${PREFIX}:…" belong to another application`);
    }
  }
  // A copy marks the prefix itself, and restores a state that Redis lost.
  if (purpose === "fill" && (format === null || format === EMPTIED)) return false;
  if (format === null) {
    if (purpose !== "create") throw new NoStateError(location);
    if ((await client.set(FORMAT_KEY, REDIS_FORMAT, "NX")) === "OK") return true;
    format = await client.get(FORMAT_KEY);
  }
  requireFormat(location, format);
  return false;
}

/** A batch of counts is one step, and its keys lie in several slots of a cluster. */
async function requireNoCluster(client: Redis): Promise<void> {
  // A user without the right to ask meets the cluster's refusals, which failure() explains.
  const info = await client.info("cluster").catch(() => "");
  if (/^cluster_enabled:1/m.test(info)) throw new Error(NO_CLUSTER);
}

/** Throws unless the value of `chipboard:format` is ours; null: there is none. */
export function requireFormat(location: string, format: string | null): void {
  if (format === REDIS_FORMAT) return;
  if (format === null || format === EMPTIED) throw emptiedError(location);
  throw new Error(
    `"${FORMAT_KEY}" is ${JSON.stringify(format.slice(0, 40))}, expected "${REDIS_FORMAT}"`,
  );
}

const emptiedError = (location: string): UnreachableError =>
  new UnreachableError(
    `State ${location} (--state): the Redis is empty; it held a chipboard state before (FLUSHALL, or a failover to an empty server). ` +
      `Restore it with "state copy" from a backup. To begin with an empty state, delete the key "${FORMAT_KEY}" and run "state init" or "accounts add"`,
  );

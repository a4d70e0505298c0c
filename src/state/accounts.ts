/**
 * Accounts and keys as the registry stores them, and how they are found and changed.
 *
 *   accounts:acme        {"name":"acme","tier":"starter","trial":null,"suspended":false,…}
 *   accounts:acme:<id>   what stays of an account that was removed, until the time of its counts is over
 *   keys:<sha256>        {"key_id":"cbk_1a2B3c4D","account":"acme","suspended":false,…}; of a link the same
 *   key-ids:<KEYID>      {"sha256":"…"}
 *   facts:…              kept beside them: address-secret.ts, seen-logs.ts, account-log.ts
 *
 * One look-up finds a key by its SHA-256, a second one its account, however many there are. Functions
 * that look something up throw DamageError if an item is not a record; they pass on what the driver
 * throws.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Storage } from "unstorage";
import { z } from "zod";
import { DAY_MS } from "../lib/clock.ts";
import { DamageError, InputError, UnreachableError } from "../lib/errors.ts";
import { KEY_TIER_NAMES, type KeyTierName } from "../market/tier.ts";
import type { Item, StateDriver } from "../ports/state.ts";
import { quoted } from "./api-keys.ts";

const READ_AT_ONCE = 1_000;
const ATTEMPTS = 100;
const RETRY_MAX_MS = 50;
const ACCOUNT_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const instant = z.iso.datetime({ precision: 3 });
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** An account's item. Instants are ISO 8601 with milliseconds. */
const accountRecord = z.object({
  /** What its calls are counted for. No other account ever has it. */
  id: z.string(),
  name: z.string(),
  tier: z.enum(KEY_TIER_NAMES),
  /** Lapses `days` × 24 hours after it began. */
  trial: z.object({ started_at: instant, days: z.int().positive() }).nullable(),
  suspended: z.boolean(),
  created_at: instant,
  removed_at: instant.nullable(),
  /** The operator's own words. */
  note: z.string().nullable(),
  /** SHA-256 of every key the account ever had, oldest first. */
  keys: z.array(sha256),
});
export type AccountRecord = z.infer<typeof accountRecord>;

const keyRecord = z.object({
  key_id: z.string(),
  sha256,
  account: z.string(),
  label: z.string().nullable(),
  created_at: instant,
  suspended: z.boolean(),
  revoked_at: instant.nullable(),
  /** The end that it was given, or the end of a rotation's overlap, if that is earlier. */
  expires_at: instant.nullable(),
  /** The KEYID of the new key; null if the key was not rotated. */
  replaced_by: z.string().nullable(),
  /** What a link reads: a data path without its beginning, with its parameters. Null: a key. */
  path: z.string().nullable().default(null),
});
/** A key as stored. The text of the key is not stored. */
export type KeyRecord = z.infer<typeof keyRecord>;

const keyIdRecord = z.object({ sha256 });

/** The name of an account's item; with `:` and its id, of what stays of a removed one. */
export const accountItem = (name: string): string => `accounts:${name}`;
/** The name of the item of the key with this SHA-256 (hex). */
export const keyItem = (hash: string): string => `keys:${hash}`;
export const keyIdItem = (keyId: string): string => `key-ids:${keyId}`;

/** When the account's trial lapses (epoch milliseconds); infinity without a trial. */
export const trialLapsesAtMs = ({ trial }: AccountRecord): number =>
  trial === null ? Infinity : Date.parse(trial.started_at) + trial.days * DAY_MS;

/** The first instant at which the key is void (epoch milliseconds); infinity if no end is set. */
export function voidAtMs(key: KeyRecord): number {
  if (key.revoked_at !== null) return -Infinity;
  return key.expires_at === null ? Infinity : Date.parse(key.expires_at);
}

/** The key. Throws InputError, which says why, if it is void at `nowMs` (epoch milliseconds). */
export function requireStanding(key: KeyRecord, nowMs: number): KeyRecord {
  const { key_id, revoked_at, replaced_by: by, expires_at } = key;
  if (nowMs < voidAtMs(key)) return key;
  const ended = by === null ? `ended at ${expires_at}` : `is rotated out: ${by} replaces it`;
  throw new InputError(
    `Key ${quoted(key_id)} ${revoked_at === null ? ended : "is revoked for good"}`,
  );
}

/** An account to add. `trialDays` null: no trial. */
export type Addition = Pick<AccountRecord, "name" | "tier" | "note"> & { trialDays: number | null };

/** The account, which is added at the instant `created_at`. */
export function newAccount({ trialDays, ...given }: Addition, created_at: string): AccountRecord {
  const trial = trialFrom(created_at, trialDays);
  const none = { removed_at: null, suspended: false, keys: [] };
  return { id: randomUUID(), created_at, trial, ...given, ...none };
}

/**
 * A change of an account. Missing fields stay as they are. Trial days begin a trial; null, or another tier without
 * trial days, ends one. The note null removes the note.
 */
export interface AccountChange {
  readonly tier?: KeyTierName | undefined;
  readonly trialDays?: number | null | undefined;
  readonly suspended?: boolean | undefined;
  readonly note?: string | null | undefined;
}

/** The account after a change at the instant `now`. */
export function changedAccount(account: AccountRecord, wanted: AccountChange, now: string) {
  const { tier = account.tier, suspended = account.suspended, note = account.note } = wanted;
  const kept = wanted.tier === undefined ? account.trial : null;
  const trial = wanted.trialDays === undefined ? kept : trialFrom(now, wanted.trialDays);
  return { ...account, tier, trial, suspended, note };
}

/** A trial of so many days from an instant on; null: none. */
const trialFrom = (started_at: string, days: number | null): AccountRecord["trial"] =>
  days === null ? null : { started_at, days };

/** The names that accounts can have: in words, and as a test. */
export const accountName = {
  expected: '1 to 63 of a-z, 0-9, ".", "_", "-", starting with a letter or digit',
  parse: (text: string) => (ACCOUNT_NAME.test(text) ? text : undefined),
};

export const findAccount = async (storage: Storage, name: string): Promise<AccountRecord | null> =>
  // The state never sees a text that cannot be a name: it gives ":" and "/" a meaning.
  ACCOUNT_NAME.test(name) ? find(storage, accountRecord, accountItem(name)) : null;

export const findKey = (storage: Storage, sha256: string): Promise<KeyRecord | null> =>
  find(storage, keyRecord, keyItem(sha256));

export async function findKeyById(storage: Storage, keyId: string): Promise<KeyRecord | null> {
  const found = await find(storage, keyIdRecord, keyIdItem(keyId));
  return found === null ? null : findKey(storage, found.sha256);
}

/** The keys of each account, oldest first. */
export function keysOf(storage: Storage, accounts: readonly AccountRecord[]): Promise<KeyRecord[]> {
  const items = accounts.flatMap(({ keys }) => keys.map(keyItem));
  return readAll(storage, keyRecord, items);
}

export const accountsNamed = (storage: Storage, names: readonly string[]) =>
  readAll(storage, accountRecord, names.map(accountItem));

/** How many accounts there are, without those that were removed. Redis scans all of its keys for that. */
export const countAccounts = async (storage: Storage): Promise<number> =>
  new Set((await storage.getKeys("accounts")).filter((item) => /^accounts:[^:]+$/.test(item))).size;

/** Whether there was ever an account: a record stays when its account is removed. */
export const hadAccounts = async (storage: Storage): Promise<boolean> =>
  (await storage.getKeys("accounts")).length > 0;

/** All accounts, by name. */
export const allAccounts = async (storage: Storage): Promise<AccountRecord[]> =>
  (await everAdded(storage)).filter(({ removed_at }) => removed_at === null);

/** The same with those that were removed, in the order in which they had the name. */
export async function everAdded(storage: Storage): Promise<AccountRecord[]> {
  const accounts = await readAll(storage, accountRecord, await storage.getKeys("accounts"));
  return accounts.sort((a, b) =>
    `${a.name} ${a.created_at}` < `${b.name} ${b.created_at}` ? -1 : 1,
  );
}

/** The record that an item holds, or null. */
export const find = async <T>(
  storage: Storage,
  schema: z.ZodType<T>,
  item: string,
): Promise<T | null> => recordOf(schema, item, await storage.getItem(item));

/** The records of these items. It skips items that were deleted in the meantime. */
export async function readAll<T>(
  storage: Storage,
  schema: z.ZodType<T>,
  items: readonly string[],
): Promise<T[]> {
  // A scan of Redis may name an item more than once.
  const each = [...new Set(items)];
  const records: T[] = [];
  for (let start = 0; start < each.length; start += READ_AT_ONCE) {
    for (const { key, value } of await storage.getItems(each.slice(start, start + READ_AT_ONCE))) {
      const record = recordOf(schema, key, value);
      if (record !== null) records.push(record);
    }
  }
  return records;
}

/** Checks a stored value against its schema. Null if there is no value. */
function recordOf<T>(schema: z.ZodType<T>, item: string, value: unknown): T | null {
  if (value === null || value === undefined) return null;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new DamageError(`State record "${item}" is damaged: ${z.prettifyError(result.error)}`);
}

/** Gives an item a value, which it returns; null removes the item. */
export type Write = <T extends object | null>(item: string, value: T) => T;

/** A function that adds each item to the items of a change. */
export const writeTo =
  (items: Item<string | null>[]): Write =>
  (item, value) => {
    items.push([item, value && JSON.stringify(value)]);
    return value;
  };

/**
 * Runs `plan` and makes all its writes as one atomic change: no other change comes between the plan's reads
 * and the write, and readers see all of the change or nothing. A plan that others' changes overtake runs
 * again. If `plan` throws, this throws the same and writes nothing.
 */
export async function change<T>(
  state: StateDriver,
  plan: (write: Write) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const version = await state.version();
    const items: Item<string | null>[] = [];
    const result = await plan(writeTo(items));
    if (items.length === 0 || (await state.write(version, items))) return result;
    await delay(Math.random() * RETRY_MAX_MS);
  }
  throw new UnreachableError(`The state was changed by others first, ${ATTEMPTS} times: try again`);
}

/**
 * Accounts and keys as the registry stores them, and how they are found.
 *
 *   accounts:acme        {"name":"acme","tier":"starter","trial":null,"suspended":false,…}
 *   keys:<sha256>        {"key_id":"cbk_1a2B3c4D","account":"acme","suspended":false,…}
 *   key-ids:<KEYID>      {"sha256":"…"}
 *
 * A key is found by its SHA-256 in one look-up, its account in a second, however many there are. The
 * functions that look something up throw DamageError where an item is not a record, and what the
 * driver throws.
 */
import type { Storage } from "unstorage";
import { z } from "zod";
import { DAY_MS } from "../clock.ts";
import { DamageError, InputError } from "../errors.ts";
import { KEY_TIER_NAMES } from "../market/tier.ts";
import { quoted } from "./keys.ts";

const READ_AT_ONCE = 1_000;
const ACCOUNT_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const instant = z.iso.datetime({ precision: 3 });
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** The form of an account's item. Instants are ISO 8601 with milliseconds. */
const accountRecord = z.object({
  name: z.string(),
  tier: z.enum(KEY_TIER_NAMES),
  /** Lapses `days` × 24 hours after it began. */
  trial: z.object({ started_at: instant, days: z.int().positive() }).nullable(),
  suspended: z.boolean(),
  created_at: instant,
  /** SHA-256 of every key the account ever had, oldest first. */
  keys: z.array(sha256),
});
/** An account as stored. */
export type AccountRecord = z.infer<typeof accountRecord>;

/** The form of a key's item. */
const keyRecord = z.object({
  key_id: z.string(),
  sha256,
  account: z.string(),
  label: z.string().nullable(),
  created_at: instant,
  suspended: z.boolean(),
  revoked_at: instant.nullable(),
  /** The end of a rotation's overlap, and the KEYID that took over; null while not rotated. */
  expires_at: instant.nullable(),
  replaced_by: z.string().nullable(),
});
/** A key as stored: all but the key itself. */
export type KeyRecord = z.infer<typeof keyRecord>;

/** The form of a KEYID's item: which key it belongs to. */
const keyIdRecord = z.object({ sha256 });

/** The item that an account of this name has. */
export const accountItem = (name: string): string => `accounts:${name}`;
/** The item that the key with this SHA-256 (hex) has. */
export const keyItem = (hash: string): string => `keys:${hash}`;
/** The item by which a KEYID leads to its key. */
export const keyIdItem = (keyId: string): string => `key-ids:${keyId}`;

/** When the account's trial lapses (epoch milliseconds); infinity without one. */
export const trialLapsesAtMs = ({ trial }: AccountRecord): number =>
  trial === null ? Infinity : Date.parse(trial.started_at) + trial.days * DAY_MS;

/** From when on the key is void (epoch milliseconds); infinity for a key that stands. */
export function voidAtMs(key: KeyRecord): number {
  if (key.revoked_at !== null) return -Infinity;
  return key.expires_at === null ? Infinity : Date.parse(key.expires_at);
}

/** Whether an account can have this name. */
const isAccountName = (text: string): boolean => ACCOUNT_NAME.test(text);

/** Throws InputError where no account can have this name. */
export function requireAccountName(text: string): void {
  if (isAccountName(text)) return;
  throw new InputError(
    `Account ${quoted(text)}: expected 1 to 63 of a-z, 0-9, ".", "_", "-", starting with a letter or digit`,
  );
}

/** The account of this name, or null. */
export const findAccount = (storage: Storage, name: string): Promise<AccountRecord | null> =>
  // A text that cannot be a name is not asked for: the state gives ":" and "/" a meaning.
  isAccountName(name) ? find(storage, accountRecord, accountItem(name)) : Promise.resolve(null);

/** The key with this SHA-256 (hex), or null. */
export const findKey = (storage: Storage, sha256: string): Promise<KeyRecord | null> =>
  find(storage, keyRecord, keyItem(sha256));

/** The key with this KEYID, or null. */
export async function findKeyById(storage: Storage, keyId: string): Promise<KeyRecord | null> {
  const found = await find(storage, keyIdRecord, keyIdItem(keyId));
  return found === null ? null : findKey(storage, found.sha256);
}

/** The keys of an account, oldest first. */
export const keysOf = (storage: Storage, account: AccountRecord): Promise<KeyRecord[]> =>
  readAll(storage, keyRecord, account.keys.map(keyItem));

/** All accounts, by name. */
export async function allAccounts(storage: Storage): Promise<AccountRecord[]> {
  const accounts = await readAll(storage, accountRecord, await storage.getKeys("accounts"));
  return accounts.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** All keys, by account, oldest first. */
export async function allKeys(storage: Storage): Promise<KeyRecord[]> {
  const keys = await readAll(storage, keyRecord, await storage.getKeys("keys"));
  const order = (key: KeyRecord): string => `${key.account} ${key.created_at} ${key.key_id}`;
  return keys.sort((a, b) => (order(a) < order(b) ? -1 : 1));
}

const find = async <T>(storage: Storage, schema: z.ZodType<T>, item: string): Promise<T | null> =>
  recordOf(schema, item, await storage.getItem(item));

/** Without those that are gone meanwhile. */
async function readAll<T>(
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

/** A stored value by its schema, null where there is none. */
function recordOf<T>(schema: z.ZodType<T>, item: string, value: unknown): T | null {
  if (value === null || value === undefined) return null;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new DamageError(`State record "${item}" is damaged: ${z.prettifyError(result.error)}`);
}

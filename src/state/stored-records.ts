/**
 * Finds accounts and keys among the items of a state (their forms are in records.ts). Every function
 * throws DamageError where an item is not a record, and what the driver throws.
 */
import type { Storage } from "unstorage";
import { z } from "zod";
import { DamageError } from "../errors.ts";
import { isAccountName } from "./names.ts";
import {
  accountItem,
  accountRecord,
  keyIdItem,
  keyIdRecord,
  keyItem,
  keyRecord,
  type AccountRecord,
  type KeyRecord,
} from "./accounts.ts";

const READ_AT_ONCE = 1_000;

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

/** Fills a registry with a million keys, with the registry's own records and tables. */
import { randomBytes } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { createKey, keyIdOf, keySha256 } from "../../src/state/api-keys.ts";
import {
  accountItem,
  keyIdItem,
  keyItem,
  type AccountRecord,
  type KeyRecord,
} from "../../src/state/accounts.ts";
import type { Item } from "../../src/ports/state.ts";
import { withDriver } from "../../src/state/open.ts";
import { NOW } from "./bench-service.ts";

const WRITTEN_AT_ONCE = 20_000;

interface Key {
  readonly keyId: string;
  readonly sha256: string;
  readonly account: string;
}

/**
 * Creates the state `folder` with pro accounts of five keys each, and writes the keys to `keysFile`,
 * one a line; keys of the same account follow each other. Resolves with the name of one account.
 */
export async function createLargeState(
  folder: string,
  accounts: number,
  keysFile: string,
): Promise<string> {
  const keys = createKeys(accounts, keysFile);
  await withDriver(folder, "create", async (state) => {
    // Inserting in the order of the table is several times faster.
    for (const batch of batches(itemsOf(keys))) {
      if (!(await state.write(await state.version(), batch))) throw new Error("others also wrote");
    }
  });
  return accountName(accounts >> 1);
}

export const KEYS_EACH = 5;

const SECRET_BYTES = 32;
const SECRETS_AT_ONCE = 1_000;

/** Random secrets. The system is asked for many at once, because single requests are slow. */
function secretSource(): () => Uint8Array {
  let pool = Buffer.alloc(0);
  return () => {
    if (pool.length === 0) pool = randomBytes(SECRETS_AT_ONCE * SECRET_BYTES);
    const secret = pool.subarray(0, SECRET_BYTES);
    pool = pool.subarray(SECRET_BYTES);
    return secret;
  };
}

const accountName = (at: number): string => `account-${String(at).padStart(7, "0")}`;

function createKeys(accounts: number, keysFile: string): Key[] {
  const file = openSync(keysFile, "wx");
  const keys: Key[] = [];
  const keyIds = new Set<string>();
  const nextSecret = secretSource();
  for (let at = 0; at < accounts; at += 1) {
    let lines = "";
    for (let made = 0; made < KEYS_EACH;) {
      const key = createKey(nextSecret());
      const keyId = keyIdOf(key);
      if (keyIds.has(keyId)) continue;
      keyIds.add(keyId);
      keys.push({ keyId, sha256: keySha256(key), account: accountName(at) });
      lines += `${key}\n`;
      made += 1;
    }
    writeSync(file, lines);
  }
  closeSync(file);
  return keys;
}

const itemOf = (name: string, value: object): Item<string> => [name, JSON.stringify(value)];

function* itemsOf(keys: readonly Key[]): Generator<Item<string>> {
  for (let at = 0; at < keys.length; at += KEYS_EACH) {
    const held = keys.slice(at, at + KEYS_EACH);
    const name = held[0]?.account as string;
    const value: AccountRecord = {
      id: name,
      name,
      tier: "pro",
      trial: null,
      suspended: false,
      created_at: NOW,
      removed_at: null,
      note: null,
      keys: held.map(({ sha256 }) => sha256),
    };
    yield itemOf(accountItem(name), value);
  }
  for (const { keyId, sha256 } of keys.toSorted(by(({ keyId: id }) => id))) {
    yield itemOf(keyIdItem(keyId), { sha256 });
  }
  for (const { keyId, sha256, account } of keys.toSorted(by((key) => key.sha256))) {
    const value: KeyRecord = {
      key_id: keyId,
      sha256,
      account,
      label: null,
      created_at: NOW,
      suspended: false,
      revoked_at: null,
      expires_at: null,
      replaced_by: null,
      path: null,
    };
    yield itemOf(keyItem(sha256), value);
  }
}

const by =
  (text: (key: Key) => string) =>
  (a: Key, b: Key): number =>
    text(a) < text(b) ? -1 : 1;

function* batches(items: Iterable<Item<string>>): Generator<Item<string>[]> {
  let batch: Item<string>[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < WRITTEN_AT_ONCE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/**
 * Accounts and their keys, for the commands. Every change reads and writes as one step (see
 * state.ts), so that commands at the same time cannot exceed an account's keys or lose each other's
 * work. Unknown names are InputErrors (2), an account that exists already a ConflictError (4), what
 * the tier does not allow a RefusedError (3).
 */
import { instantText, type Clock } from "../clock.ts";
import { ConflictError, InputError, RefusedError } from "../errors.ts";
import { TIERS, type KeyTierName } from "../market/tier.ts";
import { createKey, isKeyId, keyIdOf, keySha256, looksLikeKey } from "./key.ts";
import { callsLeft, monthEndMs, monthOf } from "./month.ts";
import {
  accountItem,
  accountRecord,
  keyIdItem,
  keyIdRecord,
  keyItem,
  keyRecord,
  readRecord,
  voidAtMs,
  type AccountRecord,
  type KeyRecord,
} from "./records.ts";
import type { Change, RegistryState } from "./state.ts";

const ACCOUNT_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;
const READ_AT_ONCE = 1_000;

/** A key just made: the only moment at which it is known whole. */
export interface NewKey {
  readonly key: string;
  readonly record: KeyRecord;
}

/** What to change of an account; what is absent stays. A tier without trial days ends a trial. */
export interface AccountChange {
  readonly tier?: KeyTierName | undefined;
  readonly trialDays?: number | undefined;
  readonly suspended?: boolean | undefined;
}

/** An account's calls in the current month. `limit` and `remaining` are null without a limit. */
export interface AccountUsage {
  readonly account: string;
  readonly tier: KeyTierName;
  /** `2026-11`. */
  readonly month: string;
  readonly used: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  /** Epoch milliseconds. */
  readonly resetsAtMs: number;
}

export class Registry {
  readonly #state: RegistryState;
  readonly #clock: Clock;

  constructor(state: RegistryState, clock: Clock) {
    this.#state = state;
    this.#clock = clock;
  }

  /** For messages; without a password. */
  get location(): string {
    return this.#state.location;
  }

  /** Adds an account; `trialDays` null: no trial. ConflictError where the name is taken. */
  async addAccount(
    name: string,
    tier: KeyTierName,
    trialDays: number | null,
  ): Promise<AccountRecord> {
    if (!ACCOUNT_NAME.test(name)) {
      throw new InputError(
        `Account ${quoted(name)}: expected 1 to 63 of a-z, 0-9, ".", "_", "-", starting with a letter or digit`,
      );
    }
    return this.#state.change(async () => {
      if ((await this.#findAccount(name)) !== null) {
        throw new ConflictError(`Account ${quoted(name)} exists already`);
      }
      const trial = trialDays === null ? null : { started_at: this.#now(), days: trialDays };
      const created = { suspended: false, created_at: this.#now(), keys: [] };
      return changeOf({ name, tier, trial, ...created });
    });
  }

  /** All accounts, by name. */
  async accounts(): Promise<AccountRecord[]> {
    const items = await this.#all("accounts", (item, value) =>
      readRecord(accountRecord, item, value),
    );
    return items.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The account of this name. InputError where there is none. */
  async account(name: string): Promise<AccountRecord> {
    const account = await this.#findAccount(name);
    if (account === null) throw new InputError(`Account ${quoted(name)}: there is no such account`);
    return account;
  }

  /**
   * Changes an account. A smaller tier is refused while the account holds more keys than it allows;
   * calls counted stay counted.
   */
  async setAccount(name: string, wanted: AccountChange): Promise<AccountRecord> {
    return this.#state.change(async () => {
      const account = await this.account(name);
      const tier = wanted.tier ?? account.tier;
      const held = (await this.#keysOf(account)).filter(countsAsHeld).length;
      const allowed = TIERS[tier].keysPerAccount;
      if (wanted.tier !== undefined && held > allowed) {
        throw new RefusedError(
          `Account ${quoted(name)} holds ${held} keys and ${tier} allows ${allowed}: revoke ${held - allowed} first`,
        );
      }
      let trial = wanted.tier === undefined ? account.trial : null;
      if (wanted.trialDays !== undefined) {
        trial = { started_at: this.#now(), days: wanted.trialDays };
      }
      const suspended = wanted.suspended ?? account.suspended;
      return changeOf({ ...account, tier, trial, suspended });
    });
  }

  /** A new key for the account. RefusedError where it holds as many as its tier allows. */
  async createKey(accountName: string, label: string | null): Promise<NewKey> {
    return this.#state.change(async () => {
      const account = await this.account(accountName);
      const held = (await this.#keysOf(account)).filter(countsAsHeld).length;
      const allowed = TIERS[account.tier].keysPerAccount;
      if (held >= allowed) {
        throw new RefusedError(
          `Account ${quoted(accountName)} holds ${held} keys and ${account.tier} allows ${allowed}: revoke or rotate one`,
        );
      }
      const made = await this.#newKey(accountName, label);
      return { writes: writesOf(made.record, withKey(account, made.record)), result: made };
    });
  }

  /** The keys of one account, oldest first; without a name those of all accounts, by account. */
  async keys(accountName?: string): Promise<KeyRecord[]> {
    if (accountName !== undefined) return this.#keysOf(await this.account(accountName));
    const keys = await this.#all("keys", (item, value) => readRecord(keyRecord, item, value));
    const order = (key: KeyRecord): string => `${key.account} ${key.created_at} ${key.key_id}`;
    return keys.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  }

  /** Suspends or resumes a key; the same again changes nothing. InputError for a void key. */
  async suspendKey(keyId: string, suspended: boolean): Promise<KeyRecord> {
    return this.#state.change(async () => {
      const key = this.#standing(await this.#findKey(keyId));
      return keyChangeOf({ ...key, suspended });
    });
  }

  /** Revokes a key for good, at once; the same again changes nothing. */
  async revokeKey(keyId: string): Promise<KeyRecord> {
    return this.#state.change(async () => {
      const key = await this.#findKey(keyId);
      return keyChangeOf({ ...key, revoked_at: key.revoked_at ?? this.#now() });
    });
  }

  /**
   * Makes a key that takes this one's place, and lets this one go on for `overlapMs` more (0: not
   * at all). InputError for a key that is void, suspended or rotated already.
   */
  async rotateKey(
    keyId: string,
    overlapMs: number,
  ): Promise<NewKey & { readonly replaced: KeyRecord }> {
    return this.#state.change(async () => {
      const old = this.#standing(await this.#findKey(keyId));
      if (old.replaced_by !== null) {
        throw new InputError(
          `Key ${quoted(keyId)} is rotated already: ${old.replaced_by} replaces it`,
        );
      }
      if (old.suspended) {
        throw new InputError(`Key ${quoted(keyId)} is suspended: resume it before rotating it`);
      }
      const account = await this.account(old.account);
      const made = await this.#newKey(old.account, old.label);
      const replaced = {
        ...old,
        expires_at: instantText(this.#clock.now() + overlapMs),
        replaced_by: made.record.key_id,
      };
      const writes = writesOf(made.record, withKey(account, made.record));
      writes.set(keyItem(old.sha256), replaced);
      return { writes, result: { ...made, replaced } };
    });
  }

  /** What accounts have used of the current month: the one named, or all, by name. */
  async usage(accountName?: string): Promise<AccountUsage[]> {
    const accounts =
      accountName === undefined ? await this.accounts() : [await this.account(accountName)];
    const month = monthOf(this.#clock.now());
    const subjects = accounts.map(({ name }) => `account:${name}` as const);
    const counts = await this.#state.counts(subjects, month);
    return accounts.map(({ name, tier }, index) => {
      const used = counts[index] ?? 0;
      const limit = TIERS[tier].callsPerMonth;
      const remaining = callsLeft(limit, used);
      return { account: name, tier, month, used, limit, remaining, resetsAtMs: monthEndMs(month) };
    });
  }

  /** Lets go of the state. */
  async close(): Promise<void> {
    await this.#state.close();
  }

  async #findAccount(name: string): Promise<AccountRecord | null> {
    // A text that cannot be a name is not asked for: the state gives ":" and "/" a meaning.
    if (!ACCOUNT_NAME.test(name)) return null;
    const item = accountItem(name);
    return readRecord(accountRecord, item, await this.#state.storage.getItem(item));
  }

  async #findKey(keyId: string): Promise<KeyRecord> {
    if (!isKeyId(keyId)) throw notAKeyId(keyId);
    const idItem = keyIdItem(keyId);
    const found = readRecord(keyIdRecord, idItem, await this.#state.storage.getItem(idItem));
    const item = found === null ? null : keyItem(found.sha256);
    const value = item === null ? null : await this.#state.storage.getItem(item);
    const key = readRecord(keyRecord, item ?? idItem, value);
    if (key === null) throw new InputError(`Key ${quoted(keyId)}: there is no such key`);
    return key;
  }

  async #keysOf(account: AccountRecord): Promise<KeyRecord[]> {
    return this.#read(account.keys.map(keyItem), (item, value) =>
      readRecord(keyRecord, item, value),
    );
  }

  /** A key whose KEYID no other key has, so that a KEYID always names one key. */
  async #newKey(account: string, label: string | null): Promise<NewKey> {
    for (;;) {
      const key = createKey();
      const keyId = keyIdOf(key);
      if (await this.#state.storage.hasItem(keyIdItem(keyId))) continue;
      const record: KeyRecord = {
        key_id: keyId,
        sha256: keySha256(key),
        account,
        label,
        created_at: this.#now(),
        suspended: false,
        revoked_at: null,
        expires_at: null,
        replaced_by: null,
      };
      return { key, record };
    }
  }

  #standing(key: KeyRecord): KeyRecord {
    if (key.revoked_at !== null)
      throw new InputError(`Key ${quoted(key.key_id)} is revoked for good`);
    if (this.#clock.now() < voidAtMs(key)) return key;
    throw new InputError(
      `Key ${quoted(key.key_id)} is rotated out: ${String(key.replaced_by)} replaces it`,
    );
  }

  async #all<T>(base: string, read: (item: string, value: unknown) => T | null): Promise<T[]> {
    // A scan of Redis may name an item more than once.
    const items = [...new Set(await this.#state.storage.getKeys(base))];
    return this.#read(items, read);
  }

  async #read<T>(
    items: readonly string[],
    read: (item: string, value: unknown) => T | null,
  ): Promise<T[]> {
    const records: T[] = [];
    for (let start = 0; start < items.length; start += READ_AT_ONCE) {
      const found = await this.#state.storage.getItems(items.slice(start, start + READ_AT_ONCE));
      for (const { key, value } of found) {
        const record = read(key, value);
        if (record !== null) records.push(record);
      }
    }
    return records;
  }

  #now(): string {
    return instantText(this.#clock.now());
  }
}

/** Revoked keys, and those in a rotation's overlap, do not count towards the tier's keys. */
const countsAsHeld = (key: KeyRecord): boolean =>
  key.revoked_at === null && key.expires_at === null;

const withKey = (account: AccountRecord, key: KeyRecord): AccountRecord => ({
  ...account,
  keys: [...account.keys, key.sha256],
});

const changeOf = (account: AccountRecord): Change<AccountRecord> => ({
  writes: new Map([[accountItem(account.name), account]]),
  result: account,
});

const keyChangeOf = (key: KeyRecord): Change<KeyRecord> => ({
  writes: new Map([[keyItem(key.sha256), key]]),
  result: key,
});

const writesOf = (key: KeyRecord, account: AccountRecord): Map<string, object> =>
  new Map<string, object>([
    [accountItem(account.name), account],
    [keyItem(key.sha256), key],
    [keyIdItem(key.key_id), { sha256: key.sha256 }],
  ]);

/** Whatever is longer than a KEYID may be a key, and is not repeated. */
function notAKeyId(text: string): InputError {
  const expected = "expected a KEYID, the first 12 characters of a key (see keys ls)";
  return new InputError(
    text.length > 12
      ? `A text of ${text.length} characters given as a KEYID: ${expected}`
      : `Key ${quoted(text)}: ${expected}`,
  );
}

/** A name as a message may hold it; a key given in a name's place is not repeated. */
const quoted = (text: string): string =>
  looksLikeKey(text) ? `"${keyIdOf(text)}…"` : JSON.stringify(text);

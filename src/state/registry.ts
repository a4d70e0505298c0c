/**
 * Accounts and their keys, for the commands. Every change reads and writes in one atomic step (see
 * change.ts), so that parallel commands cannot exceed an account's number of keys or lose each
 * other's changes. An unknown name is an InputError (2), an account that exists already a
 * ConflictError (4), and a change that the tier does not allow a RefusedError (3).
 */
import { instantText, type Clock } from "../lib/clock.ts";
import { ConflictError, InputError, RefusedError } from "../lib/errors.ts";
import { TIERS, type KeyTierName } from "../market/tier.ts";
import {
  accountItem,
  allAccounts,
  allKeys,
  findAccount,
  findKeyById,
  keyIdItem,
  keyItem,
  keysOf,
  requireAccountName,
  voidAtMs,
  type AccountRecord,
  type KeyRecord,
} from "./accounts.ts";
import { change, type Change } from "./change.ts";
import type { StateDriver } from "./driver.ts";
import { createKey, keyIdOf, keySha256, quoted, requireKeyId } from "./keys.ts";
import {
  usageByKey,
  usageByMonth,
  usageOf,
  type AccountUsage,
  type KeyUsage,
  type MonthUsage,
} from "./usage.ts";

/** A new key. Its whole text is never available again. */
export interface NewKey {
  /** The whole text; the record has only its hash. */
  readonly key: string;
  readonly record: KeyRecord;
}

/** A change of an account. Missing fields stay as they are. A tier without trial days ends a trial. */
interface AccountChange {
  readonly tier?: KeyTierName | undefined;
  /** A trial that begins now. */
  readonly trialDays?: number | undefined;
  readonly suspended?: boolean | undefined;
  /** "" removes the note. */
  readonly note?: string | undefined;
}

/**
 * The registry over a state of either driver. All methods throw UnreachableError if the state does
 * not answer, and DamageError if a record is damaged.
 */
export class Registry {
  readonly #state: StateDriver;
  readonly #clock: Clock;

  constructor(state: StateDriver, clock: Clock) {
    this.#state = state;
    this.#clock = clock;
  }

  /** See StateDriver. */
  get created(): string | null {
    return this.#state.created;
  }

  /** Adds an account; `trialDays` null: no trial. Throws ConflictError if the name is taken. */
  async addAccount(
    name: string,
    tier: KeyTierName,
    trialDays: number | null,
    note: string | null = null,
  ): Promise<AccountRecord> {
    requireAccountName(name);
    return change(this.#state, async () => {
      if ((await findAccount(this.#state.storage, name)) !== null) {
        throw new ConflictError(`Account ${quoted(name)} exists already`);
      }
      const trial = trialDays === null ? null : { started_at: this.#now(), days: trialDays };
      const created = { suspended: false, created_at: this.#now(), note, keys: [] };
      return changeOf({ name, tier, trial, ...created });
    });
  }

  /** All accounts, by name. */
  accounts(): Promise<AccountRecord[]> {
    return allAccounts(this.#state.storage);
  }

  /** The account of this name. Throws InputError if there is none. */
  async account(name: string): Promise<AccountRecord> {
    const account = await findAccount(this.#state.storage, name);
    if (account === null) throw new InputError(`Account ${quoted(name)}: there is no such account`);
    return account;
  }

  /**
   * Changes an account. Throws RefusedError if the account holds more keys than the new tier allows.
   * The month's calls stay counted.
   */
  async setAccount(name: string, wanted: AccountChange): Promise<AccountRecord> {
    return change(this.#state, async () => {
      const account = await this.account(name);
      const tier = wanted.tier ?? account.tier;
      const held = await this.#held(account);
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
      const note = wanted.note === "" ? null : (wanted.note ?? account.note);
      return changeOf({ ...account, tier, trial, suspended, note });
    });
  }

  /**
   * Removes an account and all its keys. Its counts stay until their time: an account that gets the
   * same name continues with the month's calls.
   */
  async removeAccount(name: string): Promise<AccountRecord> {
    return change(this.#state, async () => {
      const account = await this.account(name);
      const writes = new Map<string, null>([[accountItem(name), null]]);
      for (const key of await keysOf(this.#state.storage, account)) {
        writes.set(keyItem(key.sha256), null).set(keyIdItem(key.key_id), null);
      }
      return { writes, result: account };
    });
  }

  /** Makes a key for the account. Throws RefusedError if its tier allows no more keys. */
  async createKey(accountName: string, label: string | null): Promise<NewKey> {
    return change(this.#state, async () => {
      const account = await this.account(accountName);
      const held = await this.#held(account);
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

  /** The keys of one account, oldest first; without a name, the keys of all accounts, by account. */
  async keys(accountName?: string): Promise<KeyRecord[]> {
    const { storage } = this.#state;
    if (accountName === undefined) return allKeys(storage);
    return keysOf(storage, await this.account(accountName));
  }

  /** Suspends or resumes a key; a second time changes nothing. Throws InputError for a void key. */
  async suspendKey(keyId: string, suspended: boolean): Promise<KeyRecord> {
    return change(this.#state, async () => {
      const key = this.#standing(await this.#findKey(keyId));
      return keyChangeOf({ ...key, suspended });
    });
  }

  /** Revokes a key at once and for good; a second time changes nothing. */
  async revokeKey(keyId: string): Promise<KeyRecord> {
    return change(this.#state, async () => {
      const key = await this.#findKey(keyId);
      return keyChangeOf({ ...key, revoked_at: key.revoked_at ?? this.#now() });
    });
  }

  /**
   * Makes a key that replaces this one. The old key stays valid for `overlapMs` (0: not at all).
   * Throws InputError for a key that is void, suspended or rotated already.
   */
  async rotateKey(
    keyId: string,
    overlapMs: number,
  ): Promise<NewKey & { readonly replaced: KeyRecord }> {
    return change(this.#state, async () => {
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

  /** The calls of the named account in the current month; without a name, of all accounts, by name. */
  async usage(accountName?: string): Promise<AccountUsage[]> {
    return usageOf(this.#state, await this.#named(accountName), this.#clock.now());
  }

  /** The same by key: for each account its keys, oldest first. */
  async usageByKey(accountName?: string): Promise<KeyUsage[]> {
    return usageByKey(this.#state, await this.#named(accountName), this.#clock.now());
  }

  /** The same by month: for each account the months with calls and the current one, oldest first. */
  async usageByMonth(accountName?: string): Promise<MonthUsage[]> {
    return usageByMonth(this.#state, await this.#named(accountName), this.#clock.now());
  }

  /** Closes the state. */
  async close(): Promise<void> {
    await this.#state.close();
  }

  /** The named account; without a name, all accounts, by name. */
  async #named(name: string | undefined): Promise<AccountRecord[]> {
    return name === undefined ? this.accounts() : [await this.account(name)];
  }

  async #findKey(keyId: string): Promise<KeyRecord> {
    requireKeyId(keyId);
    const key = await findKeyById(this.#state.storage, keyId);
    if (key === null) throw new InputError(`Key ${quoted(keyId)}: there is no such key`);
    return key;
  }

  /** How many keys count towards the tier's number: all but those that are revoked or rotated. */
  async #held(account: AccountRecord): Promise<number> {
    const keys = await keysOf(this.#state.storage, account);
    return keys.filter((key) => key.revoked_at === null && key.expires_at === null).length;
  }

  /** Makes a key with a KEYID that no other key has, so that a KEYID always names one key. */
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

  #now(): string {
    return instantText(this.#clock.now());
  }
}

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

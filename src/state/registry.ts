/**
 * Accounts, their keys and links, for the commands. Every change reads and writes in one atomic step, so
 * that parallel commands cannot exceed an account's number of keys or lose each other's changes. An unknown
 * name is an InputError (2), an account that exists already a ConflictError (4), a change that the tier
 * does not allow a RefusedError (3), a damaged record a DamageError (6). If the state does not answer,
 * the database's error passes (see StateDriver).
 */
import type { Storage } from "unstorage";
import { instantText, type Clock } from "../lib/clock.ts";
import { ConflictError, InputError, RefusedError } from "../lib/errors.ts";
import { TIERS, type KeyTierName } from "../market/tier.ts";
import {
  accountItem,
  accountName,
  accountsNamed,
  allAccounts,
  change,
  everAdded,
  findAccount,
  findKeyById,
  keyIdItem,
  keyItem,
  keysOf,
  newAccount,
  requireStanding,
  trialFrom,
  voidAtMs,
  type AccountRecord,
  type Addition,
  type KeyRecord,
  type Write,
} from "./accounts.ts";
import type { StateDriver } from "./driver.ts";
import {
  createKey,
  createLinkToken,
  keyIdOf,
  keySha256,
  quoted,
  requireKeyId,
} from "./api-keys.ts";
import { daysWithCounts, forgetAtMs, monthOf, monthsWithCounts } from "./month.ts";
import {
  accountView,
  callsOf,
  keysWithUse,
  keyView,
  linkView,
  usageOf,
  type AccountView,
  type KeyView,
} from "./views.ts";

/**
 * A change of an account. Missing fields stay as they are. Trial days begin a trial now; a tier without
 * them ends one. The note "" removes the note.
 */
interface AccountChange {
  readonly tier?: KeyTierName | undefined;
  readonly trialDays?: number | undefined;
  readonly suspended?: boolean | undefined;
  readonly note?: string | undefined;
}

/** The registry over a state of either driver. What it returns is as the commands print it (views.ts). */
export class Registry {
  readonly #state: StateDriver;
  readonly #storage: Storage;
  readonly #clock: Clock;
  /** See StateDriver. */
  readonly created: string | null;

  constructor(state: StateDriver, clock: Clock) {
    this.#state = state;
    this.created = state.created;
    this.#storage = state.storage;
    this.#clock = clock;
  }

  /** Adds an account; `trialDays` null: no trial. Throws ConflictError if the name is taken. */
  async addAccount(
    name: string,
    tier: KeyTierName,
    trialDays: number | null,
    note: string | null = null,
  ): Promise<AccountView> {
    if (accountName.parse(name) === undefined)
      throw new InputError(`Account ${quoted(name)}: expected ${accountName.expected}`);
    const [added] = await this.addAccounts([{ name, tier, trialDays, note }], ({ size }) => {
      if (size > 0) throw new ConflictError(`Account ${quoted(name)} exists already`);
    });
    return added as AccountView;
  }

  /** Adds accounts of valid names: all, or none if `accept`, which gets the names that are taken, throws. */
  async addAccounts(wanted: readonly Addition[], accept: (taken: Set<string>) => void) {
    return change(this.#state, async (write) => {
      const names = wanted.map(({ name }) => name);
      accept(new Set((await accountsNamed(this.#storage, names)).map(({ name }) => name)));
      return wanted.map((addition) =>
        this.#view(write(accountItem(addition.name), newAccount(addition, this.#now()))),
      );
    });
  }

  async accounts(): Promise<AccountView[]> {
    return (await this.#named()).map(this.#view);
  }

  /** Throws InputError if there is no such account. */
  async account(name: string): Promise<AccountView> {
    return this.#view(await this.#account(name));
  }

  /**
   * Changes an account. Throws RefusedError if the account holds more keys than the new tier allows.
   * The month's calls stay counted.
   */
  async setAccount(name: string, wanted: AccountChange): Promise<AccountView> {
    return change(this.#state, async (write) => {
      const account = await this.#account(name);
      const tier = wanted.tier ?? account.tier;
      if (wanted.tier !== undefined) await this.#requireAllowed(account, tier, 0);
      const kept = wanted.tier === undefined ? account.trial : null;
      const trial = trialFrom(this.#now(), wanted.trialDays ?? null) ?? kept;
      const suspended = wanted.suspended ?? account.suspended;
      const note = wanted.note === "" ? null : (wanted.note ?? account.note);
      return this.#view(write(accountItem(name), { ...account, tier, trial, suspended, note }));
    });
  }

  /**
   * Removes an account and all its keys. Its counts stay until their time, and with them its name and
   * tier. An account that gets the same name begins at zero.
   */
  async removeAccount(name: string): Promise<AccountView> {
    return change(this.#state, async (write) => {
      const account = await this.#account(name);
      write(accountItem(name), null);
      for (const key of await keysOf(this.#storage, [account])) {
        write(keyItem(key.sha256), null);
        write(keyIdItem(key.key_id), null);
      }
      const stays = { ...account, note: null, trial: null, keys: [], removed_at: this.#now() };
      write(accountItem(`${name}:${account.id}`), stays);
      for (const old of await everAdded(this.#storage)) {
        const month = monthOf(Date.parse(old.removed_at ?? this.#now()));
        if (forgetAtMs("account:", month) <= this.#clock.now())
          write(accountItem(`${old.name}:${old.id}`), null);
      }
      return this.#view(account);
    });
  }

  /** Makes a key that is void from `expires_at` on. Throws RefusedError if the tier allows no more. */
  async createKey(name: string, label: string | null, expires_at: string | null = null) {
    if (expires_at !== null && expires_at <= this.#now())
      throw new InputError(`A key until ${expires_at}: expected a date UTC that has not passed`);
    return change(this.#state, async (write) => {
      const account = await this.#account(name);
      await this.#requireAllowed(account, account.tier, 1);
      return this.#addKey(write, account, { label, expires_at, path: null });
    });
  }

  /** The keys of one account, oldest first; without a name, the keys of all accounts, by account. */
  async keys(name?: string) {
    const keys = await this.#held(await this.#named(name), "key");
    return keysWithUse(this.#state, keys, this.#clock.now());
  }

  /** Makes a link of the account that reads `path` (see KeyRecord). */
  async createLink(name: string, path: string, label: string | null) {
    return change(this.#state, async (write) => {
      const wanted = { label, expires_at: null, path };
      const made = await this.#addKey(write, await this.#account(name), wanted);
      const { key: token, key_id: link_id, account, created_at } = made;
      return { token, link_id, account, path, label, created_at };
    });
  }

  /** The links of one account, oldest first; without a name, the links of all accounts, by account. */
  async links(name?: string) {
    const links = await this.#held(await this.#named(name), "link");
    return links.map((link) => linkView(link, this.#clock.now()));
  }

  async revokeLink(linkId: string) {
    return linkView(await this.#revoke(linkId, "link"), this.#clock.now());
  }

  /** Suspends or resumes a key; a second time changes nothing. Throws InputError for a void key. */
  async suspendKey(keyId: string, suspended: boolean): Promise<KeyView> {
    return change(this.#state, async (write) => {
      const key = requireStanding(await this.#findKey(keyId), this.#clock.now());
      return keyView(write(keyItem(key.sha256), { ...key, suspended }), this.#clock.now());
    });
  }

  /** Revokes a key at once and for good; a second time changes nothing. */
  async revokeKey(keyId: string): Promise<KeyView> {
    return keyView(await this.#revoke(keyId, "key"), this.#clock.now());
  }

  /**
   * Makes a key that replaces this one, with the same end. The old key stays valid for `overlapMs` (0: not
   * at all). Throws InputError for a key that is void, suspended or rotated already.
   */
  async rotateKey(keyId: string, overlapMs: number) {
    return change(this.#state, async (write) => {
      const old = requireStanding(await this.#findKey(keyId), this.#clock.now());
      const { replaced_by: by, suspended } = old;
      const rotated = by === null ? null : `is rotated already: ${by} replaces it`;
      const fault = rotated ?? (suspended ? "is suspended: resume it before rotating it" : null);
      if (fault !== null) throw new InputError(`Key ${quoted(keyId)} ${fault}`);
      const made = await this.#addKey(write, await this.#account(old.account), old);
      const until = instantText(Math.min(this.#clock.now() + overlapMs, voidAtMs(old)));
      write(keyItem(old.sha256), { ...old, expires_at: until, replaced_by: made.key_id });
      return { ...made, replaces: keyId, replaced_until: until };
    });
  }

  /** The calls of the named account in the current month; without a name, of all accounts, by name. */
  async usage(accountName?: string) {
    return usageOf(this.#state, await this.#named(accountName), this.#clock.now());
  }

  /**
   * Calls in this month or another one, per key in it, or per month or day (see callsOf), also of removed
   * accounts of the name.
   */
  async calls(name?: string, per?: "key" | "month" | "day", month?: string) {
    const nowMs = this.#clock.now();
    const unit = per === "day" ? "day" : "month";
    const kept = unit === "day" ? daysWithCounts(nowMs) : monthsWithCounts(nowMs);
    const months = kept.map((period) => period.slice(0, "2026-11".length));
    if (month !== undefined && !months.includes(month))
      throw new InputError(
        `Month ${quoted(month)}: expected one of ${months[0]} to ${months.at(-1)}`,
      );
    const all = await everAdded(this.#storage);
    const asked = name === undefined ? all : all.filter((account) => account.name === name);
    if (name !== undefined && asked.length === 0) await this.#account(name);
    const wanted = month ?? (per === unit ? "" : monthOf(nowMs));
    const each = kept.filter((period) => period.startsWith(wanted));
    return callsOf(this.#state, asked, { unit, each }, per === "key", nowMs);
  }

  async #named(name?: string): Promise<AccountRecord[]> {
    return name === undefined ? allAccounts(this.#storage) : [await this.#account(name)];
  }

  async #account(name: string): Promise<AccountRecord> {
    const account = await findAccount(this.#storage, name);
    if (account === null) throw new InputError(`Account ${quoted(name)}: there is no such account`);
    return account;
  }

  /** What the accounts hold, but not both keys and links: no rule is about both. */
  async #held(accounts: readonly AccountRecord[], kind: "key" | "link"): Promise<KeyRecord[]> {
    const all = await keysOf(this.#storage, accounts);
    return all.filter(({ path }) => (path === null) === (kind === "key"));
  }

  async #findKey(keyId: string, kind: "key" | "link" = "key"): Promise<KeyRecord> {
    requireKeyId(keyId, kind);
    const key = await findKeyById(this.#storage, keyId);
    if (key !== null) return key;
    const noun = kind === "key" ? "Key" : "Link";
    throw new InputError(`${noun} ${quoted(keyId)}: there is no such ${kind}`);
  }

  #revoke(keyId: string, kind: "key" | "link"): Promise<KeyRecord> {
    return change(this.#state, async (write) => {
      const key = await this.#findKey(keyId, kind);
      return write(keyItem(key.sha256), { ...key, revoked_at: key.revoked_at ?? this.#now() });
    });
  }

  /** Throws RefusedError unless the tier allows `more` keys. Void or rotated ones do not count. */
  async #requireAllowed(account: AccountRecord, tier: KeyTierName, more: 0 | 1): Promise<void> {
    const keys = await this.#held([account], "key");
    const held = keys.filter((key) => !key.replaced_by && voidAtMs(key) > this.#clock.now()).length;
    const allowed = TIERS[tier].keysPerAccount;
    if (held + more <= allowed) return;
    const remedy = more > 0 ? "revoke or rotate one" : `revoke ${held - allowed} first`;
    throw new RefusedError(
      `Account ${quoted(account.name)} holds ${held} keys and ${tier} allows ${allowed}: ${remedy}`,
    );
  }

  /** Writes a new key or link, whose text is never available again, with an id that no other one has. */
  async #addKey(
    write: Write,
    account: AccountRecord,
    { label, expires_at, path }: Pick<KeyRecord, "label" | "expires_at" | "path">,
  ) {
    const create = () => (path === null ? createKey() : createLinkToken());
    let key = create();
    while (await this.#storage.hasItem(keyIdItem(keyIdOf(key)))) key = create();
    const key_id = keyIdOf(key);
    const sha256 = keySha256(key);
    const made = { key_id, account: account.name, label, created_at: this.#now(), expires_at };
    const standing = { suspended: false, revoked_at: null, replaced_by: null, path };
    write(keyItem(sha256), { ...made, ...standing, sha256 } satisfies KeyRecord);
    write(keyIdItem(key_id), { sha256 });
    write(accountItem(account.name), { ...account, keys: [...account.keys, sha256] });
    return { key, ...made };
  }

  readonly #view = (account: AccountRecord): AccountView => accountView(account, this.#clock.now());
  #now(): string {
    return instantText(this.#clock.now());
  }
}

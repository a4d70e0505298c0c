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
import { daysWithCounts, forgetAtMs, monthOf, monthsWithCounts } from "../ports/month.ts";
import type { StateDriver } from "../ports/state.ts";
import { remembering, seenOf, type SeenLog, type StoreNames } from "../snapshot/log/lost.ts";
import {
  NO_ACCOUNT,
  accountDetails,
  append,
  difference,
  forgetLogOf,
  keyDetails,
  logDetails,
  logOf,
  systemUser,
  type AccountLogEntry,
  type NotedChange,
} from "./account-log.ts";
import {
  accountItem,
  accountName,
  accountsNamed,
  allAccounts,
  change,
  changedAccount,
  everAdded,
  findAccount,
  findKeyById,
  keyIdItem,
  keyItem,
  keysOf,
  newAccount,
  requireStanding,
  voidAtMs,
  type AccountChange,
  type AccountRecord,
  type Addition,
  type KeyRecord,
  type Write,
} from "./accounts.ts";
import {
  createKey,
  createLinkToken,
  keyIdOf,
  keySha256,
  quoted,
  requireKeyId,
} from "./api-keys.ts";
import { seenIn, writeSeen } from "./seen-logs.ts";
import {
  accountView,
  callsOf,
  keyView,
  keysWithUse,
  linkView,
  usageOf,
  type AccountView,
  type KeyView,
} from "./account-views.ts";

/** Notes a change for the log. */
type Note = (change: NotedChange) => void;

/** An account of a file. Undefined trial days or note: the file has no such column. */
export type ImportedAccount = Pick<Addition, "name" | "tier"> &
  Pick<AccountChange, "trialDays" | "note">;

/** An account that an import changed: its fields that differ. */
type Changed = Pick<AccountLogEntry, "account_id" | "account" | "before" | "after">;

/** The registry over a state of either driver. It returns the records that the commands print (account-views.ts). */
export class Registry {
  /** See StateDriver. */
  readonly created: string | null;
  readonly #state: StateDriver;
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #by: string;

  /** `by`: who makes the changes, for their log. */
  constructor(state: StateDriver, clock: Clock, by: string = systemUser()) {
    this.#state = state;
    this.#by = by;
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
    return this.#change(async (write, tell) => {
      if ((await findAccount(this.#storage, name)) !== null)
        throw new ConflictError(`Account ${quoted(name)} exists already`);
      return this.#view(this.#add(write, tell, "accounts add", { name, tier, trialDays, note }));
    });
  }

  /**
   * Adds the accounts of valid names, and changes those that exist: all, or none if `accept` throws. It gets the
   * names that exist, with how many keys too many the account holds for the wanted tier.
   */
  async importAccounts(
    wanted: readonly ImportedAccount[],
    accept: (existing: ReadonlyMap<string, number>) => void,
  ) {
    return this.#change(async (write, note) => {
      const found = await accountsNamed(
        this.#storage,
        wanted.map(({ name }) => name),
      );
      const existing = new Map(found.map((account) => [account.name, account]));
      const tooMany = new Map<string, number>();
      for (const { name, tier } of wanted) {
        const account = existing.get(name);
        if (account === undefined) continue;
        const held = await this.#keysInForce(account);
        const isAllowed = account.tier === tier || held <= TIERS[tier].keysPerAccount;
        tooMany.set(name, isAllowed ? 0 : held - TIERS[tier].keysPerAccount);
      }
      accept(tooMany);
      const added: AccountView[] = [];
      const changed: Changed[] = [];
      const unchanged: string[] = [];
      const action = "accounts import";
      for (const { name, tier, trialDays, note: words } of wanted) {
        const account = existing.get(name);
        if (account === undefined) {
          const addition = { name, tier, trialDays: trialDays ?? null, note: words ?? null };
          added.push(this.#view(this.#add(write, note, action, addition)));
          continue;
        }
        // The same trial goes on: the same file again changes nothing.
        const isSameTrial = trialDays === (account.trial?.days ?? null);
        const change = { ...(tier !== account.tier && { tier }), trialDays, note: words };
        const next = changedAccount(account, change, this.#now());
        if (isSameTrial) next.trial = account.trial;
        const details = difference(accountDetails(account), accountDetails(next));
        if (details === null) {
          unchanged.push(name);
          continue;
        }
        write(accountItem(name), next);
        note({ action, account, ...details });
        changed.push({ account_id: account.id, account: name, ...details });
      }
      return { added, changed, unchanged };
    });
  }

  async accounts(): Promise<AccountView[]> {
    return (await this.#named()).map(this.#view);
  }

  /** Throws InputError if there is no such account. */
  async account(name: string): Promise<AccountView> {
    return this.#view(await this.#found(name));
  }

  /**
   * Changes an account. Throws RefusedError if the account holds more keys than the new tier allows.
   * The month's calls stay counted.
   */
  async setAccount(name: string, wanted: AccountChange): Promise<AccountView> {
    return this.#change(async (write, note) => {
      const account = await this.#found(name);
      if (wanted.tier !== undefined) await this.#requireAllowed(account, wanted.tier, 0);
      const next = changedAccount(account, wanted, this.#now());
      const [before, after] = [accountDetails(account), accountDetails(next)];
      note({ action: "accounts set", account, before, after });
      return this.#view(write(accountItem(name), next));
    });
  }

  /**
   * Removes an account and all its keys. Its counts stay until their time, and with them its name, its tier and
   * its log. An account that gets the same name begins at zero.
   */
  async removeAccount(name: string): Promise<AccountView> {
    return this.#change(async (write, note) => {
      const account = await this.#found(name);
      write(accountItem(name), null);
      const keys = await keysOf(this.#storage, [account]);
      for (const key of keys) {
        write(keyItem(key.sha256), null);
        write(keyIdItem(key.key_id), null);
      }
      const held = keys.map(({ key_id }) => key_id).join(" ");
      const before = { ...accountDetails(account), keys: held };
      note({ action: "accounts rm", account, before, after: null });
      const stays = { ...account, note: null, trial: null, keys: [], removed_at: this.#now() };
      write(accountItem(`${name}:${account.id}`), stays);
      for (const old of await everAdded(this.#storage)) {
        const month = monthOf(Date.parse(old.removed_at ?? this.#now()));
        if (forgetAtMs("account:", month) > this.#clock.now()) continue;
        write(accountItem(`${old.name}:${old.id}`), null);
        await forgetLogOf(this.#storage, write, old);
      }
      return this.#view(account);
    });
  }

  /**
   * Forgets the log that proxies have seen in the store of these names, and everything else that was seen at its
   * location. Remembers `log` in its place; null: the store holds none. Returns the forgotten log; null: none.
   */
  async takeUpLog(names: StoreNames, log: SeenLog | null): Promise<SeenLog | null> {
    return this.#change(async (write, note) => {
      const seen = await seenIn(this.#storage);
      const held = seenOf(seen, names);
      const others = seen.filter(
        (each) => each !== held && !each.locations.includes(names.location),
      );
      writeSeen(write, log === null ? others : remembering(others, log));
      const [before, after] = [logDetails(held), logDetails(log)];
      if (before !== after)
        note({ action: "state forget-log", account: NO_ACCOUNT, before, after });
      return held;
    });
  }

  /** The log of the accounts that ever had the name; without a name, of all. Throws InputError for others. */
  async log(name?: string): Promise<AccountLogEntry[]> {
    if (name !== undefined && accountName.parse(name) === undefined) await this.#found(name);
    const entries = await logOf(this.#storage, name);
    if (name !== undefined && entries.length === 0) await this.#found(name);
    return entries;
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
    if (name !== undefined && asked.length === 0) await this.#found(name);
    const wanted = month ?? (per === unit ? "" : monthOf(nowMs));
    const each = kept.filter((period) => period.startsWith(wanted));
    return callsOf(this.#state, asked, { unit, each }, per === "key", nowMs);
  }

  /** Makes a key that is void from `expires_at` on. Throws RefusedError if the tier allows no more. */
  async createKey(name: string, label: string | null, expires_at: string | null = null) {
    this.#requireFuture(expires_at);
    return this.#change(async (write, note) => {
      const account = await this.#found(name);
      await this.#requireAllowed(account, account.tier, 1);
      return this.#addKey(write, note, "keys create", account, { label, expires_at, path: null });
    });
  }

  /**
   * Makes a key for each of the accounts, whose names differ: all, or none if `accept` throws. It gets the names
   * that no account has, and accounts that can have no more keys.
   */
  async createKeys(
    names: readonly string[],
    label: string | null,
    expires_at: string | null,
    accept: (unknown: ReadonlySet<string>, full: ReadonlySet<string>) => void,
  ) {
    this.#requireFuture(expires_at);
    return this.#change(async (write, note) => {
      const found = await accountsNamed(this.#storage, names);
      const accounts = new Map(found.map((account) => [account.name, account]));
      const full = new Set<string>();
      for (const account of found) {
        const held = await this.#keysInForce(account);
        if (held >= TIERS[account.tier].keysPerAccount) full.add(account.name);
      }
      accept(new Set(names.filter((name) => !accounts.has(name))), full);
      const made = [];
      for (const account of names.flatMap((name) => accounts.get(name) ?? [])) {
        const wanted = { label, expires_at, path: null };
        made.push(await this.#addKey(write, note, "keys create", account, wanted));
      }
      return made;
    });
  }

  /** The keys of one account, oldest first; without a name, the keys of all accounts, by account. */
  async keys(name?: string) {
    const keys = await this.#held(await this.#named(name), "key");
    return keysWithUse(this.#state, keys, this.#clock.now());
  }

  /** Makes a link of the account that reads `path` (see KeyRecord). */
  async createLink(name: string, path: string, label: string | null) {
    return this.#change(async (write, note) => {
      const wanted = { label, expires_at: null, path };
      const owner = await this.#found(name);
      const made = await this.#addKey(write, note, "links create", owner, wanted);
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
    const revoked = { revoked_at: this.#now() };
    return linkView(await this.#setKey(linkId, "link", "links revoke", revoked), this.#clock.now());
  }

  /** Suspends or resumes a key; a second time changes nothing. Throws InputError for a void key. */
  async suspendKey(keyId: string, suspended: boolean): Promise<KeyView> {
    const action = suspended ? "keys suspend" : "keys resume";
    return keyView(await this.#setKey(keyId, "key", action, { suspended }), this.#clock.now());
  }

  /** Revokes a key at once and for good; a second time changes nothing. */
  async revokeKey(keyId: string): Promise<KeyView> {
    const revoked = { revoked_at: this.#now() };
    return keyView(await this.#setKey(keyId, "key", "keys revoke", revoked), this.#clock.now());
  }

  /**
   * Makes a key that replaces this one, with the same end. The old key stays valid for `overlapMs` (0: not
   * at all). Throws InputError for a key that is void, suspended or rotated already.
   */
  async rotateKey(keyId: string, overlapMs: number) {
    return this.#change(async (write, note) => {
      const old = requireStanding(await this.#findKey(keyId), this.#clock.now());
      const { replaced_by: by, suspended } = old;
      const rotated = by === null ? null : `is rotated already: ${by} replaces it`;
      const fault = rotated ?? (suspended ? "is suspended: resume it before rotating it" : null);
      if (fault !== null) throw new InputError(`Key ${quoted(keyId)} ${fault}`);
      const account = await this.#found(old.account);
      const made = await this.#addKey(write, note, "keys rotate", account, old);
      const until = instantText(Math.min(this.#clock.now() + overlapMs, voidAtMs(old)));
      const next = write(keyItem(old.sha256), {
        ...old,
        expires_at: until,
        replaced_by: made.key_id,
      });
      const [before, after] = [keyDetails(old), keyDetails(next)];
      note({ action: "keys rotate", account, keyId, before, after });
      return { ...made, replaces: keyId, replaced_until: until };
    });
  }

  #add(write: Write, note: Note, action: string, addition: Addition): AccountRecord {
    const account = newAccount(addition, this.#now());
    note({ action, account, before: null, after: accountDetails(account) });
    return write(accountItem(account.name), account);
  }

  readonly #view = (account: AccountRecord): AccountView => accountView(account, this.#clock.now());

  async #findKey(keyId: string, kind: "key" | "link" = "key"): Promise<KeyRecord> {
    requireKeyId(keyId, kind);
    const key = await findKeyById(this.#storage, keyId);
    if (key !== null) return key;
    const noun = kind === "key" ? "Key" : "Link";
    throw new InputError(`${noun} ${quoted(keyId)}: there is no such ${kind}`);
  }

  /** Changes a key or link. A link, and a key that is to be revoked, may be void. */
  #setKey(
    keyId: string,
    kind: "key" | "link",
    action: string,
    wanted: { readonly suspended: boolean } | { readonly revoked_at: string },
  ): Promise<KeyRecord> {
    return this.#change(async (write, note) => {
      const key = await this.#findKey(keyId, kind);
      if ("suspended" in wanted) requireStanding(key, this.#clock.now());
      // The first instant stays.
      else if (key.revoked_at !== null) return key;
      const next = write(keyItem(key.sha256), { ...key, ...wanted });
      const account = await this.#found(key.account);
      note({ action, account, keyId, before: keyDetails(key), after: keyDetails(next) });
      return next;
    });
  }

  #requireFuture(expires_at: string | null): void {
    if (expires_at !== null && expires_at <= this.#now())
      throw new InputError(`A key until ${expires_at}: expected a date UTC that has not passed`);
  }

  /** Writes a new key or link, whose text is never available again, with an id that no other one has. */
  async #addKey(
    write: Write,
    note: Note,
    action: string,
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
    const record: KeyRecord = write(keyItem(sha256), { ...made, ...standing, sha256 });
    write(keyIdItem(key_id), { sha256 });
    write(accountItem(account.name), { ...account, keys: [...account.keys, sha256] });
    note({ action, account, keyId: key_id, before: null, after: keyDetails(record) });
    return { key, ...made };
  }

  /** Runs `plan` as one atomic change (see accounts.ts), with its notes for the log. */
  #change<T>(plan: (write: Write, note: Note) => Promise<T>): Promise<T> {
    return change(this.#state, async (write) => {
      const changes: NotedChange[] = [];
      const result = await plan(write, (noted) => changes.push(noted));
      await append(this.#storage, write, changes, this.#now(), this.#by);
      return result;
    });
  }

  async #named(name?: string): Promise<AccountRecord[]> {
    return name === undefined ? allAccounts(this.#storage) : [await this.#found(name)];
  }

  async #found(name: string): Promise<AccountRecord> {
    const account = await findAccount(this.#storage, name);
    if (account === null) throw new InputError(`Account ${quoted(name)}: there is no such account`);
    return account;
  }

  /** What the accounts hold, but not both keys and links: no rule is about both. */
  async #held(accounts: readonly AccountRecord[], kind: "key" | "link"): Promise<KeyRecord[]> {
    const all = await keysOf(this.#storage, accounts);
    return all.filter(({ path }) => (path === null) === (kind === "key"));
  }

  /** How many keys the account holds: void or rotated ones do not count. */
  async #keysInForce(account: AccountRecord): Promise<number> {
    const keys = await this.#held([account], "key");
    return keys.filter((key) => !key.replaced_by && voidAtMs(key) > this.#clock.now()).length;
  }

  /** Throws RefusedError unless the tier allows `more` keys. */
  async #requireAllowed(account: AccountRecord, tier: KeyTierName, more: 0 | 1): Promise<void> {
    const held = await this.#keysInForce(account);
    const allowed = TIERS[tier].keysPerAccount;
    if (held + more <= allowed) return;
    const remedy = more > 0 ? "revoke or rotate one" : `revoke ${held - allowed} first`;
    throw new RefusedError(
      `Account ${quoted(account.name)} holds ${held} keys and ${tier} allows ${allowed}: ${remedy}`,
    );
  }

  #now(): string {
    return instantText(this.#clock.now());
  }
}

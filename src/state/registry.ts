/**
 * Accounts, their keys and links, for the commands. Every change reads and writes in one atomic step, so
 * that parallel commands cannot exceed an account's number of keys or lose each other's changes. An unknown
 * name is an InputError (2), an account that exists already a ConflictError (4), a change that the tier
 * does not allow a RefusedError (3), a damaged record a DamageError (6). If the state does not answer,
 * the database's error passes (see StateDriver).
 */
import { ConflictError, InputError } from "../lib/errors.ts";
import { remembering, seenOf, type SeenLog, type StoreNames } from "../snapshot/log/lost.ts";
import { TIERS, type KeyTierName } from "../market/tier.ts";
import {
  accountDetails,
  difference,
  forgetLogOf,
  logDetails,
  logOf,
  NO_ACCOUNT,
  type AccountLogEntry,
} from "./account-log.ts";
import {
  accountItem,
  accountName,
  accountsNamed,
  changedAccount,
  everAdded,
  findAccount,
  keyIdItem,
  keyItem,
  keysOf,
  newAccount,
  type AccountChange,
  type AccountRecord,
  type Addition,
  type Write,
} from "./accounts.ts";
import { quoted } from "./api-keys.ts";
import { seenIn, writeSeen } from "./facts.ts";
import { KeyRegistry } from "./key-registry.ts";
import { daysWithCounts, forgetAtMs, monthOf, monthsWithCounts } from "../ports/month.ts";
import type { Note } from "./registry-base.ts";
import { accountView, callsOf, usageOf, type AccountView } from "./views.ts";

/** An account of a file. Undefined trial days or note: the file has no such column. */
export type ImportedAccount = Pick<Addition, "name" | "tier"> &
  Pick<AccountChange, "trialDays" | "note">;

/** An account that an import changed: its fields that differ. */
type Changed = Pick<AccountLogEntry, "account_id" | "account" | "before" | "after">;

/** The registry over a state of either driver. It returns the records that the commands print (views.ts). */
export class Registry extends KeyRegistry {
  /** Adds an account; `trialDays` null: no trial. Throws ConflictError if the name is taken. */
  async addAccount(
    name: string,
    tier: KeyTierName,
    trialDays: number | null,
    note: string | null = null,
  ): Promise<AccountView> {
    if (accountName.parse(name) === undefined)
      throw new InputError(`Account ${quoted(name)}: expected ${accountName.expected}`);
    return this.change(async (write, tell) => {
      if ((await findAccount(this.storage, name)) !== null)
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
    return this.change(async (write, note) => {
      const found = await accountsNamed(
        this.storage,
        wanted.map(({ name }) => name),
      );
      const existing = new Map(found.map((account) => [account.name, account]));
      const tooMany = new Map<string, number>();
      for (const { name, tier } of wanted) {
        const account = existing.get(name);
        if (account === undefined) continue;
        const held = await this.keysInForce(account);
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
        const next = changedAccount(account, change, this.now());
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
    return (await this.named()).map(this.#view);
  }

  /** Throws InputError if there is no such account. */
  async account(name: string): Promise<AccountView> {
    return this.#view(await this.found(name));
  }

  /**
   * Changes an account. Throws RefusedError if the account holds more keys than the new tier allows.
   * The month's calls stay counted.
   */
  async setAccount(name: string, wanted: AccountChange): Promise<AccountView> {
    return this.change(async (write, note) => {
      const account = await this.found(name);
      if (wanted.tier !== undefined) await this.requireAllowed(account, wanted.tier, 0);
      const next = changedAccount(account, wanted, this.now());
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
    return this.change(async (write, note) => {
      const account = await this.found(name);
      write(accountItem(name), null);
      const keys = await keysOf(this.storage, [account]);
      for (const key of keys) {
        write(keyItem(key.sha256), null);
        write(keyIdItem(key.key_id), null);
      }
      const held = keys.map(({ key_id }) => key_id).join(" ");
      const before = { ...accountDetails(account), keys: held };
      note({ action: "accounts rm", account, before, after: null });
      const stays = { ...account, note: null, trial: null, keys: [], removed_at: this.now() };
      write(accountItem(`${name}:${account.id}`), stays);
      for (const old of await everAdded(this.storage)) {
        const month = monthOf(Date.parse(old.removed_at ?? this.now()));
        if (forgetAtMs("account:", month) > this.clock.now()) continue;
        write(accountItem(`${old.name}:${old.id}`), null);
        await forgetLogOf(this.storage, write, old);
      }
      return this.#view(account);
    });
  }

  /**
   * Forgets the log that proxies have seen in the store of these names, and everything else that was seen at its
   * location. Remembers `log` in its place; null: the store holds none. Returns the forgotten log; null: none.
   */
  async takeUpLog(names: StoreNames, log: SeenLog | null): Promise<SeenLog | null> {
    return this.change(async (write, note) => {
      const seen = await seenIn(this.storage);
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
    if (name !== undefined && accountName.parse(name) === undefined) await this.found(name);
    const entries = await logOf(this.storage, name);
    if (name !== undefined && entries.length === 0) await this.found(name);
    return entries;
  }

  /** The calls of the named account in the current month; without a name, of all accounts, by name. */
  async usage(accountName?: string) {
    return usageOf(this.state, await this.named(accountName), this.clock.now());
  }

  /**
   * Calls in this month or another one, per key in it, or per month or day (see callsOf), also of removed
   * accounts of the name.
   */
  async calls(name?: string, per?: "key" | "month" | "day", month?: string) {
    const nowMs = this.clock.now();
    const unit = per === "day" ? "day" : "month";
    const kept = unit === "day" ? daysWithCounts(nowMs) : monthsWithCounts(nowMs);
    const months = kept.map((period) => period.slice(0, "2026-11".length));
    if (month !== undefined && !months.includes(month))
      throw new InputError(
        `Month ${quoted(month)}: expected one of ${months[0]} to ${months.at(-1)}`,
      );
    const all = await everAdded(this.storage);
    const asked = name === undefined ? all : all.filter((account) => account.name === name);
    if (name !== undefined && asked.length === 0) await this.found(name);
    const wanted = month ?? (per === unit ? "" : monthOf(nowMs));
    const each = kept.filter((period) => period.startsWith(wanted));
    return callsOf(this.state, asked, { unit, each }, per === "key", nowMs);
  }

  #add(write: Write, note: Note, action: string, addition: Addition): AccountRecord {
    const account = newAccount(addition, this.now());
    note({ action, account, before: null, after: accountDetails(account) });
    return write(accountItem(account.name), account);
  }

  readonly #view = (account: AccountRecord): AccountView => accountView(account, this.clock.now());
}

/** What the registry's parts share: a change with its entries of the log, and how accounts are found. */
import type { Storage } from "unstorage";
import { instantText, type Clock } from "../lib/clock.ts";
import { InputError, RefusedError } from "../lib/errors.ts";
import { TIERS, type KeyTierName } from "../market/tier.ts";
import { append, systemUser, type NotedChange } from "./account-log.ts";
import {
  allAccounts,
  change,
  findAccount,
  keysOf,
  voidAtMs,
  type AccountRecord,
  type KeyRecord,
  type Write,
} from "./accounts.ts";
import { quoted } from "./api-keys.ts";
import type { StateDriver } from "../ports/state.ts";

/** Notes a change for the log. */
export type Note = (change: NotedChange) => void;

export abstract class RegistryBase {
  /** See StateDriver. */
  readonly created: string | null;
  protected readonly state: StateDriver;
  protected readonly storage: Storage;
  protected readonly clock: Clock;
  readonly #by: string;

  /** `by`: who makes the changes, for their log. */
  constructor(state: StateDriver, clock: Clock, by: string = systemUser()) {
    this.state = state;
    this.#by = by;
    this.created = state.created;
    this.storage = state.storage;
    this.clock = clock;
  }

  /** Runs `plan` as one atomic change (see accounts.ts), with its notes for the log. */
  protected change<T>(plan: (write: Write, note: Note) => Promise<T>): Promise<T> {
    return change(this.state, async (write) => {
      const changes: NotedChange[] = [];
      const result = await plan(write, (noted) => changes.push(noted));
      await append(this.storage, write, changes, this.now(), this.#by);
      return result;
    });
  }

  protected async named(name?: string): Promise<AccountRecord[]> {
    return name === undefined ? allAccounts(this.storage) : [await this.found(name)];
  }

  protected async found(name: string): Promise<AccountRecord> {
    const account = await findAccount(this.storage, name);
    if (account === null) throw new InputError(`Account ${quoted(name)}: there is no such account`);
    return account;
  }

  /** What the accounts hold, but not both keys and links: no rule is about both. */
  protected async held(
    accounts: readonly AccountRecord[],
    kind: "key" | "link",
  ): Promise<KeyRecord[]> {
    const all = await keysOf(this.storage, accounts);
    return all.filter(({ path }) => (path === null) === (kind === "key"));
  }

  /** How many keys the account holds: void or rotated ones do not count. */
  protected async keysInForce(account: AccountRecord): Promise<number> {
    const keys = await this.held([account], "key");
    return keys.filter((key) => !key.replaced_by && voidAtMs(key) > this.clock.now()).length;
  }

  /** Throws RefusedError unless the tier allows `more` keys. */
  protected async requireAllowed(
    account: AccountRecord,
    tier: KeyTierName,
    more: 0 | 1,
  ): Promise<void> {
    const held = await this.keysInForce(account);
    const allowed = TIERS[tier].keysPerAccount;
    if (held + more <= allowed) return;
    const remedy = more > 0 ? "revoke or rotate one" : `revoke ${held - allowed} first`;
    throw new RefusedError(
      `Account ${quoted(account.name)} holds ${held} keys and ${tier} allows ${allowed}: ${remedy}`,
    );
  }

  protected now(): string {
    return instantText(this.clock.now());
  }
}

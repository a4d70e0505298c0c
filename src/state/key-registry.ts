/** Keys and links of accounts: the part of the registry that makes and changes them. */
import { instantText } from "../lib/clock.ts";
import { InputError } from "../lib/errors.ts";
import { TIERS } from "../market/tier.ts";
import { keyDetails } from "./account-log.ts";
import {
  accountItem,
  accountsNamed,
  findKeyById,
  keyIdItem,
  keyItem,
  requireStanding,
  voidAtMs,
  type AccountRecord,
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
import { RegistryBase, type Note } from "./registry-base.ts";
import { keysWithUse, keyView, linkView, type KeyView } from "./views.ts";

/** See Registry. */
export abstract class KeyRegistry extends RegistryBase {
  /** Makes a key that is void from `expires_at` on. Throws RefusedError if the tier allows no more. */
  async createKey(name: string, label: string | null, expires_at: string | null = null) {
    this.#requireFuture(expires_at);
    return this.change(async (write, note) => {
      const account = await this.found(name);
      await this.requireAllowed(account, account.tier, 1);
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
    return this.change(async (write, note) => {
      const found = await accountsNamed(this.storage, names);
      const accounts = new Map(found.map((account) => [account.name, account]));
      const full = new Set<string>();
      for (const account of found) {
        const held = await this.keysInForce(account);
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
    const keys = await this.held(await this.named(name), "key");
    return keysWithUse(this.state, keys, this.clock.now());
  }

  /** Makes a link of the account that reads `path` (see KeyRecord). */
  async createLink(name: string, path: string, label: string | null) {
    return this.change(async (write, note) => {
      const wanted = { label, expires_at: null, path };
      const owner = await this.found(name);
      const made = await this.#addKey(write, note, "links create", owner, wanted);
      const { key: token, key_id: link_id, account, created_at } = made;
      return { token, link_id, account, path, label, created_at };
    });
  }

  /** The links of one account, oldest first; without a name, the links of all accounts, by account. */
  async links(name?: string) {
    const links = await this.held(await this.named(name), "link");
    return links.map((link) => linkView(link, this.clock.now()));
  }

  async revokeLink(linkId: string) {
    const revoked = { revoked_at: this.now() };
    return linkView(await this.#setKey(linkId, "link", "links revoke", revoked), this.clock.now());
  }

  /** Suspends or resumes a key; a second time changes nothing. Throws InputError for a void key. */
  async suspendKey(keyId: string, suspended: boolean): Promise<KeyView> {
    const action = suspended ? "keys suspend" : "keys resume";
    return keyView(await this.#setKey(keyId, "key", action, { suspended }), this.clock.now());
  }

  /** Revokes a key at once and for good; a second time changes nothing. */
  async revokeKey(keyId: string): Promise<KeyView> {
    const revoked = { revoked_at: this.now() };
    return keyView(await this.#setKey(keyId, "key", "keys revoke", revoked), this.clock.now());
  }

  /**
   * Makes a key that replaces this one, with the same end. The old key stays valid for `overlapMs` (0: not
   * at all). Throws InputError for a key that is void, suspended or rotated already.
   */
  async rotateKey(keyId: string, overlapMs: number) {
    return this.change(async (write, note) => {
      const old = requireStanding(await this.#findKey(keyId), this.clock.now());
      const { replaced_by: by, suspended } = old;
      const rotated = by === null ? null : `is rotated already: ${by} replaces it`;
      const fault = rotated ?? (suspended ? "is suspended: resume it before rotating it" : null);
      if (fault !== null) throw new InputError(`Key ${quoted(keyId)} ${fault}`);
      const account = await this.found(old.account);
      const made = await this.#addKey(write, note, "keys rotate", account, old);
      const until = instantText(Math.min(this.clock.now() + overlapMs, voidAtMs(old)));
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

  async #findKey(keyId: string, kind: "key" | "link" = "key"): Promise<KeyRecord> {
    requireKeyId(keyId, kind);
    const key = await findKeyById(this.storage, keyId);
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
    return this.change(async (write, note) => {
      const key = await this.#findKey(keyId, kind);
      if ("suspended" in wanted) requireStanding(key, this.clock.now());
      // The first instant stays.
      else if (key.revoked_at !== null) return key;
      const next = write(keyItem(key.sha256), { ...key, ...wanted });
      const account = await this.found(key.account);
      note({ action, account, keyId, before: keyDetails(key), after: keyDetails(next) });
      return next;
    });
  }

  #requireFuture(expires_at: string | null): void {
    if (expires_at !== null && expires_at <= this.now())
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
    while (await this.storage.hasItem(keyIdItem(keyIdOf(key)))) key = create();
    const key_id = keyIdOf(key);
    const sha256 = keySha256(key);
    const made = { key_id, account: account.name, label, created_at: this.now(), expires_at };
    const standing = { suspended: false, revoked_at: null, replaced_by: null, path };
    const record: KeyRecord = write(keyItem(sha256), { ...made, ...standing, sha256 });
    write(keyIdItem(key_id), { sha256 });
    write(accountItem(account.name), { ...account, keys: [...account.keys, sha256] });
    note({ action, account, keyId: key_id, before: null, after: keyDetails(record) });
    return { key, ...made };
  }
}

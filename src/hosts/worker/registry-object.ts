/**
 * The object with the registry.
 *
 *   items(name, value)   accounts, keys, links and facts, as accounts.ts says
 *   facts(name, value)   `version`: how often the items were changed; `mark`: that this is a state
 */
import type { Item, StatePurpose } from "../../ports/state.ts";
import { isLogEntry } from "../../state/account-log.ts";
import type { RegistryOperations } from "../../state/objects/objects-state.ts";
import type { ObjectContext, Sql } from "./bindings.ts";
import { handlerOf } from "./object-door.ts";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS items (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
`;

/** Throws if a change of accounts, keys or links does not bring its entry of their log. */
function requireLogged(names: readonly string[]): void {
  const isChange = names.some((name) => /^(?:accounts|keys|key-ids):/.test(name));
  if (isChange && !names.some(isLogEntry))
    throw new Error("A change of accounts needs its entry in their log");
}

export class RegistryObject implements RegistryOperations {
  readonly #sql: Sql;
  readonly #context: ObjectContext;
  readonly fetch = handlerOf<RegistryOperations>(this, [
    "open",
    "version",
    "write",
    "get",
    "names",
    "accountsOf",
    "items",
  ]);

  constructor(context: ObjectContext) {
    this.#context = context;
    this.#sql = context.storage.sql;
    this.#sql.exec(SCHEMA);
  }

  open(purpose: StatePurpose): ReturnType<RegistryOperations["open"]> {
    const version = this.version();
    const isThere = this.#fact("mark") !== null;
    if (isThere || purpose !== "create") return { isThere, isNew: false, version };
    this.#setFact("mark", "1");
    return { isThere: true, isNew: true, version };
  }

  version(): string {
    return this.#fact("version") ?? "";
  }

  write(version: string, items: readonly Item<string | null>[], isFill: boolean): boolean {
    return this.#context.storage.transactionSync(() => {
      const now = this.version();
      if (now !== version) return false;
      const changed = items.filter(([name, value]) => value !== this.get([name])[0]);
      if (!isFill) requireLogged(changed.map(([name]) => name));
      for (const [name, value] of changed) {
        if (value === null) this.#sql.exec("DELETE FROM items WHERE name = ?", name);
        else this.#sql.exec("INSERT OR REPLACE INTO items VALUES (?, ?)", name, value);
      }
      this.#setFact("version", String(Number(now) + 1));
      if (isFill) this.#setFact("mark", "1");
      return true;
    });
  }

  get(names: readonly string[]): (string | null)[] {
    return names.map((name) => {
      const [row] = this.#sql.exec("SELECT value FROM items WHERE name = ?", name).toArray();
      return row === undefined ? null : String(row["value"]);
    });
  }

  names(prefix: string): string[] {
    return this.#sql
      .exec("SELECT name FROM items WHERE name >= ?1 AND name < ?1 || char(1114111)", prefix)
      .toArray()
      .map((row) => String(row["name"]));
  }

  accountsOf(keyIds: readonly string[]): (string | null)[] {
    return keyIds.map((keyId) => {
      const { sha256 } = this.#record(`key-ids:${keyId}`);
      const { account } = this.#record(`keys:${sha256}`);
      return this.#record(`accounts:${account}`).id ?? null;
    });
  }

  items(): Item<string>[] {
    return this.#sql
      .exec("SELECT name, value FROM items ORDER BY name")
      .toArray()
      .map((row) => [String(row["name"]), String(row["value"])]);
  }

  /** The texts of an item that a key's account is found by; none: there is no such item. */
  #record(name: string): { sha256?: string; account?: string; id?: string } {
    return JSON.parse(this.get([name])[0] ?? "{}") as {
      sha256?: string;
      account?: string;
      id?: string;
    };
  }

  #fact(name: string): string | null {
    const [row] = this.#sql.exec("SELECT value FROM facts WHERE name = ?", name).toArray();
    return row === undefined ? null : String(row["value"]);
  }

  #setFact(name: string, value: string): void {
    this.#sql.exec("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value);
  }
}

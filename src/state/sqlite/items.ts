/** unstorage's driver over the `items` table. It only reads: a write is a step of its own (state.ts). */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { createStorage, defineDriver, type Storage } from "unstorage";
import { whenNotBusy } from "./file.ts";

/** A storage over the database of `prepare`, which throws while no database is open. */
export const itemStorage = (prepare: (sql: string) => StatementSync): Storage =>
  createStorage({ driver: itemsDriver(prepare) });

const itemsDriver = defineDriver((prepare: (sql: string) => StatementSync) => {
  const valueOf = (key: string): string | null => {
    const row = prepare("SELECT value FROM items WHERE key = ?").get(key);
    return row === undefined ? null : String(row["value"]);
  };
  return {
    name: "sqlite-items",
    hasItem: (key) => whenNotBusy(() => valueOf(key) !== null),
    getItem: (key) => whenNotBusy(() => valueOf(key)),
    getKeys: (base) =>
      whenNotBusy(() =>
        prepare("SELECT key FROM items WHERE key >= ?1 AND key < ?1 || char(0x10ffff)")
          .all(base)
          .map((row) => String(row["key"])),
      ),
  };
});

/** Prepares each statement once for each database that `current` returns. `current` may throw. */
export function statementsOf(current: () => DatabaseSync): (sql: string) => StatementSync {
  const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>();
  return (sql) => {
    const database = current();
    let statements = prepared.get(database);
    if (statements === undefined) prepared.set(database, (statements = new Map()));
    let statement = statements.get(sql);
    if (statement === undefined) statements.set(sql, (statement = database.prepare(sql)));
    return statement;
  };
}

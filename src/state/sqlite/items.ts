/** unstorage's driver over the `items` table. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { createStorage, defineDriver, type Storage } from "unstorage";

/** A storage over whatever database `current` gives at the time; it may throw where there is none. */
export const sqliteStorage = (current: () => DatabaseSync): Storage =>
  createStorage({ driver: itemsDriver(current) });

const itemsDriver = defineDriver((current: () => DatabaseSync) => {
  const prepared = new WeakMap<DatabaseSync, Map<string, StatementSync>>();
  const statement = (sql: string): StatementSync => {
    const database = current();
    const statements = prepared.get(database) ?? new Map<string, StatementSync>();
    prepared.set(database, statements);
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const made = database.prepare(sql);
    statements.set(sql, made);
    return made;
  };
  return {
    name: "sqlite-items",
    hasItem: (key) => statement("SELECT 1 FROM items WHERE key = ?").get(key) !== undefined,
    getItem: (key) => valueOf(statement("SELECT value FROM items WHERE key = ?").get(key)),
    setItem: (key, value) => {
      statement(
        "INSERT INTO items (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
      ).run(key, value);
    },
    removeItem: (key) => {
      statement("DELETE FROM items WHERE key = ?").run(key);
    },
    getKeys: (base) =>
      statement("SELECT key FROM items WHERE key >= ?1 AND key < ?1 || char(0x10ffff)")
        .all(base)
        .map((row) => String(row["key"])),
  };
});

const valueOf = (row: Record<string, unknown> | undefined): string | null =>
  row === undefined ? null : String(row["value"]);

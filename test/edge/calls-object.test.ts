/** The object with calls over SQLite: what an instance forgets that did not see the months before. */
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { CallsObject } from "../../src/hosts/worker/calls-object.ts";
import type { Sql } from "../../src/hosts/worker/bindings.ts";

test("an instance that starts in a new month forgets addresses of the month before, and keeps accounts", () => {
  const database = new DatabaseSync(":memory:");
  const sql: Sql = {
    exec(query, ...values) {
      if (values.length === 0 && /;\s*CREATE/.test(query)) database.exec(query);
      const rows = /;\s*CREATE/.test(query) ? [] : database.prepare(query).all(...values);
      return { toArray: () => rows };
    },
  };
  const instance = () => new CallsObject({ storage: { sql, transactionSync: (work) => work() } });
  const call = { keyId: null, limit: null, added: 0 };
  const [address, account] = ["address:x", "account:a"] as const;
  const used = (month: string): number[] =>
    instance().used([
      { subject: address, month },
      { subject: account, month },
    ]);
  for (const subject of [address, account])
    instance().take({ ...call, subject, atMs: Date.parse("2026-09-30T12:00:00Z") });
  expect(used("2026-09")).toEqual([1, 1]);
  // In the same month nothing is forgotten, however often the object starts.
  instance().take({ ...call, subject: account, atMs: Date.parse("2026-09-30T23:00:00Z") });
  expect(used("2026-09")).toEqual([1, 2]);
  instance().take({ ...call, subject: address, atMs: Date.parse("2026-10-02T12:00:00Z") });
  expect(used("2026-09")).toEqual([0, 2]);
  expect(used("2026-10")).toEqual([1, 0]);
});

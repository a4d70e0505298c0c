/**
 * The object with the calls of one account, or of a 64th of all addresses.
 *
 *   calls(month, day, key, used)   an account's calls of a day with a key: one row for each call that counts; day 0: of days
 *                                  whose counts are forgotten
 *   counts(month, subject, used)   calls that are counted otherwise: of addresses, by copies, by proxies of other hosts
 *   batches(writer, number, …)     the latest batch of each writer, so that one that is sent again counts once
 *
 * What a subject has used is the sum of both.
 */
import type { CallsOperations, TakenCall } from "../../state/objects/objects-state.ts";
import type {
  CountName,
  CountReply,
  CountRequest,
  StoredCount,
  Subject,
} from "../../ports/state.ts";
import {
  dayAt,
  daysWithCounts,
  monthOf,
  monthsWithCounts,
  rangesToForget,
} from "../../ports/month.ts";
import type { ObjectContext, Sql } from "./bindings.ts";
import { handlerOf } from "./object-door.ts";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS calls (month TEXT, day INTEGER, key TEXT, used INTEGER, PRIMARY KEY (month, day, key)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS counts (month TEXT, subject TEXT, used INTEGER, PRIMARY KEY (month, subject)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS batches (writer TEXT PRIMARY KEY, number INTEGER, replies TEXT) WITHOUT ROWID;
`;

const NO_DAY = "00";

export class CallsObject implements CallsOperations {
  readonly #sql: Sql;
  readonly #context: ObjectContext;
  /** The month of the latest call of this instance. */
  #month = "";
  /** The calls of the account in that month; null: they have to be added up. */
  #used: number | null = null;
  readonly fetch = handlerOf<CallsOperations>(this, [
    "take",
    "giveBack",
    "note",
    "used",
    "count",
    "keep",
    "counts",
    "forget",
  ]);

  constructor(context: ObjectContext) {
    this.#context = context;
    this.#sql = context.storage.sql;
    this.#sql.exec(SCHEMA);
  }

  take({ added, limit, ...call }: Parameters<CallsOperations["take"]>[0]) {
    const month = this.#monthAt(call.atMs);
    const used = this.#usedOf({ subject: call.subject as Subject, month }) + added;
    const granted = limit === null || used < limit;
    const calls = added + (granted ? 1 : 0);
    if (calls !== 0) this.#change(call, calls);
    return { granted, used: granted ? used + 1 : used };
  }

  giveBack(call: TakenCall): void {
    this.#change(call, -1);
  }

  note(call: TakenCall): void {
    this.#change(call, 0);
  }

  used(names: readonly CountName[]): number[] {
    return names.map((name) => this.#usedOf(name));
  }

  count(writer: string, number: number, batch: readonly CountRequest[]): CountReply[] {
    const [known] = this.#sql
      .exec("SELECT number, replies FROM batches WHERE writer = ?", writer)
      .toArray();
    if (known !== undefined && Number(known["number"]) === number)
      return JSON.parse(String(known["replies"])) as CountReply[];
    return this.#context.storage.transactionSync(() => {
      let granted = 0;
      const replies = batch.map((request) => {
        const wanted = request.follows ? granted : request.wanted;
        const { limit } = request;
        const before = Math.max(this.#usedOf(request), request.known);
        const used = Math.max(0, before + request.added) + wanted;
        const excess = limit === null ? 0 : Math.min(wanted, Math.max(0, used - limit));
        this.#set(request, used - excess);
        granted = wanted - excess;
        return { granted, used: used - excess };
      });
      this.#sql.exec(
        "INSERT OR REPLACE INTO batches VALUES (?, ?, ?)",
        writer,
        number,
        JSON.stringify(replies),
      );
      return replies;
    });
  }

  keep(counts: readonly StoredCount[]): void {
    this.#context.storage.transactionSync(() => {
      for (const count of counts)
        if (count.used > this.#usedOf(count)) this.#set(count, count.used);
    });
  }

  counts(account: string): StoredCount[] {
    const names = new Map<string, CountName>();
    const add = (subject: Subject, month: string): void =>
      void names.set(`${month} ${subject}`, { subject, month });
    for (const row of this.#sql.exec("SELECT month, subject FROM counts").toArray())
      add(String(row["subject"]) as Subject, String(row["month"]));
    for (const row of this.#sql.exec("SELECT month, day, key FROM calls").toArray()) {
      const [month, key] = [String(row["month"]), String(row["key"])];
      const day = String(row["day"]).padStart(2, "0");
      add(`account:${account}`, month);
      if (day !== NO_DAY) add(`day:${day}:${account}`, month);
      if (key === "") continue;
      add(`key:${key}`, month);
      add(`key:${key}:day`, month);
    }
    return [...names.values()].map((name) => ({ ...name, used: this.#usedOf(name) }));
  }

  forget(nowMs: number): void {
    const [oldest = ""] = monthsWithCounts(nowMs);
    this.#sql.exec("DELETE FROM calls WHERE month < ?", oldest);
    this.#sql.exec("DELETE FROM counts WHERE month < ?", oldest);
    this.#forgetDays(nowMs);
    for (const { month, from, before } of rangesToForget(nowMs))
      this.#sql.exec(
        "DELETE FROM counts WHERE month = ? AND subject >= ? AND subject < ?",
        month,
        from,
        before,
      );
    this.#sql.exec("DELETE FROM batches");
    this.#used = null;
  }

  /** Of days whose counts are forgotten, the calls of the month and of keys stay, and when keys were used last. */
  #forgetDays(nowMs: number): void {
    const [before = ""] = daysWithCounts(nowMs);
    const [month, day] = [before.slice(0, 7), Number(before.slice(8))];
    const old = "day > 0 AND (month < ?1 OR (month = ?1 AND day < ?2))";
    this.#context.storage.transactionSync(() => {
      const rows = this.#sql.exec(`SELECT * FROM calls WHERE ${old}`, month, day).toArray();
      const lastDays = rows.map(({ month: of, key }): StoredCount => {
        const name = { subject: `key:${String(key)}:day`, month: String(of) } as const;
        return { ...name, used: this.#usedOf(name) };
      });
      this.#sql.exec(`DELETE FROM calls WHERE ${old}`, month, day);
      for (const row of rows)
        this.#sql.exec(
          `INSERT INTO calls VALUES (?1, 0, ?2, ?3)
           ON CONFLICT DO UPDATE SET used = used + excluded.used`,
          String(row["month"]),
          String(row["key"]),
          Number(row["used"]),
        );
      for (const last of lastDays) if (last.subject !== "key::day") this.#set(last, last.used);
    });
  }

  /** The month of a call. The first call of a month lets old counts go. */
  #monthAt(atMs: number): string {
    const month = monthOf(atMs);
    if (month > this.#month) {
      // The platform ends an idle object, so that its memory does not show that a month begins.
      const months = "SELECT month FROM calls UNION SELECT month FROM counts";
      const [row] = this.#sql.exec(`SELECT max(month) AS month FROM (${months})`).toArray();
      const newest = row?.["month"];
      if (typeof newest === "string" && newest < month) this.forget(atMs);
      this.#month = month;
      this.#used = null;
    }
    return month;
  }

  /** Adds calls to the row of an account's day and key, or of an address; 0: the row is there afterwards. */
  #change({ subject, atMs, keyId }: TakenCall, calls: number): void {
    const month = monthOf(atMs);
    if (!subject.startsWith("account:")) {
      const name = { subject: subject as Subject, month };
      return this.#set(name, this.#usedOf(name) + calls);
    }
    const day = Number(dayAt(atMs).slice(8));
    this.#sql.exec(
      `INSERT INTO calls VALUES (?1, ?2, ?3, max(0, ?4))
       ON CONFLICT DO UPDATE SET used = max(0, used + ?4) WHERE ?4 <> 0`,
      month,
      day,
      keyId ?? "",
      calls,
    );
    if (month === this.#month && this.#used !== null) this.#used = Math.max(0, this.#used + calls);
  }

  /** Sets what a subject has used, by its row in `counts`. */
  #set(name: CountName, used: number): void {
    const { month, subject } = name;
    const beside = used - this.#ofCalls(name);
    this.#used = null;
    this.#sql.exec(
      "INSERT INTO counts VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET used = ?3 WHERE used <> ?3",
      month,
      subject,
      beside,
    );
  }

  #usedOf(name: CountName): number {
    const isOfMonth = name.month === this.#month && name.subject.startsWith("account:");
    if (isOfMonth && this.#used !== null) return this.#used;
    const [row] = this.#sql
      .exec("SELECT used FROM counts WHERE month = ? AND subject = ?", name.month, name.subject)
      .toArray();
    const used = Math.max(0, this.#ofCalls(name) + Number(row?.["used"] ?? 0));
    if (isOfMonth) this.#used = used;
    return used;
  }

  /** What the rows of calls say of a subject. */
  #ofCalls({ month, subject }: CountName): number {
    const [kind, id = "", third] = subject.split(":");
    const ask = (what: string, where: string, ...values: (string | number)[]): number => {
      const [row] = this.#sql
        .exec(
          `SELECT coalesce(${what}, 0) AS n FROM calls WHERE month = ? ${where}`,
          month,
          ...values,
        )
        .toArray();
      return Number(row?.["n"]);
    };
    if (kind === "account") return ask("sum(used)", "");
    if (kind === "day") return ask("sum(used)", "AND day = ?", Number(id));
    if (kind !== "key") return 0;
    return third === "day"
      ? ask("max(day)", "AND key = ?", id)
      : ask("sum(used)", "AND key = ?", id);
  }
}

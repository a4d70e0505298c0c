/** Copies and backups of a state, between SQLite and Redis. */
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Redis } from "ioredis";
import {
  afterAll,
  afterEach,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { ConflictError, InputError, UnreachableError } from "../../src/lib/errors.ts";
import { accountItem, keyIdItem, keyItem } from "../../src/state/accounts.ts";
import { backUpState, copyState } from "../../src/state/copy-state.ts";
import { NoStateError, type StateContent, type Subject } from "../../src/ports/state.ts";
import type { StateAccounts } from "../../src/state/state-accounts.ts";
import { createKey, keyIdOf, keySha256 } from "../../src/state/api-keys.ts";
import { createState, openAccounts, withDriver, withRegistry } from "../../src/state/open.ts";
import { openRegistry } from "./open-registry.ts";
import { chipboard } from "../program/program.ts";
import { RedisServer } from "../services/redis-server.ts";
import { HOUR_MS, START, SOON } from "./state-under-test.ts";

const ADDRESSES = ["203.0.113.7", "203.0.113.8", "2001:db8::"];
const clock = { now: () => START };
const KILLER = join(import.meta.dirname, "../../tools/faults/killed-at-write.ts");
/** Of a key that was made with an end. */
const END = "2026-12-01T00:00:00.000Z";
const server = await RedisServer.start();

if (server === null) {
  const missing = "NO redis-server on this machine: copies of the state are NOT tested";
  if (process.env["CI"] !== undefined) throw new Error(missing);
  console.warn(missing);
  test.skip(missing, () => undefined);
} else {
  copyTests(server);
}

function copyTests(redis: RedisServer): void {
  const at = (database: number): string => `redis://127.0.0.1:${redis.port}/${database}`;
  const client = new Redis(at(0));
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "chipboard-copy-"));
    await client.flushall();
  });
  afterEach(() => rm(folder, { recursive: true }));
  afterAll(async () => {
    client.disconnect();
    await redis.remove();
  });

  const serve = async (location: string): Promise<StateAccounts> => {
    const accounts = await openAccounts(location, clock);
    onTestFinished(() => accounts.close());
    return accounts;
  };

  /** What calls of acme are counted for. */
  const acmeAt = async (location: string): Promise<Subject> =>
    withRegistry(location, clock, "use", async (registry) => {
      const { account_id } = await registry.account("acme");
      return `account:${account_id}` as const;
    });

  /** Runs `work` while twenty callers count calls of acme's key. */
  async function underLoad<T>(
    location: string,
    accounts: StateAccounts,
    keyId: string,
    work: () => Promise<T>,
  ): Promise<T> {
    const acme = await acmeAt(location);
    let isWorking = true;
    const counting = Array.from({ length: 20 }, async () => {
      while (isWorking) {
        await accounts.counts.take(acme, null, START, keyId);
        await nextTurn();
      }
    });
    try {
      return await work();
    } finally {
      isWorking = false;
      await Promise.all(counting);
    }
  }

  /** Everything in a state; null if there is none. */
  const contentOf = (location: string): Promise<StateContent | null> =>
    withDriver(location, "use", (state) => state.readAll()).catch((error: unknown) => {
      if (error instanceof NoStateError) return null;
      throw error;
    });

  /** Fills a state by use: three accounts with keys in all conditions, and calls in two months. */
  async function use(location: string): Promise<{ valid: string[]; refused: string[] }> {
    const registry = await openRegistry(location, clock, "create");
    const valid: string[] = [];
    for (const name of ["acme", "other"]) {
      await registry.addAccount(name, "pro", null, `note on ${name}`);
      valid.push((await registry.createKey(name, "ci")).key);
    }
    await registry.addAccount("trial", "starter", 14);
    await registry.addAccount("gone", "starter", null);
    await registry.removeAccount("gone");
    const old = await registry.createKey("acme", null);
    valid.push(old.key, (await registry.rotateKey(old.key_id, 24 * HOUR_MS)).key);
    valid.push((await registry.createKey("acme", null, END)).key);
    const [suspended, revoked] = [
      (await registry.createKey("trial", null)).key,
      (await registry.createKey("other", null)).key,
    ];
    await registry.suspendKey(keyIdOf(suspended), true);
    await registry.revokeKey(keyIdOf(revoked));
    await registry.createLink("acme", "/export.csv", "desk");
    await registry.close();
    const accounts = await openAccounts(location, clock);
    for (const [index, key] of valid.entries()) {
      const verdict = await accounts.verdicts.authenticate(key);
      if (verdict.subject === null) throw new Error(String(verdict.refusal));
      for (let call = 0; call <= index; call++) {
        await accounts.counts.take(verdict.subject, null, START, verdict.keyId);
      }
      accounts.counts.noteUse(keyIdOf(key), START);
    }
    await accounts.counts.take(await acmeAt(location), null, START - 30 * 24 * HOUR_MS);
    for (const address of ADDRESSES) {
      await accounts.counts.take(accounts.addressSubject(address, START), 1_000, START);
    }
    await accounts.close();
    return { valid, refused: [suspended, revoked] };
  }

  test("SQLite to Redis to SQLite: every key works, and the counts are exact", async () => {
    const [from, through, to] = [join(folder, "from"), at(1), join(folder, "to")];
    const { valid, refused } = await use(from);
    const before = await contentOf(from);
    const copied = { accounts: 3, keys: 7, links: 1 };
    expect(await copyState(from, through, START)).toMatchObject(copied);
    expect(await copyState(through, to, START)).toMatchObject(copied);
    expect(await contentOf(through)).toEqual(before);
    expect(await contentOf(to)).toEqual(before);

    for (const location of [through, to]) {
      const accounts = await serve(location);
      for (const key of valid)
        expect(await accounts.verdicts.authenticate(key)).toMatchObject({ refusal: null });
      const codes = await Promise.all(
        refused.map(async (key) => accounts.verdicts.authenticate(key)),
      );
      expect(codes).toMatchObject([{ refusal: "key_suspended" }, { refusal: "invalid_key" }]);
      for (const address of ADDRESSES) {
        const subject = accounts.addressSubject(address, START);
        expect(await accounts.counts.used(subject, START)).toBe(1);
      }
      const read = await openRegistry(location, clock, "use");
      expect((await read.usage()).map(({ account, used }) => [account, used])).toEqual([
        ["acme", 13],
        ["other", 2],
        ["trial", 0],
      ]);
      expect((await read.calls("acme", "key")).map(({ used }) => used)).toEqual([1, 3, 4, 5, 0]);
      expect(await read.calls("gone")).toMatchObject([{ used: 0 }]);
      expect(await read.keys("acme")).toMatchObject([
        { last_used_on: "2026-11-21", expires_at: null },
        {},
        { expires_at: null },
        { expires_at: END },
      ]);
      expect(await read.calls("acme", "month")).toMatchObject([
        { month: "2026-10", used: 1 },
        { month: "2026-11", used: 13 },
      ]);
      expect((await read.account("other")).note).toBe("note on other");
      await read.close();
      expect(await accounts.counts.take(await acmeAt(location), 14, START)).toEqual({
        granted: true,
        used: 14,
      });
    }
  });

  test("counts in Redis end as they would have ended, and ended ones are left out", async () => {
    const from = join(folder, "from");
    await use(from);
    const december = Date.parse("2026-12-02T00:00:00.000Z");
    await copyState(from, at(1), december);
    const copy = new Redis(at(1));
    onTestFinished(() => copy.disconnect());
    expect(await copy.keys("chipboard:calls:*:address:*")).toEqual([]);
    const ttl = await copy.ttl(`chipboard:calls:2026-11:${await acmeAt(from)}`);
    expect(Math.abs(ttl - 399 * 24 * 3_600)).toBeLessThan(60);
  });

  describe("a wrong target is named and not changed", () => {
    test.each([
      ["SQLite", () => join(folder, "to")],
      ["Redis", () => at(2)],
    ])("%s with an account, or with counts only", async (_, place) => {
      const from = join(folder, "from");
      await use(from);
      const to = place();
      await createState(to);
      const other = await openAccounts(to, clock);
      await other.counts.take(other.addressSubject("203.0.113.9", START), 1_000, START);
      await other.close();
      for (const held of ["0 accounts, 0 keys and 1 count", "1 account, 0 keys and 1 count"]) {
        const before = await contentOf(to);
        const refused = copyState(from, to, START);
        await expect(refused).rejects.toThrow(ConflictError);
        await expect(refused).rejects.toThrow(
          `State ${to} holds ${held}, and a copy needs an empty`,
        );
        expect(await contentOf(to)).toEqual(before);
        await withRegistry(to, clock, "use", async (registry) => {
          await registry.addAccount(`before-${held.length}`, "pro", null);
        });
      }
    });

    test("another application's data, a missing source, an unknown scheme", async () => {
      const from = join(folder, "from");
      await use(from);
      const theirs = new Redis(at(3));
      onTestFinished(() => theirs.disconnect());
      await theirs.set("chipboard:theirs", "1");
      await expect(copyState(from, at(3), START)).rejects.toThrow(/another application/);
      expect(await theirs.keys("*")).toEqual(["chipboard:theirs"]);
      await writeFile(
        join(folder, "chipboard.sqlite"),
        "not a database, but long enough".repeat(99),
      );
      await expect(copyState(from, folder, START)).rejects.toThrow(UnreachableError);
      const absent = join(folder, "absent");
      await expect(copyState(absent, join(folder, "to"), START)).rejects.toThrow(
        `There is no state at ${join(absent, "chipboard.sqlite")}:`,
      );
      await expect(copyState(from, "postgres://u:secret@h/db", START)).rejects.toThrow(InputError);
      expect((await readdir(folder)).sort()).toEqual(["chipboard.sqlite", "from"]);
    });
  });

  test("an empty state that a proxy serves takes a copy, and the proxy goes on with it", async () => {
    const from = join(folder, "from");
    const { valid } = await use(from);
    for (const to of [join(folder, "to"), at(4)]) {
      await createState(to);
      const accounts = await serve(to);
      await copyState(from, to, START);
      await vi.waitFor(async () => {
        expect(await accounts.verdicts.authenticate(valid[0] as string)).toMatchObject({
          refusal: null,
        });
        const subject = accounts.addressSubject(ADDRESSES[0] as string, START);
        expect(await accounts.counts.used(subject, START)).toBe(1);
      }, SOON);
    }
  });

  test.each([
    ["SQLite", () => join(folder, "from"), () => at(5)],
    ["Redis", () => at(6), () => join(folder, "to")],
  ])("of what %s counts during a copy, no count is above it", async (_, from, to) => {
    const keyId = keyIdOf((await use(from())).valid[0] as string);
    const accounts = await serve(from());
    await underLoad(from(), accounts, keyId, () => copyState(from(), to(), START));
    const used = async (location: string): Promise<number> =>
      withRegistry(
        location,
        clock,
        "use",
        async (read) => (await read.usage("acme"))[0]?.used ?? 0,
      );
    expect(await used(to())).toBeGreaterThanOrEqual(13);
    expect(await used(to())).toBeLessThanOrEqual(await used(from()));
  });

  describe("a backup", () => {
    test.each([
      ["SQLite", () => join(folder, "from")],
      ["Redis", () => at(7)],
    ])("of %s is one file for its owner only, and restores its content", async (_, place) => {
      const from = place();
      const { valid } = await use(from);
      const before = await contentOf(from);
      const file = join(folder, "state.backup");
      await backUpState(from, file, START);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect((await readdir(folder)).filter((name) => name.startsWith("state."))).toEqual([
        "state.backup",
      ]);
      expect(await contentOf(file)).toEqual(before);
      const again = backUpState(from, file, START);
      await expect(again).rejects.toThrow(ConflictError);
      await expect(again).rejects.toThrow(`${file} exists`);
      await expect(backUpState(from, join(folder, "no/file"), START)).rejects.toThrow(InputError);
      for (const to of [join(folder, "restored"), at(8)]) {
        await copyState(file, to, START);
        expect(await contentOf(to)).toEqual(before);
        const accounts = await serve(to);
        expect(await accounts.verdicts.authenticate(valid[0] as string)).toMatchObject({
          refusal: null,
        });
      }
    });

    test("of SQLite under load is of one instant: its keys' calls are its account's", async () => {
      const from = join(folder, "from");
      const keyId = await withRegistry(from, clock, "create", async (registry) => {
        await registry.addAccount("acme", "pro", null);
        return (await registry.createKey("acme", null)).key_id;
      });
      const accounts = await serve(from);
      const acme = await acmeAt(from);
      await underLoad(from, accounts, keyId, async () => {
        for (let round = 0; round < 5; round++) {
          const file = join(folder, `${round}.backup`);
          await backUpState(from, file, START);
          const counts = (await contentOf(file))?.counts ?? [];
          const [account, key] = [acme, `key:${keyId}`].map(
            (subject) => counts.find((count) => count.subject === subject)?.used,
          );
          expect(key).toBe(account);
        }
      });
    });

    test("restores a Redis that lost everything while a proxy used it", async () => {
      const { valid } = await use(at(9));
      const file = join(folder, "state.backup");
      const accounts = await serve(at(9));
      const acme = await acmeAt(at(9));
      await backUpState(at(9), file, START);
      await accounts.counts.take(acme, null, START);
      const emptied = new Redis(at(9));
      onTestFinished(() => emptied.disconnect());
      await emptied.flushdb();
      await vi.waitFor(() => expect(accounts.trouble).toMatch(/"state copy"/), SOON);
      await copyState(file, at(9), START);
      await vi.waitFor(() => expect(accounts.trouble).toBeNull(), SOON);
      expect(await accounts.verdicts.authenticate(valid[0] as string)).toMatchObject({
        refusal: null,
      });
      expect(await accounts.counts.used(acme, START)).toBe(14);
    });
  });

  test.each([
    ["SQLite to Redis", () => join(folder, "from"), () => at(10)],
    ["Redis to SQLite", () => at(11), () => join(folder, "to")],
  ])("%s, killed at any write: the target is empty or whole", async (_, from, to) => {
    const content = contentOfAccounts();
    await withDriver(from(), "fill", (state) => {
      const counts = content.counts.map((count) => ({ ...count, keptMs: 24 * HOUR_MS }));
      return state.write("", content.items, counts);
    });
    const run = (order: string) =>
      chipboard(["state", "copy", from(), to()], { preload: KILLER, env: { KILL_AT: order } });
    const { code, stderr } = await run("");
    expect(code).toBe(0);
    const writes = Number(/^(\d+) writes$/m.exec(stderr)?.[1]);
    const orders = [1, 2, Math.floor(writes / 3), Math.floor(writes / 2)];
    for (let write = writes - 8; write <= writes; write++) if (write > 2) orders.push(write);

    const isWholeAfter: boolean[] = [];
    for (const order of [...orders.map((write) => `${write} before`), `${writes} after`]) {
      await rm(join(folder, "to"), { recursive: true, force: true });
      const target = new Redis(at(10));
      await target.flushdb();
      target.disconnect();
      expect([order, (await run(order)).code]).toEqual([order, null]);
      const found = await contentOf(to());
      const isWhole = found !== null && found.items.length > 0;
      isWholeAfter.push(isWhole);
      if (isWhole) expect(found).toEqual(content);
      else expect(found?.counts ?? []).toEqual([]);
      const again = copyState(from(), to(), START);
      if (isWhole) await expect(again).rejects.toThrow("If an earlier copy filled it, it is whole");
      else await again;
      expect(await contentOf(to())).toEqual(content);
    }
    // The first kills come before the step that fills the target, the last ones after it.
    expect([isWholeAfter[0], isWholeAfter.at(-1)]).toEqual([false, true]);
  });

  /** Thirty accounts with a key each, and 300 counts. */
  function contentOfAccounts(): StateContent {
    const created_at = "2026-11-01T00:00:00.000Z";
    const items = new Map<string, object>();
    for (let index = 0; index < 30; index++) {
      const key = createKey();
      const [name, sha256, key_id] = [`account-${index}`, keySha256(key), keyIdOf(key)];
      const account = { id: name, name, tier: "pro", trial: null, suspended: false, note: null };
      items.set(accountItem(name), { ...account, created_at, removed_at: null, keys: [sha256] });
      const record = { key_id, sha256, account: name, label: null, created_at, suspended: false };
      items.set(keyItem(sha256), {
        ...record,
        revoked_at: null,
        expires_at: null,
        replaced_by: null,
      });
      items.set(keyIdItem(key_id), { sha256 });
    }
    items.set("facts:address-secret", { secret: "ab".repeat(32) });
    items.set("facts:seen-entry", { number: 42, sha256: "cd".repeat(32) });
    const counts = Array.from({ length: 300 }, (_, index) => ({
      month: "2026-11",
      subject: `address:${String(index).padStart(22, "0")}` as const,
      used: index + 1,
    }));
    return {
      items: [...items].map(([name, value]) => [name, JSON.stringify(value)] as const).sort(byName),
      counts,
    };
  }
}

const byName = ([a]: readonly [string, string], [b]: readonly [string, string]): number =>
  a < b ? -1 : 1;

test("a backup can be read where nobody may write beside it", async () => {
  const folder = await mkdtemp(join(tmpdir(), "chipboard-copy-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await withRegistry(join(folder, "state"), clock, "create", (registry) =>
    registry.addAccount("acme", "pro", null),
  );
  const file = join(folder, "state.backup");
  await backUpState(join(folder, "state"), file, START);
  const database = new DatabaseSync(file, { readOnly: true });
  expect(database.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "delete" });
  database.close();
});

import {
  chmod,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { NoStateError, type Subject } from "../../src/ports/state.ts";
import { dayCount } from "../../src/ports/month.ts";
import {
  createState,
  openAccounts,
  surveyState,
  withDriver,
  withRegistry,
} from "../../src/state/open.ts";
import type { StateAccounts } from "../../src/state/state-accounts.ts";
import { openRegistry } from "./open-registry.ts";
import { errorCode, UnreachableError } from "../../src/lib/errors.ts";
import { codeOf, SOON } from "./state-under-test.ts";
import { stateContract } from "./state.contract.ts";

const clock = { now: () => Date.parse("2026-11-21T09:30:00.000Z") };

stateContract("SQLite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "chipboard-state-"));
  const file = join(folder, "chipboard.sqlite");
  return {
    location: folder,
    breakDown: () => rename(file, `${file}.away`),
    restore: () => rename(`${file}.away`, file),
    loseCounts: async () => {
      const database = new DatabaseSync(file, { timeout: 5_000 });
      database.exec("DELETE FROM calls");
      database.close();
    },
    remove: () => rm(folder, { recursive: true }),
  };
});

describe("an SQLite state", () => {
  let folder: string;
  let location: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "chipboard-state-"));
    location = join(folder, "state");
  });
  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  test("is readable by its owner only", async () => {
    await createState(location);
    const accounts = await openAccounts(location, clock);
    await accounts.counts.take("account:acme", null, clock.now());
    expect(((await stat(location)).mode & 0o777).toString(8)).toBe("700");
    const names = await readdir(location);
    expect(names).toEqual(expect.arrayContaining(["chipboard.sqlite", "chipboard.sqlite-wal"]));
    for (const name of names) {
      expect([name, (await stat(join(location, name))).mode & 0o077]).toEqual([name, 0]);
    }
    await accounts.close();
  });

  test("holds no whole key", async () => {
    const registry = await openRegistry(location, clock, "create");
    await registry.addAccount("acme", "pro", null);
    const { key, key_id } = await registry.createKey("acme", null);
    await registry.close();
    const bytes = (await readFile(join(location, "chipboard.sqlite"))).toString("latin1");
    expect(bytes).toContain(key_id);
    expect(bytes).not.toContain(key.slice(12));
  });

  test("of another format is refused", async () => {
    await withRegistry(location, clock, "create", async () => undefined);
    const file = new DatabaseSync(join(location, "chipboard.sqlite"));
    file.exec("PRAGMA user_version = 1");
    file.close();
    await expect(openAccounts(location, clock)).rejects.toThrow(/has format 1, expected 3/);
  });

  test("that is missing is named, and only created on purpose", async () => {
    const path = join(location, "chipboard.sqlite");
    const refused = openRegistry(location, clock, "use");
    await expect(refused).rejects.toThrow(UnreachableError);
    await expect(refused).rejects.toThrow(`There is no state at ${path}:`);
    await expect(stat(location)).rejects.toThrow("ENOENT");
    for (const created of [path, null]) {
      const registry = await openRegistry(location, clock, "create");
      expect(registry.created).toBe(created);
      await registry.close();
    }
  });

  test("is never created by a proxy: not where there is none, nor in an empty file", async () => {
    const file = join(location, "chipboard.sqlite");
    const expectRefused = async (): Promise<void> => {
      const refused = openAccounts(location, clock);
      await expect(refused).rejects.toThrow(NoStateError);
      await expect(refused).rejects.toThrow(/"state init" or "accounts add"$/);
    };
    await expectRefused();
    await expect(stat(location)).rejects.toThrow("ENOENT");
    await mkdir(location);
    await expectRefused();
    expect(await readdir(location)).toEqual([]);
    await writeFile(file, "");
    await expectRefused();
    expect((await stat(file)).size).toBe(0);
    await expect(withRegistry(location, clock, "use", async () => undefined)).rejects.toThrow(
      NoStateError,
    );
    expect([await createState(location), await createState(location)]).toEqual([true, false]);
    await (await openAccounts(location, clock)).close();
  });

  test("that a copy began to fill is no state, until a copy or an operator makes one of it", async () => {
    await withDriver(location, "fill", async () => undefined);
    await expect(openAccounts(location, clock)).rejects.toThrow(NoStateError);
    await withDriver(location, "fill", async (state) => state.write(await state.version(), []));
    await (await openAccounts(location, clock)).close();
    const other = join(folder, "other");
    await withDriver(other, "fill", async () => undefined);
    expect(await createState(other)).toBe(true);
    await (await openAccounts(other, clock)).close();
  });

  test.each([
    ["vanishes", (file: string) => rename(file, `${file}.away`)],
    [
      "is replaced by an empty file",
      async (file: string) => {
        await rename(file, `${file}.away`);
        await writeFile(file, "");
      },
    ],
  ])("that %s is trouble, and never a new state", async (_, lose) => {
    const file = join(location, "chipboard.sqlite");
    const [known, unseen] = await withRegistry(location, clock, "create", async (registry) => {
      await registry.addAccount("acme", "pro", null);
      return [await registry.createKey("acme", null), await registry.createKey("acme", null)];
    });
    const accounts = await openAccounts(location, clock);
    const ask = async (made: { key: string }): Promise<string> =>
      codeOf(await accounts.verdicts.authenticate(made.key));
    expect(await ask(known)).toBe("ok");
    await lose(file);
    await vi.waitFor(() => expect(accounts.trouble).not.toBeNull(), SOON);
    // Two more looks.
    await accounts.check();
    await accounts.check();
    expect(accounts.trouble).toMatch(/chipboard\.sqlite is (?:gone|empty)$/);
    expect([await ask(known), await ask(unseen)]).toEqual(["ok", "state_unavailable"]);
    expect((await stat(file).catch(() => ({ size: 0 }))).size).toBe(0);
    await rename(`${file}.away`, file);
    await vi.waitFor(() => expect(accounts.trouble).toBeNull(), SOON);
    expect(await ask(unseen)).toBe("ok");
    await accounts.close();
  });

  test("file that is not a state is refused in one line", async () => {
    const file = join(location, "chipboard.sqlite");
    await withRegistry(location, clock, "create", async () => undefined);
    await writeFile(file, "no database, and long enough to be read as one".repeat(100));
    const refusal = (): Promise<unknown> => openAccounts(location, clock);
    await expect(refusal()).rejects.toThrow(UnreachableError);
    await expect(refusal()).rejects.toThrow(/^State ".*" \(--state\) cannot be used: [^\n]+$/);
    await rm(file);
    const foreign = new DatabaseSync(file);
    foreign.exec("CREATE TABLE theirs (a)");
    foreign.close();
    await expect(refusal()).rejects.toThrow(/another application/);
    await expect(openAccounts(join(file, "below"), clock)).rejects.toThrow(UnreachableError);
    await expect(openAccounts("postgres://u:secret@h/db", clock)).rejects.not.toThrow("secret");
  });

  test("with a damaged file: counts in memory, then writes them to the file that replaces it", async () => {
    await createState(location);
    const file = join(location, "chipboard.sqlite");
    const accounts = await openAccounts(location, clock);
    await accounts.counts.take("account:acme", 10, clock.now());
    await rename(file, `${file}.away`);
    await writeFile(file, "not a database");
    await vi.waitFor(() => expect(accounts.trouble).not.toBeNull(), SOON);
    expect(await accounts.counts.take("account:acme", 10, clock.now())).toEqual({
      granted: true,
      used: 2,
    });
    expect(await accounts.counts.take("account:new", 10, clock.now())).toEqual({
      granted: true,
      used: 1,
    });
    await rename(`${file}.away`, file);
    await chmod(file, 0o600);
    await vi.waitFor(() => expect(accounts.trouble).toBeNull(), SOON);
    await accounts.close();
    const after = await openAccounts(location, clock);
    expect(await after.counts.used("account:acme", clock.now())).toBe(2);
    expect(await after.counts.used("account:new", clock.now())).toBe(1);
    await after.close();
  });

  test("that an older copy replaces gets its missing counts from a running accounts", async () => {
    const file = join(location, "chipboard.sqlite");
    const { account_id } = await withRegistry(location, clock, "create", (registry) =>
      registry.addAccount("acme", "pro", null),
    );
    const older = await readFile(file);
    const accounts = await openAccounts(location, clock);
    for (let call = 0; call < 3; call++)
      await accounts.counts.take(`account:${account_id}`, null, clock.now());
    for (const suffix of ["", "-wal", "-shm"]) await rm(file + suffix);
    await writeFile(file, older, { mode: 0o600 });
    await vi.waitFor(() => expect(accounts.trouble).not.toBeNull(), SOON);
    await vi.waitFor(() => expect(accounts.trouble).toBeNull(), SOON);
    const usage = (): Promise<number | undefined> =>
      withRegistry(location, clock, "use", async (registry) => (await registry.usage())[0]?.used);
    expect(await usage()).toBe(3);
    await accounts.close();
    expect(await usage()).toBe(3);
  });

  test("forgets the count of a day 62 days after its end, and other counts later", async () => {
    const counted = ["2026-10-31", "2026-11-21", "2026-11-22", "2026-12-31", "2027-01-20"].map(
      (day) => ({ month: day.slice(0, 7), subject: dayCount("acme", day).subject, used: 1 }),
    );
    const month = { subject: "account:acme", month: "2026-10", used: 4 } as const;
    await withDriver(location, "create", async (state) => {
      const kept = [month, ...counted].map((count) => ({ ...count, keptMs: 0 }));
      await state.write(await state.version(), [], kept);
      const left = async (now: string): Promise<unknown> => {
        expect(await state.forget(Date.parse(now))).toBe(false);
        return (await state.readAll()).counts;
      };
      expect(await left("2027-01-01T00:00:00Z")).toHaveLength(6);
      expect(await left("2027-01-22T23:59:59Z")).toEqual([month, ...counted.slice(1)]);
      expect(await left("2027-01-23T00:00:00Z")).toEqual([month, ...counted.slice(2)]);
      // A clock that is far ahead of the counts is not believed.
      expect(await left("2031-01-01T00:00:00Z")).toEqual([month, ...counted.slice(3)]);
    });
  });

  test("that another process locks makes calls wait and does not block this process", async () => {
    await createState(location);
    const accounts = await openAccounts(location, clock);
    const other = new DatabaseSync(join(location, "chipboard.sqlite"));
    other.exec("BEGIN IMMEDIATE");
    let isAnswered = false;
    const call = Promise.resolve(accounts.counts.take("account:acme", 10, clock.now())).then(
      (result) => {
        isAnswered = true;
        return result;
      },
    );
    // Each of these timers needs a turn of the event loop.
    for (let turn = 0; turn < 20; turn++) await delay(10);
    expect(isAnswered).toBe(false);
    other.exec("ROLLBACK");
    other.close();
    expect(await call).toEqual({ granted: true, used: 1 });
    expect(accounts.trouble).toBeNull();
    await accounts.close();
  });

  test("that another process locks: a read beside a call that is given back does not undo it", async () => {
    await createState(location);
    const accounts = await openAccounts(location, clock);
    const { counts } = accounts;
    for (let call = 0; call < 5; call++) await counts.take("account:acme", 10, clock.now());
    const other = new DatabaseSync(join(location, "chipboard.sqlite"));
    other.exec("BEGIN IMMEDIATE");
    counts.giveBack("account:acme", clock.now());
    // The batch was made, and waits for the lock; reading does not.
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(await counts.used("account:acme", clock.now())).toBe(4);
    other.exec("ROLLBACK");
    other.close();
    expect(await counts.take("account:acme", 10, clock.now())).toEqual({ granted: true, used: 5 });
    expect(await counts.used("account:acme", clock.now())).toBe(5);
    await accounts.close();
  });

  const subjects = (): string[] => {
    const file = new DatabaseSync(join(location, "chipboard.sqlite"), { readOnly: true });
    const rows = file.prepare("SELECT month, subject FROM calls ORDER BY month, subject").all();
    file.close();
    return rows.map(({ month, subject }) => `${String(month)} ${String(subject).split(":")[0]}`);
  };

  test("deletes counts of addresses after their month, and keeps counts of accounts", async () => {
    await createState(location);
    let nowMs = Date.parse("2026-11-30T23:59:59.999Z");
    const moving = { now: () => nowMs };
    const accounts = await openAccounts(location, moving);
    await accounts.counts.take(accounts.addressSubject("203.0.113.7", nowMs), 1_000, nowMs);
    await accounts.counts.take("account:acme", null, nowMs);
    await accounts.close();
    nowMs = Date.parse("2026-12-01T01:00:00.000Z");
    const next = await openAccounts(location, moving);
    await vi.waitFor(() => expect(subjects()).toEqual(["2026-11 account", "2026-11 day"]), SOON);
    await next.close();
  });

  test("deletes no count of this month if a clock is far ahead", async () => {
    await createState(location);
    const november = clock.now();
    for (const at of ["2026-11-21", "2029-05-01", "2029-05-02", "2026-11-22", "2026-12-01"]) {
      const nowMs = Date.parse(`${at}T09:30:00.000Z`);
      const accounts = await openAccounts(location, { now: () => nowMs });
      const address = accounts.addressSubject("203.0.113.7", nowMs);
      await accounts.counts.take(address, 1_000, nowMs);
      await accounts.counts.take("account:acme", null, nowMs);
      // Longer than one check of the file.
      await delay(1_100);
      if (at < "2026-12" || at > "2027") {
        expect(await accounts.counts.used("account:acme", november)).toBeGreaterThan(0);
        const { used } = await accounts.counts.take(
          accounts.addressSubject("203.0.113.7", november),
          1_000,
          november,
        );
        expect(used).toBeGreaterThan(1);
      }
      await accounts.close();
    }
    expect(subjects()).toEqual([
      "2026-11 account",
      "2026-11 day",
      "2026-11 day",
      "2026-12 account",
      "2026-12 address",
      "2026-12 day",
      "2029-05 account",
      "2029-05 address",
      "2029-05 day",
      "2029-05 day",
    ]);
  });

  describe.each([
    ["full", fillDisk, emptyDisk],
    ["mounted read-only", () => remount("ro"), () => remount("rw")],
  ] as const)("on a disk that is %s", (_name, refuse, allow) => {
    test("admits all keys, also of a proxy that starts, and gets the counts later", async (context) => {
      mkdirSync(DISK);
      onTestFinished(() => rmSync(DISK, { recursive: true }));
      if (!mount("-t", "tmpfs", "-o", "size=1m", "none", DISK)) {
        console.warn("not tested: a full disk (this user may not mount one)");
        return context.skip();
      }
      onTestFinished(() => void execFileSync("umount", ["--lazy", DISK]));
      const state = join(DISK, "state");
      const made = await withRegistry(state, clock, "create", async (registry) => {
        await registry.addAccount("acme", "starter", null);
        return [await registry.createKey("acme", null), await registry.createKey("acme", null)];
      });
      const serve = () => openAccounts(state, clock);
      const codes = async (accounts: StateAccounts): Promise<string[]> => {
        const verdicts = made.map(async ({ key }) => accounts.verdicts.authenticate(key));
        return (await Promise.all(verdicts)).map(codeOf);
      };
      const first = await serve();
      const { subject } = await first.verdicts.authenticate((made[0] as { key: string }).key);
      const take = (accounts: StateAccounts, limit: number | null) =>
        accounts.counts.take(subject as Subject, limit, clock.now());
      for (let call = 0; call < 3; call++) await take(first, null);
      await first.close();

      refuse();
      const accounts = await serve();
      expect([await codes(accounts), accounts.trouble]).toEqual([["ok", "ok"], null]);
      expect(await take(accounts, 4)).toEqual({ granted: true, used: 4 });
      expect(await take(accounts, 4)).toEqual({ granted: false, used: 4 });
      await vi.waitFor(() => expect(accounts.refusal).not.toBeNull(), SOON);
      const { refusal, seen } = await surveyState(state);
      expect([refusal, seen]).toEqual([expect.any(String), []]);
      await expect(
        withRegistry(state, clock, "use", (registry) => registry.addAccount("other", "pro", null)),
      ).rejects.toThrow(UnreachableError);
      expect([await codes(accounts), accounts.trouble]).toEqual([["ok", "ok"], null]);

      allow();
      await vi.waitFor(() => expect(accounts.refusal).toBeNull(), SOON);
      await accounts.close();
      const [usage] = await withRegistry(state, clock, "use", (registry) => registry.usage());
      expect(usage?.used).toBe(4);
    });
  });
});

const DISK = mkdtempSync(join(tmpdir(), "chipboard-disk-"));
rmSync(DISK, { recursive: true });

function mount(...args: string[]): boolean {
  try {
    execFileSync("mount", args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function remount(mode: "ro" | "rw"): void {
  execFileSync("mount", ["-o", `remount,${mode}`, DISK]);
}

function fillDisk(): void {
  const file = openSync(join(DISK, "filler"), "w");
  try {
    for (;;) writeSync(file, Buffer.alloc(512));
  } catch (error) {
    if (errorCode(error) !== "ENOSPC") throw error;
  } finally {
    closeSync(file);
  }
}

const emptyDisk = (): void => rmSync(join(DISK, "filler"));

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openGatekeeper, openRegistry, withRegistry } from "../../src/state/open.ts";
import { UnreachableError } from "../../src/errors.ts";
import { stateContract } from "./state.contract.ts";

const clock = { now: () => Date.parse("2026-11-21T09:30:00.000Z") };

stateContract("SQLite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "chipboard-state-"));
  const file = join(folder, "chipboard.sqlite");
  return {
    location: folder,
    breakDown: () => rename(file, `${file}.away`),
    restore: () => rename(`${file}.away`, file),
    remove: () => rm(folder, { recursive: true }),
  };
});

describe("an SQLite state", () => {
  let folder: string;
  let location: string;
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "chipboard-state-"));
    location = join(folder, "state");
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    await rm(folder, { recursive: true });
  });

  const startCounter = async (): Promise<ChildProcess> => {
    const child = fork(join(import.meta.dirname, "counting-child.ts"), [location]);
    children.push(child);
    await once(child, "message");
    return child;
  };

  test("is readable by its owner only", async () => {
    const gatekeeper = await openGatekeeper(location, clock);
    await gatekeeper.take("account:acme", null, clock.now());
    expect(((await stat(location)).mode & 0o777).toString(8)).toBe("700");
    const names = await readdir(location);
    expect(names).toEqual(
      expect.arrayContaining(["chipboard.sqlite", "chipboard.sqlite-wal", "serve.lock"]),
    );
    for (const name of names) {
      expect([name, (await stat(join(location, name))).mode & 0o077]).toEqual([name, 0]);
    }
    await gatekeeper.close();
  });

  test("holds no whole key", async () => {
    const registry = await openRegistry(location, clock, "change");
    await registry.addAccount("acme", "pro", null);
    const { key, record } = await registry.createKey("acme", null);
    await registry.close();
    const bytes = (await readFile(join(location, "chipboard.sqlite"))).toString("latin1");
    expect(bytes).toContain(record.key_id);
    expect(bytes).not.toContain(key.slice(12));
  });

  test("is counted in by one serve, and free again when that dies", async () => {
    const child = await startCounter();
    const refused = openGatekeeper(location, clock);
    await expect(refused).rejects.toThrow(UnreachableError);
    await expect(refused).rejects.toThrow(`process ${child.pid}`);
    child.kill("SIGKILL");
    await once(child, "exit");
    await (await openGatekeeper(location, clock)).close();
  });

  test("misses at most the last quarter second after kill -9", async () => {
    await withRegistry(location, clock, "change", (registry) =>
      registry.addAccount("acme", "pro", null),
    );
    const child = await startCounter();
    let told = 0;
    let toldEarlier = 0;
    const [first] = (await once(child, "message")) as [number];
    told = first;
    const startedAt = performance.now();
    await new Promise<void>((resolve) => {
      child.on("message", (used: number) => {
        if (performance.now() - startedAt < 500) toldEarlier = used;
        told = used;
        if (performance.now() - startedAt > 800) resolve();
      });
    });
    child.kill("SIGKILL");
    await once(child, "exit");
    const [usage] = await withRegistry(location, clock, "read", (registry) =>
      registry.usage("acme"),
    );
    expect(usage?.used).toBeGreaterThanOrEqual(toldEarlier);
    expect(toldEarlier).toBeGreaterThan(0);
    expect(usage?.used).toBeLessThanOrEqual(told + 1_000);
  });

  test("is empty where there is none, and reading makes none", async () => {
    const accounts = await withRegistry(location, clock, "read", (registry) => registry.accounts());
    expect(accounts).toEqual([]);
    await expect(stat(location)).rejects.toThrow("ENOENT");
  });

  test("that is something else is refused in one line", async () => {
    const file = join(location, "chipboard.sqlite");
    await withRegistry(location, clock, "change", async () => undefined);
    await writeFile(file, "no database, and long enough to be read as one".repeat(100));
    const refusal = (): Promise<unknown> => openGatekeeper(location, clock);
    await expect(refusal()).rejects.toThrow(UnreachableError);
    await expect(refusal()).rejects.toThrow(/^State ".*" \(--state\) cannot be used: [^\n]+$/);
    await rm(file);
    const foreign = new DatabaseSync(file);
    foreign.exec("CREATE TABLE theirs (a)");
    foreign.close();
    await expect(refusal()).rejects.toThrow(/another application/);
    await expect(openGatekeeper(join(file, "below"), clock)).rejects.toThrow(UnreachableError);
    await expect(openGatekeeper("postgres://u:secret@h/db", clock)).rejects.not.toThrow("secret");
  });

  test("counts in memory while the file is damaged, and in the file that replaces it", async () => {
    const file = join(location, "chipboard.sqlite");
    const gatekeeper = await openGatekeeper(location, clock);
    await gatekeeper.take("account:acme", 10, clock.now());
    await vi.waitFor(async () => {
      const copy = new DatabaseSync(file, { readOnly: true });
      const row = copy.prepare("SELECT used FROM calls").get();
      copy.close();
      expect(row?.["used"]).toBe(1);
    });
    await rename(file, `${file}.away`);
    await writeFile(file, "not a database");
    await vi.waitFor(() => expect(gatekeeper.trouble).not.toBeNull(), { timeout: 5_000 });
    expect(gatekeeper.take("account:acme", 10, clock.now())).toEqual({ granted: true, used: 2 });
    expect(gatekeeper.take("account:new", 10, clock.now())).toEqual({ granted: true, used: 1 });
    await rename(`${file}.away`, file);
    await chmod(file, 0o600);
    await vi.waitFor(() => expect(gatekeeper.trouble).toBeNull(), { timeout: 5_000 });
    await gatekeeper.close();
    const after = await openGatekeeper(location, clock);
    expect(after.used("account:acme", clock.now())).toBe(2);
    expect(after.used("account:new", clock.now())).toBe(1);
    await after.close();
  });

  test("forgets addresses with their month, and keeps accounts", async () => {
    let nowMs = Date.parse("2026-11-30T23:59:59.999Z");
    const november = nowMs;
    const moving = { now: () => nowMs };
    const gatekeeper = await openGatekeeper(location, moving);
    const subject = gatekeeper.addressSubject("203.0.113.7", november);
    await gatekeeper.take(subject, 1_000, november);
    await gatekeeper.take("account:acme", null, november);
    await gatekeeper.close();
    nowMs = Date.parse("2026-12-01T01:00:00.000Z");
    const next = await openGatekeeper(location, moving);
    const counted = (): unknown[] => {
      const file = new DatabaseSync(join(location, "chipboard.sqlite"), { readOnly: true });
      const rows = file.prepare("SELECT subject FROM calls").all();
      file.close();
      return rows.map((row) => row["subject"]);
    };
    await vi.waitFor(() => expect(counted()).toEqual(["account:acme"]), { timeout: 5_000 });
    await next.close();
  });
});

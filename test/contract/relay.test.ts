import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openGatekeeper, withRegistry } from "../../src/access/open-state.ts";
import { answerWorker } from "../../src/access/relay.ts";

const now = Date.parse("2026-11-21T09:30:00.000Z");
const clock = { now: () => now };

interface Report {
  readonly verdict: unknown;
  readonly granted: number[];
  readonly subject: string;
}

let folder: string;
const children: ChildProcess[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-relay-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  await rm(folder, { recursive: true });
});

const messageOf = <T>(child: ChildProcess, isWanted: (message: unknown) => message is T) =>
  new Promise<T>((resolve, reject) => {
    child.on("message", (message) => {
      if (isWanted(message)) resolve(message);
    });
    child.on("exit", (code) => reject(new Error(`the worker ended with ${code}`)));
  });

test("four workers together are granted exactly the limit", async () => {
  const key = await withRegistry(folder, clock, "change", async (registry) => {
    await registry.addAccount("acme", "starter", null);
    return (await registry.createKey("acme", null)).key;
  });
  const gatekeeper = await openGatekeeper(folder, clock);
  const workers = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const child = fork(join(import.meta.dirname, "relay-child.ts"));
      children.push(child);
      answerWorker(gatekeeper, child);
      await messageOf(child, (message): message is "ready" => message === "ready");
      return child;
    }),
  );
  const reports = await Promise.all(
    workers.map((child) => {
      const report = messageOf(
        child,
        (message): message is Report =>
          typeof message === "object" && message !== null && "granted" in message,
      );
      child.send({ key, calls: 500, limit: 1_234 });
      return report;
    }),
  );
  const granted = reports.flatMap((report) => report.granted).sort((a, b) => a - b);
  expect(granted).toEqual(Array.from({ length: 1_234 }, (_, index) => index + 1));
  for (const { verdict, subject } of reports) {
    expect(verdict).toMatchObject({ ok: true, account: "acme", tier: "starter" });
    expect(subject).toBe(gatekeeper.addressSubject("203.0.113.7", now));
  }
  await gatekeeper.close();
  const [usage] = await withRegistry(folder, clock, "read", (registry) => registry.usage());
  expect(usage?.used).toBe(1_234);
});

test("a worker that dies takes nothing with it", async () => {
  const gatekeeper = await openGatekeeper(folder, clock);
  const child = fork(join(import.meta.dirname, "relay-child.ts"));
  children.push(child);
  answerWorker(gatekeeper, child);
  await messageOf(child, (message): message is "ready" => message === "ready");
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(gatekeeper.take("account:acme", 1, now)).toEqual({ granted: true, used: 1 });
  await gatekeeper.close();
});

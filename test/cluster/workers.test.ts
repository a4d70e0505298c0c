/** `serve --workers N`: several processes, one port, one count. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { openGatekeeper, withRegistry } from "../../src/access/open-state.ts";
import { createClock } from "../../src/clock.ts";
import { testService } from "../services/services.ts";
import {
  API,
  Callers,
  chipboard,
  killed,
  NOW,
  serve,
  SESSION,
  tally,
  until,
  writeMarket,
  type Serving,
  type Told,
} from "./fixture.ts";

const LIMIT = 25_000;

const redis = testService("redis");
const clock = createClock(NOW);
const servings: Serving[] = [];
let folder: string;
let store: string;
let accounts = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-workers-"));
  store = join(folder, "snapshots");
  const files = await writeMarket(folder);
  const feeds = ["--catalog", files.catalog, "--quotes", files.quotes, "--session", SESSION];
  expect((await chipboard(["publish", ...feeds, "--store", store])).code).toBe(0);
});
afterEach(() => killed(servings));
afterAll(async () => {
  redis?.stop();
  await rm(folder, { recursive: true });
});

const start = async (workers: number, ...args: string[]): Promise<Serving> => {
  const serving = await serve(["--workers", String(workers), "--store", store, ...args]);
  servings.push(serving);
  return serving;
};

/** A fresh account, its key, and so many calls left to it. */
async function accountWith(
  state: string,
  tier: "starter" | "pro",
  left: number | null,
): Promise<{ name: string; key: string }> {
  accounts += 1;
  const name = `acme-${process.pid}-${accounts}`;
  const key = await withRegistry(state, clock, "change", async (registry) => {
    await registry.addAccount(name, tier, null);
    return (await registry.createKey(name, null)).key;
  });
  if (left !== null) {
    const gatekeeper = await openGatekeeper(state, clock);
    const spent = Array.from({ length: LIMIT - left }, async () =>
      gatekeeper.take(`account:${name}`, LIMIT, clock.now()),
    );
    await Promise.all(spent);
    await gatekeeper.close();
  }
  return { name, key };
}

const usedBy = (state: string, name: string): Promise<number | undefined> =>
  withRegistry(state, clock, "read", async (registry) => (await registry.usage(name))[0]?.used);

/** The processes that a process has started. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

const states = [
  { name: "an embedded state", location: () => join(folder, "state"), isThere: true, workers: 4 },
  {
    name: "a state in Redis",
    location: () => `${redis?.env["CHIPBOARD_TEST_REDIS_URL"]}/12`,
    isThere: redis !== null,
    workers: 2,
  },
];

for (const { name: kind, location, isThere, workers } of states) {
  test.skipIf(!isThere)(`50 callers get exactly the limit, with ${kind}`, async () => {
    const state = location();
    const { name, key } = await accountWith(state, "starter", 500);
    const proxy = await start(workers, "--state", state, "--metrics-port", "0");
    const callers = new Callers(50);
    const answers: Told[] = [];
    let calls = 0;
    const caller = async (): Promise<void> => {
      while (calls < 800) {
        calls += 1;
        answers.push(await callers.get(`${proxy.url}${API}/prices`, key));
      }
    };
    await Promise.all(Array.from({ length: 50 }, caller));
    callers.close();
    expect(tally(answers.map(({ status }) => status))).toEqual({ 200: 500, 429: calls - 500 });
    const granted = answers.filter(({ status }) => status === 200);
    expect(new Set(granted.map(({ remaining }) => remaining)).size).toBe(500);

    const metrics = await (await fetch(proxy.metricsUrl as string)).text();
    const request = 'chipboard_requests_total{route="/api/public/v1/prices"';
    expect(metrics).toContain(`${request},status="200",tier="starter"} 500\n`);
    expect(metrics).toContain(`${request},status="429",tier="starter"} ${calls - 500}\n`);
    expect(metrics).toContain(`\nchipboard_workers ${workers}\n`);
    expect(metrics).toMatch(/^chipboard_ready 1$/m);
    expect(metrics).toMatch(/^chipboard_publication 1$/m);
    expect(await proxy.end()).toBe(0);
    expect(await usedBy(state, name)).toBe(LIMIT);
  });
}

test("a worker killed under load: the others go on, and another takes its place", async () => {
  const state = join(folder, "state");
  const { name, key } = await accountWith(state, "pro", null);
  const proxy = await start(3, "--state", state, "--metrics-port", "0");
  const before = childrenOf(proxy.child.pid as number);
  expect(before).toHaveLength(3);
  const callers = new Callers(16);
  const outcomes: unknown[] = [];
  let isOver = false;
  const load = Array.from({ length: 16 }, async () => {
    while (!isOver) {
      const outcome = await callers.get(`${proxy.url}${API}/prices`, key).then(
        ({ status }) => status,
        (error: NodeJS.ErrnoException) => error.code,
      );
      outcomes.push(outcome);
      await delay(3);
    }
  });
  await until(() => outcomes.length > 200);
  // Counts that were told of once must not go back when their worker is gone.
  const counted = await requestsOf(proxy);
  process.kill(before[0] as number, "SIGKILL");
  await until(() => {
    const now = childrenOf(proxy.child.pid as number);
    return now.length === 3 && !now.includes(before[0] as number);
  });
  const killedAt = outcomes.length;
  await until(async () =>
    /^chipboard_workers 3$/m.test(await (await fetch(proxy.metricsUrl as string)).text()),
  );
  await until(() => outcomes.length > killedAt + 200);
  isOver = true;
  await Promise.all(load);
  callers.close();
  const { 200: answered = 0, ...broken } = tally(outcomes);
  // Only connections of the dead worker broke: at most one for each caller.
  const lost = Object.values(broken).reduce((sum, count) => sum + count, 0);
  expect(Object.keys(broken).filter((code) => !/^E(CONNRESET|PIPE)$/.test(code))).toEqual([]);
  expect(lost).toBeLessThanOrEqual(16);
  expect(await requestsOf(proxy)).toBeGreaterThan(counted);
  expect(await proxy.end()).toBe(0);
  expect(proxy.stderr()).toContain("worker died; another one is started");
  // Calls of the dead worker were counted, whether or not their answers arrived.
  const used = (await usedBy(state, name)) as number;
  expect(used).toBeGreaterThanOrEqual(answered);
  expect(used).toBeLessThanOrEqual(answered + lost);
});

test("SIGTERM: what is in flight is finished by all, and every call is counted", async () => {
  const state = join(folder, "state");
  const { name, key } = await accountWith(state, "pro", null);
  const proxy = await start(2, "--state", state);
  const workers = childrenOf(proxy.child.pid as number);
  const { port } = new URL(proxy.url);
  const asked = 100;
  const texts = Array.from({ length: 8 }, async () => {
    const socket = connect(Number(port), "127.0.0.1");
    const request = `GET ${API}/prices HTTP/1.1\r\nHost: x\r\nx-api-key: ${key}\r\n\r\n`;
    socket.write(request.repeat(asked));
    const pieces: Buffer[] = [];
    try {
      for await (const piece of socket) pieces.push(piece as Buffer);
    } catch (error) {
      // One that no worker had taken yet when they stopped listening. Any other would be missed below.
      expect((error as NodeJS.ErrnoException).code).toBe("ECONNRESET");
    }
    return Buffer.concat(pieces).toString("latin1");
  });
  await until(async () => ((await usedBy(state, name)) as number) > 0);
  // As a service manager does: to all processes at once.
  for (const pid of [...workers, proxy.child.pid as number]) process.kill(pid, "SIGTERM");
  expect(await proxy.ended).toBe(0);
  expect(workers.filter(isAlive)).toEqual([]);
  const answers = (await Promise.all(texts)).join("").split("HTTP/1.1 200 OK\r\n").length - 1;
  expect(await usedBy(state, name)).toBe(answers);
});

test("workers end with a primary that is killed, and the state can be served again", async () => {
  const state = join(folder, "state");
  const proxy = await start(2, "--state", state);
  const workers = childrenOf(proxy.child.pid as number);
  proxy.child.kill("SIGKILL");
  expect(await proxy.ended).toBe("SIGKILL");
  await until(() => !workers.some(isAlive));
  const again = await start(2, "--state", state);
  expect((await fetch(`${again.url}${API}/prices`)).status).toBe(200);
  expect(await again.end()).toBe(0);
});

test("all workers killed at once: the port stays the same", async () => {
  const proxy = await start(2, "--state", join(folder, "state"));
  for (const pid of childrenOf(proxy.child.pid as number)) process.kill(pid, "SIGKILL");
  await until(() =>
    fetch(`${proxy.url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  expect(await proxy.end()).toBe(0);
});

describe("what keeps a worker from serving is told once, and ends all", () => {
  const fails = async (code: number, reason: RegExp, ...args: string[]): Promise<void> => {
    const common = ["--workers", "2", "--metrics-port", "off", "--log-level", "silent"];
    const state = ["--state", join(folder, "other-state"), "--store", store];
    const ended = await chipboard(["serve", ...common, ...state, ...args]);
    expect(ended).toEqual({ code, stdout: "", stderr: expect.stringMatching(reason) });
    expect(ended.stderr).toMatch(/^error: [^\n]+\n$/);
  };

  test("a port in use, a store that is a file, a certificate that is none", async () => {
    const first = await start(2, "--state", join(folder, "state"));
    const { port } = new URL(first.url);
    await fails(2, /Cannot listen on 127\.0\.0\.1:\d+ \(--port\): it is in use$/m, "--port", port);
    expect(await first.end()).toBe(0);
    const file = join(folder, "file");
    await writeFile(file, "");
    await fails(5, /--store "[^"]+": cannot/, "--store", file, "--port", "0");
    const tls = ["--tls-cert", file, "--tls-key", file];
    await fails(2, /--tls-cert and --tls-key cannot be used/, "--port", "0", ...tls);
  });

  test("a number of workers that is none", async () => {
    for (const number of ["0", "65", "many"]) {
      const { code, stderr } = await chipboard(["serve", "--workers", number]);
      expect([code, stderr]).toEqual([2, expect.stringContaining("--workers")]);
    }
  });
});

async function requestsOf({ metricsUrl }: Serving): Promise<number> {
  const text = await (await fetch(metricsUrl as string)).text();
  const counts = text.matchAll(/^chipboard_requests_total\{[^}]*tier="pro"\} (\d+)$/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Several proxies that share an S3 bucket and a Redis, also while both are stopped. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Subject } from "../../src/ports/state.ts";
import { createState, openAccounts } from "../../src/state/open.ts";
import { createClock } from "../../src/lib/clock.ts";
import { Forwarder } from "../contract/forwarder.ts";
import { RedisServer } from "../services/redis-server.ts";
import { testService } from "../services/services.ts";
import { Callers } from "../../tools/faults/caller-load.ts";
import type { Serving } from "../program/program.ts";
import {
  API,
  chipboard,
  killed,
  NEXT_SESSION,
  NOW,
  serve,
  SESSION,
  tally,
  until,
  writeMarket,
  type MarketFiles,
} from "./cluster-fixture.ts";

const LIMIT = 25_000;
/** How long Redis and S3 are stopped. */
const OUTAGE_MS = 1_000 * Number(process.env["CHIPBOARD_TEST_OUTAGE_SECONDS"] ?? 3);

const s3 = testService("s3");
const redis = testService("redis");
let folder: string;
let files: MarketFiles;
const servings: Serving[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-proxies-"));
  files = await writeMarket(folder);
});
afterEach(() => killed(servings));
afterAll(async () => {
  s3?.stop();
  redis?.stop();
  await rm(folder, { recursive: true });
});

const start = async (args: readonly string[], env = {}): Promise<Serving> => {
  const serving = await serve(args, env);
  servings.push(serving);
  return serving;
};

/** Makes an account with a key, and returns the key. */
async function keyOf(account: string, tier: string, state: string): Promise<string> {
  const added = await chipboard(["accounts", "add", account, "--tier", tier, "--state", state]);
  expect(added).toMatchObject({ code: 0 });
  const created = await chipboard(["keys", "create", account, "--state", state, "--json"]);
  return JSON.parse(created.stdout).key;
}

async function usedBy(account: string, state: string): Promise<number> {
  const { stdout } = await chipboard(["usage", account, "--state", state, "--json"]);
  return JSON.parse(stdout).used;
}

describe.skipIf(redis === null)("four proxies on one Redis", () => {
  test("100 callers, 1,000 calls below the limit: exactly 1,000 answers", async () => {
    const state = `${redis?.env["CHIPBOARD_TEST_REDIS_URL"]}/9`;
    const account = `acme-${randomUUID().slice(0, 8)}`;
    const store = join(folder, "snapshots");
    const feeds = ["--catalog", files.catalog, "--quotes", files.quotes, "--session", SESSION];
    expect((await chipboard(["publish", ...feeds, "--store", store])).code).toBe(0);
    const key = await keyOf(account, "starter", state);
    const clock = createClock(NOW);
    const accounts = await openAccounts(state, clock);
    const { subject } = (await accounts.verdicts.authenticate(key)) as { subject: Subject };
    const spent = Array.from({ length: LIMIT - 1_000 }, async () =>
      accounts.counts.take(subject, LIMIT, clock.now()),
    );
    await Promise.all(spent);
    await accounts.close();

    const proxies = await Promise.all(
      Array.from({ length: 4 }, () => start(["--store", store, "--state", state])),
    );
    const callers = new Callers(25);
    let calls = 0;
    const answers: { status: number; remaining: number }[] = [];
    const caller = async (at: number): Promise<void> => {
      const url = `${proxies[at % 4]?.url}${API}/prices`;
      while (calls < 1_300) {
        calls += 1;
        const { status, headers } = await callers.get(url, key);
        answers.push({ status, remaining: Number(headers["x-ratelimit-remaining"]) });
      }
    };
    await Promise.all(Array.from({ length: 100 }, (_, at) => caller(at)));
    callers.close();
    expect(tally(answers.map(({ status }) => status))).toEqual({ 200: 1_000, 429: calls - 1_000 });
    // The counts of all answers differ, whichever proxy answered.
    const granted = answers.filter(({ status }) => status === 200);
    expect(new Set(granted.map(({ remaining }) => remaining)).size).toBe(1_000);
    expect(await Promise.all(proxies.map((proxy) => proxy.end()))).toEqual([0, 0, 0, 0]);
    expect(await usedBy(account, state)).toBe(LIMIT);
  });
});

test.skipIf(s3 === null)("a proxy that starts while S3 is down serves when it is up", async () => {
  const real = new URL(s3?.env["CHIPBOARD_TEST_S3_ENDPOINT"] as string);
  const forwarder = await Forwarder.start(real.hostname, Number(real.port));
  const env = s3?.env as Record<string, string>;
  const place = `s3://${env["CHIPBOARD_TEST_S3_BUCKET"]}/${randomUUID()}`;
  const endpoint = `http://127.0.0.1:${forwarder.port}`;
  const store = ["--store", place, "--s3-path-style", "--s3-endpoint", endpoint];
  const first = ["--catalog", files.catalog, "--quotes", files.quotes, "--session", SESSION];
  expect((await chipboard(["store", "init", ...store], env)).code).toBe(0);
  expect((await chipboard(["publish", ...store, ...first], env)).code).toBe(0);
  const state = join(folder, "state-of-late-store");
  await createState(state);
  await forwarder.stop();
  const proxy = await start([...store, "--state", state, "--poll", "200ms"], env);
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`${proxy.url}${path}`)).status;
  expect([await statusOf(`${API}/prices`), await statusOf("/readyz")]).toEqual([503, 503]);
  await until(() => /refuses the connection|does not answer in time/.test(proxy.stderr()));
  await forwarder.resume();
  await until(async () => (await statusOf(`${API}/prices`)) === 200);
  expect(await statusOf("/readyz")).toBe(200);
  expect(await proxy.end()).toBe(0);
  await forwarder.stop();
});

describe.skipIf(s3 === null || redis === null)("Redis and S3 stopped under load", () => {
  test("known keys lose no request, and every call is counted once", async () => {
    const server = await RedisServer.start();
    if (server === null) throw new Error("The other tests' redis-server is gone");
    const state = `redis://127.0.0.1:${server.port}/0`;
    const real = new URL(s3?.env["CHIPBOARD_TEST_S3_ENDPOINT"] as string);
    const forwarder = await Forwarder.start(real.hostname, Number(real.port));
    const env = s3?.env as Record<string, string>;
    const place = `s3://${env["CHIPBOARD_TEST_S3_BUCKET"]}/${randomUUID()}`;
    const storeAt = (endpoint: string): string[] =>
      ["--store", place, "--s3-path-style"].concat("--s3-endpoint", endpoint);
    const publish = (...args: string[]) =>
      chipboard(["publish", ...storeAt(real.origin), ...args], env);
    const first = ["--catalog", files.catalog, "--quotes", files.quotes, "--session", SESSION];
    expect((await chipboard(["store", "init", ...storeAt(real.origin)], env)).code).toBe(0);
    expect((await publish(...first)).code).toBe(0);
    const keys = {
      small: await keyOf("small", "starter", state),
      large: await keyOf("large", "pro", state),
    };

    const args = [
      ...storeAt(`http://127.0.0.1:${forwarder.port}`),
      "--state",
      state,
      "--poll",
      "200ms",
    ];
    const proxies = await Promise.all([start(args, env), start(args, env)]);
    const [one, two] = proxies;
    const readiness = async (): Promise<string[]> => {
      const bodies = proxies.map(async ({ url }) => (await fetch(`${url}/readyz`)).json());
      return (await Promise.all(bodies)).map((body) => {
        const { status, state: stateIs, store } = body as Record<string, string>;
        return `${status} ${stateIs} ${store}`;
      });
    };
    const allAre = (wanted: string) => async () =>
      (await readiness()).every((text) => text === wanted);

    const callers = new Callers(8);
    const given = { small: 0, large: 0 };
    const statuses: unknown[] = [];
    let isOver = false;
    const load = Array.from({ length: 8 }, async (_, at) => {
      const account = at % 2 === 0 ? "small" : "large";
      const url = `${at % 4 < 2 ? one.url : two.url}${API}/prices`;
      while (!isOver) {
        const { status } = await callers
          .get(url, keys[account])
          .catch((error: unknown) => ({ status: String(error) }));
        statuses.push(status);
        if (status === 200) given[account] += 1;
        await delay(10);
      }
    });
    try {
      // Every proxy has seen every key.
      await until(() => statuses.length > 40);
      await server.stop();
      await until(allAre("ready unavailable ok"));
      await delay(OUTAGE_MS);
      await server.resume();
      await until(allAre("ready ok ok"));

      await forwarder.stop();
      await until(allAre("ready ok unreachable"));
      await delay(OUTAGE_MS);
      expect((await publish("--quotes", files.nextQuotes, "--session", NEXT_SESSION)).code).toBe(0);
      await forwarder.resume();
      await until(async () => {
        const responses = proxies.map(({ url }) => fetch(`${url}${API}/prices`));
        const names = (await Promise.all(responses)).map(({ headers }) =>
          headers.get("x-snapshot"),
        );
        return names.every((name) => name === `${NEXT_SESSION}/r1`);
      });

      await Promise.all([server.stop(), forwarder.stop()]);
      await until(allAre("ready unavailable unreachable"));
      await delay(OUTAGE_MS / 3);
      await Promise.all([server.resume(), forwarder.resume()]);
      await until(allAre("ready ok ok"));
    } finally {
      isOver = true;
      await Promise.all(load);
      callers.close();
    }
    expect(tally(statuses)).toEqual({ 200: given.small + given.large });
    expect(await Promise.all(proxies.map((proxy) => proxy.end()))).toEqual([0, 0]);
    expect([await usedBy("small", state), await usedBy("large", state)]).toEqual([
      given.small,
      given.large,
    ]);
    await forwarder.stop();
    await server.remove();
  });
});

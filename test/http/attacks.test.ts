/**
 * Somebody who can write to the store but has no key that counts: each attack is noticed by a proxy that
 * runs, by one that starts again with its state, by `snapshots verify` and, if it is an entry, by `check`,
 * with the words that say what; and no proxy with --verify-key serves unsigned data.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { check } from "../../src/check/check.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { mustRead } from "../../src/snapshot/log/walk.ts";
import { ATTACKS } from "./attack-table.ts";
import { eventually, snapshotOf, startTestProxy, TestClock, type TestProxy } from "./fixture.ts";
import { CLOCK_MS, HEAD, OPERATOR, signedStore } from "./signed-log.ts";

const PRICES = "/api/public/v1/prices";
const verifyKeys = [OPERATOR.verifyKey];

/** Waits until the proxy has logged this as an error. */
const says = (proxy: TestProxy, words: RegExp): Promise<void> =>
  eventually(() =>
    proxy.logged.some((line) => {
      const { level, err } = JSON.parse(line);
      return level === 50 && words.test(err?.message ?? "");
    }),
  );

/** How a check that remembers the log ends: with the unproven links, or the broken one. */
async function checkOf(url: string, remember: string): Promise<string> {
  const unproven: string[] = [];
  const say = ({ isProven, text }: { isProven: boolean; text: string }): void =>
    void (isProven || unproven.push(text));
  try {
    await check({ url, key: null, verifyKeys, remember }, say, 1);
    return unproven.join("\n");
  } catch (error) {
    return (error as Error).message;
  }
}

// Most of their time they wait for polls.
test.concurrent.for(ATTACKS)(
  "$name",
  async ({ apply, running, restarted, kept, verified, checked }, { expect, onTestFinished }) => {
    const folder = await mkdtemp(join(tmpdir(), "chipboard-attacks-"));
    const proxies: TestProxy[] = [];
    onTestFinished(async () => {
      for (const proxy of proxies) await proxy.close();
      await rm(folder, { recursive: true, force: true });
    });
    const store = await signedStore();
    const state = join(folder, "state");
    const start = async (options: object): Promise<TestProxy> => {
      const proxy = await startTestProxy({ store, clock: new TestClock(CLOCK_MS), ...options });
      proxies.push(proxy);
      return proxy;
    };
    const seen = join(folder, "seen");

    const proxy = await start({ verifyKeys, state });
    const remembered = { number: 3, sha256: (await mustRead(store, 3)).sha256 };
    expect(await checkOf(proxy.url, seen)).toBe(`${seen} remembers the log from now on`);
    expect((await verifySnapshots(store, "head", verifyKeys, remembered)).damages).toEqual([]);
    await apply(store);
    await proxy.get(`${PRICES}?publication=1`, { key: proxy.pro });
    await says(proxy, running);
    expect(await snapshotOf(proxy)).toBe(HEAD);
    await proxies.pop()?.close();

    const again = await start({ verifyKeys, state });
    await says(again, restarted);
    expect((await snapshotOf(again)) ?? null).toBe(kept);
    const ready = await again.get("/readyz");
    expect([ready.status, ready.json.store]).toEqual(
      kept === null ? [503, undefined] : [200, "damaged"],
    );

    const { damages } = await verifySnapshots(store, "head", verifyKeys, remembered);
    expect(damages).toContainEqual(expect.stringMatching(verified));
    const trusting = await start({});
    expect(await checkOf(trusting.url, seen)).toMatch(checked);
  },
);

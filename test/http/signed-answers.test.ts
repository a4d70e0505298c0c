/** `serve --verify-key`: a proxy that serves only what a signed log vouches for. */
import { writeFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { UnreachableError } from "../../src/lib/errors.ts";
import { createState } from "../../src/state/open.ts";
import { parseVerifyKeys } from "../../src/snapshot/signing-key.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { publicationKey } from "../../src/store/paths.ts";
import { begin } from "../store/begun.ts";
import { FIRST, replace, SECOND, unsigned, workshop } from "../cli/signed.ts";
import { chipboard, killed, serve } from "../cluster/cluster-fixture.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import type { Serving } from "../program/program.ts";
import {
  copyOf,
  eventually,
  publishSession,
  SESSION,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";
import { expectCode } from "./refusal.ts";
import {
  CLOCK_MS,
  HEAD,
  newKey,
  OPERATOR,
  publishThree,
  rollBackTo,
  signedBy,
  signedStore,
  SNAPSHOTS,
} from "./signed-log.ts";

const API = "/api/public/v1";
const PRICES = `${API}/prices`;

describe("a proxy", () => {
  let proxy: TestProxy;
  afterEach(() => proxy.close());

  async function start(store: ObjectStore, keys = [OPERATOR]): Promise<void> {
    const verifyKeys = keys.map(({ verifyKey }) => verifyKey);
    proxy = await startTestProxy({ store, verifyKeys, clock: new TestClock(CLOCK_MS) });
  }

  const snapshot = async (): Promise<unknown> => (await proxy.get(PRICES)).headers["x-snapshot"];
  const becomes = (wanted: string): Promise<void> =>
    eventually(async () => (await snapshot()) === wanted);
  const ready = async (): Promise<Record<string, unknown>> => (await proxy.get("/readyz")).json;
  const says = (words: RegExp): Promise<void> =>
    eventually(() => proxy.logged.some((line) => words.test(line)));

  test("follows signed publications, rollbacks and prunes, and serves all that they vouch for", async () => {
    const store = await signedStore();
    await start(store);
    expect(await snapshot()).toBe(HEAD);
    await rollBackTo(store, SNAPSHOTS[1], OPERATOR);
    await becomes(SNAPSHOTS[1]);
    expect(await ready()).toMatchObject({ publication: 4, store: "ok" });
    for (const number of [1, 2, 3, 4]) {
      const old = await proxy.get(`${PRICES}?publication=${number}`, { key: proxy.pro });
      expect([old.status, old.headers["x-publication"]]).toEqual([200, String(number)]);
      expect((await proxy.get(`/log/${number}`)).status).toBe(200);
    }
    expect((await proxy.get(`${API}/publications`)).json.publications).toHaveLength(4);
  });

  test("gives everybody the keys that it was given, and without any 404", async () => {
    const store = await signedStore();
    const keys = [OPERATOR, newKey()];
    await start(store, keys);
    const { status, headers, text } = await proxy.get("/log/keys.pem");
    expect([status, headers["content-type"]]).toEqual([200, "text/plain; charset=utf-8"]);
    expect(parseVerifyKeys(text, "/log/keys.pem").map(({ fingerprint }) => fingerprint)).toEqual(
      keys.map(({ verifyKey }) => verifyKey.fingerprint),
    );
    await proxy.close();
    proxy = await startTestProxy({ store, clock: new TestClock(CLOCK_MS) });
    await expectCode(proxy, "/log/keys.pem", {}, "not_found");
  });

  test("an unsigned end is not served, also not as an old publication, until it is signed", async () => {
    const store = await signedStore();
    await start(store);
    await rollBackTo(store, SNAPSHOTS[0]);
    await says(/0000000004\.json is unsigned/);
    expect(await ready()).toMatchObject({ store: "damaged", snapshot: HEAD });
    await expectCode(proxy, "/log/4", {}, "not_published");
    await expectCode(proxy, `${PRICES}?publication=4`, { key: proxy.pro }, "not_published");
    expect((await proxy.get(`${API}/publications`)).json.publications).toHaveLength(3);
    // Another signed entry also vouches for it.
    await rollBackTo(store, SNAPSHOTS[1], OPERATOR);
    await becomes(SNAPSHOTS[1]);
    await eventually(async () => (await ready())["store"] === "ok");
    expect((await proxy.get(`${API}/publications`)).json.publications).toHaveLength(5);
  });

  test("an unsigned log at the start: 503 with the reason, until it is signed", async () => {
    const store = await publishThree(null);
    await start(store);
    await says(/0000000003\.json is unsigned/);
    const prices = await expectCode(proxy, PRICES, {}, "no_session");
    expect(prices.json.detail).toBe("The published snapshot cannot be loaded at the moment.");
    expect((await proxy.get("/readyz")).json.detail).toBe("No snapshot is loaded (damaged).");
    await expectCode(proxy, "/log/1", {}, "no_session");
    await rollBackTo(store, SNAPSHOTS[1], OPERATOR);
    await becomes(SNAPSHOTS[1]);
    expect((await proxy.get(`${PRICES}?publication=1`, { key: proxy.pro })).status).toBe(200);
  });

  test("an empty store, then the first signed publication", async () => {
    const { MemoryStore } = await import("../store/memory-store.ts");
    const store = new MemoryStore();
    await start(store);
    await expectCode(proxy, PRICES, {}, "no_session");
    const keys = signedBy(OPERATOR);
    await publishSession(store, proxy.clock, SESSION, { first: true, keys });
    await becomes(SNAPSHOTS[0]);
  });

  test("two keys, during a change of keys; then the new one alone, for the whole log", async () => {
    const store = await signedStore();
    const next = newKey();
    await start(store, [next, OPERATOR]);
    await rollBackTo(store, SNAPSHOTS[1], next);
    await becomes(SNAPSHOTS[1]);
    await proxy.close();
    await start(store, [next]);
    // A holder of the old key can sign only for readers that still have its public key.
    await rollBackTo(store, SNAPSHOTS[0], OPERATOR);
    await says(/0000000005\.json has a signature that does not fit/);
    expect(await snapshot()).toBe(SNAPSHOTS[1]);
    await proxy.close();
    await start(store, [next, OPERATOR]);
    expect(await snapshot()).toBe(SNAPSHOTS[0]);
    await proxy.close();
    await start(store, [next]);
    expect(await snapshot()).toBe(SNAPSHOTS[1]);
    expect((await proxy.get(`${PRICES}?publication=1`, { key: proxy.pro })).status).toBe(200);
    await proxy.close();
    await start(store, [newKey()]);
    await expectCode(proxy, PRICES, {}, "no_session");
  });

  test("a head whose files are damaged: the newest that is whole, and the head when it is", async () => {
    const store = await signedStore();
    const key = `sessions/${HEAD}/pro/board.json`;
    const bytes = (await store.get(key)) as Buffer;
    await replace(store, key, Buffer.from("{}"));
    await start(store);
    expect(await snapshot()).toBe(SNAPSHOTS[1]);
    expect((await ready())["damaged"]).toEqual({ publication: 3, snapshot: HEAD });
    await replace(store, key, bytes);
    await becomes(HEAD);
  });

  test("an entry that was proven is sent as it was, whatever the store has now", async () => {
    const store = await signedStore();
    await start(store);
    const whole = (await store.get(publicationKey(2))) as Buffer;
    const changed = String(whole).replace("Restated", "Restored");
    await replace(store, publicationKey(2), Buffer.from(changed));
    await says(/0000000002\.json is not the entry that was read before/);
    expect((await proxy.get("/log/2")).raw.equals(whole)).toBe(true);
    const old = await proxy.get(`${PRICES}?publication=2`, { key: proxy.pro });
    expect([old.status, old.headers["x-snapshot"]]).toEqual([200, SNAPSHOTS[1]]);
  });

  test("the reads of the store while nothing happens do not grow with the log", async () => {
    const inner = await signedStore();
    const asked: string[] = [];
    const store = new InterceptedStore(inner, async ({ key, kind }, run) => {
      if (kind === "get" && key.startsWith("publications/")) asked.push(key);
      return run();
    });
    await start(store);
    expect(await snapshot()).toBe(HEAD);
    asked.length = 0;
    await eventually(() => asked.length > 20);
    // The newest entry, the one after it, and in turn one of them all.
    const polls = asked.filter((key) => key === publicationKey(4)).length;
    expect(asked.length).toBeLessThanOrEqual(3 * (polls + 1));
    expect(new Set(asked)).toEqual(new Set([1, 2, 3, 4].map(publicationKey)));
  });

  test("a log that is refused is not read again from its start, and is served once it is signed", async () => {
    const inner = await publishThree(null);
    const asked: string[] = [];
    const store = new InterceptedStore(inner, async ({ key, kind }, run) => {
      if (kind === "get" && key.startsWith("publications/")) asked.push(key);
      return run();
    });
    await start(store);
    await says(/0000000003\.json is unsigned/);
    asked.length = 0;
    await eventually(() => asked.length > 10);
    expect(new Set(asked)).toEqual(new Set([3, 4].map(publicationKey)));
    // Nobody vouched for its end: it may be another one now.
    await inner.delete(publicationKey(3));
    await rollBackTo(inner, SNAPSHOTS[0], OPERATOR);
    await becomes(SNAPSHOTS[0]);
    expect(proxy.logged.join("")).not.toMatch(/is gone|was read before/);
  });

  test("without keys a log may be unsigned and its entries of any chain", async () => {
    const store = await signedStore();
    const newest = unsigned(String(await store.get(publicationKey(3))));
    await replace(store, publicationKey(3), Buffer.from(newest));
    const text = String(await store.get(publicationKey(2)));
    await replace(store, publicationKey(2), Buffer.from(text.replace("Restated", "Restored")));
    proxy = await startTestProxy({ store });
    expect(await snapshot()).toBe(HEAD);
  });
});

describe("the memory", () => {
  const opened: TestProxy[] = [];
  afterEach(async () => {
    for (const proxy of opened.splice(0)) await proxy.close();
  });
  const started = async (store: ObjectStore, state?: string): Promise<TestProxy> => {
    const verifyKeys = [OPERATOR.verifyKey];
    const clock = new TestClock(CLOCK_MS);
    const options = state === undefined ? {} : { state };
    const proxy = await startTestProxy({ store, verifyKeys, clock, ...options });
    opened.push(proxy);
    return proxy;
  };

  test("is shared by the proxies of a state: one that has a shorter log serves nothing", async () => {
    const store = await signedStore();
    const shorter = await copyOf(store);
    await shorter.delete(publicationKey(3));
    const shop = workshop();
    const state = shop.path("state");
    await started(store, state);
    const behind = await started(shorter, state);
    await expectCode(behind, PRICES, {}, "no_session");
    expect(behind.logged.join("")).toContain("The log ends with entry 2, and entry 3 was seen");
    // It was late, not attacked.
    const third = (await store.get(publicationKey(3))) as Buffer;
    await shorter.create(publicationKey(3), third);
    await eventually(async () => (await behind.get(PRICES)).headers["x-snapshot"] === HEAD);
  });

  test("goes with the state, and can be forgotten", async () => {
    const shop = workshop();
    const state = shop.path("state");
    await (await started(await signedStore(), state)).close();
    opened.pop();
    const other = await publishThree(OPERATOR, 51);
    expect((await chipboard(["state", "copy", state, shop.path("copied")])).code).toBe(0);
    const copied = await started(other, shop.path("copied"));
    await expectCode(copied, PRICES, {}, "no_session");
    const env = { CHIPBOARD_STATE: state };
    // Nothing is in this store, and so nothing is taken up.
    const forget = ["state", "forget-log", "--store", shop.path("store")];
    await begin(shop.store);
    const { code, stdout } = await chipboard(forget, env);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        /^Forgot entry 3 of the log, SHA-256 [0-9a-f]{64}\.\n.* holds no log\.\n$/,
      ),
    ]);
    expect((await chipboard(forget, env)).stdout).toMatch(/^No log of/);
    const again = JSON.parse((await chipboard([...forget, "--json"], env)).stdout);
    expect(again).toEqual({ forgotten: null, taken_up: null });
    const proxy = await started(other, state);
    expect((await proxy.get(PRICES)).headers["x-snapshot"]).toBe(HEAD);
  });

  test("a store that is away at the start is served when its whole log is proven", async () => {
    const inner = await signedStore();
    let isAway = true;
    const store = new InterceptedStore(inner, async ({ key }, run) => {
      if (isAway && key === publicationKey(2)) throw new UnreachableError("The store is away");
      return run();
    });
    const proxy = await started(store);
    await expectCode(proxy, PRICES, {}, "no_session");
    isAway = false;
    await eventually(async () => (await proxy.get(PRICES)).headers["x-snapshot"] === HEAD);
  });
});

describe("serve", () => {
  const servings: Serving[] = [];
  afterEach(() => killed(servings));

  test("serves signed publications only, and remembers them over a kill", async () => {
    const shop = workshop();
    const fingerprint = await shop.opensslKey("k");
    await shop.publish(FIRST, "--sign-key @k");
    const files = ["--store", shop.path("store"), "--state", shop.path("state")];
    const key = { CHIPBOARD_VERIFY_KEY: shop.path("k.pub") };
    await createState(shop.path("state"));
    const start = async (): Promise<Serving> => {
      const serving = await serve([...files, "--poll", "100ms"], key);
      servings.push(serving);
      return serving;
    };
    const readyOf = async ({ url }: Serving): Promise<Record<string, unknown>> =>
      (await (await fetch(`${url}/readyz`)).json()) as Record<string, unknown>;
    const proxy = await start();
    const line = (): string[] =>
      proxy.stderr().match(/.*only signed entries are served.*\n/g) ?? [];
    await eventually(() => line().length > 0);
    expect(line().map((text) => JSON.parse(text).keys)).toEqual([[fingerprint]]);
    await shop.publish(SECOND, "--sign-key @k");
    await eventually(async () => (await readyOf(proxy))["publication"] === 2);
    await shop.must(`snapshots rollback ${FIRST} --reason wrong`);
    await eventually(() => proxy.stderr().includes("0000000003.json is unsigned"));
    expect(await readyOf(proxy)).toMatchObject({ publication: 2, store: "damaged" });
    await proxy.end("SIGKILL");
    for (const number of [2, 3]) await shop.store.delete(publicationKey(number));
    const again = await start();
    await eventually(() =>
      again.stderr().includes("The log ends with entry 1, and entry 2 was seen before"),
    );
    expect((await fetch(`${again.url}${PRICES}`)).status).toBe(503);
    expect(await again.end()).toBe(0);
  });

  test("a file without a public key: 2", async () => {
    const shop = workshop();
    await shop.opensslKey("k");
    await shop.publish(FIRST, "--sign-key @k");
    writeFileSync(shop.path("empty"), "");
    await shop.openssl("genpkey -algorithm x25519 -out @x");
    await shop.openssl("pkey -in @x -pubout -out @x.pub");
    for (const [file, found] of [
      ["k", "found a private key"],
      ["empty", "found no PEM block"],
      ["none", "cannot be read: ENOENT"],
      ["x.pub", 'found a key of type "x25519"'],
    ] as const) {
      const files = ["--store", shop.path("store"), "--state", shop.path("state"), "--port", "0"];
      const options = ["--verify-key", shop.path(file)];
      const { code, stdout, stderr } = await chipboard(["serve", ...files, ...options]);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain(`--verify-key "${shop.path(file)}": `);
      expect(stderr).toContain(found);
    }
  });

  test("the demonstration has no --verify-key, because it signs nothing", async () => {
    const { code, stdout } = await chipboard(["demo", "--help"]);
    expect([code, stdout.includes("--verify-key")]).toEqual([0, false]);
  });
});

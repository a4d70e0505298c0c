/** A store that is not the one that the state remembers: what the proxy serves and says, and how it is taken up. */
import { cpSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createState } from "../../src/state/open.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { publicationKey, PUBLICATIONS, STORE_MARK } from "../../src/store/paths.ts";
import { inProcess } from "../cli/run.ts";
import { begin } from "../store/begun.ts";
import {
  eventually,
  publishSession,
  SESSION,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";
import { expectCode } from "./refusal.ts";
import { CLOCK_MS, HEAD, OPERATOR, publishThree, SNAPSHOTS } from "./signed-log.ts";

const PRICES = "/api/public/v1/prices";
/** The level of an error in the log. */
const ERROR = 50;
const ANOTHER = "00000000-0000-4000-8000-000000000009";

let originals: string;
let folder: string;
const opened: TestProxy[] = [];
beforeAll(async () => {
  originals = mkdtempSync(join(tmpdir(), "chipboard-lost-"));
  for (const [name, usd] of Object.entries({ store: 11, another: 51 })) {
    const to = new FolderStore(join(originals, name));
    const from = await publishThree(OPERATOR, usd);
    for await (const { key } of from.list(""))
      await to.create(key, (await from.get(key)) as Buffer);
  }
});
afterAll(() => rmSync(originals, { recursive: true }));
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-lost-"));
  await createState(join(folder, "state"));
  bring("store");
});
afterEach(async () => {
  for (const proxy of opened.splice(0)) await proxy.close();
  rmSync(folder, { recursive: true });
});

/** Puts one of the stores in the place of the store. */
const bring = (name: "store" | "another"): void =>
  cpSync(join(originals, name), join(folder, "store"), { recursive: true });

const storeAt = (name = "store") => new FolderStore(join(folder, name));

async function started(name = "store", verifyKeys: TestKeys = null): Promise<TestProxy> {
  const clock = new TestClock(CLOCK_MS);
  const state = join(folder, "state");
  const proxy = await startTestProxy({ store: storeAt(name), state, verifyKeys, clock });
  opened.push(proxy);
  return proxy;
}
type TestKeys = readonly (typeof OPERATOR)["verifyKey"][] | null;
const KEYS: TestKeys = [OPERATOR.verifyKey];

async function restarted(name = "store", verifyKeys: TestKeys = null): Promise<TestProxy> {
  for (const proxy of opened.splice(0)) {
    // Each start makes new keys, and an account may hold a few.
    for (const { name: account } of await proxy.registry.accounts()) {
      await proxy.registry.removeAccount(account);
    }
    await proxy.close();
  }
  return started(name, verifyKeys);
}

const storeOf = async (proxy: TestProxy): Promise<unknown> =>
  (await proxy.get("/readyz")).json["store"];
const snapshotOf = async (proxy: TestProxy): Promise<unknown> =>
  (await proxy.get(PRICES)).headers["x-snapshot"];
const lostGauge = async (proxy: TestProxy): Promise<string | undefined> =>
  /^chipboard_store_lost (\d)$/m.exec(await (await fetch(proxy.metricsUrl)).text())?.[1];

async function expectLost(proxy: TestProxy, words: string): Promise<void> {
  await eventually(async () => (await lostGauge(proxy)) === "1");
  const isTold = (line: string): boolean => {
    const { msg, level, err } = JSON.parse(line);
    return msg === "the store is lost" && level === ERROR && err.message.includes(words);
  };
  await eventually(() => proxy.logged.some(isTold));
}

/** `chipboard LINE` on this state and store; the exit code and all that it prints. */
async function command(line: string, store = "store") {
  const env = { CHIPBOARD_STATE: join(folder, "state"), CHIPBOARD_STORE: join(folder, store) };
  const { code, stdout, stderr } = await inProcess(line.split(" "), { env, begins: false });
  return { code, printed: stdout + stderr };
}

type Loss = readonly [what: string, lose: () => Promise<unknown>, words: string];

/** What may become of a store, and the words for it. */
const LOSSES: readonly Loss[] = [
  [
    "its disk is not mounted",
    async () => renameSync(join(folder, "store"), join(folder, "away")),
    "The log ends with entry 0, and entry 3 was seen before",
  ],
  [
    "only its mark is left",
    async () => rmSync(join(folder, "store/publications"), { recursive: true }),
    "The log ends with entry 0, and entry 3 was seen before",
  ],
  [
    "an older copy was restored",
    () => storeAt().delete(publicationKey(3)),
    "The log ends with entry 2, and entry 3 was seen before",
  ],
  [
    "an older copy was restored and published to",
    async () => {
      await storeAt().delete(publicationKey(3));
      const clock = new TestClock(CLOCK_MS + 12 * 3_600_000);
      await publishSession(storeAt(), clock, SESSION + 2);
    },
    "Entry 3 of the log has the SHA-256",
  ],
  [
    "another log is there",
    async () => {
      rmSync(join(folder, "store"), { recursive: true });
      bring("another");
      await storeAt().delete(STORE_MARK);
    },
    ". Its entry 1 is another one",
  ],
];

describe.each([
  ["with a mark", async () => {}],
  ["of an older release, without a mark", () => storeAt().delete(STORE_MARK)],
])("a store %s", (_kind, prepare) => {
  beforeEach(prepare);

  test.each(LOSSES)("%s", async (_what, lose, words) => {
    const proxy = await started();
    expect([await storeOf(proxy), await lostGauge(proxy)]).toEqual(["ok", "0"]);
    await lose();
    // A proxy that runs keeps its snapshot.
    await expectLost(proxy, words);
    expect([await storeOf(proxy), await snapshotOf(proxy)]).toEqual(["lost", HEAD]);
    // One that starts serves the newest snapshot that is there.
    const later = await restarted();
    await expectLost(later, words);
    const entries = await Array.fromAsync(storeAt().list(PUBLICATIONS));
    const { json: ready } = await later.get("/readyz");
    if (entries.length > 0) expect(ready).toMatchObject({ status: "ready", store: "lost" });
    else
      expect(ready).toMatchObject({ code: "no_session", detail: "No snapshot is loaded (lost)." });
    // With keys it serves nothing older than the remembered entry.
    const signed = await restarted("store", KEYS);
    await expectLost(signed, words);
    await expectCode(signed, PRICES, {}, "no_session");
    const doctor = await command("doctor --json --port 0 --metrics-port off");
    expect(doctor.code).toBeGreaterThanOrEqual(5);
    const checks: { check: string; text: string }[] = JSON.parse(doctor.printed).checks;
    const found = checks.find(({ check }) => check === "lost");
    expect(found).toMatchObject({ result: "fault", exit_code: 5, gauge: "chipboard_store_lost" });
    expect(found?.text).toContain(words);
  });
});

test("a store that comes back is no longer lost", async () => {
  const proxy = await started();
  renameSync(join(folder, "store"), join(folder, "away"));
  await expectLost(proxy, "The log ends with entry 0");
  renameSync(join(folder, "away"), join(folder, "store"));
  await eventually(async () => (await storeOf(proxy)) === "ok");
  expect(await lostGauge(proxy)).toBe("0");
});

test("a damaged entry is damage, and no loss", async () => {
  await (await started()).close();
  opened.pop();
  const key = publicationKey(3);
  await storeAt().delete(key);
  await storeAt().create(key, Buffer.from("{"));
  const proxy = await started();
  expect([await storeOf(proxy), await lostGauge(proxy)]).toEqual(["damaged", "0"]);
});

test("several stores with one state: each is remembered by its mark", async () => {
  const one = await started();
  const other = storeAt("other");
  await other.create(
    STORE_MARK,
    Buffer.from(JSON.stringify({ id: ANOTHER, at: "2026-11-21T00:00:00.000Z" })),
  );
  await publishSession(other, new TestClock(CLOCK_MS), SESSION, { first: true, usd: 12 });
  const second = await started("other");
  expect([await storeOf(one), await storeOf(second)]).toEqual(["ok", "ok"]);
  await other.delete(publicationKey(1));
  await expectLost(second, "The log ends with entry 0, and entry 1 was seen before");
  expect(await storeOf(one)).toBe("ok");
});

test("a restored copy is taken up by forget-log, which the log of accounts tells", async () => {
  await started();
  cpSync(join(folder, "store"), join(folder, "copy"), { recursive: true });
  await storeAt("copy").delete(publicationKey(3));
  rmSync(join(folder, "store"), { recursive: true });
  cpSync(join(folder, "copy"), join(folder, "store"), { recursive: true });
  const proxy = await restarted();
  await expectLost(proxy, "ends with entry 2");
  // It serves the newest that is there.
  expect(await snapshotOf(proxy)).toBe(SNAPSHOTS[1]);
  // A copy of the state remembers as well.
  const copied = await command(`state copy ${join(folder, "state")} ${join(folder, "state-copy")}`);
  expect(copied.code).toBe(0);
  const { code, printed } = await command("state forget-log --by ops");
  expect(code).toBe(0);
  expect(printed).toMatch(
    /^Forgot entry 3 of the log, SHA-256 [0-9a-f]{64}\.\nTook up the log of \S+ with entry 2, SHA-256 [0-9a-f]{64}\. Restart the proxies\.\n$/,
  );
  const log = JSON.parse((await command("accounts log --json")).printed);
  expect(log.at(-1)).toMatchObject({
    account: "-",
    action: "state forget-log",
    by: "ops",
    before: { entry: 3 },
    after: { entry: 2 },
  });
  const again = await restarted();
  expect([await storeOf(again), await snapshotOf(again)]).toEqual(["ok", SNAPSHOTS[1]]);
  const proxyOfCopy = await startTestProxy({
    store: storeAt(),
    state: join(folder, "state-copy"),
    clock: new TestClock(CLOCK_MS),
  });
  opened.push(proxyOfCopy);
  expect(await storeOf(proxyOfCopy)).toBe("lost");
});

test("a store of its own is begun, and not served by accident", async () => {
  // Nothing is remembered of this place: a new store is no lost one.
  await begin(storeAt("new"));
  const proxy = await started("new");
  expect((await proxy.get("/readyz")).json["detail"]).toBe("Nothing is published yet.");
  expect(await lostGauge(proxy)).toBe("0");
});

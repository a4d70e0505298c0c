/** State folders that are deleted, damaged, moved, emptied or filled under a running proxy. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { createKey } from "../../src/state/keys.ts";
import { UnreachableError } from "../../src/errors.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { SmallDisk } from "./disk-full.ts";
import { DAMAGES, DATABASE, JOURNALS, returning, subsetsOf } from "./disk-state-breaks.ts";
import { vanishing, type Break } from "./disk-state-breaks.ts";
import { HEAD, NEXT_NOW, publishHead, publishSession } from "./disk-market.ts";
import {
  addKey,
  makeState,
  startStatedProxy,
  storedCalls,
  until,
  type StatedProxy,
} from "./disk-proxy.ts";
import { Tally, type FaultOptions, type FaultRow } from "./fault.ts";

const CLOCK = { now: () => Date.parse(NEXT_NOW) };
const CALLS = 5;

/** Whatever is struck, answers go on for keys that are known, and every call is counted or missed loudly. */
export async function brokenStates(options: FaultOptions): Promise<FaultRow[]> {
  const { folder } = options;
  const store = new MemoryStore();
  assert.equal((await publishSession(store, HEAD - 1)).code, 0);
  await publishHead(store);
  const sets = [...subsetsOf([DATABASE, ...JOURNALS])];
  const gone = sets.map(vanishing);
  // A log that comes back alone, after others took its place, is not a fault but forgery.
  const returns = sets.filter((names) => names.includes(DATABASE)).map(returning);
  const tallies = [
    await thrown("state files gone under a proxy", gone, store, options),
    await thrown("state files away and back under a proxy", returns, store, options),
    await thrown("state damaged, moved or denied under a proxy", DAMAGES, store, options),
  ];
  const disk = SmallDisk.mount(join(folder, "state-disk"));
  if (disk === null) return tallies;
  try {
    const full: Break = { what: "disk full", strike: () => disk.fill(0), mend: () => disk.empty() };
    tallies.push(
      await thrown("state on a full disk", [full], store, { ...options, folder: disk.path }),
    );
  } finally {
    disk.unmount();
  }
  return tallies;
}

async function thrown(
  fault: string,
  breaks: readonly Break[],
  store: MemoryStore,
  { folder, scale, say }: FaultOptions,
): Promise<FaultRow> {
  const tally = new Tally(fault, say);
  const times = { short: 1, full: 3 }[scale];
  for (let number = 0; number < times; number += 1) {
    for (const [at, broken] of breaks.entries()) {
      const state = join(folder, `state-${fault.length}-${at}-${number}`);
      await tally.throw(broken.what, () => strike(broken, store, state));
    }
  }
  return tally.row;
}

async function strike(
  { strike: hit, mend }: Break,
  store: MemoryStore,
  state: string,
): Promise<void> {
  const key = await makeState(state, CLOCK);
  const proxy = await startStatedProxy(store, state, key, CLOCK);
  let isClosed = false;
  let calls = 0;
  const call = async (): Promise<void> => {
    const { status, headers, text } = await proxy.get("/prices");
    assert.equal(status, 200, text);
    calls += 1;
    assert.equal(headers.get("x-ratelimit-remaining"), String(25_000 - calls));
  };
  try {
    for (let before = 0; before < CALLS; before += 1) await call();
    assert.equal(await storedCalls(state, CLOCK), calls);
    hit(state);
    for (let during = 0; during < CALLS; during += 1) {
      await call();
      await requireHonest(proxy);
      // Longer than it takes to look at the file once.
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    mend?.(state);
    if (mend !== null) {
      await until("the state is well again", async () => (await proxy.ready()).json.state === "ok");
      await call();
      assert.equal((await proxy.get("/prices", createKey())).status, 401);
      // Commands and the proxy see the same state again.
      const added = await addKey(state, CLOCK);
      await until(
        "a new key counts",
        async () => (await proxy.get("/usage", added)).status === 200,
      );
    }
    const isLost = (await proxy.ready()).json.state !== "ok";
    isClosed = true;
    const failure = await proxy.close().then(
      () => null,
      (error: unknown) => error,
    );
    if (isLost) {
      assert.ok(
        failure instanceof UnreachableError,
        `calls lost without a word: ${String(failure)}`,
      );
      assert.match(failure.message, /^The last calls could not be written: State ".*" \(--state\)/);
    } else {
      assert.equal(failure, null);
      assert.equal(await storedCalls(state, CLOCK), calls);
    }
  } finally {
    if (!isClosed) await proxy.close().catch(() => undefined);
  }
}

/** A key nobody has shown yet is refused for what is true: it is unknown, or nobody can tell. */
async function requireHonest(proxy: StatedProxy): Promise<void> {
  const before = await proxy.ready();
  const { status, json, headers } = await proxy.get("/prices", createKey());
  const after = await proxy.ready();
  assert.deepEqual([before.status, after.status], [200, 200]);
  if (status === 503) {
    assert.equal(json.code, "state_unavailable");
    assert.match(headers.get("retry-after") ?? "", /^\d+$/);
    assert.ok([before, after].some((ready) => ready.json.state === "unavailable"));
  } else {
    assert.deepEqual([status, json.code], [401, "invalid_key"]);
    assert.ok([before, after].some((ready) => ready.json.state === "ok"));
  }
}

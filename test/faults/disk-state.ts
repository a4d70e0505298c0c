/** State folders that are deleted, damaged, moved, emptied or filled under a running proxy. */
import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createKey } from "../../src/access/key.ts";
import { UnreachableError } from "../../src/errors.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { SmallDisk } from "./disk-full.ts";
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
const DATABASE = "chipboard.sqlite";
const JOURNALS = [`${DATABASE}-wal`, `${DATABASE}-shm`];
const CALLS = 5;

interface Break {
  readonly what: string;
  /** Breaks the state. */
  readonly strike: (state: string) => void;
  /** Undoes it, or leaves that to the proxy; null where nobody can. */
  readonly mend: ((state: string) => void) | null;
}

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
  const times = { short: 1, full: 5 }[scale];
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
    await until("the calls are written", async () => (await storedCalls(state, CLOCK)) === calls);
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
      assert.match(
        failure.message,
        /^State ".*" \(--state\): the last calls could not be written: /,
      );
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

const vanishing = (names: readonly string[]): Break => ({
  what: `without ${names.join(", ")}`,
  strike: (state) => names.forEach((name) => rmSync(join(state, name), { force: true })),
  // What SQLite keeps beside the database it has in memory, too, and makes anew.
  mend: names.includes(DATABASE) ? null : () => undefined,
});

const returning = (names: readonly string[]): Break => {
  const present = (state: string, suffix: string) =>
    names.map((name) => join(state, name)).filter((path) => existsSync(path + suffix));
  return {
    what: `${names.join(", ")} moved away and back`,
    strike: (state) => present(state, "").forEach((path) => renameSync(path, `${path}.away`)),
    mend: (state) => present(state, ".away").forEach((path) => renameSync(`${path}.away`, path)),
  };
};

const DAMAGES: readonly Break[] = [
  {
    what: "the folder moved away and back",
    strike: (state) => renameSync(state, `${state}.away`),
    mend: (state) => renameSync(`${state}.away`, state),
  },
  {
    what: "a file in the folder's place",
    strike: (state) => {
      renameSync(state, `${state}.away`);
      writeFileSync(state, "");
    },
    mend: (state) => {
      rmSync(state);
      renameSync(`${state}.away`, state);
    },
  },
  {
    what: "the database emptied, and a copy put back",
    strike: (state) => {
      copyAside(state);
      truncateSync(join(state, DATABASE));
    },
    mend: restore,
  },
  {
    what: "another file in the database's place, and a copy put back",
    strike: (state) => {
      copyAside(state);
      writeFileSync(join(state, "junk"), "no database at all\n".repeat(500));
      renameSync(join(state, "junk"), join(state, DATABASE));
    },
    mend: restore,
  },
  {
    what: "the files read-only, and writable again",
    strike: (state) =>
      [DATABASE, ...JOURNALS].forEach((name) => chmodIfThere(join(state, name), 0o444)),
    mend: (state) =>
      [DATABASE, ...JOURNALS].forEach((name) => chmodIfThere(join(state, name), 0o600)),
  },
  {
    what: "an empty folder in its place, nobody puts it back",
    strike: (state) => {
      renameSync(state, `${state}.away`);
      mkdirSync(state);
    },
    mend: null,
  },
];

function copyAside(state: string): void {
  for (const name of [DATABASE, ...JOURNALS]) {
    if (existsSync(join(state, name))) copyFileSync(join(state, name), join(state, `copy-${name}`));
  }
}

/** As an operator does it: the copies under their names, whatever was there removed. */
function restore(state: string): void {
  for (const name of JOURNALS) {
    rmSync(join(state, name), { force: true });
    if (existsSync(join(state, `copy-${name}`)))
      renameSync(join(state, `copy-${name}`), join(state, name));
  }
  renameSync(join(state, `copy-${DATABASE}`), join(state, DATABASE));
}

const chmodIfThere = (path: string, mode: number): void => {
  if (existsSync(path)) chmodSync(path, mode);
};

function* subsetsOf(names: readonly string[]): Generator<string[]> {
  for (let bits = 1; bits < 2 ** names.length; bits += 1) {
    yield names.filter((_, at) => (bits & (2 ** at)) !== 0);
  }
}

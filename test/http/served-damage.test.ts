/** The proxy never serves a damaged or lost file, neither from memory nor from the store. */
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { codedPath, FILES, snapshotFileKey, type SnapshotName } from "../../src/store/paths.ts";
import { changeHead } from "../cli/signed.ts";
import { storedKey } from "../store/stored-file.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import {
  copyOf,
  eventually,
  publishedStore,
  publishSession,
  SESSION,
  sessionsMs,
  snapshotOf,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "./fixture.ts";
import { expectCode } from "./refusal.ts";

const API = "/api/public/v1";
const R1: SnapshotName = { session: SESSION, revision: 1 };
const NEXT: SnapshotName = { session: SESSION + 1, revision: 1 };

let proxy: TestProxy;
afterEach(() => proxy.close());

/** Replaces the bytes of a key. No store does this itself. */
async function overwrite(store: MemoryStore, key: string, bytes: Buffer): Promise<void> {
  await store.delete(key);
  await store.create(key, bytes);
}

const flipped = (bytes: Buffer): Buffer => {
  const copy = Buffer.from(bytes);
  copy[copy.length - 10] = (copy.at(-10) as number) ^ 1;
  return copy;
};

describe("damage", () => {
  const DAMAGES: readonly (readonly [string, (store: MemoryStore) => Promise<void>])[] = [
    [
      "a flipped byte",
      async (store) => {
        const key = storedKey(NEXT, FILES.contract("starter", "dram-4"));
        await overwrite(store, key, flipped((await store.get(key)) as Buffer));
      },
    ],
    ["a file gone", (store) => store.delete(snapshotFileKey(NEXT, FILES.xlsx("pro")))],
    [
      "a file of the snapshot that is not even sent",
      async (store) => {
        const key = snapshotFileKey(NEXT, FILES.corrections);
        await overwrite(store, key, Buffer.from("[]"));
      },
    ],
    [
      "another manifest",
      async (store) => {
        const key = snapshotFileKey(NEXT, FILES.manifest);
        await overwrite(store, key, flipped((await store.get(key)) as Buffer));
      },
    ],
    [
      "an invalid publication",
      (store) => overwrite(store, "publications/0000000002.json", Buffer.from("{")),
    ],
  ];
  for (const [name, damage] of DAMAGES) {
    test(`${name}: the old snapshot stays, and /readyz says so, until it is repaired or superseded`, async () => {
      // Published and damaged in another store, then copied from there, the publication last.
      const store = await publishedStore();
      const source = await publishedStore();
      const clock = new TestClock();
      clock.ms += sessionsMs(2);
      await publishSession(source, clock, SESSION + 1);
      const whole = new Map<string, Buffer>();
      for await (const { key } of source.list(""))
        whole.set(key, (await source.get(key)) as Buffer);
      await damage(source);
      proxy = await startTestProxy({ store, clock });
      const bring = async (prefix: string): Promise<void> => {
        for await (const { key } of source.list(prefix)) {
          await store.create(key, (await source.get(key)) as Buffer);
        }
      };
      await bring("sessions/");
      await bring("ledger/");
      await bring("publications/");
      await eventually(async () => (await proxy.get("/readyz")).json.store === "damaged");
      expect(await snapshotOf(proxy)).toBe("2026-11-21T00Z/r1");
      expect(proxy.logged.some((line) => line.includes('"level":50'))).toBe(true);
      const metrics = await (await fetch(proxy.metricsUrl)).text();
      expect(metrics).toMatch(/^chipboard_snapshot_damaged 1$/m);

      for (const [key, bytes] of whole) await overwrite(store, key, bytes);
      await eventually(async () => (await snapshotOf(proxy)) === "2026-11-21T12Z/r1");
      expect((await proxy.get("/readyz")).json.store).toBe("ok");
    });
  }

  test("a damaged head at the start: 503, and /readyz says why, until a newer publication", async () => {
    const store = await publishedStore();
    const key = snapshotFileKey(R1, FILES.board("pro"));
    const bytes = (await store.get(key)) as Buffer;
    await overwrite(store, key, flipped(bytes));
    proxy = await startTestProxy({ store });
    expect((await proxy.get(`${API}/prices`)).json.code).toBe("no_session");
    const ready = await proxy.get("/readyz");
    expect([ready.status, ready.json.detail]).toEqual([503, "No snapshot is loaded (damaged)."]);
    await overwrite(store, key, bytes);
    await publishSession(store, proxy.clock, SESSION, { usd: 12, revise: "Repair" });
    await eventually(async () => (await snapshotOf(proxy)) === "2026-11-21T00Z/r2");
  });
});

describe("a proxy that starts", () => {
  /** Two sessions published, so that the second can be damaged. */
  async function twoSessions(): Promise<{ store: MemoryStore; clock: TestClock }> {
    const [store, clock] = [await publishedStore(), new TestClock()];
    clock.ms += sessionsMs(2);
    await publishSession(store, clock, SESSION + 1);
    return { store, clock };
  }

  test("with a damaged head serves the publication before, and /readyz says so, until the head loads", async () => {
    const { store, clock } = await twoSessions();
    const key = snapshotFileKey(NEXT, FILES.board("pro"));
    const bytes = (await store.get(key)) as Buffer;
    await overwrite(store, key, flipped(bytes));
    proxy = await startTestProxy({ store, clock });
    expect(await snapshotOf(proxy)).toBe("2026-11-21T00Z/r1");
    expect((await proxy.get("/readyz")).json).toMatchObject({
      status: "ready",
      store: "damaged",
      damaged: { publication: 2, snapshot: "2026-11-21T12Z/r1" },
      snapshot: "2026-11-21T00Z/r1",
      publication: 1,
    });
    expect(proxy.logged.some((line) => line.includes("publication 2 cannot be loaded"))).toBe(true);
    await overwrite(store, key, bytes);
    await eventually(async () => (await snapshotOf(proxy)) === "2026-11-21T12Z/r1");
    expect((await proxy.get("/readyz")).json).toMatchObject({ store: "ok", damaged: null });
  });

  test("with parts beyond their files in the head's manifest serves the publication before", async () => {
    const { store, clock } = await twoSessions();
    await changeHead(store, ({ files }) => ({
      files: files.map(({ parts, ...file }) => ({
        ...file,
        parts: parts?.map((part) => ({ ...part, at: part.at + file.bytes })),
      })),
    }));
    proxy = await startTestProxy({ store, clock });
    expect(await snapshotOf(proxy)).toBe("2026-11-21T00Z/r1");
    expect((await proxy.get("/readyz")).json.store).toBe("damaged");
  });

  test("with a damaged newest entry serves the one before, and reads no older entry twice", async () => {
    const { store, clock } = await twoSessions();
    await publishSession(store, clock, SESSION + 2);
    const key = "publications/0000000003.json";
    const bytes = (await store.get(key)) as Buffer;
    await overwrite(store, key, Buffer.from("{"));
    const read: string[] = [];
    const intercepted = new InterceptedStore(store, ({ kind, key: name }, run) => {
      if (kind === "get") read.push(name);
      return run();
    });
    proxy = await startTestProxy({ store: intercepted, clock });
    expect(await snapshotOf(proxy)).toBe("2026-11-21T12Z/r1");
    expect((await proxy.get("/readyz")).json.store).toBe("damaged");
    await eventually(() => read.filter((name) => name === key).length > 3);
    const first = read.filter((name) => name === "publications/0000000001.json");
    expect(first.length).toBeLessThanOrEqual(1);
    await overwrite(store, key, bytes);
    await eventually(async () => (await snapshotOf(proxy)) === "2026-11-22T00Z/r1");
    expect((await proxy.get("/readyz")).json.store).toBe("ok");
  });
});

test("a gap in the log is damage, but a proxy that is past it continues", async () => {
  const store = await publishedStore();
  const clock = new TestClock();
  clock.ms += sessionsMs(3);
  const source = await publishedStore();
  for (const ahead of [1, 2, 3]) await publishSession(source, clock, SESSION + ahead);
  proxy = await startTestProxy({ store, clock });
  for await (const { key } of source.list("")) {
    if (key === "publications/0000000002.json") continue;
    await store.create(key, (await source.get(key)) as Buffer);
  }
  // It would be the newest, and there are too many numbers before it to look for each.
  const far = "publications/4000000000.json";
  const third = String(await source.get("publications/0000000003.json"));
  await store.create(far, Buffer.from(third.replace('"number":3', '"number":4000000000')));
  await eventually(async () => (await proxy.get("/readyz")).json.store === "damaged");
  expect(await snapshotOf(proxy)).toBe("2026-11-21T00Z/r1");
  const late = await startTestProxy({ store, clock });
  try {
    expect(await snapshotOf(late)).toBe("2026-11-22T12Z/r1");
    expect((await late.get("/readyz")).json.store).toBe("damaged");
  } finally {
    await late.close();
  }
  await store.delete(far);
  const gap = "publications/0000000002.json";
  await store.create(gap, (await source.get(gap)) as Buffer);
  await eventually(async () => (await snapshotOf(proxy)) === "2026-11-22T12Z/r1");
  expect((await proxy.get("/readyz")).json.store).toBe("ok");
});

test.each([0, 2])(
  "a store replaced by another, with %i entries more, is noticed until it is back",
  async (more) => {
    const [store, other] = [await publishedStore(), new MemoryStore()];
    const clock = new TestClock();
    clock.ms += sessionsMs(more + 1);
    proxy = await startTestProxy({ store, clock });
    await publishSession(other, clock, SESSION, { first: true, usd: 12 });
    for (let ahead = 1; ahead <= more; ahead += 1) {
      await publishSession(other, clock, SESSION + ahead);
    }
    const own = await copyOf(store);
    const fill = async (from: MemoryStore): Promise<void> => {
      for await (const { key } of store.list("")) await store.delete(key);
      // The log comes first, so that its newest entry can be read at once.
      for (const prefix of ["publications/", ""]) {
        for await (const { key } of from.list(prefix)) {
          await store.create(key, (await from.get(key)) as Buffer);
        }
      }
    };
    await fill(other);
    const noticed = (): boolean =>
      proxy.logged.join("").includes("is not the entry that was read before");
    await eventually(noticed);
    expect((await proxy.get("/readyz")).json).toMatchObject({ store: "lost", publication: 1 });
    expect(await snapshotOf(proxy)).toBe("2026-11-21T00Z/r1");
    await fill(own);
    await eventually(async () => (await proxy.get("/readyz")).json.store === "ok");
  },
);

test("a store that does not answer: the loaded snapshot is served, and /readyz says so", async () => {
  const folder = await mkdtemp(join(tmpdir(), "chipboard-store-"));
  try {
    const store = new FolderStore(folder);
    const clock = new TestClock();
    await publishSession(store, clock, SESSION, { first: true });
    proxy = await startTestProxy({ store, clock });
    // A file in place of the log's folder: reading fails, as on a lost disk.
    await rename(join(folder, "publications"), join(folder, "aside"));
    await writeFile(join(folder, "publications"), "");
    await eventually(async () => (await proxy.get("/readyz")).json.store === "unreachable");
    expect((await proxy.get(`${API}/prices`)).status).toBe(200);
    const metrics = await (await fetch(proxy.metricsUrl)).text();
    expect(metrics).toMatch(/^chipboard_store_up 0$/m);
    // A poll between the two steps above may find the log gone, which is another message.
    expect(proxy.logged.filter((line) => line.includes("ENOTDIR"))).toHaveLength(1);
    await rm(join(folder, "publications"));
    // A log that has lost entries is a lost store, not a log without new entries.
    await eventually(async () => (await proxy.get("/readyz")).json.store === "lost");
    expect((await proxy.get(`${API}/prices`)).status).toBe(200);
    await rename(join(folder, "aside"), join(folder, "publications"));
    await eventually(async () => (await proxy.get("/readyz")).json.store === "ok");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test.each([64_000_000, 0])(
  "a snapshot is not served if a coded file inflates to more than its manifest says (cache of %i bytes)",
  async (cacheBytes) => {
    const store = await publishedStore();
    const path = FILES.contract("pro", "dram-0");
    await changeHead(store, ({ files }) => ({
      files: files.map((file) => (file.path === path ? { ...file, bytes: 100 } : file)),
    }));
    proxy = await startTestProxy({ store, cacheBytes });
    await expectCode(proxy, `${API}/prices/dram-0`, { key: proxy.pro }, "no_session");
    expect(proxy.logged.join("")).toContain(codedPath(path));
  },
);

describe("memory is bounded: files that do not fit are streamed", () => {
  test("the same bytes and tags as from memory, also for HEAD and 304, with a raised delay when overdue", async () => {
    proxy = await startTestProxy({ cacheBytes: 0 });
    const held = await startTestProxy();
    try {
      for (const overdue of [0, 1, 12]) {
        proxy.clock.ms = held.clock.ms = new TestClock().ms + sessionsMs(overdue) + 3_600_000;
        for (const path of ["/prices", "/prices/dram-0", "/index", "/export.csv", "/export.xlsx"]) {
          const ask = (of: TestProxy, more = {}) => of.get(API + path, { key: of.pro, ...more });
          const streamed = await ask(proxy);
          const fromMemory = await ask(held);
          expect(streamed.status).toBe(200);
          expect(streamed.raw.equals(fromMemory.raw)).toBe(true);
          const { date: _, ...fields } = streamed.headers;
          const { date: __, ...others } = fromMemory.headers;
          expect(fields).toEqual(others);
          const head = await ask(proxy, { method: "HEAD" });
          expect(head.headers["content-length"]).toBe(String(streamed.raw.length));
          const headers = { "if-none-match": streamed.headers.etag };
          expect((await ask(proxy, { headers })).status).toBe(304);
        }
      }
      const metrics = await (await fetch(proxy.metricsUrl)).text();
      expect(metrics).toMatch(/^chipboard_held_bytes 0$/m);
    } finally {
      await held.close();
    }
  });

  test("a file that is damaged after the load is never sent completely, and other files are still served", async () => {
    const store = await publishedStore();
    proxy = await startTestProxy({ store, cacheBytes: 0 });
    const key = storedKey(R1, FILES.contract("pro", "dram-0"));
    await overwrite(store, key, flipped((await store.get(key)) as Buffer));
    const ask = () => proxy.get(`${API}/prices/dram-0`, { key: proxy.pro });
    await expect(ask()).rejects.toThrow(/aborted|hang up|reset/);
    await eventually(() => proxy.logged.some((line) => line.includes("is damaged")));
    expect((await proxy.get(`${API}/prices/dram-1`, { key: proxy.pro })).status).toBe(200);
  });

  test("a file that is lost after the load is a 500 that costs no call", async () => {
    const store = await publishedStore();
    proxy = await startTestProxy({ store, cacheBytes: 0 });
    await store.delete(storedKey(R1, FILES.contract("starter", "dram-0")));
    const { status, json, headers } = await proxy.get(`${API}/prices/dram-0`, {
      key: proxy.starter,
    });
    expect([status, json.code]).toEqual([500, "internal"]);
    expect(json.detail).not.toMatch(/starter|memory:|\//);
    expect(headers["x-ratelimit-remaining"]).toBe("25000");
  });
});

/** `/log/…`: the entries of the log, as stored, for everybody. */
import { mkdtemp, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { rollBack } from "../../src/desk/rollback.ts";
import { ENTRY_BYTES_MAX } from "../../src/snapshot/log/entry.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { publicationKey } from "../../src/store/paths.ts";
import { replace } from "../cli/signed.ts";
import { append, EMPTY_PRUNE } from "../store/log-entries.ts";
import {
  eventually,
  publishedStore,
  publishSession,
  SESSION,
  startTestProxy,
  TestClock,
  type TestProxy,
  type TestProxyOptions,
} from "./fixture.ts";
import { expectCode } from "./refusal.ts";
import { OPERATOR, signedBy } from "./signed-log.ts";

const CACHED = "public, max-age=60, immutable";

let proxy: TestProxy | undefined;
afterEach(() => proxy?.close());

const start = async (options: TestProxyOptions): Promise<TestProxy> =>
  (proxy = await startTestProxy(options));

/** A log of a publish, a signed publish, a rollback and a prune with many names. */
async function fourEntries(): Promise<MemoryStore> {
  const store = await publishedStore();
  const clock = new TestClock();
  const keys = signedBy(OPERATOR);
  await publishSession(store, clock, SESSION, { usd: 12, revise: "Restated", keys });
  await rollBack(store, "2026-11-21T00Z/r1", "Wrong feed", clock);
  const parts = Array.from({ length: 1_000 }, (_, at) => `ledger/2026-01-${at}`);
  await append(store, { ...EMPTY_PRUNE, parts });
  return store;
}

const stored = async (store: ObjectStore, key: string): Promise<Buffer> =>
  (await store.get(key)) as Buffer;

describe("every entry", () => {
  test("byte for byte, with or without a key, and it costs nothing", async () => {
    const store = await fourEntries();
    const { starter, get } = await start({ store });
    for (const number of [1, 2, 3, 4]) {
      for (const options of [{}, { key: starter }, { key: "cbk_none" }]) {
        const { status, headers, raw } = await get(`/log/${number}`, options);
        expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
        expect(raw.equals(await stored(store, publicationKey(number)))).toBe(true);
        expect(headers["cache-control"]).toBe(CACHED);
      }
    }
    const { headers } = await get("/api/public/v1/prices", { key: starter, method: "HEAD" });
    expect(headers["x-ratelimit-remaining"]).toBe("24999");
  });

  test("HEAD and If-None-Match", async () => {
    const { get } = await start({ store: await fourEntries() });
    const whole = await get("/log/2");
    const head = await get("/log/2", { method: "HEAD" });
    expect([head.status, head.headers["content-length"]]).toEqual([200, String(whole.raw.length)]);
    const known = { "if-none-match": whole.headers.etag as string };
    const same = await get("/log/2", { headers: known });
    expect([same.status, same.raw.length, same.headers["cache-control"]]).toEqual([304, 0, CACHED]);
    const dated = { "if-modified-since": "Tue, 01 Dec 2099 00:00:00 GMT" };
    expect((await get("/log/2", { headers: dated })).status).toBe(200);
  });
});

test("a link in the place of an entry is never followed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "chipboard-log-files-"));
  try {
    const store = new FolderStore(join(folder, "store"));
    await publishSession(store, new TestClock(), SESSION, { first: true });
    const at = (key: string): string => join(folder, "store", key);
    await rename(at(publicationKey(1)), join(folder, "entry"));
    await symlink(join(folder, "entry"), at(publicationKey(1)));
    const refused = await start({ store });
    await expectCode(refused, "/log/1", {}, "no_session");
    expect(refused.logged.join("")).toContain(`${publicationKey(1)} is a link, or behind one`);
    await rm(at(publicationKey(1)));
    await rename(join(folder, "entry"), at(publicationKey(1)));
    await eventually(async () => (await refused.get("/log/1")).status === 200);
    await rename(at("publications"), join(folder, "aside"));
    await symlink(join(folder, "aside"), at("publications"));
    await eventually(async () => (await refused.get("/readyz")).json.store === "damaged");
    expect((await refused.get("/log/1")).status).toBe(200);
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe("paths and entries that do not exist", () => {
  test("no such entry, no such path, nothing published", async () => {
    const empty = await start({ store: new MemoryStore() });
    await expectCode(empty, "/log/1", {}, "no_session");
    await empty.close();
    const some = await start({ store: await fourEntries() });
    for (const path of ["/log/5", "/log/9999999999", "/log/10000000000"]) {
      await expectCode(some, path, {}, "not_published");
    }
    for (const name of ["0", "01", "-1", "1.5", "1.json", "x", "1.sig", ".sig"]) {
      await expectCode(some, `/log/${name}`, {}, "not_found");
    }
    for (const path of ["/log", "/log/", "/log/1/", "/log/1/2"]) {
      await expectCode(some, path, {}, "not_found");
    }
    await expectCode(some, "/log/1?token=x", {}, "key_in_query");
  });

  test("an entry that is not served yet is not shown", async () => {
    const store = await fourEntries();
    const { get } = await start({ store });
    const damaged = JSON.parse(String(await stored(store, publicationKey(3))));
    await append(store, { ...damaged, session: SESSION, manifest_sha256: "0".repeat(64) });
    await eventually(async () => (await get("/readyz")).json.store === "damaged");
    expect((await get("/log/5")).json.code).toBe("not_published");
  });
});

test("a damaged entry is refused, larger ones are not read, and it is served when it is whole", async () => {
  const store = await fourEntries();
  const whole = await stored(store, publicationKey(2));
  const huge = Buffer.alloc(ENTRY_BYTES_MAX + 1, " ");
  await replace(store, publicationKey(2), huge);
  const some = await start({ store });
  await expectCode(some, "/log/2", {}, "internal");
  expect(some.logged.join("")).toContain(`${huge.length} bytes, expected ${ENTRY_BYTES_MAX}`);
  expect((await some.get("/log/1")).status).toBe(200);
  expect((await some.get("/readyz")).json.store).toBe("damaged");
  await replace(store, publicationKey(2), whole);
  await eventually(async () => (await some.get("/log/2")).status === 200);
  await eventually(async () => (await some.get("/readyz")).json.store === "ok");
});

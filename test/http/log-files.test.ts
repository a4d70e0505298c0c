/** `/log/…`: the entries of the log and their signatures, as stored, for everybody. */
import { mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { UnreachableError } from "../../src/lib/errors.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { ENTRY_BYTES_MAX } from "../../src/snapshot/publication-log.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { publicationKey, signatureKey } from "../../src/store/paths.ts";
import { replace } from "../cli/signed.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
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
import type { Received } from "./client.ts";
import { expectCode } from "./refusal.ts";

const CACHED = "public, max-age=60, immutable";

let proxy: TestProxy | undefined;
afterEach(() => proxy?.close());

const start = async (options: TestProxyOptions): Promise<TestProxy> =>
  (proxy = await startTestProxy(options));

/** A log of two publishes and a rollback, the first two with something as a signature. */
async function threeEntries(): Promise<MemoryStore> {
  const store = await publishedStore();
  const clock = new TestClock();
  await publishSession(store, clock, SESSION, { usd: 12, revise: "Restated" });
  await rollBack(store, "2026-11-21T00Z/r1", "Wrong feed", clock);
  for (const number of [1, 2]) await replace(store, signatureKey(number), Buffer.alloc(64, number));
  return store;
}

const stored = async (store: ObjectStore, key: string): Promise<Buffer> =>
  (await store.get(key)) as Buffer;

describe("every entry and every signature", () => {
  test("byte for byte, with or without a key, and it costs nothing", async () => {
    const store = await threeEntries();
    const { starter, get } = await start({ store });
    for (const number of [1, 2, 3]) {
      for (const options of [{}, { key: starter }, { key: "cbk_none" }]) {
        const { status, headers, raw } = await get(`/log/${number}`, options);
        expect([status, headers["content-type"]]).toEqual([200, "application/json"]);
        expect(raw.equals(await stored(store, publicationKey(number)))).toBe(true);
        expect(headers["cache-control"]).toBe(CACHED);
      }
    }
    for (const number of [1, 2]) {
      const { status, headers, raw } = await get(`/log/${number}.sig`);
      expect([status, headers["content-type"]]).toEqual([200, "application/octet-stream"]);
      expect(raw.equals(Buffer.alloc(64, number))).toBe(true);
      expect(headers["cache-control"]).toBe(CACHED);
    }
    const { headers } = await get("/api/public/v1/prices", { key: starter, method: "HEAD" });
    expect(headers["x-ratelimit-remaining"]).toBe("24999");
  });

  test("HEAD and If-None-Match", async () => {
    const { get } = await start({ store: await threeEntries() });
    for (const path of ["/log/2", "/log/2.sig"]) {
      const whole = await get(path);
      const head = await get(path, { method: "HEAD" });
      expect([head.status, head.headers["content-length"]]).toEqual([
        200,
        String(whole.raw.length),
      ]);
      const same = await get(path, { headers: { "if-none-match": whole.headers.etag as string } });
      expect([same.status, same.raw.length, same.headers["cache-control"]]).toEqual([
        304,
        0,
        CACHED,
      ]);
      const dated = { "if-modified-since": "Tue, 01 Dec 2099 00:00:00 GMT" };
      expect((await get(path, { headers: dated })).status).toBe(200);
    }
  });
});

test("a link in the place of an entry or a signature is never followed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "chipboard-log-files-"));
  try {
    const store = new FolderStore(join(folder, "store"));
    await publishSession(store, new TestClock(), SESSION, { first: true });
    await writeFile(join(folder, "signing.pem"), "a private key");
    const at = (key: string): string => join(folder, "store", key);
    const served = await start({ store });
    const { get, logged } = served;
    await symlink(join(folder, "signing.pem"), at(signatureKey(1)));
    await rename(at(publicationKey(1)), join(folder, "entry"));
    await symlink(join(folder, "entry"), at(publicationKey(1)));
    for (const [path, key] of [
      ["/log/1.sig", signatureKey(1)],
      ["/log/1", publicationKey(1)],
    ] as const) {
      await expectCode(served, path, {}, "internal");
      await eventually(() => logged.join("").includes(`${key} is a link, or behind one`));
    }
    await rename(join(folder, "entry"), at(publicationKey(1)));
    expect((await get("/log/1")).status).toBe(200);
    await rm(at(signatureKey(1)));
    await expectCode(served, "/log/1.sig", {}, "not_published");
    await rename(at("publications"), join(folder, "aside"));
    await symlink(join(folder, "aside"), at("publications"));
    expect((await get("/api/public/v1/prices")).status).toBe(200);
    await eventually(async () => (await get("/readyz")).json.store === "damaged");
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe("what is not there", () => {
  test("no such entry, no signature, no such path, nothing published", async () => {
    const empty = await start({ store: new MemoryStore() });
    await expectCode(empty, "/log/1", {}, "no_session");
    await empty.close();
    const some = await start({ store: await threeEntries() });
    for (const path of ["/log/4", "/log/9999999999", "/log/3.sig", "/log/4.sig"]) {
      await expectCode(some, path, {}, "not_published");
    }
    for (const name of [
      "0",
      "01",
      "-1",
      "1.5",
      "1.json",
      "x",
      "10000000000",
      ".sig",
      "1.sig.sig",
    ]) {
      await expectCode(some, `/log/${name}`, {}, "not_found");
    }
    for (const path of ["/log", "/log/", "/log/1/", "/log/1/2"]) {
      await expectCode(some, path, {}, "not_found");
    }
    await expectCode(some, "/log/1?token=x", {}, "key_in_query");
  });

  test("an entry that is not served yet is not shown, and a later signature is", async () => {
    const store = await threeEntries();
    const { get } = await start({ store });
    const damaged = { ...JSON.parse(String(await stored(store, publicationKey(2)))), number: 4 };
    const entry = Buffer.from(JSON.stringify({ ...damaged, manifest_sha256: "0".repeat(64) }));
    await store.create(publicationKey(4), entry, "");
    await eventually(async () => (await get("/readyz")).json.store === "damaged");
    expect((await get("/log/4")).json.code).toBe("not_published");
    await store.create(signatureKey(3), Buffer.alloc(64, 3), "");
    expect((await get("/log/3.sig")).status).toBe(200);
  });
});

describe("a store that does not hold what it should", () => {
  test("an entry larger than any is refused and not read", async () => {
    const store = await threeEntries();
    const huge = Buffer.alloc(ENTRY_BYTES_MAX + 1, " ");
    await replace(store, publicationKey(2), huge);
    await replace(store, signatureKey(2), huge);
    const some = await start({ store });
    for (const path of ["/log/2", "/log/2.sig"]) {
      await expectCode(some, path, {}, "internal");
      expect(some.logged.join("")).toContain(`${huge.length} bytes, expected ${ENTRY_BYTES_MAX}`);
    }
    expect((await some.get("/log/1")).status).toBe(200);
  });

  test("busy while it does not answer, and while many entries are read", async () => {
    const inner = await threeEntries();
    for (let number = 4; number <= 20; number += 1) {
      const entry = JSON.parse(String(await stored(inner, publicationKey(3))));
      await inner.create(
        publicationKey(number),
        Buffer.from(JSON.stringify({ ...entry, number })),
        "",
      );
    }
    let answer = async (): Promise<void> => {};
    const store = new InterceptedStore(inner, async ({ kind, key }, run) => {
      if (kind === "get" && key.startsWith("publications/")) await answer();
      return run();
    });
    const some = await start({ store, pollMs: 60_000 });
    answer = async () => {
      throw new UnreachableError("The store is away");
    };
    await expectCode(some, "/log/1", {}, "busy");
    const { promise, resolve } = Promise.withResolvers<void>();
    answer = () => promise;
    const paths = Array.from({ length: 20 }, (_, at) => `/log/${at + 1}`);
    const refused: Received[] = [];
    const asked = paths.map(async (path) => {
      const answered = await some.get(path);
      if (answered.status !== 200) refused.push(answered);
    });
    // Those beyond the eighth are answered at once; the others when the store answers.
    await eventually(() => refused.length === 12);
    for (const { json, headers } of refused) {
      expect([json.code, headers["retry-after"]]).toEqual(["busy", "1"]);
    }
    resolve();
    await Promise.all(asked);
    expect(refused).toHaveLength(12);
    for (const path of paths) expect((await some.get(path)).status).toBe(200);
  });
});

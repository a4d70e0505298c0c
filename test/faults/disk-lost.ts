/** Files that vanish from a store: found by name, in nobody's way, and missed by no running proxy. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { verifySnapshots } from "../../src/inspect/verify.ts";
import { readHead } from "../../src/snapshot/publication-log.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { AttendedStore } from "./crash-store.ts";
import { HEAD, HEAD_NAME, NEXT, NEXT_NOW, publishHead, publishSession } from "./disk-market.ts";
import { requireHead, requireNextPublished } from "./disk-market.ts";
import { program, requireFailure } from "./disk-program.ts";
import { makeState, startStatedProxy, until, type StatedProxy } from "./disk-proxy.ts";
import { Tally, type FaultOptions, type FaultRow } from "./fault.ts";

export const lostFiles = async (options: FaultOptions): Promise<FaultRow[]> => [
  await lostBeforePublish(options, publishSession),
  await lostToTheCommands(options),
  await lostUnderProxy(options),
];

/** All that the head needs. Its entry in the log is left out: without it there is no such head. */
async function keysOfHead(store: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for (const prefix of ["sessions/", "ledger/"]) {
    for await (const { key } of store.list(prefix)) keys.push(key);
  }
  return keys;
}

/** Each file of the head in turn; a short run takes every fifth. `publish` is what comes after. */
export async function lostBeforePublish(
  { scale, say }: FaultOptions,
  publish: typeof publishSession,
): Promise<FaultRow> {
  const tally = new Tally("file of the head gone, then a publish", say);
  const whole = new MemoryStore();
  await publishHead(whole);
  const keys = await keysOfHead(whole);
  for (const [at, key] of keys.entries()) {
    if (scale === "short" && at % 5 !== 0) continue;
    await tally.throw(key, async () => {
      const store = await copyOf(whole);
      const bytes = (await store.get(key)) as Buffer;
      await store.delete(key);
      for (const reference of ["head", null]) {
        const { damages } = await verifySnapshots(store, reference);
        assert.deepEqual(damages, [`memory:/${key} is missing`]);
      }
      const before = await contentOf(store);
      const { code, said } = await publish(store, NEXT);
      if (code === 0) {
        await requireNamed(store);
        assert.deepEqual((await verifySnapshots(store, "head")).damages, []);
      } else {
        assert.equal(code, 6, said);
        assert.ok(said.includes(key), said);
        assert.deepEqual(await contentOf(store), before);
      }
      await store.create(key, bytes, "");
      await requireNextPublished(store);
    });
  }
  return tally.row;
}

async function requireNamed(store: ObjectStore): Promise<void> {
  const head = await readHead(store);
  assert.equal(head?.session, NEXT);
}

/** The same through the program, in a folder. */
async function lostToTheCommands({ scale, folder, say }: FaultOptions): Promise<FaultRow> {
  const tally = new Tally("file of the head gone, commands", say);
  const place = join(folder, "lost");
  const options = { cwd: folder, now: NEXT_NOW };
  const chosen = [
    "manifest.json",
    "catalog.json",
    "pro/board.json",
    "pro/export.xlsx",
    "report.html",
  ];
  for (const path of scale === "full" ? chosen : chosen.slice(0, 2)) {
    await tally.throw(path, async () => {
      rmSync(place, { recursive: true, force: true });
      const store = new FolderStore(place);
      await publishHead(store);
      const key = `sessions/${HEAD_NAME}/${path}`;
      const bytes = (await store.get(key)) as Buffer;
      await store.delete(key);
      const verify = ["snapshots", "verify", "--store", "lost"];
      const { code, stdout, stderr } = await program(verify, options);
      assert.equal(code, 6, stderr);
      assert.ok(`${stdout}${stderr}`.includes(`lost/${key} is missing`), stdout + stderr);
      const rollback = [
        "snapshots",
        "rollback",
        "2026-11-20T12Z",
        "--reason",
        "x",
        "--store",
        "lost",
      ];
      requireFailure(await program(rollback, options), 6, /(?:is missing|is damaged|damage)/);
      await store.create(key, bytes, "");
      assert.equal((await program(verify, options)).code, 0);
      await requireHead(store, HEAD_NAME);
    });
  }
  return tally.row;
}

/**
 * Each file of a new snapshot is gone when a running proxy comes to load it: the old one is served,
 * to the byte, until the file is back.
 */
async function lostUnderProxy({ scale, folder, say }: FaultOptions): Promise<FaultRow> {
  const tally = new Tally("file of a new head gone under a proxy", say);
  const store = new MemoryStore();
  // The account that asks sees the session before the head's.
  assert.equal((await publishSession(store, HEAD - 1)).code, 0);
  await publishHead(store);
  const paths = (await keysOfHead(store)).map((key) => key.split(`/${HEAD_NAME}/`)[1]);
  const clock = { now: () => Date.parse(NEXT_NOW) };
  const state = join(folder, "lost-state");
  const proxy = await startStatedProxy(store, state, await makeState(state, clock), clock);
  let usd = 10;
  const publishWithout = async (path: string): Promise<[string, Buffer]> => {
    let taken: [string, Buffer] | undefined;
    const losing = new AttendedStore(store, async (operation, run) => {
      const done = await run();
      if (operation.kind === "create" && operation.key.endsWith(`/${path}`)) {
        taken = [operation.key, (await store.get(operation.key)) as Buffer];
        await store.delete(operation.key);
      }
      return done;
    });
    usd += 0.25;
    const { code, said } = await publishSession(losing, HEAD, { usd, revise: "Late report" });
    assert.equal(code, 0, said);
    assert.ok(taken, `no file ends in ${path}`);
    return taken;
  };
  try {
    for (const [at, path] of paths.entries()) {
      if (path === undefined || (scale === "short" && at % 6 !== 0)) continue;
      await tally.throw(path, async () => {
        await settled(proxy);
        const before = await answersOf(proxy);
        const [key, bytes] = await publishWithout(path);
        await until(
          "the proxy says damaged",
          async () => (await proxy.ready()).json.store === "damaged",
        );
        assert.equal((await proxy.ready()).status, 200);
        assert.deepEqual(await answersOf(proxy), before);
        await store.create(key, bytes, "");
        await settled(proxy);
        assert.notDeepEqual(await answersOf(proxy), before);
      });
    }
    await tally.throw("all of the head that is served", async () => {
      await settled(proxy);
      const before = await answersOf(proxy);
      for (const key of await keysOfHead(store)) await store.delete(key);
      assert.deepEqual(await answersOf(proxy), before);
    });
  } finally {
    await proxy.close();
  }
  return tally.row;
}

/** The newest publication is the one served. */
async function settled(proxy: StatedProxy): Promise<void> {
  await until("the proxy serves the head", async () => (await proxy.ready()).json.store === "ok");
}

const ROUTES = ["/prices", "/prices/item-0", "/index", "/export.csv"];

/** From which snapshot each route answers, and a digest of what. */
const answersOf = (proxy: StatedProxy): Promise<string[]> =>
  Promise.all(
    ROUTES.map(async (route) => {
      const { status, headers, text } = await proxy.get(route);
      assert.equal(status, 200, `${route}: ${text}`);
      const sha256 = createHash("sha256").update(text).digest("hex");
      return `${headers.get("x-snapshot")} ${sha256}`;
    }),
  );

async function copyOf(store: ObjectStore): Promise<MemoryStore> {
  const copy = new MemoryStore();
  for (const [key, bytes] of await contentOf(store)) await copy.create(key, bytes, "");
  return copy;
}

async function contentOf(store: ObjectStore): Promise<Map<string, Buffer>> {
  const content = new Map<string, Buffer>();
  for await (const { key } of store.list("")) content.set(key, (await store.get(key)) as Buffer);
  return content;
}

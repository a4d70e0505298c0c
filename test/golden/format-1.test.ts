/** A frozen store that 0.1.0 wrote: every later version must read it and publish into it. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { compareSnapshots } from "../../src/desk/compare.ts";
import { copyStore } from "../../src/desk/copy.ts";
import { listPublications } from "../../src/desk/list.ts";
import { prune } from "../../src/desk/prune.ts";
import { findSnapshot } from "../../src/desk/reference.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { describeSnapshot } from "../../src/desk/show.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { rerender } from "../../src/publish/rerender.ts";
import { FORMAT } from "../../src/snapshot/manifest.ts";
import { signatureOfEntry } from "../../src/snapshot/entry-signature.ts";
import { readStoredEntry, type StoredEntry } from "../../src/snapshot/publication-log.ts";
import { newKeyPair, parseSigningKey, parseVerifyKeys } from "../../src/snapshot/signing-key.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { contentOf, mustPublish, tryPublish, type Run } from "../cli/market.ts";
import { copyOf, startTestProxy, TestClock } from "../http/fixture.ts";
import { INPUTS } from "./market.ts";

const FROZEN = join(import.meta.dirname, "format-1");
const HEAD = "2026-11-20T12Z/r2";
const clockAt = (instant: string) => new TestClock(Date.parse(instant));
const NOW = clockAt("2026-11-20T13:00:00Z");
const store = (): Promise<MemoryStore> => copyOf(new FolderStore(join(FROZEN, "store")));

const input = (name: string): string => readFileSync(join(INPUTS, name), "utf8");
/** The run that published the head. */
const LAST = { session: "2026-11-20T12Z", quotes: input("quotes-6.csv") };
const NEXT = { session: "2026-11-21T00Z", quotes: input("quotes-5.csv") };

async function expectWhole(on: ObjectStore): Promise<void> {
  expect((await verifySnapshots(on, null)).damages).toEqual([]);
}

/** Expects that the run changes nothing. */
async function expectNothingToDo(on: ObjectStore, run: Run): Promise<void> {
  const before = await contentOf(on);
  const { result, said } = await tryPublish(on, run);
  expect([result?.outcome, said]).toEqual(["unchanged", []]);
  expect(await contentOf(on)).toEqual(before);
}

test("is whole, with its own columns; its signature of the manifest counts no more", async () => {
  const frozen = await store();
  const keys = parseVerifyKeys(readFileSync(join(FROZEN, "signing.pem.pub"), "utf8"), "key");
  const all = await verifySnapshots(frozen, null);
  expect([all.damages, all.checked.length, all.pruned.length]).toEqual([[], 4, 4]);
  const head = await verifySnapshots(frozen, "head", keys);
  expect(head.damages).toEqual([expect.stringContaining("0000000009.sig is missing: entry 9")]);
});

test("is served, every file with its stored bytes", async () => {
  const proxy = await startTestProxy({ store: await store(), clock: NOW });
  onTestFinished(() => proxy.close());
  const folder = join(FROZEN, "store/sessions", HEAD);
  for (const [path, file] of [
    ["/prices", "board.json"],
    ["/prices/alpha-16gb", "contracts/alpha-16gb.json"],
    ["/index", "index.json"],
    ["/export.csv", "export.csv"],
    ["/export.xlsx", "export.xlsx"],
  ]) {
    const { status, headers, raw } = await proxy.get(`/api/public/v1${path}`, { key: proxy.pro });
    expect([status, headers["x-snapshot"]]).toEqual([200, HEAD]);
    expect(raw.equals(readFileSync(join(folder, "pro", file as string)))).toBe(true);
  }
  const basket = await proxy.get("/api/public/v1/index?ids=alpha-16gb", { key: proxy.pro });
  expect([basket.status, basket.json.constituents]).toEqual([200, 1]);
  // The levels' bases and dates are not in the files of 0.1.0.
  expect(basket.json).not.toHaveProperty("carried");
  expect(Object.keys(basket.json.contributions[0])).not.toContain("basis");
});

test("is listed, shown and compared", async () => {
  const frozen = await store();
  const { publications } = await listPublications(frozen, NOW, null);
  expect(publications.filter((row) => "counts" in row)).toHaveLength(9);
  expect(await describeSnapshot(frozen, "head")).toMatchObject({ snapshot: HEAD, signed: false });
  const [before, after] = [await findSnapshot(frozen, "head~1"), await findSnapshot(frozen, "head")];
  expect((await compareSnapshots(frozen, before, after)).repriced?.length).toBeGreaterThan(0);
});

test("the run that published the head, again: nothing to do", async () => {
  const frozen = await store();
  const { result } = await tryPublish(new MemoryStore(), { ...LAST, catalog: input("catalog.csv") });
  const { manifest } = await findSnapshot(frozen, "head");
  expect(result?.manifest.inputs.slice(1)).toEqual(manifest.inputs);
  await expectNothingToDo(frozen, LAST);
  await expectNothingToDo(frozen, { ...LAST, revise: "The right feed" });
  await expectNothingToDo(frozen, {
    ...LAST,
    catalog: input("catalog.csv"),
    closes: input("closes.csv"),
    attribution: manifest.attribution,
  });
  const moved = { ...LAST, quotes: LAST.quotes.replace("3.5\n", "3.51\n") };
  expect(await tryPublish(frozen, moved)).toMatchObject({ code: 4, result: null });
});

test("its entries are linked and signed with the next one", async () => {
  const frozen = await store();
  const before = await contentOf(frozen);
  const key = parseSigningKey(newKeyPair().privatePem, "the test's key");
  const signed = { signingKey: key, verifyKeys: null };
  const strict = { signingKey: key, verifyKeys: [key.verifyKey] };
  await expect(rollBack(frozen, HEAD, "check", NOW, strict)).rejects.toMatchObject({ exitCode: 6 });
  // It has no SHA256SUMS, so its entries have no roots.
  await rollBack(frozen, "2026-11-20T00Z/r2", "check", NOW, signed);
  const after = await contentOf(frozen);
  const logKeys = Object.keys(before).filter((name) => /^publications\/.*json$/.test(name));
  const log = logKeys.map((name) => before[name]).join("");
  expect(JSON.parse(after["publications/0000000010.json"] as string)).toMatchObject({
    previous: createHash("sha256").update(log, "latin1").digest("hex"),
    roots: { free: null, starter: null, pro: null },
  });
  await rollBack(frozen, HEAD, "check", NOW, strict);
  const found = await verifySnapshots(frozen, null, strict.verifyKeys);
  expect([found.damages, found.entries]).toEqual([[], 11]);
  expect(found.signatures.map(({ number }) => number)).toEqual([10, 11]);
  await frozen.delete("publications/0000000002.json");
  await frozen.create("publications/0000000002.json", Buffer.from(before["publications/0000000001.json"]?.replace('"number":1', '"number":2') ?? ""), "");
  const changed = await verifySnapshots(frozen, "head", strict.verifyKeys);
  expect(changed.damages).toEqual([
    expect.stringContaining("0000000010.json does not follow the log before it"),
  ]);
});

test("a signature of its newest entry would vouch for that entry alone, so there is none", async () => {
  const frozen = await store();
  const before = await contentOf(frozen);
  const key = parseSigningKey(newKeyPair().privatePem, "the test's key");
  const signed = { signingKey: key, verifyKeys: null };
  await expect(rollBack(frozen, HEAD, "check", NOW, signed)).rejects.toMatchObject({
    exitCode: 4,
    message: expect.stringContaining("0000000009.json has no previous"),
  });
  expect(await contentOf(frozen)).toEqual(before);

  const { sha256 } = (await readStoredEntry(frozen, 9)) as StoredEntry;
  await frozen.create("publications/0000000009.sig", signatureOfEntry(sha256, key), "");
  const { damages, entries, linked } = await verifySnapshots(frozen, "head", [key.verifyKey]);
  expect(damages).toEqual([expect.stringContaining("0000000009.sig vouches for entry 9 alone")]);
  expect([entries, linked]).toEqual([9, 1]);
  const verifyKeys = [key.verifyKey];
  const proxy = await startTestProxy({ store: frozen, verifyKeys, clock: NOW });
  onTestFinished(() => proxy.close());
  expect((await proxy.get("/readyz")).json.detail).toBe("No snapshot is loaded (damaged).");
});

test("can be rolled back, published on, and pruned", async () => {
  const frozen = await store();
  await rollBack(frozen, "2026-11-20T00Z/r2", "check", NOW);
  await mustPublish(frozen, NEXT);
  const old = await findSnapshot(frozen, HEAD);
  const next = await findSnapshot(frozen, "head");
  expect((await compareSnapshots(frozen, old, next)).added).toEqual([]);
  expect(next.manifest.corrected).toEqual([]);
  await expectWhole(frozen);
  const { snapshots } = await prune(frozen, 0, false, clockAt("2026-11-21T00:10:00Z"));
  expect(snapshots.length).toBeGreaterThan(0);
  await expectWhole(frozen);
});

test("is published upon, rolled back to, and rendered anew by this version", async () => {
  const frozen = await store();
  expect(await mustPublish(frozen, NEXT)).toBe("2026-11-21T00Z/r1");
  expect((await findSnapshot(frozen, "head")).manifest.format).toBe(FORMAT);
  await expectNothingToDo(frozen, NEXT);
  await rollBack(frozen, HEAD, "check", clockAt("2026-11-21T00:10:00Z"));
  await expectNothingToDo(frozen, LAST);
  const clock = clockAt("2026-11-21T00:15:00Z");
  const anew = () => rerender("New columns", { dryRun: false }, frozen, clock, () => {});
  expect(await anew()).toMatchObject({ outcome: "published", snapshot: { revision: 3 } });
  const [old, now] = [await findSnapshot(frozen, HEAD), await findSnapshot(frozen, "head")];
  expect(await compareSnapshots(frozen, old, now)).toMatchObject({
    added: [],
    removed: [],
    repriced: [],
    corrected: [],
  });
  expect((await anew()).outcome).toBe("unchanged");
  await expectNothingToDo(frozen, LAST);
  await expectWhole(frozen);
});

test("is copied, and its copy published upon", async () => {
  const frozen = await store();
  const copy = new MemoryStore();
  const copied = () => copyStore(frozen, copy, false, () => {});
  expect(await copied()).toMatchObject({ outcome: "copied", snapshots: 4, head: { number: 9 } });
  // What a prune and a rollback of 0.1.0 left has no effect.
  const needed = Object.entries(await contentOf(frozen)).filter(
    ([key]) => !/^(pruning|rollbacks)\//.test(key),
  );
  expect(await contentOf(copy)).toEqual(Object.fromEntries(needed));
  expect(await copied()).toMatchObject({ outcome: "unchanged" });
  await expectNothingToDo(copy, LAST);
  await mustPublish(frozen, NEXT);
  expect(await copied()).toMatchObject({ outcome: "copied", snapshots: 5, head: { number: 10 } });
  await expectNothingToDo(copy, NEXT);
  await mustPublish(copy, { session: "2026-11-21T12Z", quotes: input("quotes-6.csv") });
  await expectWhole(copy);
});

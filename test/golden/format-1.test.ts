/** A store that 0.1.0 wrote, frozen: every later version reads it, and goes on from it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sourceOf } from "../../src/feed/source.ts";
import { compareSnapshots } from "../../src/desk/compare.ts";
import { listPublications } from "../../src/desk/list.ts";
import { prune } from "../../src/desk/prune.ts";
import { findSnapshot } from "../../src/desk/reference.ts";
import { rollBack } from "../../src/desk/rollback.ts";
import { describeSnapshot } from "../../src/desk/show.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { parseSession, sessionStartMs, type Session } from "../../src/market/session.ts";
import { publish } from "../../src/publish/publish.ts";
import { parseVerifyKeys } from "../../src/snapshot/signing-key.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { MemoryStore } from "../../src/store/memory-store.ts";
import { copyOf, startTestProxy, TestClock } from "../http/fixture.ts";
import { INPUTS } from "./market.ts";

const FROZEN = join(import.meta.dirname, "format-1");
const HEAD = "2026-11-20T12Z/r2";
const clockAt = (instant: string) => new TestClock(Date.parse(instant));
const NOW = clockAt("2026-11-20T13:00:00Z");
const store = (): Promise<MemoryStore> => copyOf(new FolderStore(join(FROZEN, "store")));

/** The next session, from the inputs of the golden market. */
async function publishNext(on: MemoryStore): Promise<void> {
  const session = parseSession("2026-11-21T00Z") as Session;
  await publish(
    {
      catalog: null,
      quotes: [sourceOf(join(INPUTS, "quotes-5.csv"))],
      closes: [],
      session,
      attribution: null,
      revise: null,
      dryRun: false,
      gates: {
        maxMoveMicros: 500_000_000,
        minCoverageMicros: 0,
        maxCarryDays: 45,
        acceptMoves: true,
        allowSparse: true,
      },
    },
    on,
    clockAt(new Date(sessionStartMs(session) + 300_000).toISOString()),
    () => {},
  );
}

test("is whole, with its own columns and its signature", async () => {
  const frozen = await store();
  const keys = parseVerifyKeys(readFileSync(join(FROZEN, "signing.pem.pub"), "utf8"), "key");
  const all = await verifySnapshots(frozen, null);
  expect([all.damages, all.checked.length, all.pruned.length]).toEqual([[], 4, 4]);
  const head = await verifySnapshots(frozen, "head", keys);
  expect([head.damages, head.signatures.length]).toEqual([[], 1]);
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
});

test("is listed, shown and compared", async () => {
  const frozen = await store();
  const { rows } = await listPublications(frozen, NOW, null);
  expect(rows.filter(({ kind }) => kind === "publication")).toHaveLength(9);
  expect(await describeSnapshot(frozen, "head")).toMatchObject({ snapshot: HEAD, signed: true });
  const [before, after] = [await findSnapshot(frozen, "head~1"), await findSnapshot(frozen, "head")];
  expect((await compareSnapshots(frozen, before, after)).repriced?.length).toBeGreaterThan(0);
});

test("can be rolled back, published on, and pruned", async () => {
  const frozen = await store();
  await rollBack(frozen, "2026-11-20T00Z/r2", "check", NOW);
  await publishNext(frozen);
  const old = await findSnapshot(frozen, "2026-11-20T12Z/r2");
  const next = await findSnapshot(frozen, "head");
  expect((await compareSnapshots(frozen, old, next)).added).toEqual([]);
  expect(next.manifest.corrected).toEqual([]);
  expect((await verifySnapshots(frozen, null)).damages).toEqual([]);
  const { snapshots } = await prune(frozen, 0, false, clockAt("2026-11-21T00:10:00Z"));
  expect(snapshots.length).toBeGreaterThan(0);
  expect((await verifySnapshots(frozen, null)).damages).toEqual([]);
});

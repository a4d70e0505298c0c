/** Stores that fail, publishers that race or die: the head is the old one or the new one. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadBase } from "../../src/publish/base.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import { readHead, readPublications } from "../../src/snapshot/publication-log.ts";
import { readSnapshotFile, readManifest } from "../../src/snapshot/stored-snapshot.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";
import { snapshotText } from "../../src/store/paths.ts";
import { AttendedStore } from "../faults/crash-store.ts";
import { catalogOf, mustPublish, quotesOf, tryPublish } from "./market.ts";
import { chipboard, start, type Ran, type RunOptions } from "./run.ts";

const IDS = Array.from({ length: 30 }, (_, n) => `c${n}`);
const CATALOG = catalogOf(IDS);
const levels = (usd: number): string => quotesOf(Object.fromEntries(IDS.map((id) => [id, usd])));

let folder: string;
let store: FolderStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-cli-faults-"));
  store = new FolderStore(join(folder, "x"));
  writeFileSync(join(folder, "c.csv"), CATALOG);
  writeFileSync(join(folder, "q.csv"), levels(11));
});
afterEach(() => rmSync(folder, { recursive: true }));

const publish = (line: string, options: RunOptions = {}): Promise<Ran> =>
  chipboard(["publish", ...line.split(" ")], { cwd: folder, ...options });
const tree = (): Record<string, string> => {
  const names = readdirSync(join(folder, "x"), { recursive: true, withFileTypes: true });
  const files = names
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(files.toSorted().map((path) => [path, readFileSync(path, "latin1")]));
};

/** Reads every file of the head, and returns its name. */
async function expectWholeHead(of: ObjectStore): Promise<string> {
  const head = await readHead(of);
  if (head === null) throw new Error("The store is empty");
  const manifest = await readManifest(of, head, head.manifest_sha256);
  for (const { path, sha256 } of manifest.files) {
    expect(sha256Hex((await readSnapshotFile(of, head, manifest, path)).bytes)).toBe(sha256);
  }
  await loadBase(of);
  return snapshotText(head);
}

describe("a store that cannot be written", () => {
  test("a store path that is a file, or below a file: 5", async () => {
    for (const place of ["q.csv", "q.csv/x"]) {
      const { code, stdout, stderr } = await publish(
        `--catalog c.csv --quotes q.csv --store ${place}`,
      );
      expect([code, stdout]).toEqual([5, ""]);
      expect(stderr).toMatch(
        new RegExp(`^error: --store "${place}": cannot .*\\((ENOTDIR|EEXIST)\\)$`, "m"),
      );
    }
    expect(readFileSync(join(folder, "q.csv"), "utf8")).toBe(levels(11));
  });

  test("a folder that cannot be created: 5, and the run ends", async () => {
    const { code, stderr } = await publish("--catalog c.csv --quotes q.csv --store /proc/nope");
    expect([code, stderr]).toEqual([
      5,
      expect.stringContaining('error: --store "/proc/nope": cannot write to it: '),
    ]);
  });

  test("a folder without write permission: 5, and nothing changes", async () => {
    await mustPublish(store, { session: "2026-11-20T12Z", catalog: CATALOG, quotes: levels(10) });
    const before = tree();
    chmodSync(folder, 0o755);
    chmodSync(join(folder, "x"), 0o555);
    const denied = await publish("--quotes q.csv --store x", { unprivileged: true });
    expect([denied.code, denied.stderr]).toEqual([
      5,
      expect.stringContaining(
        'error: --store "x": cannot write to it: permission denied (EACCES)\n',
      ),
    ]);
    expect(tree()).toEqual(before);
    chmodSync(join(folder, "x"), 0o755);
  });

  test("a source without read permission: 2", async () => {
    chmodSync(folder, 0o755);
    chmodSync(join(folder, "q.csv"), 0o000);
    const denied = await publish("--catalog c.csv --quotes q.csv --store x", {
      unprivileged: true,
    });
    expect([denied.code, denied.stderr]).toEqual([
      2,
      expect.stringContaining("Cannot read q.csv: permission denied\n"),
    ]);
  });

  test("a damaged byte in the store: 6, and its file is named", async () => {
    await mustPublish(store, { session: "2026-11-20T12Z", catalog: CATALOG, quotes: levels(10) });
    const [part = ""] = readdirSync(join(folder, "x/ledger"));
    chmodSync(join(folder, "x/ledger", part), 0o644);
    writeFileSync(join(folder, "x/ledger", part), "junk");
    const before = tree();
    const { code, stderr } = await publish("--quotes q.csv --store x --json");
    expect([code, stderr]).toEqual([
      6,
      expect.stringContaining(`error: x/ledger/${part} is damaged: its SHA-256 is `),
    ]);
    expect(tree()).toEqual(before);
  });
});

test.each(["report.html", "pro/board.json", "ledger/2026-11"])(
  "a store that loses or changes %s: 6, nothing is published, and the head stays",
  async (lost) => {
    const memory = new MemoryStore();
    await mustPublish(memory, { session: "2026-11-20T12Z", catalog: CATALOG, quotes: levels(10) });
    for (const kept of [null, "x"]) {
      const losing = new AttendedStore(memory, async ({ kind, key }, run) => {
        if (kind !== "create" || !key.includes(lost)) return run();
        if (kept !== null) await memory.create(key, Buffer.from(kept), "");
        return "created" as never;
      });
      const { code, said } = await tryPublish(losing, { quotes: levels(11) });
      expect([code, said.length]).toEqual([6, 2]);
      expect(said.join()).toMatch(/is not in memory: as it was written; it is not published/);
      expect((await readHead(memory))?.number).toBe(1);
    }
  },
);

describe("publishers at the same time", () => {
  test("20 of one session: one publishes, 19 find nothing to do, and the snapshot is whole", async () => {
    await mustPublish(store, { session: "2026-11-20T12Z", catalog: CATALOG, quotes: levels(10) });
    const ended = await Promise.all(
      Array.from({ length: 20 }, () =>
        tryPublish(new FolderStore(join(folder, "x")), { quotes: levels(11) }),
      ),
    );
    expect(ended.map(({ result }) => result?.outcome).toSorted()).toEqual([
      "published",
      ...Array.from({ length: 19 }, () => "unchanged"),
    ]);
    expect((await readPublications(store)).length).toBe(2);
    expect(await expectWholeHead(store)).toMatch(/^2026-11-21T00Z\/r\d+$/);
  });

  test("with different levels: one wins, the others exit with 4", async () => {
    const ended = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((usd) =>
        tryPublish(new FolderStore(join(folder, "x")), { catalog: CATALOG, quotes: levels(usd) }),
      ),
    );
    expect(ended.map(({ code }) => code).toSorted()).toEqual([0, 4, 4, 4, 4, 4]);
    for (const { code, said } of ended) {
      if (code === 4)
        expect(said[0]).toMatch(/^The input changes 30 published levels; if it is right/);
    }
    expect((await readPublications(store)).length).toBe(1);
    await expectWholeHead(store);
  });

  test("as processes, with one that publishes the next session", async () => {
    const line = "--catalog c.csv --quotes q.csv --store x --json --session";
    const env = { CHIPBOARD_NOW: "2026-11-21T12:05:00Z" };
    const sessions = ["2026-11-21T00Z", "2026-11-21T00Z", "2026-11-21T12Z"];
    const ended = await Promise.all(
      sessions.map((session) => publish(`${line} ${session}`, { env })),
    );
    // The later session is always published; the earlier one only if it is first.
    expect(ended[2]?.code).toBe(0);
    for (const { code, stdout } of ended.slice(0, 2)) {
      expect([0, 4]).toContain(code);
      if (code === 4)
        expect(JSON.parse(stdout).error.message).toMatch(/is older than the head, 2026-11-21T12Z/);
    }
    expect(await expectWholeHead(store)).toMatch(/^2026-11-21T12Z/);
  });
});

describe("a killed publisher", () => {
  test("at any moment: the head is old or new, and the next run succeeds", async () => {
    await mustPublish(store, { session: "2026-11-20T12Z", catalog: CATALOG, quotes: levels(10) });
    const line = "--quotes q.csv --store x";
    const killed = await Promise.all(
      [150, 350].map((killAfterMs) => publish(line, { killAfterMs })),
    );
    let left = killed.filter(({ code }) => code === null).length;
    // Later runs are killed when the store has a file of the session.
    for (const claims of [1, 12]) {
      if ((await killedAfter(claims, line)) === null) left += 1;
      expect(await expectWholeHead(store)).toMatch(/^2026-11-20T12Z\/r1$|^2026-11-21T00Z\/r\d+$/);
    }
    expect(left).toBeGreaterThan(0);
    expect((await publish(line)).code).toBe(0);
    expect(await expectWholeHead(store)).toMatch(/^2026-11-21T00Z\/r\d+$/);
    expect((await publish(line)).stdout).toMatch(/^Nothing to do/);
  });

  /** Runs publish and kills it when so many files of the session's newest folder are there. */
  async function killedAfter(files: number, line: string): Promise<number | null> {
    const child = start(["publish", ...line.split(" ")], { cwd: folder });
    child.stdout?.resume();
    child.stderr?.resume();
    child.stdin?.end();
    const sessions = join(folder, "x/sessions/2026-11-21T00Z");
    mkdirSync(sessions, { recursive: true });
    const before = readdirSync(sessions, { recursive: true }).length;
    const watch = setInterval(() => {
      if (readdirSync(sessions, { recursive: true }).length >= before + files)
        child.kill("SIGKILL");
    }, 1);
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    clearInterval(watch);
    return code;
  }
});

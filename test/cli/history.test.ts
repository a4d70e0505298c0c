/** Publishing the same, a later or an earlier session, with corrections, after a rollback, with orphans and damage. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { MemoryStore } from "../store/memory-store.ts";
import type { FileEntry } from "../../src/snapshot/manifest.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { append, readHead, readPublications } from "../store/log-entries.ts";
import { catalogOf, contentOf, headJson, lines, mustPublish, quotesOf } from "./small-market.ts";
import { at, tryPublish, type Ended, type Run } from "./small-market.ts";

const CATALOG = catalogOf(["a", "b"]);
const DAWN = "2026-11-20T00Z";
const EVE = "2026-11-20T12Z";
const NOON = "2026-11-21T12Z";
const FIRST: Run = { session: EVE, catalog: CATALOG, quotes: quotesOf({ a: 10, b: 5 }) };
const SECOND: Run = { quotes: quotesOf({ a: 11, b: 5 }) };

async function published(...runs: readonly Run[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  for (const run of runs) await mustPublish(store, run);
  return store;
}

async function untouched(store: ObjectStore, run: Run): Promise<Ended> {
  const before = await contentOf(store);
  const ended = await tryPublish(store, run);
  expect(await contentOf(store)).toEqual(before);
  expect((await tryPublish(store, { ...run, dryRun: true })).code).toBe(ended.code);
  return ended;
}

/** Appends the same entry as `snapshots rollback`. */
async function rollBack(
  store: ObjectStore,
  session: string,
  revision: number,
  reason: string,
): Promise<void> {
  const log = await readPublications(store);
  const entry = log.find((item) => item.session === at(session) && item.revision === revision);
  if (entry === undefined) throw new Error(`Not in the log: ${session}/r${revision}`);
  const atMs = Date.parse("2026-11-21T01:00:00.000Z");
  await append(store, { ...entry, action: "rollback", reason }, atMs);
}

describe("the same session", () => {
  test("in another format and row order: nothing to do, and no new object", async () => {
    const store = await published(FIRST, SECOND);
    const json = '[{"spot_usd":5.0,"id":"b"},{"id":"a","spot_usd":11}]';
    for (const run of [
      SECOND,
      { quotes: json },
      { catalog: CATALOG, quotes: json, revise: "No change" },
    ]) {
      const { code, result } = await untouched(store, run);
      expect([code, result?.outcome, result?.publication]).toEqual([0, "unchanged", 2]);
    }
  });

  test("with other content: refused without --revise, which makes the next revision", async () => {
    const store = await published(FIRST, SECOND);
    const others: readonly Run[] = [
      { quotes: quotesOf({ a: 11.5, b: 5 }) },
      { ...SECOND, attribution: "Other" },
      { ...SECOND, catalog: catalogOf(["b", "a"]) },
      {
        ...SECOND,
        catalog: catalogOf(["a", "b", "c"]),
        allowSparse: true,
        accept: [{ gate: "free", ids: ["c"] }],
      },
      { ...SECOND, closes: lines("id,date,close_usd", "a,2026-11-01,9"), allowSparse: true },
    ];
    for (const run of others) expect((await untouched(store, run)).code).toBe(4);
    expect((await untouched(store, others[1] as Run)).said[0]).toBe(
      'Session 2026-11-21T00Z is published as 2026-11-21T00Z/r1 with other content; to correct it, give --revise "reason"',
    );
    let revision = 1;
    for (const run of others) {
      const name = await mustPublish(store, { ...run, revise: `Why ${revision}` });
      expect(name).toBe(`2026-11-21T00Z/r${(revision += 1)}`);
    }
    expect(
      (await readPublications(store)).map(({ number, action, revision, reason }) => [
        number,
        action,
        revision,
        reason,
      ]),
    ).toEqual([
      [1, "publish", 1, null],
      [2, "publish", 1, null],
      ...[1, 2, 3, 4, 5].map((n) => [n + 2, "publish", n + 1, `Why ${n}`]),
    ]);
  });

  test("a session before the head is refused, even with --revise; sessions can be skipped", async () => {
    const store = await published(FIRST, { ...SECOND, session: NOON });
    for (const revise of [undefined, "Late"]) {
      const run = { session: "2026-11-21T00Z", quotes: quotesOf({ a: 10, b: 5 }) };
      const { code, said } = await untouched(store, {
        ...run,
        ...(revise === undefined ? {} : { revise }),
      });
      expect([code, said[0]]).toEqual([
        4,
        expect.stringMatching(/^Session 2026-11-21T00Z is older than the head, 2026-11-21T12Z\/r1/),
      ]);
    }
    expect((await untouched(store, { ...FIRST, session: DAWN })).code).toBe(4);
  });

  test("later snapshots keep the attribution and the catalog", async () => {
    const store = await published({ ...FIRST, attribution: "Levels: example" }, SECOND, {
      ...SECOND,
      session: NOON,
    });
    expect((await headJson(store, "pro/index.json")).attribution).toBe("Levels: example");
    expect((await headJson(store, "catalog.json")).length).toBe(2);
  });

  test("the first publish needs a catalog, and any publish an input", async () => {
    const store = new MemoryStore();
    expect(await untouched(store, SECOND)).toMatchObject({
      code: 2,
      said: ["memory: holds no catalog yet: give --catalog"],
    });
    expect((await untouched(store, {})).said).toEqual([
      "Nothing to publish: give --catalog, --quotes or --closes",
    ]);
  });
});

test("the log, the ledger parts and the manifest have their form", async () => {
  const october = lines("id,date,close_usd", "a,2026-10-20,9");
  const store = await published({ ...FIRST, closes: october }, SECOND);
  const content = await contentOf(store);
  expect(JSON.parse(content["publications/0000000002.json"] as string)).toEqual({
    number: 2,
    action: "publish",
    session: "2026-11-21T00Z",
    revision: 1,
    reason: null,
    at: "2026-11-21T00:05:00.000Z",
    manifest_sha256: (await readHead(store))?.manifest_sha256,
    corrections: 0,
    previous: sha256(content["publications/0000000001.json"]),
    roots: {
      free: sha256(content["sessions/2026-11-21T00Z/r1/free/SHA256SUMS"]),
      starter: sha256(content["sessions/2026-11-21T00Z/r1/starter/SHA256SUMS"]),
      pro: sha256(content["sessions/2026-11-21T00Z/r1/pro/SHA256SUMS"]),
    },
  });
  // Both snapshots share October; each has its own November.
  expect(
    Object.keys(content)
      .filter((key) => key.startsWith("ledger/"))
      .map((key) => key.slice(0, 14)),
  ).toEqual(["ledger/2026-10", "ledger/2026-11", "ledger/2026-11"]);
  const manifest = await headJson(store, "manifest.json");
  expect(manifest.parent).toMatchObject({ session_utc: "2026-11-20T12:00:00.000Z", revision: 1 });
  const inFolder = Object.keys(content).filter((key) =>
    key.startsWith("sessions/2026-11-21T00Z/r1/"),
  );
  const named: string[] = manifest.files.flatMap(({ path, gzip, stored }: FileEntry) => [
    ...(stored === "gzip" ? [] : [path]),
    ...(gzip ? [`${path}.gz`] : []),
  ]);
  expect(
    [...named, "manifest.json"].map((path) => `sessions/2026-11-21T00Z/r1/${path}`).toSorted(),
  ).toEqual(inFolder);
});

describe("after a rollback", () => {
  test("the same input finds nothing to do, and a withdrawn session needs --revise", async () => {
    const store = await published(FIRST, SECOND);
    await rollBack(store, EVE, 1, "Wrong feed");
    expect((await untouched(store, FIRST)).result).toMatchObject({
      outcome: "unchanged",
      publication: 3,
    });
    for (const run of [SECOND, { quotes: quotesOf({ a: 10.5, b: 5 }) }]) {
      const { code, said } = await untouched(store, run);
      expect([code, said[0]]).toEqual([
        4,
        'Session 2026-11-21T00Z was published and rolled back (Wrong feed); to publish it again, give --revise "reason"',
      ]);
    }
    expect(await mustPublish(store, { ...SECOND, revise: "Right after all" })).toBe(
      "2026-11-21T00Z/r2",
    );
    expect((await untouched(store, SECOND)).result?.outcome).toBe("unchanged");
    const manifest = await headJson(store, "manifest.json");
    expect(manifest.parent.session_utc).toBe("2026-11-20T12:00:00.000Z");
  });

  test("also if the session before was revised, or a later one was published", async () => {
    const store = await published(FIRST, SECOND);
    await rollBack(store, EVE, 1, "Wrong feed");
    await mustPublish(store, {
      session: EVE,
      quotes: quotesOf({ a: 10.25, b: 5 }),
      revise: "Better",
    });
    expect((await untouched(store, SECOND)).said[0]).toContain("(Wrong feed)");
    await mustPublish(store, { ...SECOND, session: NOON });
    expect((await untouched(store, SECOND)).said[0]).toMatch(/older than the head/);
  });

  test("between revisions of one session, the message names the reason", async () => {
    const revised: Run = { quotes: quotesOf({ a: 11.5, b: 5 }) };
    const store = await published(FIRST, SECOND, { ...revised, revise: "Typing error" });
    await rollBack(store, "2026-11-21T00Z", 1, "It was none");
    const { code, said } = await untouched(store, revised);
    expect([code, said[0]]).toEqual([4, expect.stringContaining("(It was none)")]);
    expect((await untouched(store, SECOND)).result?.outcome).toBe("unchanged");
    expect(await mustPublish(store, { ...revised, revise: "It was one" })).toBe(
      "2026-11-21T00Z/r3",
    );
  });

  test("a rollback forward reinstates the session", async () => {
    const store = await published(FIRST, SECOND);
    await rollBack(store, EVE, 1, "Wrong feed");
    await rollBack(store, "2026-11-21T00Z", 1, "Right after all");
    expect((await untouched(store, SECOND)).result?.outcome).toBe("unchanged");
  });
});

describe("orphans", () => {
  test("a folder that no publication names does not block the next run, which takes the next number", async () => {
    const store = await published(FIRST);
    await store.create("sessions/2026-11-21T00Z/r1/catalog.json", Buffer.from("junk"));
    await store.create("sessions/2026-11-21T00Z/r7/pro/board.json", Buffer.from("junk"));
    expect(await mustPublish(store, SECOND)).toBe("2026-11-21T00Z/r8");
    expect((await untouched(store, SECOND)).result?.outcome).toBe("unchanged");
  });

  test("an existing ledger part with other bytes is damage", async () => {
    const probe = await published(FIRST, SECOND);
    const part = (await headJson(probe, "manifest.json")).ledger[0].key;
    const store = await published(FIRST);
    await store.create(part, Buffer.from("junk"));
    const { code, said } = await tryPublish(store, SECOND);
    expect([code, said[0]]).toEqual([6, `memory:/${part} already exists with other bytes`]);
    expect((await readHead(store))?.number).toBe(1);
  });
});

describe("a damaged head", () => {
  const FOLDER = "sessions/2026-11-21T00Z/r1/";
  const ledger = async (store: ObjectStore): Promise<string> =>
    (await headJson(store, "manifest.json")).ledger[0].key;
  const named: readonly [string, (store: ObjectStore) => Promise<string> | string][] = [
    ["manifest", () => `${FOLDER}manifest.json`],
    ["catalog", () => `${FOLDER}catalog.json`],
    ["corrections", () => `${FOLDER}corrections.json`],
    ["ledger part", ledger],
    ["publication", () => "publications/0000000002.json"],
  ];

  test.each(named)(
    "a flipped bit in its %s: 6, the file is named, and nothing changes",
    async (_, keyOf) => {
      const store = await published(FIRST, SECOND);
      const key = await keyOf(store);
      const bytes = (await store.get(key)) as Buffer;
      await store.delete(key);
      bytes[0] = (bytes[0] as number) ^ 1;
      await store.create(key, bytes);
      for (const run of [SECOND, { ...SECOND, session: NOON }, { ...SECOND, revise: "x" }]) {
        const { code, said } = await untouched(store, run);
        expect([code, said[0]]).toEqual([6, expect.stringContaining(`memory:/${key} is`)]);
      }
    },
  );

  test.each(named.slice(0, 4))("without its %s: 6", async (_, keyOf) => {
    const store = await published(FIRST, SECOND);
    const key = await keyOf(store);
    await store.delete(key);
    const { code, said } = await untouched(store, { ...SECOND, session: NOON });
    expect([code, said[0]]).toEqual([6, `memory:/${key} is missing`]);
  });
});

/** SHA-256 of bytes as `contentOf` gives them. */
const sha256 = (content = ""): string =>
  createHash("sha256").update(content, "latin1").digest("hex");

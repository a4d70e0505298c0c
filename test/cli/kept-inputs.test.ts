/** The inputs that a publish keeps, and who publishes why. */
import { rmSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { acceptanceOf } from "../../src/feed/gates.ts";
import { rerender } from "../../src/publish/rerender.ts";
import { sha256Hex } from "../../src/snapshot/digest.ts";
import type { InputEntry } from "../../src/snapshot/manifest.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { interceptWrites, InterceptedStore } from "../faults/crash-store.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { catalogOf, contentOf, headJson, lines, mustPublish, quotesOf } from "./small-market.ts";
import { tryPublish } from "./small-market.ts";
import { inputFolder, runIn } from "./publish-folder.ts";
import { changeHead } from "./signed.ts";
import { NOON, published } from "./two-sessions.ts";

const CATALOG = catalogOf(["a", "b"]);
const FIRST = { catalog: CATALOG, quotes: quotesOf({ a: 10, b: 5 }) };
const CLOSES = lines("id,date,close_usd", "a,2026-11-19,10", "b,2026-11-19,5");

const inputsOf = async (store: ObjectStore): Promise<InputEntry[]> =>
  (await headJson(store, "manifest.json")).inputs;
const keysOf = async (store: ObjectStore): Promise<string[]> =>
  Object.keys(await contentOf(store)).filter((key) => key.startsWith("inputs/"));

describe("kept inputs", () => {
  test("each is one gzip member, named by its bytes and by where the run began", async () => {
    const store = new MemoryStore();
    const more = '{"id":"a","spot_usd":10}\n';
    await mustPublish(store, { ...FIRST, quotes: [FIRST.quotes, more], closes: CLOSES });
    const inputs = await inputsOf(store);
    const texts = [CATALOG, FIRST.quotes, more, CLOSES];
    expect(inputs).toMatchObject([
      { kind: "catalog", name: "catalog.csv", rows: 2 },
      { kind: "quotes", name: "quotes.csv", rows: 2 },
      { kind: "quotes", name: "quotes-2.ndjson", rows: 1 },
      { kind: "closes", name: "closes.csv", rows: 2 },
    ]);
    for (const [at, { key, bytes, bytes_sha256 }] of inputs.entries()) {
      const text = texts[at] as string;
      expect([bytes, bytes_sha256]).toEqual([Buffer.byteLength(text), sha256Hex(text)]);
      expect(key).toBe(`inputs/${sha256Hex(text)}-0.gz`);
      const stored = (await store.get(key)) as Buffer;
      expect(gunzipSync(stored).toString()).toBe(text);
      // No name, no time.
      expect(stored.subarray(0, 8).toString("hex")).toBe("1f8b080000000000");
    }
    expect(await keysOf(store)).toEqual(inputs.map(({ key }) => key).toSorted());
  });

  test("the parent's is named again where the bytes are the same; others get a key of their own", async () => {
    const store = new MemoryStore();
    await mustPublish(store, { ...FIRST, session: "2026-11-20T12Z" });
    const [catalog, quotes] = (await inputsOf(store)) as [InputEntry, InputEntry];
    const again = quotesOf({ a: 10.5, b: 5 });
    await mustPublish(store, { catalog: CATALOG, quotes: again });
    const now = await inputsOf(store);
    expect(now).toMatchObject([catalog, { key: `inputs/${sha256Hex(again)}-1.gz` }]);
    expect(await keysOf(store)).toHaveLength(3);
    // Not the parent's, but the one before: the key is new, as the key of a ledger part would be.
    await mustPublish(store, { session: NOON, quotes: FIRST.quotes });
    expect(await inputsOf(store)).toMatchObject([{ key: quotes.key.replace("-0.gz", "-2.gz") }]);
  });

  test("the same bytes twice are one object; an input without rows is also kept", async () => {
    const store = new MemoryStore();
    const none = "id,spot_usd\n";
    await mustPublish(store, { ...FIRST, quotes: [FIRST.quotes, FIRST.quotes, none] });
    const inputs = await inputsOf(store);
    expect(inputs.map(({ rows }) => rows)).toEqual([2, 2, 2, 0]);
    expect(inputs[1]?.key).toBe(inputs[2]?.key);
    expect(await keysOf(store)).toHaveLength(3);
  });

  test("they are no part of the identity", async () => {
    const [one, other] = [new MemoryStore(), new MemoryStore()];
    await mustPublish(one, { ...FIRST, by: "A", why: "B" });
    const quotes = '[{"id":"b","spot_usd":5},{"id":"a","spot_usd":10}]';
    await mustPublish(other, { ...FIRST, quotes });
    const [a, b] = [await headJson(one, "manifest.json"), await headJson(other, "manifest.json")];
    expect(a.identity).toBe(b.identity);
    expect(a.inputs[1].bytes_sha256).not.toBe(b.inputs[1].bytes_sha256);
  });

  test("they are written before the manifest; a dry run, a refused run and one with nothing to do write none", async () => {
    const store = new MemoryStore();
    const writes: string[] = [];
    const told = new InterceptedStore(
      store,
      interceptWrites((_step, { key }, run) => {
        writes.push(key.replace(/^(\w+)\/.*?([^/]*)$/, "$1 $2"));
        return run();
      }),
    );
    await mustPublish(told, { ...FIRST, dryRun: true });
    await tryPublish(told, { ...FIRST, quotes: quotesOf({ a: -1 }) });
    expect(writes.filter((key) => key.startsWith("inputs"))).toEqual([]);
    await mustPublish(told, FIRST);
    const at = writes.findLastIndex((key) => key.startsWith("inputs"));
    expect(at).toBeGreaterThan(0);
    expect(writes.indexOf("sessions manifest.json")).toBeGreaterThan(at);
    const before = writes.length;
    await mustPublish(told, { ...FIRST, quotes: lines("id,spot_usd", "b,5", "a,10") });
    expect(writes.slice(before)).toEqual([]);
  });

  test("a run that finds its key taken goes on if the content is its own, whatever compressed it", async () => {
    const text = FIRST.quotes;
    const key = `inputs/${sha256Hex(text)}-0.gz`;
    const store = new MemoryStore();
    await store.create(key, gzipSync(text, { level: 1 }));
    await mustPublish(store, FIRST);
    expect((await inputsOf(store))[1]?.key).toBe(key);
    for (const other of [gzipSync(`${text}\n`), gzipSync("id\n"), Buffer.from(text)]) {
      const taken = new MemoryStore();
      await taken.create(key, other);
      const { code, said } = await tryPublish(taken, FIRST);
      expect([code, said]).toEqual([6, [expect.stringContaining(`memory:/${key} is damaged: `)]]);
      expect(await taken.get("publications/0000000001.json")).toBe(null);
    }
  });

  test("a run that names the parent's again, which is lost, is damage", async () => {
    const store = new MemoryStore();
    await mustPublish(store, { ...FIRST, session: "2026-11-20T12Z" });
    const [{ key }] = (await inputsOf(store)) as [InputEntry];
    await store.delete(key);
    const { code, said } = await tryPublish(store, {
      catalog: CATALOG,
      quotes: quotesOf({ a: 11, b: 5 }),
    });
    expect([code, said]).toEqual([6, [`memory:/${key} is missing`]]);
  });

  test.each(["sessions/x", "inputs/x.gz", `inputs/${"0".repeat(64)}-0.gz`, "../x"])(
    "a manifest that names %s as an input is damage",
    async (key) => {
      const store = new MemoryStore();
      await mustPublish(store, FIRST);
      await changeHead(store, ({ inputs }) => ({
        inputs: inputs.map((input) => ({ ...input, key })),
      }));
      const { code, said } = await tryPublish(store, {
        session: NOON,
        quotes: quotesOf({ a: 11, b: 5 }),
      });
      expect([code, said.join()]).toEqual([
        6,
        expect.stringContaining(
          `names "${key}" as an input, expected inputs/${sha256Hex(CATALOG)}-`,
        ),
      ]);
    },
  );
});

describe("--by and --why", () => {
  const run = {
    session: NOON,
    quotes: quotesOf({ a: 24, b: 5 }),
    maxIndexMoveMicros: 200_000_000,
    accept: [acceptanceOf("moves:a")],
    by: "A. Operator",
    why: "The source confirmed it",
  };

  test("stand in the manifest and in each judgement, and in no file and no entry of the log", async () => {
    const store = await published();
    await mustPublish(store, run);
    const { by, why } = run;
    const judgement = { gate: "moves", contract: "a", measured: 100, limit: 50, by, why };
    expect(await headJson(store, "manifest.json")).toMatchObject({
      by,
      why,
      judgements: [judgement],
    });
    const told = Object.entries(await contentOf(store))
      .filter(([, text]) => text.includes(by) || text.includes(why))
      .map(([key]) => key);
    expect(told).toEqual([`sessions/${NOON}/r1/manifest.json`]);
  });

  test("a run without them has null; a rerender has its own and keeps the judgements' ones", async () => {
    const store = await published();
    expect(await headJson(store, "manifest.json")).toMatchObject({ by: null, why: null });
    await mustPublish(store, run);
    // As another version of the program would have rendered it.
    await changeHead(store, ({ files }) => ({
      files: files.filter(({ path }) => path !== "report.html"),
    }));
    const clock = { now: () => Date.parse("2026-11-21T12:30:00Z") };
    await rerender("New columns", { dryRun: false, by: "B" }, store, clock, () => {});
    expect(await headJson(store, "manifest.json")).toMatchObject({
      by: "B",
      why: null,
      judgements: [{ gate: "moves", by: run.by, why: run.why }],
    });
  });

  test.each([
    ["--by", 100],
    ["--why", 500],
  ])("%s has one line of at most %i characters", async (option, max) => {
    const folder = inputFolder();
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const line = `publish --catalog c.csv --quotes q.csv --store x --dry-run ${option}`;
    expect((await runIn(folder, `${line} ${"x".repeat(max)}`)).code).toBe(0);
    for (const text of ["x".repeat(max + 1), "", "a\nb"]) {
      const { code, stderr } = await runIn(folder, `${line} ${text}`);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`1 to ${max} characters`)]);
    }
  });
});

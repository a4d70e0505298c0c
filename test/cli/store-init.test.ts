/** `store init`, and `publish` into stores without its mark. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { inputFolder, jsonIn } from "./publish-folder.ts";
import { inProcess } from "./run.ts";

let folder: string;
beforeEach(() => {
  folder = inputFolder();
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The folder as it is: nothing begins the store before. */
const run = (line: string) => inProcess(line.split(" "), { cwd: folder, begins: false });
const PUBLISH = "publish --catalog c.csv --quotes q.csv --store x";
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

test("marks a new store once, with a random id and the instant", async () => {
  expect(await run("store init --store x")).toMatchObject({
    code: 0,
    stdout: "Marked a new store at x.\n",
  });
  const mark = jsonIn(folder, "x/store.json");
  expect(mark).toEqual({ id: expect.stringMatching(UUID), at: "2026-11-21T00:05:00.000Z" });
  expect(await run("store init --store x")).toMatchObject({
    code: 0,
    stdout: "There is a store at x already.\n",
  });
  expect(jsonIn(folder, "x/store.json")).toEqual(mark);
  const other = await run("store init --store y --json");
  expect(JSON.parse(other.stdout)).toEqual({ store: "y", created: true });
  expect(jsonIn(folder, "y/store.json").id).not.toBe(mark.id);
  expect((await run(PUBLISH)).code).toBe(0);
  expect(JSON.parse((await run("store init --store x --json")).stdout)["created"]).toBe(false);
  expect((await run("snapshots verify --all --store x")).code).toBe(0);
});

test.each([
  ["no folder", () => {}],
  ["the empty folder of a disk that is missing", () => mkdirSync(join(folder, "x"))],
])("publish begins no log in %s, and names the command", async (_what, prepare) => {
  prepare();
  const before = readdirSync(folder, { recursive: true });
  for (const more of ["", " --dry-run", " --json"]) {
    const { code, stdout, stderr } = await run(PUBLISH + more);
    expect([code, stdout + stderr]).toEqual([5, expect.stringContaining("chipboard store init")]);
  }
  const rerender = await run("publish --rerender why --store x");
  expect([rerender.code, rerender.stderr]).toEqual([5, expect.stringContaining("store init")]);
  expect(readdirSync(folder, { recursive: true })).toEqual(before);
});

test("a store of an older release, with a log and no mark, goes on and gets none", async () => {
  await run("store init --store x");
  expect((await run(PUBLISH)).code).toBe(0);
  rmSync(join(folder, "x/store.json"));
  const again = await run("store init --store x --json");
  expect(JSON.parse(again.stdout)).toEqual({ store: "x", created: false });
  expect(readdirSync(join(folder, "x"))).not.toContain("store.json");
  expect((await run(`${PUBLISH} --revise why --attribution Other`)).code).toBe(0);
  expect((await run("snapshots verify --all --store x")).code).toBe(0);
});

test("a mark that cannot be read is damage", async () => {
  mkdirSync(join(folder, "x"));
  writeFileSync(join(folder, "x/store.json"), "{}\n");
  for (const line of ["store init --store x", PUBLISH]) {
    const { code, stderr } = await run(line);
    expect([code, stderr]).toEqual([
      6,
      expect.stringContaining("x/store.json is not the mark of a store"),
    ]);
  }
});

test("a copy and a mirror have the mark, and a repair of all puts it back", async () => {
  await run("store init --store x");
  await run(PUBLISH);
  const mark = readFileSync(join(folder, "x/store.json"), "utf8");
  expect((await run("snapshots copy x plain")).code).toBe(0);
  expect((await run("snapshots copy x mirror --mirror")).code).toBe(0);
  for (const copy of ["plain", "mirror"]) {
    expect(readFileSync(join(folder, copy, "store.json"), "utf8")).toBe(mark);
  }
  expect(JSON.parse((await run("snapshots copy x plain --json")).stdout)["outcome"]).toBe(
    "unchanged",
  );
  await run("store init --store begun");
  const refused = await run("snapshots copy x begun");
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining("begun/store.json")]);
  rmSync(join(folder, "x/store.json"));
  const repaired = await run("snapshots repair --all --from plain --store x --json");
  expect(JSON.parse(repaired.stdout)).toMatchObject({ whole: true, put_back: ["store.json"] });
  expect(readFileSync(join(folder, "x/store.json"), "utf8")).toBe(mark);
});

test("init begins its two stores, so that the scheduled job can publish", async () => {
  expect((await run("init prices")).code).toBe(0);
  const marks = ["snapshots", "samples"].map((name) => jsonIn(folder, `prices/${name}/store.json`));
  expect(marks.every(({ id }) => UUID.test(id))).toBe(true);
  expect(marks[0].id).not.toBe(marks[1].id);
});

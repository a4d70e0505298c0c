/** `export`: its options and output, and the folders that it replaces. */
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { replaceFolder } from "../../src/hosts/files/folder.ts";
import type { SiteFile } from "../../src/hosts/files/site.ts";
import { DamageError } from "../../src/lib/errors.ts";
import { ROOT } from "../docs/documents.ts";
import type { Ran } from "../program/program.ts";
import { inProcess } from "./run.ts";

const STORE = join(ROOT, "snapshots/example");
const LIST = "chipboard-export.sha256";

let folder: string;
let site: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-export-"));
});
afterAll(() => rm(folder, { recursive: true }));
beforeEach(async () => {
  site = join(await mkdtemp(join(folder, "case-")), "site");
});

const run = (...args: string[]): Promise<Ran> =>
  inProcess(["export", site, "--store", STORE, ...args]);
const exported = (): Promise<Ran> => run("--public-url", "https://prices.example");

/** The names beside the site: nothing may be left there. */
const beside = async (): Promise<string[]> => readdir(join(site, ".."));

describe("the output", () => {
  test("names publication, folder, size and address", async () => {
    const { code, stdout } = await exported();
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        /^Exported 2026-11-21T00Z\/r1, publication 2, to \S+: \d+ files, 0\.\d MB, for https:\/\/prices\.example\/\n$/,
      ),
    ]);
    expect(await beside()).toEqual(["site"]);
  });

  test("as JSON", async () => {
    const ran = await run(
      "--public-url",
      "https://prices.example/p/",
      "--service",
      "https://api.example",
      "--json",
    );
    const list = (await readFile(join(site, LIST), "utf8")).trimEnd().split("\n");
    expect(JSON.parse(ran.stdout)).toEqual({
      folder: site,
      public_url: "https://prices.example/p",
      service: "https://api.example",
      snapshot: "2026-11-21T00Z/r1",
      publication: 2,
      files: list.length,
      bytes: expect.any(Number),
    });
  });

  test("shows the operator's terms on every page", async () => {
    const plans = join(site, "../plans.json");
    await writeFile(plans, JSON.stringify({ contact: "desk@prices.example" }));
    expect((await run("--public-url", "https://prices.example", "--plans", plans)).code).toBe(0);
    expect(await readFile(join(site, "index.html"), "utf8")).toContain(
      'href="mailto:desk@prices.example"',
    );
  });
});

describe("the options", () => {
  test.each([
    [[], "required option '--public-url <url>' not specified"],
    [["--public-url", "prices.example"], "expected an address such as https://prices.example"],
    [
      ["--public-url", "https://prices.example", "--service", "api"],
      "expected an address such as https://prices.example",
    ],
  ])("%j is refused", async (args, message) => {
    const { code, stderr } = await run(...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(await beside()).toEqual([]);
  });

  test("a store without a publication is refused", async () => {
    const empty = join(site, "../empty");
    await mkdir(empty);
    const { code, stderr } = await run("--public-url", "https://prices.example", "--store", empty);
    expect([code, stderr]).toEqual([2, expect.stringContaining("holds no publication yet")]);
  });

  test("a log that nobody signed is refused with --verify-key", async () => {
    const key = join(site, "../key.pem");
    await inProcess(["keys", "signing", "--out", key]);
    const { code, stderr } = await run(
      "--public-url",
      "https://prices.example",
      "--verify-key",
      `${key}.pub`,
    );
    expect([code, stderr]).toEqual([6, expect.stringContaining("is unsigned")]);
    expect(await beside()).toEqual(["key.pem", "key.pem.pub"]);
  });
});

describe("the folder", () => {
  test("may be empty, and an export that is there is replaced whole", async () => {
    await mkdir(site);
    expect((await exported()).code).toBe(0);
    const list = await readFile(join(site, LIST), "utf8");
    await writeFile(join(site, "stale.html"), "of an earlier export");
    expect((await run("--public-url", "https://other.example")).code).toBe(0);
    expect(await readdir(site)).not.toContain("stale.html");
    expect(await readFile(join(site, LIST), "utf8")).not.toBe(list);
    expect((await exported()).code).toBe(0);
    expect(await readFile(join(site, LIST), "utf8")).toBe(list);
    expect(await beside()).toEqual(["site"]);
  });

  test("stays as it is if it holds a file of somebody else", async () => {
    await mkdir(site);
    await writeFile(join(site, "notes.txt"), "mine");
    const { code, stderr } = await exported();
    expect([code, stderr]).toEqual([2, expect.stringContaining('found "notes.txt" and no')]);
    expect(await readdir(site)).toEqual(["notes.txt"]);
    expect(await beside()).toEqual(["site"]);
  });

  test("is no link and no file", async () => {
    const elsewhere = join(site, "../elsewhere");
    await mkdir(elsewhere);
    await symlink(elsewhere, site);
    const { code, stderr } = await exported();
    expect([code, stderr]).toEqual([2, expect.stringContaining("found something else")]);
    expect(await readdir(elsewhere)).toEqual([]);
  });

  test("stays as it is if a file cannot be made, and nothing is left beside it", async () => {
    await exported();
    const before = await readFile(join(site, LIST), "utf8");
    const files = async function* (): AsyncGenerator<SiteFile> {
      yield { path: "index.html", bytes: Buffer.from("new") };
      throw new DamageError("the next one is damaged");
    };
    await expect(replaceFolder(site, files())).rejects.toThrow(DamageError);
    expect(await readFile(join(site, LIST), "utf8")).toBe(before);
    expect(await beside()).toEqual(["site"]);
  });

  test("is free an hour later of all that killed runs left beside it, and of nothing else", async () => {
    const old = new Date(Date.now() - 7_200_000);
    const left = async (name: string, inner: string, isOld: boolean): Promise<void> => {
      await mkdir(join(site, "..", name, inner), { recursive: true });
      if (isOld) await utimes(join(site, "..", name), old, old);
    };
    await left(".site-export-killed", "new/data", true);
    await left(".site-export-runs00", "new", false);
    await left(".site-export-foreign", "new", true);
    await left(".site-export-others", "mine", true);
    await left(".mine-export-killed", "new", true);
    expect((await exported()).code).toBe(0);
    const kept = [".mine-export-killed", ".site-export-foreign", ".site-export-others"];
    expect((await beside()).toSorted()).toEqual([...kept, ".site-export-runs00", "site"]);
  });

  test.each([
    "free/SHA256SUMS",
    "free/board.json",
    "free/contracts/n3-wafer.json.gz",
    "catalog.json",
    "manifest.json",
    "../../../publications/0000000001.json",
  ])("stays as it is if %s of the snapshot is damaged", async (path) => {
    await exported();
    const before = await readFile(join(site, LIST), "utf8");
    const store = join(site, "../store");
    await cp(STORE, store, { recursive: true });
    const file = join(store, "sessions/2026-11-21T00Z/r1", path);
    const bytes = await readFile(file);
    await writeFile(file, bytes.fill(0x20, bytes.length >> 1, (bytes.length >> 1) + 9));
    const { code, stderr } = await run("--public-url", "https://prices.example", "--store", store);
    expect([code, stderr]).toEqual([6, expect.stringContaining("error: ")]);
    expect(await readFile(join(site, LIST), "utf8")).toBe(before);
    expect((await beside()).toSorted()).toEqual(["site", "store"]);
  });
});

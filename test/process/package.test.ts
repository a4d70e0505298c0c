/** The packed package is compiled and complete, and has no file that it does not need. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PROGRAM } from "../../src/lib/version.ts";
import { catalogOf, quotesOf } from "../cli/market.ts";
import { outputOf, serve } from "../program/program.ts";

const ROOT = join(import.meta.dirname, "../..");
const run = promisify(execFile);

let folder: string;
let files: string[];
let bin: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-package-"));
  // A copy is packed, because packing compiles beside the sources, which other tests use.
  await run("git", ["clone", "-q", ROOT, join(folder, "copy")]);
  await run("cp", ["-r", "src", "bin", "package.json", join(folder, "copy")], { cwd: ROOT });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "copy/node_modules"));
  const packed = await run("npm", ["pack", "--json", "--pack-destination", folder], {
    cwd: join(folder, "copy"),
  });
  const listed = JSON.parse(packed.stdout.slice(packed.stdout.indexOf("[\n")));
  files = listed[0].files.map(({ path }: { path: string }) => path);
  // Installed below node_modules, where Node does not run TypeScript.
  const place = join(folder, "node_modules");
  mkdirSync(join(place, "chipboard"), { recursive: true });
  const archive = join(folder, listed[0].filename);
  await run("tar", ["xzf", archive, "--strip-components=1", "-C", join(place, "chipboard")]);
  symlinkSync(join(ROOT, "node_modules"), join(place, "chipboard/node_modules"));
  bin = join(place, "chipboard/bin/chipboard.js");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const chipboard = (line: string): Promise<string> =>
  outputOf(line.split(" "), { cwd: folder, script: bin });

test("has the compiled files and the documentation, and no sources or tests", () => {
  expect(files).toContain("README.md");
  expect(files).toContain("dist/src/demo/catalog.csv");
  const site = readdirSync(join(ROOT, "src/site")).filter((name) => !/\.(?:ts|json)$/.test(name));
  expect(files).toEqual(expect.arrayContaining(site.map((name) => `dist/src/site/${name}`)));
  const others = files.filter(
    (path) =>
      !/^dist\/(?:src|bin)\/[\w/-]+\.(?:js|json|csv)$/.test(path) &&
      !/^dist\/src\/site\/\w+\.(?:css|html|md|svg|txt)$/.test(path),
  );
  expect(others.toSorted()).toEqual([
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "bin/chipboard.js",
    "deploy/Dockerfile",
    "deploy/README.md",
    "deploy/backup",
    "deploy/chipboard",
    "deploy/chipboard-backup.service",
    "deploy/chipboard-backup.timer",
    "deploy/chipboard-notice@.service",
    "deploy/chipboard-prune.service",
    "deploy/chipboard-prune.timer",
    "deploy/chipboard-publish.service",
    "deploy/chipboard-publish.timer",
    "deploy/chipboard.service",
    "deploy/compose.yml",
    "deploy/monitoring/README.md",
    "deploy/monitoring/alerts.yml",
    "deploy/monitoring/grafana.json",
    "deploy/monitoring/prometheus.yml",
    "deploy/notice",
    "deploy/publish.yml",
    "dist/package.json",
    "docs/board.png",
    "docs/contract.png",
    "docs/design.md",
    "docs/report.png",
    "package.json",
    "snapshots/README.md",
    "test/bench/README.md",
  ]);
});

test("prints its version, publishes and serves", async () => {
  expect(await chipboard("--version")).toBe(`${PROGRAM.version}\n`);
  writeFileSync(join(folder, "c.csv"), catalogOf(["a", "b"]));
  writeFileSync(join(folder, "q.csv"), quotesOf({ a: 1, b: 2 }));
  await chipboard("publish --catalog c.csv --quotes q.csv --store store");
  const serving = await serve(["--store", "store"], { cwd: folder, script: bin });
  try {
    const headers = { "accept-encoding": "gzip" };
    const board = await fetch(`${serving.url}/api/public/v1/prices`, { headers });
    // Coded by the second thread, whose script is compiled as well.
    expect([board.status, board.headers.get("content-encoding")]).toEqual([200, "gzip"]);
    expect((await fetch(serving.url)).status).toBe(200);
  } finally {
    expect(await serving.end()).toBe(0);
  }
});

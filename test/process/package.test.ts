/**
 * What `npm run release` gives to operators: a package that is compiled and complete and has no file that it does not
 * need, the list of packages that it runs with, and checksums.
 */
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished } from "vitest";
import { PROGRAM } from "../../src/lib/version.ts";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { testWith } from "../http/needed-tools.ts";
import { MADE, PAGES } from "../docs/documents.ts";
import { NOW, outputOf, serve } from "../program/program.ts";
import { buildPythonPackage } from "../../tools/release/python-package.ts";

const ROOT = join(import.meta.dirname, "../..");
const run = promisify(execFile);
const ARCHIVE = `chipboard-${PROGRAM.version}.tgz`;
const SBOM = `chipboard-${PROGRAM.version}.cdx.json`;
const PYTHON_VERSION = PROGRAM.version.replace("-dev", ".dev0");
const WHEEL = `chipboard_client-${PYTHON_VERSION}-py3-none-any.whl`;
const PYTHON_SOURCES = `chipboard_client-${PYTHON_VERSION}.tar.gz`;
/** Debian installs what builds packages for this one. Without it there is no release. */
const PYTHON = "/usr/bin/python3";
const test = testWith(PYTHON, "build, setuptools, wheel");

let folder: string;
let files: string[];
let bin: string;
let launcher: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-package-"));
  // A copy is packed, because packing compiles beside the sources, which other tests use.
  await run("git", ["clone", "-q", ROOT, join(folder, "copy")]);
  const manifests = ["package.json", "package-lock.json", "tools/package.json"];
  const sources = ["src", "bin", "clients", "deploy", "tools/release", ...manifests];
  await run("cp", ["-r", "--parents", ...sources, join(folder, "copy")], {
    cwd: ROOT,
  });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "copy/node_modules"));
  symlinkSync(join(ROOT, "tools/node_modules"), join(folder, "copy/tools/node_modules"));
  await release("released");
  const archive = join(folder, "released", ARCHIVE);
  const listed = await run("tar", ["tzf", archive]);
  files = listed.stdout
    .trimEnd()
    .split("\n")
    .map((path) => path.replace("package/", ""));
  // Installed as npm does it: below node_modules, where Node does not run TypeScript, beside its
  // dependencies.
  const place = join(folder, "node_modules");
  mkdirSync(join(place, "chipboard"), { recursive: true });
  await run("tar", ["xzf", archive, "--strip-components=1", "-C", join(place, "chipboard")]);
  for (const name of readdirSync(join(ROOT, "node_modules"))) {
    symlinkSync(join(ROOT, "node_modules", name), join(place, name));
  }
  bin = join(place, "chipboard/bin/chipboard.js");
  launcher = join(place, "chipboard/deploy/run");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const release = (name: string): Promise<unknown> => {
  const script = join(folder, "copy/tools/release/make-release.ts");
  return run(process.execPath, [script, join(folder, name)]);
};

const chipboard = (line: string): Promise<string> =>
  outputOf(line.split(" "), { cwd: folder, script: bin });

/** The texts of src/docs are in the package as documents; the Python client has a package of its own. */
const isPacked = (page: string): boolean => !/^(?:src|clients|\.github)\//.test(page);

test("has the compiled files and the documentation, and no sources or tests", () => {
  expect(files).toEqual(expect.arrayContaining([...PAGES, ...MADE].filter(isPacked)));
  expect(files).toEqual(
    expect.arrayContaining(["dist/src/demo/catalog.csv", "dist/src/demo/plans.json"]),
  );
  const templates = readdirSync(join(ROOT, "src/commands/init"));
  expect(files).toEqual(
    expect.arrayContaining(templates.map((name) => `dist/src/commands/init/${name}`)),
  );
  const site = readdirSync(join(ROOT, "src/site"), { recursive: true, encoding: "utf8" }).filter(
    (name) => name !== "documents" && !/^[\w-]+\.(?:ts|json)$/.test(name),
  );
  expect(files).toEqual(expect.arrayContaining(site.map((name) => `dist/src/site/${name}`)));
  const others = files.filter(
    (path) =>
      !/^dist\/(?:src\/(?!docs\/)|bin\/)[\w/-]+\.(?:js|json|csv)$/.test(path) &&
      !/^dist\/src\/commands\/init\/[\w.]+$/.test(path) &&
      !/^dist\/src\/site\/[\w-]+\.(?:css|html|ico|png|svg|webp)$/.test(path) &&
      !/^dist\/src\/site\/documents\/[\w-]+\.(?:html|json|md|txt)$/.test(path) &&
      !/^docs\/(?:explain|operate|reference)\/[\w-]+\.md$/.test(path),
  );
  expect(others.toSorted()).toEqual([
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "bin/chipboard.js",
    "deploy/Caddyfile",
    "deploy/Dockerfile",
    "deploy/README.md",
    "deploy/backup",
    "deploy/chipboard",
    "deploy/chipboard-backup.service",
    "deploy/chipboard-backup.timer",
    "deploy/chipboard-guard.service",
    "deploy/chipboard-guard.timer",
    "deploy/chipboard-mcp.service",
    "deploy/chipboard-notice@.service",
    "deploy/chipboard-prune.service",
    "deploy/chipboard-prune.timer",
    "deploy/chipboard-publish.service",
    "deploy/chipboard-publish.timer",
    "deploy/chipboard.nft",
    "deploy/chipboard.service",
    "deploy/chipboard.socket",
    "deploy/chipboard@.service",
    "deploy/compose.yml",
    "deploy/edge/door.json",
    "deploy/edge/wrangler.json",
    "deploy/fly-start",
    "deploy/fly.toml",
    "deploy/guard",
    "deploy/kubernetes.yml",
    "deploy/monitoring/alerts.yml",
    "deploy/monitoring/grafana.json",
    "deploy/monitoring/prometheus.yml",
    "deploy/nginx.conf",
    "deploy/notice",
    "deploy/publish.yml",
    "deploy/run",
    "deploy/server.json",
    "deploy/watched",
    "dist/clients/python/chipboard_client/__init__.py",
    "dist/deploy/edge/door.json",
    "dist/deploy/edge/wrangler.json",
    "dist/edge/door.js",
    "dist/edge/worker.js",
    "dist/package.json",
    "docs/README.md",
    "docs/board.png",
    "docs/contract.png",
    "docs/report.png",
    "npm-shrinkwrap.json",
    "package.json",
    "snapshots/README.md",
  ]);
});

test("checksums of it and of its SBOM, and the same bytes when it is made again", async () => {
  const released = join(folder, "released");
  const names = [SBOM, ARCHIVE, WHEEL, PYTHON_SOURCES];
  expect(readdirSync(released).toSorted()).toEqual(["SHA256SUMS", ...names].toSorted());
  const { stdout } = await run("sha256sum", ["-c", "SHA256SUMS"], { cwd: released });
  expect(stdout).toBe(names.map((name) => `${name}: OK\n`).join(""));
  await release("again");
  for (const name of readdirSync(released)) {
    const first = await readFile(join(released, name));
    expect([name, (await readFile(join(folder, "again", name))).equals(first)]).toEqual([
      name,
      true,
    ]);
  }
});

test("the SBOM lists the packages that it runs with, by version and digest, and no place", async () => {
  const text = await readFile(join(folder, "released", SBOM), "utf8");
  const { metadata, components } = JSON.parse(text);
  expect(metadata.component).toMatchObject({ name: "chipboard", version: PROGRAM.version });
  const { dependencies, devDependencies } = JSON.parse(
    await readFile(join(ROOT, "package.json"), "utf8"),
  );
  const named = new Map<string, object>(
    components.map((component: { "bom-ref": string }) => [component["bom-ref"], component]),
  );
  for (const name of Object.keys(dependencies)) {
    const installed = await readFile(join(ROOT, "node_modules", name, "package.json"), "utf8");
    const { version } = JSON.parse(installed);
    const hashes = [{ alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) }];
    expect([name, named.get(`${name}@${version}`)]).toMatchObject([name, { hashes }]);
  }
  for (const tool of ["vitest", "playwright-core"]) {
    expect(Object.keys(devDependencies)).toContain(tool);
    expect(text).not.toContain(`"pkg:npm/${tool}@`);
  }
  expect(text).not.toMatch(/file:|"url": "https?:\/\/[^"]*\.tgz|\/tmp\//);
});

test("prints its version, publishes and serves", async () => {
  expect(await chipboard("--version")).toBe(`${PROGRAM.version}\n`);
  writeFileSync(join(folder, "c.csv"), catalogOf(["a", "b"]));
  writeFileSync(join(folder, "q.csv"), quotesOf({ a: 1, b: 2 }));
  await chipboard("publish --catalog c.csv --quotes q.csv --store store");
  await chipboard("state init");
  const serving = await serve(["--store", "store"], { cwd: folder, script: bin });
  try {
    const headers = { "accept-encoding": "gzip" };
    const board = await fetch(`${serving.url}/api/public/v1/prices`, { headers });
    expect([board.status, board.headers.get("content-encoding")]).toEqual([200, "gzip"]);
    expect((await fetch(serving.url)).status).toBe(200);
  } finally {
    expect(await serving.end()).toBe(0);
  }
});

test("the wheel names licence, author and home page, as far as they are configured", async () => {
  const code =
    "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nprint(z.read(next(n for n in z.namelist() if n.endswith('/METADATA'))).decode())";
  const metadataOf = async (wheel: string): Promise<string> =>
    (await run(PYTHON, ["-c", code, wheel])).stdout;
  const owned = mkdtempSync(join(folder, "owned-"));
  const owner = { author: 'A. "B" Desk', homepage: "https://prices.example" };
  buildPythonPackage(join(ROOT, "clients/python"), owned, { license: "Desk licence 1", ...owner });
  const text = await metadataOf(join(owned, WHEEL));
  expect(text).toMatch(/^License: Desk licence 1$/m);
  expect(text).toMatch(/^Author: A\. "B" Desk$/m);
  expect(text).toMatch(/^Project-URL: Homepage, https:\/\/prices\.example$/m);
  const { license } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  expect(await metadataOf(join(folder, "released", WHEEL))).toContain(`License: ${license}\n`);
});

test("the Python client, in an empty environment, from wheel and sources", async () => {
  writeFileSync(join(folder, "parts.csv"), catalogOf(["a", "b"]));
  writeFileSync(join(folder, "levels.csv"), quotesOf({ a: 1, b: 2 }));
  await chipboard("publish --catalog parts.csv --quotes levels.csv --store watched");
  await chipboard("accounts add watcher --tier pro");
  const [key = ""] = (await chipboard("keys create watcher")).split("\n");
  const serving = await serve(["--store", "watched", "--state", "state"], {
    cwd: folder,
    script: bin,
  });
  writeFileSync(join(folder, "rules.json"), '[{"id": "b", "above": 1}]');
  try {
    for (const [name, options] of [
      [WHEEL, []],
      // Sources are built with what Debian has.
      [PYTHON_SOURCES, ["--system-site-packages"]],
    ] as const) {
      const env = join(folder, name.includes(".whl") ? "wheel" : "sources");
      await run(PYTHON, ["-m", "venv", ...options, env]);
      const python = join(env, "bin/python");
      const pip = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation"];
      await run(python, [...pip, join(folder, "released", name)]);
      const alone = { cwd: env, env: { CHIPBOARD_URL: serving.url, CHIPBOARD_KEY: key, PATH: "" } };
      const version = await run(python, ["-m", "chipboard_client", "--version"], alone);
      expect(version.stdout).toBe(`${PYTHON_VERSION}\n`);
      const watch = ["watch", "../rules.json", "--once", "--state", "alerts.json"];
      const { stdout } = await run(python, ["-m", "chipboard_client", ...watch], alone);
      expect(JSON.parse(stdout)).toMatchObject({ event: "above", id: "b", value: 2 });
      const typed =
        "import chipboard_client, os; print(os.listdir(os.path.dirname(chipboard_client.__file__)))";
      expect((await run(python, ["-c", typed], alone)).stdout).toContain("'py.typed'");
    }
  } finally {
    expect(await serving.end()).toBe(0);
  }
});

test("writes a folder whose command runs the package, also when npx's link to it is gone", async () => {
  const link = join(folder, "linked");
  symlinkSync(bin, link);
  const printed = await outputOf(["init", "made"], { cwd: folder, script: link });
  expect(printed).toContain("./chipboard publish --store ./samples ");
  rmSync(link);
  const { stdout } = await run(join(folder, "made/chipboard"), ["publish"], {
    env: { PATH: "/usr/bin:/bin", CHIPBOARD_NOW: NOW },
  });
  expect(stdout).toContain("Published 2026-11-21T00Z/r1 as publication 1");
});

/** The command line of a Node before 24: one of this machine or, if it has none, this one that says it is old. */
function oldNode(): readonly string[] {
  const nodes = (process.env["PATH"] ?? "").split(delimiter).map((place) => join(place, "node"));
  const old = nodes.find((node) =>
    /^v(?:1?\d|2[0-3])\./.test(spawnSync(node, ["--version"], { encoding: "utf8" }).stdout),
  );
  const version = `Object.defineProperty(process.versions,"node",{value:"20.20.2"})`;
  return old === undefined
    ? [process.execPath, "--import", `data:text/javascript,${version}`]
    : [old];
}

test("npm installs what the SBOM lists, in the same versions", async () => {
  // Not below `folder`: npm removes unknown packages from modules above it, also through links.
  const place = mkdtempSync(join(tmpdir(), "chipboard-installed-"));
  onTestFinished(() => rmSync(place, { recursive: true }));
  const archive = join(folder, "released", ARCHIVE);
  await run("tar", ["xzf", archive, "--strip-components=1", "-C", place]);
  await run("npm", ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: place,
  });
  const lock = await readFile(join(place, "node_modules/.package-lock.json"), "utf8");
  const installed = Object.entries<{ version: string }>(JSON.parse(lock).packages).map(
    ([path, { version }]) => `${path.replace(/^.*node_modules\//, "")}@${version}`,
  );
  const sbom = JSON.parse(await readFile(join(folder, "released", SBOM), "utf8"));
  const listed = sbom.components.map((component: { "bom-ref": string }) => component["bom-ref"]);
  // It lists the Node of each kind of machine, and npm installs the one that fits.
  const isNode = (name: string): boolean => /^node-(?:bin-)?(?:darwin|linux|win)-/.test(name);
  const others = (names: readonly string[]): string[] =>
    [...new Set(names.filter((name) => !isNode(name)))].toSorted();
  expect(others(installed)).toEqual(others(listed));
  expect(listed).toEqual(expect.arrayContaining(installed.filter(isNode)));
  const command = join(place, "bin/chipboard.js");
  const [node = ""] = oldNode();
  // Whatever Node the machine has, the one that was installed runs the command.
  expect((await run(node, [command, "--version"])).stdout).toBe(`${PROGRAM.version}\n`);
});

describe("on a Node that is too old, with the right one beside it", () => {
  test("the command runs, and ends as it would without", () => {
    const [node = "", ...args] = oldNode();
    for (const script of [bin, join(ROOT, "bin/chipboard.js")]) {
      const call = (...words: string[]) =>
        spawnSync(node, [...args, script, ...words], { cwd: folder, encoding: "utf8" });
      expect(call("--version")).toMatchObject({ status: 0, stdout: `${PROGRAM.version}\n` });
      expect(call("no-command")).toMatchObject({ status: 2, stdout: "" });
    }
  });

  test("a signal ends it in order", async () => {
    const [node = "", ...args] = oldNode();
    const child = spawn(node, [...args, bin, "serve", "--port", "0", "--metrics-port", "off"], {
      cwd: folder,
      env: { ...process.env, CHIPBOARD_STORE: "store", CHIPBOARD_STATE: "state" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    for await (const piece of child.stdout) {
      said += String(piece);
      if (said.includes("listening on")) break;
    }
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    expect([said.includes("listening on"), code]).toEqual([true, 0]);
  });
});

describe("on a Node that is too old", () => {
  let alone: string;
  beforeAll(async () => {
    alone = mkdtempSync(join(tmpdir(), "chipboard-alone-"));
    await run("cp", [bin, alone]);
    writeFileSync(join(alone, "package.json"), '{"type":"module"}');
  });
  afterAll(() => rmSync(alone, { recursive: true }));

  test.each([
    "",
    "--help",
    "demo",
    "publish --quotes q.csv",
    "serve",
    "snapshots ls",
    "no-command",
  ])("chipboard %s names the Node version that it needs", (line) => {
    const [node = "", ...args] = oldNode();
    const script = join(alone, "chipboard.js");
    const words = [...args, script, ...line.split(" ").filter((word) => word !== "")];
    const { status, stdout, stderr } = spawnSync(node, words, { cwd: alone, encoding: "utf8" });
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^error: chipboard needs Node 24 or newer; this is Node [\d.]+\n$/);
  });

  test("npm scripts begin where it is said", async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    expect(Object.values(scripts).join("\n")).not.toContain("bin/chipboard.ts");
  });
});

describe("what units and command call", () => {
  const call = (script: string, ...words: string[]) =>
    spawnSync(script, words, {
      encoding: "utf8",
      env: { PATH: [join(folder, "old"), "/usr/bin", "/bin"].join(delimiter) },
    });
  beforeAll(() => {
    mkdirSync(join(folder, "old"));
    writeFileSync(join(folder, "old/node"), "#!/bin/sh\necho v20.20.2\n", { mode: 0o755 });
  });

  test("takes the Node that came with the package, whichever the machine has", () => {
    expect(call(launcher, "--version")).toMatchObject({
      status: 0,
      stdout: `${PROGRAM.version}\n`,
    });
    symlinkSync(join(folder, "node_modules/chipboard"), join(folder, "current"));
    expect(call(join(folder, "current/deploy/run"), "--version").stdout).toBe(
      `${PROGRAM.version}\n`,
    );
  });

  test("takes no Node that is too old", async () => {
    mkdirSync(join(folder, "alone/deploy"), { recursive: true });
    await run("cp", [launcher, join(folder, "alone/deploy/run")]);
    expect(call(join(folder, "alone/deploy/run"), "serve")).toMatchObject({
      status: 2,
      stdout: "",
      stderr: "error: chipboard needs Node 24 or newer\n",
    });
  });
});

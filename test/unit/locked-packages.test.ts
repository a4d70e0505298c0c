/** What `npm ci` installs, Node itself included, is in package-lock.json with a digest. */
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const manifestOf = (path: string) => JSON.parse(readFileSync(join(ROOT, path), "utf8"));

interface Locked {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: string;
  readonly cpu?: string;
  readonly hasInstallScript?: boolean;
}
/** The packages of the lock in this folder, without the one that has the lock. */
const lockedIn = (folder: string): [path: string, Locked][] =>
  Object.entries<Locked>(manifestOf(join(folder, "package-lock.json")).packages).filter(([path]) =>
    path.includes("node_modules/"),
  );
const dependencies = lockedIn(".");

test.each([".", "tools", "tools/bench", "tools/client"])(
  "every package of %s has a digest, and none names a registry",
  (folder) => {
    const packages = lockedIn(folder);
    expect(packages.length).toBeGreaterThan(10);
    const without = packages.filter(
      ([, { integrity }]) => integrity?.startsWith("sha512-") !== true,
    );
    expect(without).toEqual([]);
    expect(packages.filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  },
);

test("no install script runs", () => {
  const scripted = dependencies.filter(([, { hasInstallScript }]) => hasInstallScript);
  const names = scripted.map(([path]) => path.replace(/^.*node_modules\//, ""));
  const { allowScripts } = manifestOf("package.json");
  const allowed = names.filter((name) => allowScripts[name] !== false);
  expect(allowed).toEqual([]);
});

/** Its size on the disk (bytes), as `du` counts; packages within it have paths of their own. */
const diskBytes = (path: string): number =>
  readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => name !== "node_modules")
    .map((entry) => join(path, entry.name))
    .map((item) => (lstatSync(item).isDirectory() ? diskBytes(item) : lstatSync(item).blocks * 512))
    .reduce((sum, bytes) => sum + bytes, 0);

test("what runs takes at most 120 MB on the disk, without Node", () => {
  const paths = dependencies
    .filter(([path, { dev }]) => dev !== true && !/node_modules\/node-(?:bin-)?\w+-\w+$/.test(path))
    .map(([path]) => join(ROOT, path))
    .filter((path) => existsSync(path));
  const bytes = paths.reduce((sum, path) => sum + diskBytes(path), 0);
  expect(bytes).toBeGreaterThan(30e6);
  expect(bytes).toBeLessThan(120e6);
});

test("Node comes as a locked package for each platform", () => {
  const builds = Object.keys(manifestOf("package.json").optionalDependencies);
  const platforms = builds.map((name) => {
    const build = dependencies.find(([path]) => path === `node_modules/${name}`)?.[1];
    return [build?.optional, build?.os, build?.cpu];
  });
  expect(platforms.toSorted()).toEqual([
    [true, "darwin", "arm64"],
    [true, "darwin", "x64"],
    [true, "linux", "arm64"],
    [true, "linux", "x64"],
    [true, "win32", "x64"],
  ]);
  const installed = realpathSync(join(ROOT, "node_modules/.bin/node"));
  const modules = realpathSync(join(ROOT, "node_modules"));
  expect(builds).toContain(relative(modules, installed).split("/")[0]);
  expect(execFileSync(installed, ["--version"], { encoding: "utf8" })).toMatch(/^v2[46]\./);
});

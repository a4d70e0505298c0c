/**
 * `npm run release -- FOLDER`: writes what operators get: the package, an SBOM (CycloneDX) of the packages that it
 * runs with, wheel and source archive of the Python client, and SHA256SUMS of all. The same commit gives the same bytes.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { buildPythonPackage } from "./python-package.ts";

const ROOT = join(import.meta.dirname, "../..");
const [, , out] = process.argv;
if (out === undefined) {
  console.error("Usage: npm run release -- FOLDER");
  process.exit(2);
}
const folder = resolve(out);
mkdirSync(folder, { recursive: true });

const npm = (cwd: string, ...args: readonly string[]): string =>
  execFileSync("npm", args, { cwd, encoding: "utf8", maxBuffer: 1e8 });

/** A folder with what npm must know of the packages that run. With the others, it leaves out what both need. */
function runtimeLock(): string {
  const work = mkdtempSync(join(tmpdir(), "chipboard-release-"));
  const { devDependencies: _, ...manifest } = jsonOf("package.json");
  const lock = jsonOf("package-lock.json");
  const { devDependencies: __, ...top } = lock.packages[""];
  const others = Object.entries<{ dev?: boolean }>(lock.packages).filter(
    ([path, { dev }]) => path !== "" && dev !== true,
  );
  const packages = { "": top, ...Object.fromEntries(others) };
  writeFileSync(join(work, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(work, "package-lock.json"), JSON.stringify({ ...lock, packages }));
  return work;
}

const jsonOf = (name: string) => JSON.parse(readFileSync(join(ROOT, name), "utf8"));

// What the build prints comes first.
const printed = npm(ROOT, "pack", "--json", "--pack-destination", folder);
const [{ filename }] = JSON.parse(printed.slice(printed.indexOf("[\n")));

const work = runtimeLock();
const sbom = JSON.parse(
  npm(work, "sbom", "--sbom-format=cyclonedx", "--sbom-type=application", "--package-lock-only"),
);
rmSync(work, { recursive: true });
// Both are new in each run, and CycloneDX asks for neither.
delete sbom.serialNumber;
delete sbom.metadata.timestamp;
// npm takes it from the folder.
sbom.metadata.component.name = jsonOf("package.json").name;
const sbomName = filename.replace(/\.tgz$/, ".cdx.json");
writeFileSync(join(folder, sbomName), `${JSON.stringify(sbom, null, 1)}\n`);

const names = [
  sbomName,
  filename,
  ...buildPythonPackage(join(ROOT, "clients/python"), folder, jsonOf("package.json")),
];
const sums = names.map((name) => {
  const digest = createHash("sha256").update(readFileSync(join(folder, name)));
  return `${digest.digest("hex")}  ${name}\n`;
});
writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
console.log(`Wrote ${names.join(", ")} and SHA256SUMS to ${folder}`);

/**
 * `npm run release -- FOLDER`: writes what operators get: the package, an SBOM (CycloneDX) of the packages that it
 * runs with, and SHA256SUMS of both. The same commit gives the same bytes.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const [, , out] = process.argv;
if (out === undefined) {
  console.error("Usage: npm run release -- FOLDER");
  process.exit(2);
}
const folder = resolve(out);
mkdirSync(folder, { recursive: true });

const npm = (...args: readonly string[]): string =>
  execFileSync("npm", args, { cwd: ROOT, encoding: "utf8", maxBuffer: 1e8 });

// What the build prints comes first.
const printed = npm("pack", "--json", "--pack-destination", folder);
const [{ filename }] = JSON.parse(printed.slice(printed.indexOf("[\n")));

const sbom = JSON.parse(
  npm(
    "sbom",
    "--sbom-format=cyclonedx",
    "--sbom-type=application",
    "--package-lock-only",
    "--omit=dev",
  ),
);
// Both are new in each run, and CycloneDX asks for neither.
delete sbom.serialNumber;
delete sbom.metadata.timestamp;
// npm takes it from the folder.
sbom.metadata.component.name = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).name;
const sbomName = filename.replace(/\.tgz$/, ".cdx.json");
writeFileSync(join(folder, sbomName), `${JSON.stringify(sbom, null, 1)}\n`);

const sums = [sbomName, filename].map((name) => {
  const digest = createHash("sha256").update(readFileSync(join(folder, name)));
  return `${digest.digest("hex")}  ${name}\n`;
});
writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
console.log(`Wrote ${filename}, ${sbomName} and SHA256SUMS to ${folder}`);

/**
 * Builds the wheel and the source archive of `clients/python` with Debian's packages python3-build, python3-setuptools
 * and python3-wheel, from no registry. The same sources give the same bytes.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Debian installs them for this one. */
const PYTHON = "/usr/bin/python3";
/** The time of all files: the first that a wheel can have. */
const EPOCH_SECONDS = "315532800";

/**
 * Writes a source archive anew: setuptools takes times, owners and modes from the machine, and older ones leave the
 * hyphen in its name (PEP 625 wants an underscore).
 */
const REPACK = `import gzip, io, os, sys, tarfile
path, at = sys.argv[1], int(sys.argv[2])
named = lambda name: name.replace("chipboard-client-", "chipboard_client-", 1)
with tarfile.open(path) as old:
    files = [(named(member.name), old.extractfile(member).read()) for member in old if member.isfile()]
packed = io.BytesIO()
with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
    for name, body in sorted(files):
        member = tarfile.TarInfo(name)
        member.size, member.mtime, member.mode = len(body), at, 0o644
        new.addfile(member, io.BytesIO(body))
os.remove(path)
with open(named(path), "wb") as file:
    file.write(gzip.compress(packed.getvalue(), mtime=at))
`;

const python = (cwd: string, ...args: readonly string[]): string =>
  execFileSync(PYTHON, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, SOURCE_DATE_EPOCH: EPOCH_SECONDS },
  });

/** Whose package it is, as `package.json` says; a member that it lacks is left out. */
export interface Owner {
  readonly license?: string;
  readonly author?: string;
  readonly homepage?: string;
}

/** The lines of `[project]` in the description of the package. A text of JSON is one of TOML. */
const ownerLines = ({ license, author, homepage }: Owner): string =>
  [
    license !== undefined && `license = { text = ${JSON.stringify(license)} }`,
    author !== undefined && `authors = [{ name = ${JSON.stringify(author)} }]`,
    homepage !== undefined && `urls = { Homepage = ${JSON.stringify(homepage)} }`,
  ]
    .filter((line) => line !== false)
    .map((line) => `${line}\n`)
    .join("");

/** Writes both archives into the folder, and returns their names. Throws if a package of Debian is missing. */
export function buildPythonPackage(sources: string, folder: string, owner: Owner): string[] {
  try {
    python(folder, "-c", "import build, setuptools, wheel");
  } catch (error) {
    throw new Error("apt-get install python3-build python3-setuptools python3-wheel", {
      cause: error,
    });
  }
  const work = mkdtempSync(join(tmpdir(), "chipboard-python-"));
  try {
    // A copy, because the build writes beside the sources.
    cpSync(sources, work, {
      recursive: true,
      filter: (path) => !/__pycache__|egg-info/.test(path),
    });
    const project = join(work, "pyproject.toml");
    const text = readFileSync(project, "utf8");
    writeFileSync(
      project,
      text.replace(/^requires-python = .*\n/m, (line) => line + ownerLines(owner)),
    );
    for (const entry of readdirSync(work, { recursive: true, withFileTypes: true })) {
      chmodSync(join(entry.parentPath, entry.name), entry.isFile() ? 0o644 : 0o755);
    }
    python(work, "-m", "build", "--no-isolation");
    const built = join(work, "dist");
    for (const name of readdirSync(built).filter((each) => each.endsWith(".tar.gz"))) {
      python(built, "-c", REPACK, name, EPOCH_SECONDS);
    }
    cpSync(built, folder, { recursive: true });
    return readdirSync(built).toSorted();
  } finally {
    rmSync(work, { recursive: true });
  }
}

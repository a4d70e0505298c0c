/** The modules that a start of the program loads, and where Node keeps compiled code for the next one. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { PROGRAM } from "../../src/lib/version.ts";
import { COMMANDS } from "../../src/main.ts";

const ROOT = join(import.meta.dirname, "../..");
const REPORT = join(import.meta.dirname, "loaded.ts");
const NOBODY = 65_534;

interface Started {
  readonly stdout: string;
  readonly urls: readonly string[];
  readonly cache: string | null;
}

/** Runs `chipboard LINE` of an installation, without the settings of the tester. */
function start(line: string, installation = ROOT): Started {
  const words = ["--import", REPORT, join(installation, "bin/chipboard.js"), ...line.split(" ")];
  const env = { PATH: process.env["PATH"] };
  const { stdout, stderr } = spawnSync(process.execPath, words, { env, encoding: "utf8" });
  return { stdout, ...JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "") };
}

/** What `pattern` finds in the addresses of the modules, without repeats. */
const found = (urls: readonly string[], pattern: RegExp): string[] =>
  [...new Set(urls.flatMap((url) => pattern.exec(url)?.[1] ?? []))].toSorted();

const packagesOf = ({ urls }: Started): string[] =>
  found(urls, /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//);

const roomsOf = ({ urls }: Started): string[] => found(urls, /.*\/src\/(\w+)\/.+\.ts$/);

describe("a command loads only the modules that it needs:", () => {
  test("--version, the command tree", () => {
    const started = start("--version");
    expect(started.stdout).toBe(`${PROGRAM.version}\n`);
    expect([packagesOf(started), roomsOf(started)]).toEqual([["commander"], ["lib"]]);
  });

  test.each(COMMANDS.map(({ name }) => name))("%s --help, its options", (name) => {
    const started = start(`${name} --help`);
    expect(started.stdout).toContain(`chipboard ${name} `);
    expect(packagesOf(started)).toEqual(["commander"]);
  });

  test("snapshots ls, nothing that renders or serves", () => {
    const started = start("snapshots ls --store ./none");
    expect(packagesOf(started)).toEqual(["commander", "p-limit", "yocto-queue", "zod"]);
    const rooms = ["commands", "desk", "lib", "market", "ports", "snapshot", "store"];
    expect(roomsOf(started)).toEqual(rooms);
  });
});

describe("what Node compiles", () => {
  /** A checkout of its own. */
  function installation(): string {
    const place = realpathSync(mkdtempSync(join(tmpdir(), "chipboard-start-")));
    onTestFinished(() => rmSync(place, { recursive: true }));
    for (const name of ["bin", "src", "package.json"]) {
      cpSync(join(ROOT, name), join(place, name), { recursive: true });
    }
    symlinkSync(join(ROOT, "node_modules"), join(place, "node_modules"));
    return place;
  }

  test("is kept in the installation, where only its owner reads and writes", () => {
    const place = installation();
    const folder = join(place, ".compiled");
    for (const time of ["first", "second"]) {
      const { stdout, cache } = start("--version", place);
      expect([time, stdout]).toEqual([time, `${PROGRAM.version}\n`]);
      expect(cache).toContain(folder);
    }
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(readdirSync(folder, { recursive: true }).length).toBeGreaterThan(1);
  });

  const unsafe: Readonly<Record<string, (place: string, folder: string) => void>> = {
    "others can write to its folder": (_place, folder) => {
      mkdirSync(folder);
      chmodSync(folder, 0o777);
    },
    "the group can write to its folder": (_place, folder) => {
      mkdirSync(folder);
      chmodSync(folder, 0o770);
    },
    "others can write to the installation": (place) => chmodSync(place, 0o757),
    "the group can write to the installation": (place) => chmodSync(place, 0o775),
    "its folder is a link": (place, folder) => {
      mkdirSync(join(place, "elsewhere"));
      symlinkSync("elsewhere", folder);
    },
    "its folder is a file": (_place, folder) => writeFileSync(folder, ""),
  };
  const ofOthers: typeof unsafe = {
    "its folder belongs to somebody else": (_place, folder) => {
      mkdirSync(folder, { mode: 0o755 });
      chownSync(folder, NOBODY, NOBODY);
    },
    "the installation belongs to somebody else": (place) => chownSync(place, NOBODY, NOBODY),
  };

  function expectNotKept(prepare: (place: string, folder: string) => void): void {
    const place = installation();
    const folder = join(place, ".compiled");
    prepare(place, folder);
    const { stdout, cache } = start("--version", place);
    expect([stdout, cache]).toEqual([`${PROGRAM.version}\n`, null]);
    // Nothing was written, neither there nor behind a link.
    const written = existsSync(folder) && statSync(folder).isDirectory() ? readdirSync(folder) : [];
    expect(written).toEqual([]);
  }

  test.each(Object.entries(unsafe))("is not kept if %s", (_name, prepare) =>
    expectNotKept(prepare),
  );

  // Only root can give files away.
  test.runIf(process.geteuid?.() === 0).each(Object.entries(ofOthers))(
    "is not kept if %s",
    (_name, prepare) => expectNotKept(prepare),
  );
});

/** Tests that need a process: signals, permissions, and parallel publishers. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { STORE_MARK } from "../../src/store/paths.ts";
import { begin } from "../store/begun.ts";
import { verifySnapshots } from "../../src/desk/verify.ts";
import { parseSession } from "../../src/market/session.ts";
import { createState } from "../../src/state/open.ts";
import { readHead } from "../store/log-entries.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { testUnprivileged, testWith } from "../http/needed-tools.ts";
import { chipboard, NOW, serve } from "../program/program.ts";

const BIN = join(import.meta.dirname, "../../bin/chipboard");

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-process-"));
  writeFileSync(join(folder, "c.csv"), catalogOf(["a"]));
  writeFileSync(join(folder, "q.csv"), quotesOf({ a: 1 }));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The modes of all files and folders below `name`, without repeats: `d755`, `-644`. */
function modesBelow(name: string): string[] {
  const below = readdirSync(join(folder, name), { recursive: true, encoding: "utf8" });
  const modes = ["", ...below].map((path) => {
    const status = statSync(join(folder, name, path));
    return `${status.isDirectory() ? "d" : "-"}${(status.mode & 0o777).toString(8)}`;
  });
  return [...new Set(modes)].toSorted();
}

describe("standard output that cannot be written", () => {
  test("is one line on standard error, and exit code 1", async () => {
    const script = `"$NODE" ${BIN}.ts snapshots ls --store none --json >/dev/full`;
    const ended = promisify(execFile)("sh", ["-c", script], {
      cwd: folder,
      env: { NODE: process.execPath },
    });
    await expect(ended).rejects.toMatchObject({
      code: 1,
      stderr: "error: standard output cannot be written: ENOSPC: no space left on device, write\n",
    });
  });
});

test("a command that waits for what never comes is a failure", async () => {
  // The archive of a workbook hears of no failure of zlib.
  const failing = `import zlib from "node:zlib";
    zlib.DeflateRaw.prototype._transform = (_piece, _coding, then) => then(new Error("failed"));`;
  const { code, stderr } = await chipboard(
    "publish --catalog ../c.csv --quotes ../q.csv".split(" "),
    {
      cwd: mkdtempSync(join(folder, "unfinished-")),
      script: `${BIN}.js`,
      env: { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(failing)}` },
    },
  );
  expect(code).toBe(1);
  expect(stderr).toContain("error: The command ended before its work was done; run it again\n");
});

describe("files", () => {
  // The script of a checkout (ts), and the script of an installed package (js).
  test.each([
    ["0000", "ts", ["-640", "d750"]],
    ["0000", "js", ["-640", "d750"]],
    ["0077", "ts", ["-600", "d700"]],
  ])("umask %s, chipboard.%s: the group reads at most", async (umask, extension, expected) => {
    const name = `${umask}-${extension}`;
    const script = `umask ${umask}
      chipboard() { "$NODE" ${BIN}.${extension} "$@"; }
      chipboard store init --store ${name}/store
      chipboard publish --catalog c.csv --quotes q.csv --store ${name}/store --summary ${name}-summary
      chipboard snapshots copy ${name}/store ${name}/copies/copy
      chipboard snapshots inputs --store ${name}/store --out ${name}/out/inputs
      chipboard accounts add acme --tier pro --state ${name}/state
      chipboard state backup ${name}/state.sqlite --state ${name}/state
      chipboard keys create acme --state ${name}/state
      chipboard keys signing --out ${name}-key`;
    const env = { PATH: process.env["PATH"], NODE: process.execPath, CHIPBOARD_NOW: NOW };
    await promisify(execFile)("sh", ["-ec", script], { cwd: folder, env });
    for (const made of ["store", "copies", "out"]) {
      expect([made, modesBelow(`${name}/${made}`)]).toEqual([made, expected]);
    }
    expect(modesBelow(`${name}/state`)).toEqual(["-600", "d700"]);
    const mode = (file: string): string =>
      `-${(statSync(join(folder, file)).mode & 0o777).toString(8)}`;
    expect(mode(`${name}-summary`)).toBe(expected[0]);
    expect(mode(`${name}-key.pub`)).toBe(umask === "0077" ? "-600" : "-644");
    expect([mode(`${name}-key`), mode(`${name}/state.sqlite`)]).toEqual(["-600", "-600"]);
  });
});

testWith("script")("accounts rm asks on a terminal, and only a yes removes", async () => {
  const state = join(folder, "asked");
  await chipboard(["accounts", "add", "acme", "--tier", "pro", "--state", state]);
  const names = async (): Promise<string> =>
    (await chipboard(["accounts", "ls", "--state", state])).stdout;
  for (const [answer, said] of [
    ["", "Account acme stays."],
    ["n", "Account acme stays."],
    ["y", "Removed account acme and its 0 keys."],
  ] as const) {
    expect(await names()).toContain("acme");
    const command = `"$NODE" ${BIN}.ts accounts rm acme --state ${state}`;
    const asked = execFile("script", ["-qec", command, "/dev/null"], {
      env: { PATH: process.env["PATH"], NODE: process.execPath },
    });
    asked.stdin?.write(`${answer}\n`);
    let printed = "";
    asked.stdout?.on("data", (text: string) => (printed += text));
    const [code] = await once(asked, "close");
    expect([code, printed]).toEqual([
      0,
      expect.stringMatching(/Remove account acme and its 0 keys\? \[y\/N\]/),
    ]);
    expect(printed).toContain(said);
  }
  expect(await names()).toContain("No accounts");
});

test("SIGUSR1 does not open Node's debugger", async () => {
  await createState(join(folder, "s"));
  const serving = await serve(["--store", "none", "--state", "s"], { cwd: folder });
  serving.child.kill("SIGUSR1");
  for (let asked = 0; asked < 20; asked++) await fetch(`${serving.url}/healthz`);
  expect([await serving.end(), serving.stderr()]).toEqual([
    0,
    expect.not.stringContaining("Debugger"),
  ]);
});

testUnprivileged()("a source without read permission: 2", async () => {
  chmodSync(folder, 0o755);
  chmodSync(join(folder, "q.csv"), 0o000);
  onTestFinished(() => chmodSync(join(folder, "q.csv"), 0o644));
  const args = ["publish", "--catalog", "c.csv", "--quotes", "q.csv", "--store", "denied"];
  const denied = join(folder, "denied");
  await begin(new FolderStore(denied));
  chmodSync(denied, 0o755);
  chmodSync(join(denied, STORE_MARK), 0o644);
  const options = { cwd: folder, unprivileged: true, begins: false };
  const { code, stderr } = await chipboard(args, options);
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining("Cannot read q.csv: permission denied\n"),
  ]);
});

test("publishers at the same time, one of them of the next session", async () => {
  const args = ["publish", "--catalog", "c.csv", "--quotes", "q.csv", "--store", "x", "--json"];
  const env = { CHIPBOARD_NOW: "2026-11-21T12:05:00Z" };
  const ended = await Promise.all(
    ["2026-11-21T00Z", "2026-11-21T00Z", "2026-11-21T12Z"].map((session) =>
      chipboard([...args, "--session", session], { cwd: folder, env }),
    ),
  );
  // The later session is always published; the earlier one only if it is first.
  expect(ended[2]?.code).toBe(0);
  for (const { code, stdout } of ended.slice(0, 2)) {
    expect([0, 4]).toContain(code);
    if (code === 4)
      expect(JSON.parse(stdout).error.message).toMatch(/is older than the head, 2026-11-21T12Z/);
  }
  const store = new FolderStore(join(folder, "x"));
  expect((await verifySnapshots(store, "head")).damages).toEqual([]);
  expect((await readHead(store))?.session).toBe(parseSession("2026-11-21T12Z"));
});

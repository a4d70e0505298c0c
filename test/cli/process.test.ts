/** Signals, and the permissions of the files that the program creates. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { catalogOf, quotesOf } from "./market.ts";
import { NOW, start } from "./run.ts";

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

describe("files", () => {
  // The start of a checkout (ts), and that of an installed package (js).
  test.each([
    ["0000", "ts", ["-644", "d755"]],
    ["0000", "js", ["-644", "d755"]],
    ["0022", "ts", ["-644", "d755"]],
    ["0027", "ts", ["-640", "d750"]],
    ["0077", "ts", ["-600", "d700"]],
  ])("umask %s, chipboard.%s: only the owner writes", async (umask, extension, expected) => {
    const name = `${umask}-${extension}`;
    const script = `umask ${umask}
      chipboard() { "$NODE" ${BIN}.${extension} "$@"; }
      chipboard publish --catalog c.csv --quotes q.csv --store ${name}/store --summary ${name}-summary
      chipboard accounts add acme --tier pro --state ${name}/state
      chipboard keys create acme --state ${name}/state
      chipboard keys signing --out ${name}-key`;
    const env = { PATH: process.env["PATH"], NODE: process.execPath, CHIPBOARD_NOW: NOW };
    await promisify(execFile)("sh", ["-ec", script], { cwd: folder, env });
    expect(modesBelow(`${name}/store`)).toEqual(expected);
    expect(modesBelow(`${name}/state`)).toEqual(["-600", "d700"]);
    const mode = (file: string): string =>
      `-${(statSync(join(folder, file)).mode & 0o777).toString(8)}`;
    expect([mode(`${name}-summary`), mode(`${name}-key.pub`)]).toEqual([expected[0], expected[0]]);
    expect(mode(`${name}-key`)).toBe("-600");
  });
});

test("SIGUSR1 does not open Node's debugger", async () => {
  const args = ["serve", "--store", "none", "--state", "s", "--port", "0", "--metrics-port", "off"];
  const child = start(args, { cwd: folder });
  const ended = once(child, "close");
  let stderr = "";
  child.stderr?.on("data", (text) => (stderr += String(text)));
  const line = await new Promise<string>((resolve) => {
    child.stdout?.once("data", (text) => resolve(String(text)));
  });
  const url = /http:\S+/.exec(line)?.[0] ?? "";
  child.kill("SIGUSR1");
  for (let asked = 0; asked < 20; asked++) await fetch(`${url}/healthz`);
  child.kill("SIGTERM");
  expect([(await ended)[0], stderr]).toEqual([0, expect.not.stringContaining("Debugger")]);
});

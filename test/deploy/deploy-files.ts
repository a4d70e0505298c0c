/** The files of deploy/, and every command of the program. */
import { execFileSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { inProcess } from "../cli/run.ts";

export const ROOT = join(import.meta.dirname, "../..");
const DEPLOY = join(ROOT, "deploy");
/** The files at its top, without the files in folders. */
export const names = (await readdir(DEPLOY, { withFileTypes: true }))
  .filter((entry) => entry.isFile())
  .map(({ name }) => name);
const texts = new Map<string, string>();
for (const name of names) texts.set(name, await readFile(join(DEPLOY, name), "utf8"));
export const textOf = (name: string): string => texts.get(name) ?? "";

/** Every command with its options and variables, by its words: "snapshots prune" → --keep-days, … */
export async function allCommands(path = "", found = new Map<string, Set<string>>()) {
  const { stdout } = await inProcess([...path.split(" "), "--help"].filter((word) => word !== ""));
  found.set(path, new Set(stdout.match(/--[a-z0-9][a-z0-9-]*|\bCHIPBOARD_[A-Z0-9_]+/g)));
  const [, listed = ""] = /^Commands:\n((?: {2}.*\n)+)/m.exec(stdout) ?? [];
  for (const [, name = ""] of listed.matchAll(/^ {2}([a-z]+) /gm)) {
    if (name !== "help") await allCommands(`${path} ${name}`.trim(), found);
  }
  return found;
}

// oxlint-disable-next-line typescript/no-explicit-any -- its shape is what the tests check
export const yaml = (name: string): any => documents(name)[0];

/** All documents of a file. */
// oxlint-disable-next-line typescript/no-explicit-any -- the same
export function documents(name: string): any[] {
  const program = "import json,sys,yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))";
  const input = textOf(name).replace(/^on:/m, '"on":');
  return JSON.parse(execFileSync("python3", ["-c", program], { input, encoding: "utf8" }));
}

/** `state backup`, killed at each of its steps: the file is whole or not there, and remains are removed. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chipboard, outputOf } from "../program/program.ts";

const KILLER = join(import.meta.dirname, "killed-at.ts");

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-backup-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (line: string): Promise<string> => outputOf(line.split(" "), { cwd: folder });
const left = (): string[] =>
  readdirSync(join(folder, "backups")).filter((name) => !name.endsWith(".sqlite"));

test("a later backup removes the remains of one that was killed, after an hour", async () => {
  await run("accounts add acme --tier pro --state state");
  mkdirSync(join(folder, "backups"));
  let steps = 0;
  for (let code: number | null = null; code !== 0; steps += 1) {
    const file = `backups/${steps}.sqlite`;
    const env = { KILLED_AT: String(steps) };
    const args = ["state", "backup", file, "--state", "state"];
    ({ code } = await chipboard(args, { cwd: folder, preload: KILLER, env }));
    if (!readdirSync(join(folder, "backups")).includes(`${steps}.sqlite`)) continue;
    expect(await run(`accounts ls --state ${file}`)).toContain("acme");
  }
  // One kill before the folder is made, and one after it is removed, leave nothing.
  const leftovers = left();
  expect([leftovers.length, steps]).toEqual([4, 7]);

  // Nobody knows of these whether their backups still run.
  await run("state backup backups/young.sqlite --state state");
  expect(left()).toEqual(leftovers);

  const [kept = "", ...old] = leftovers;
  const others = ["x.unfinished-folder", "mine.unfinished-AbCdEf"];
  for (const name of others) {
    mkdirSync(join(folder, "backups", name));
    writeFileSync(join(folder, "backups", name, "notes.txt"), "mine");
  }
  const anHourAgo = Date.now() / 1_000 - 2 * 60 * 60;
  for (const name of [...old, ...others]) {
    const place = join(folder, "backups", name);
    for (const file of readdirSync(place)) utimesSync(join(place, file), anHourAgo, anHourAgo);
    utimesSync(place, anHourAgo, anHourAgo);
  }
  await run("state backup backups/late.sqlite --state state");
  expect(left()).toEqual([kept, ...others].toSorted());
  expect(readdirSync(join(folder, "backups/mine.unfinished-AbCdEf"))).toEqual(["notes.txt"]);
});

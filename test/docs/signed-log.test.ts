/**
 * The commands that check without chipboard, and what makes them fail: of docs/operate/signing.md the log, of
 * snapshots/README.md the files of a tier.
 */
import { execFile } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { ENTRY, FIRST, SECOND, workshop } from "../cli/signed.ts";
import { testWith } from "../http/needed-tools.ts";
import { EXAMPLE } from "../golden/example.ts";
import { blocksOf } from "./blocks.ts";
import { textOf } from "./documents.ts";

const blockWith = (page: string, word: string): string =>
  blocksOf(textOf(page)).find(({ text }) => text.includes(word))?.text ?? "exit 9";
const LOG = blockWith("docs/operate/signing.md", "previous");
const FILES = blockWith("snapshots/README.md", "gzip -drf");
const SESSION = "2026-11-21T12Z";
const NEWEST = 3;

testWith("openssl")("pass a signed log, and fail for whatever was changed in it", async () => {
  const shop = workshop();
  await shop.must("keys signing --out @signing.pem");
  for (const session of [FIRST, SECOND]) await shop.publish(session, "--sign-key @signing.pem");
  const line = `publish --quotes @${FIRST}.csv --session ${SESSION} --sign-key @signing.pem`;
  expect((await shop.say(line, { CHIPBOARD_NOW: "2026-11-21T12:05:00Z" })).code).toBe(0);
  renameSync(shop.path("store"), shop.path("my-snapshots"));
  const passes = (): Promise<boolean> => passesIn(shop.path(""), LOG);
  expect(await passes()).toBe(true);
  const tier = `sessions/${SESSION}/r1/pro`;
  for (const file of [
    ...[1, 2, NEWEST].map(ENTRY),
    `${tier}/board.json`,
    `${tier}/history.csv.gz`,
    `${tier}/history.parquet`,
    `${tier}/SHA256SUMS`,
  ]) {
    const path = join(shop.path("my-snapshots"), file);
    const whole = damage(path);
    expect([file, await passes()]).toEqual([file, false]);
    writeFileSync(path, whole);
  }
  expect(await passes()).toBe(true);
  // An older log is whole.
  const aside = shop.path("aside");
  mkdirSync(aside);
  renameSync(join(shop.path("my-snapshots"), ENTRY(2)), join(aside, "entry"));
  expect(await passes()).toBe(false);
});

testWith("sha256sum")(
  "pass the files of a tier of snapshots/example, and fail for each that is changed",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "chipboard-example-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    cpSync(EXAMPLE, join(folder, "snapshots/example"), { recursive: true });
    const passes = async (): Promise<boolean> => {
      const passed = await passesIn(folder, FILES);
      rmSync(join(folder, "my-copy"), { recursive: true });
      return passed;
    };
    expect(await passes()).toBe(true);
    const [, tier = ""] = /^cp -R (\S+)/.exec(FILES) ?? [];
    const files = readdirSync(join(folder, tier), { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile())) {
      const path = join(file.parentPath, file.name);
      const whole = damage(path);
      expect([path, await passes()]).toEqual([path, false]);
      writeFileSync(path, whole);
    }
    expect(await passes()).toBe(true);
  },
);

const passesIn = (folder: string, commands: string): Promise<boolean> =>
  new Promise((resolve) => {
    execFile("sh", ["-ec", commands], { cwd: folder }, (error) => resolve(error === null));
  });

/** Changes a bit of the file, and returns the bytes of before. */
function damage(path: string): Buffer {
  const whole = readFileSync(path);
  const changed = Buffer.from(whole);
  changed[20] = (changed[20] as number) ^ 1;
  writeFileSync(path, changed);
  return whole;
}

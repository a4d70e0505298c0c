/** The commands of docs/operate/signing.md that check the log without chipboard, and what makes them fail. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { ENTRY, FIRST, SECOND, workshop } from "../cli/signed.ts";
import { testWith } from "../http/tools.ts";
import { blocksOf } from "./blocks.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/operate/signing.md"), "utf8");
const block = blocksOf(PAGE).find(({ text }) => text.includes("previous"));
const SESSION = "2026-11-21T12Z";
const NEWEST = 3;

testWith("openssl")("pass a signed log, and fail for whatever was changed in it", async () => {
  const shop = workshop();
  await shop.must("keys signing --out @signing.pem");
  for (const session of [FIRST, SECOND]) await shop.publish(session, "--sign-key @signing.pem");
  const line = `publish --quotes @${FIRST}.csv --session ${SESSION} --sign-key @signing.pem`;
  expect((await shop.say(line, { CHIPBOARD_NOW: "2026-11-21T12:05:00Z" })).code).toBe(0);
  renameSync(shop.path("store"), shop.path("my-snapshots"));
  const passes = (): Promise<boolean> =>
    new Promise((resolve) => {
      execFile("sh", ["-c", block?.text ?? "exit 9"], { cwd: shop.path("") }, (error) =>
        resolve(error === null),
      );
    });
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
    const whole = readFileSync(path);
    const changed = Buffer.from(whole);
    changed[20] = (changed[20] as number) ^ 1;
    writeFileSync(path, changed);
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

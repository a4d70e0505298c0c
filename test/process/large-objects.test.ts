/**
 * A manifest that names a file of 3 GB, in which Node would end the process: `serve`, `snapshots verify`,
 * `snapshots copy` and `publish` as processes name the file, its size and the limit, and go on or end with 6.
 */
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, truncateSync } from "node:fs";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import type { Manifest } from "../../src/snapshot/manifest.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { codedPath, storedAs } from "../../src/store/paths.ts";
import { catalogOf, mustPublish, quotesOf } from "../cli/small-market.ts";
import { changeHead, ENTRY } from "../cli/signed.ts";
import { until } from "../cluster/cluster-fixture.ts";
import { chipboard, outputOf, serve } from "../program/program.ts";

const SIZE_BYTES = 3 * 1024 ** 3;
const FIRST = "2026-11-20T12Z";
const SECOND = "2026-11-21T00Z";
const PRICES = "/api/public/v1/prices";

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-large-"));
  const store = new FolderStore(join(folder, "store"));
  for (const [at, session] of [FIRST, SECOND].entries()) {
    const quotes = quotesOf({ a: 10 + at, b: 20 + at });
    const catalog = at === 0 ? { catalog: catalogOf(["a", "b"]) } : {};
    await mustPublish(store, { session, quotes, ...catalog });
  }
  writeFileSync(join(folder, "quotes.csv"), quotesOf({ a: 12, b: 22 }));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Enlarges the object with this path or key, and makes manifest and log agree with it. */
async function enlarge(store: string, path: string): Promise<void> {
  let key = `sessions/${SECOND}/r1/${path}`;
  await changeHead(new FolderStore(store), ({ files, ledger }: Manifest) => {
    const isPart = path === "ledger";
    if (isPart) key = ledger[0]?.key as string;
    else if (storedAs(path) === "gzip") key = codedPath(key);
    const grown = { bytes: SIZE_BYTES };
    return {
      files: files.map((entry) => ({ ...entry, ...(entry.path === path && grown) })),
      ledger: ledger.map((entry, at) => ({ ...entry, ...(isPart && at === 0 && grown) })),
    };
  });
  truncateSync(join(store, key), SIZE_BYTES);
}

test.concurrent.for([
  ["catalog.json", 32_000_000],
  ["corrections.json", 32_000_000],
  ["pro/basket.json", 32_000_000],
  ["pro/board.json", 64_000_000],
  ["pro/history.csv", 500_000_000],
  ["ledger", 64_000_000],
] as const)("%s", async ([path, bytesMax], { expect, onTestFinished }) => {
  const store = join(folder, `store-${path.replace("/", "-")}`);
  cpSync(join(folder, "store"), store, { recursive: true });
  await enlarge(store, path);
  const said = expect.stringMatching(
    `/${SECOND}/r1/manifest\\.json names ${path}\\S* with ${SIZE_BYTES} bytes, expected ${bytesMax} or less`,
  );

  // The publication arrives while the proxy runs.
  const newest = join(store, ENTRY(2));
  renameSync(newest, `${newest}.aside`);
  const places = ["--store", store, "--state", `${store}-state`, "--poll", "100ms"];
  await outputOf(["state", "init", "--state", `${store}-state`], { cwd: folder });
  const serving = await serve(places, { cwd: folder });
  onTestFinished(async () => void (await serving.end("SIGKILL")));
  renameSync(`${newest}.aside`, newest);
  await until(() => !serving.isAlive || serving.stderr().includes("cannot be loaded"));
  expect(serving.stderr()).toEqual(said);
  const served = await fetch(serving.url + PRICES);
  expect([served.status, served.headers.get("x-snapshot")]).toEqual([200, `${FIRST}/r1`]);
  const ready = await (await fetch(`${serving.url}/readyz`)).json();
  expect(ready).toMatchObject({ status: "ready", store: "damaged", publication: 1 });
  expect(await serving.end()).toBe(0);

  for (const args of [
    ["snapshots", "verify", "--all", "--store", store],
    ["snapshots", "copy", store, `${store}-copy`],
    ["publish", "--quotes", "quotes.csv", "--session", "2026-11-21T12Z", "--store", store],
  ]) {
    const ran = await chipboard(args, {
      cwd: folder,
      env: { CHIPBOARD_NOW: "2026-11-21T12:05:00Z" },
    });
    expect([args[1], ran.code, ran.stderr]).toEqual([args[1], 6, said]);
  }
  expect(existsSync(join(`${store}-copy`, "publications"))).toBe(false);
  expect(existsSync(join(store, ENTRY(3)))).toBe(false);
});

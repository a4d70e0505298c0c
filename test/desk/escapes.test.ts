/** Commands escape control characters from a store: they could move the cursor or hide a line. */
import { expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { mustPublish } from "../cli/small-market.ts";
import { desk, NOW, overwrite, RUNS, temporaryFolder } from "./desk.ts";

const REASON = "\u001b]0;title\u0007\u001b[2J\u009b31m\rhidden\nSigned     yes\u202e";

test("every command shows escape sequences in the log's reason as text", async () => {
  const folder = temporaryFolder();
  const store = new FolderStore(folder);
  for (const run of RUNS) await mustPublish(store, run);
  const back = 'rollback 2026-11-20T00Z --reason "REASON"';
  expect((await desk(back, folder)).code).toBe(0);
  const key = "publications/0000000004.json";
  const text = String(await store.get(key));
  const harmed = text.replace('"REASON"', JSON.stringify(REASON));
  expect(harmed).not.toBe(text);
  await overwrite(store, key, Buffer.from(harmed));
  const shown = String.raw`\u001b]0;title\u0007\u001b[2J\u009b31m\u000dhidden\u000aSigned     yes\u202e`;
  const feed = `--catalog ${folder}/none.csv --session 2026-11-21T12Z`;
  for (const [line, expected] of [
    ["ls", shown],
    ["show", shown],
    ["ls --json", JSON.stringify(REASON).slice(1, 5)],
    ["show --json", JSON.stringify(REASON).slice(1, 5)],
    ["verify", ""],
    ["diff head~1 head", ""],
    ["rollback head --reason x", ""],
    ["prune --keep-days 0 --dry-run", ""],
    [`publish ${feed}`, ""],
  ] as const) {
    const { out, err } = await desk(line, folder, NOW);
    expect(out + err).toContain(expected);
    expect(`${line}: ${out}${err}`).not.toMatch(/[^\P{Cc}\n]|\u202e/u);
  }
});

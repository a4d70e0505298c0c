/** `snapshots show`: a snapshot as text and as JSON, and every way to name one. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { mustPublish } from "../cli/small-market.ts";
import { desk, deskJson, temporaryFolder } from "./desk.ts";
import { publishedFolders, REVISION } from "./published-folder.ts";

const published = publishedFolders();

describe("show", () => {
  test("as text: moves, carried and corrected levels, the path", async () => {
    const folder = published();
    await mustPublish(new FolderStore(folder), REVISION);
    const { code, out } = await desk("show", folder);
    expect(code).toBe(0);
    expect(out).toMatch(/^Snapshot +2026-11-21T12Z\/r2\n/);
    expect(out).toMatch(/\nPublished +2026-11-21T12:05:00\.000Z, number 4, revise\n/);
    expect(out).toMatch(/\nReason +Late report\n/);
    expect(out).toMatch(/\nBoard +3 memory, 1 semiconductor of 4 contracts\n/);
    expect(out).toContain(`in ${folder}/sessions/2026-11-21T12Z/r2/`);
    expect(out).toMatch(/\nLargest moves in 24 hours\n.*\na +12\.5 +25\n/);
    expect(out).toMatch(/\nCarried\n.*\nc +2026-11-20T00:00:00\.000Z +2026-11-20\n/);
    expect(out).toMatch(/\nCorrected\n.*\nb +2026-11-21T12:00:00\.000Z +10\.5 +10\.75\n/);
    expect(await deskJson("show 2026-11-21T12Z/r2", folder)).toMatchObject({
      snapshot: "2026-11-21T12Z/r2",
      folder: `${folder}/sessions/2026-11-21T12Z/r2/`,
      publication: { number: 4, action: "publish", reason: "Late report" },
      largest_moves: [
        { id: "a", spot_usd: 12.5, chg_24h_pct: 25 },
        { id: "b", spot_usd: 10.75, chg_24h_pct: -2.27 },
      ],
      manifest: {
        carried: [{ id: "c", session_utc: "2026-11-20T00:00:00.000Z", as_of: "2026-11-20" }],
        dropped: [],
        corrected: [{ contract: "b", old_usd: "10.5", new_usd: "10.75" }],
      },
    });
  });

  test("the indices, with their series", async () => {
    const folder = published();
    const figures = {
      constituents: 3,
      // Of a 12.5/10, b 10.5/11 and c 12/12: the mean, and the root. d entered on the last day.
      level: 106.8182,
      chg_24h_pct: 6.82,
      chg_30d_pct: 6.82,
      series_close: 106.0642,
      series_date: "2026-11-21",
    };
    expect((await deskJson("show", folder)).indices).toEqual([
      { id: "composite", name: "composite", ...figures },
      { id: "dram", name: "DRAM", ...figures },
    ]);
    const { out } = await desk("show", folder);
    expect(out).toMatch(
      /\nIndices\nid +name .*\ncomposite +composite +3 +106\.8182 .* 2026-11-21\n/,
    );
  });

  test("dropped and breaks", async () => {
    const folder = published();
    await mustPublish(new FolderStore(folder), {
      session: "2026-11-22T00Z",
      quotes: "id,spot_usd,break\na,1.25,Sold by the die\nb,10.5,\nd,3.1,\n",
      minCoverageMicros: 0,
      maxCarryDays: 1,
    });
    const { out } = await desk("show", folder);
    expect(out).toMatch(/\nDropped\n.*\nc +2026-11-20T00:00:00\.000Z +2026-11-20\n/);
    expect(out).toMatch(/\nBreaks\n.*\na +2026-11-22T00:00:00\.000Z +Sold by the die\n/);
  });

  test("every way to name a snapshot", async () => {
    const folder = published();
    await mustPublish(new FolderStore(folder), REVISION);
    for (const [reference, expected] of [
      ["", "2026-11-21T12Z/r2"],
      ["head", "2026-11-21T12Z/r2"],
      ["HEAD~0", "2026-11-21T12Z/r2"],
      ["head~1", "2026-11-21T12Z/r1"],
      ["head~3", "2026-11-20T00Z/r1"],
      ["2026-11-21T12Z", "2026-11-21T12Z/r2"],
      ["2026-11-21T12:00:00.000Z", "2026-11-21T12Z/r2"],
      ["2026-11-21T12Z/r1", "2026-11-21T12Z/r1"],
    ]) {
      expect((await deskJson(`show ${reference}`, folder)).snapshot).toBe(expected);
    }
    for (const reference of [
      "head~4",
      "head~",
      "head~-1",
      "2026-11-20T12Z",
      "2026-11-21T12Z/r3",
      "2026-11-21T12Z/r0",
      "2026-11-21T12Z/",
      "2026-11-21",
      "../x",
      "latest",
    ]) {
      for (const line of [`show ${reference}`, `diff head ${reference}`, `verify ${reference}`]) {
        const { code, err } = await desk(line, folder);
        expect([line, code]).toEqual([line, 2]);
        expect(err.split("\n")).toHaveLength(2);
      }
      expect((await desk(`rollback ${reference} --reason x`, folder)).code).toBe(2);
    }
    const empty = temporaryFolder();
    for (const line of ["show", "diff head head~1", "verify", "rollback head --reason x"]) {
      expect([line, (await desk(line, empty)).code]).toEqual([line, 2]);
    }
  });

  test("--open prints the path of the report, and nothing else", async () => {
    const folder = published();
    const { code, out } = await desk("show head~1 --open", folder);
    expect([code, out]).toEqual([0, `${folder}/sessions/2026-11-21T00Z/r1/report.html\n`]);
    expect(readFileSync(out.trim(), "utf8")).toMatch(/^<!doctype html>/i);
  });
});

/** Exports in a spreadsheet program: LibreOffice opens the workbook, the CSV, and both by a link. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect } from "vitest";
import { linkAddress } from "../../src/core/find/link-target.ts";
import { testWithService } from "../services/service-programs.ts";
import { startTestProxy, type TestProxy } from "./fixture.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
let folder: string;
beforeAll(async () => {
  proxy = await startTestProxy();
  folder = await mkdtemp(join(tmpdir(), "chipboard-office-"));
});
afterAll(async () => {
  await proxy.close();
  await rm(folder, { recursive: true, force: true });
});

testWithService("soffice")(
  "LibreOffice opens the workbook and the CSV, and sees the same cells",
  async () => {
    const key = { key: proxy.pro };
    const xlsx = await proxy.get(`${API}/export.xlsx`, key);
    const csv = await proxy.get(`${API}/export.csv`, key);
    const board = await proxy.get(`${API}/prices`, key);
    await writeFile(join(folder, "board.xlsx"), xlsx.raw);
    await writeFile(join(folder, "board-in.csv"), csv.raw);
    // Token 12 = -1: each sheet into its own file. 76: UTF-8.
    const toCsv = (token: string) =>
      `csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,${token}`;
    const profile = `-env:UserInstallation=file://${join(folder, "profile")}`;
    const convert = (file: string, filter: string, out: string) =>
      promisify(execFile)(
        "soffice",
        [profile, "--headless", "--convert-to", filter, "--outdir", out, file],
        { cwd: folder },
      );
    await convert("board.xlsx", toCsv("-1"), "sheets");
    const memory = rowsOf(await readFile(join(folder, "sheets", "board-Memory.csv"), "utf8"));
    expect(memory).toHaveLength(1 + board.json.memory.length);
    const at = (name: string): number => (memory[0] as string[]).indexOf(name);
    for (const [row, record] of board.json.memory.entries()) {
      const cells = memory[row + 1] as string[];
      expect(cells[at("contract_id")]).toBe(record.id);
      expect(Number(cells[at("spot_usd")])).toBe(record.spot_usd);
      expect(cells[at("as_of")]).toContain("2026");
    }
    await readFile(join(folder, "sheets", "board-Semiconductor.csv"));
    await readFile(join(folder, "sheets", "board-About.csv"));

    await convert("board-in.csv", toCsv("0"), "again");
    const again = rowsOf(await readFile(join(folder, "again", "board-in.csv"), "utf8"));
    expect(again).toHaveLength(16);
    expect(again[1]?.slice(1, 3)).toEqual(["dram-0", "T0"]);

    // By a link it needs no key.
    for (const path of ["/export.csv", "/export.xlsx"]) {
      const { token } = await proxy.registry.createLink("large", path, null);
      await convert(proxy.url + linkAddress(token, path), toCsv("0"), "linked");
      const linked = rowsOf(await readFile(join(folder, "linked", `${token}.csv`), "utf8"));
      const ids = linked[0]?.indexOf("contract_id") as number;
      expect(linked[1]?.[ids]).toBe("dram-0");
    }
  },
);

/** Rows of a CSV without quoted line breaks. */
function rowsOf(text: string): string[][] {
  return text
    .trimEnd()
    .split(/\r?\n/)
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
        (cell) => cell[1] ?? cell[2] ?? "",
      ),
    );
}

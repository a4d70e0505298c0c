/** The guide's bill of materials: which parts are priced when, and which are left out. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { catalogOf, lines, mustPublish, quotesOf } from "../cli/small-market.ts";
import { startTestProxy } from "../http/fixture.ts";
import { testWith } from "../http/needed-tools.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { programUnder } from "./programs.ts";
import { PythonClient } from "./python-client.ts";

/** The first day of each month from October 2025 to November 2026. */
const MONTHS = Array.from({ length: 14 }, (_, month) =>
  new Date(Date.UTC(2025, 9 + month)).toISOString().slice(0, 10),
);
const CLOSES = lines(
  "id,date,close_usd,break",
  ...MONTHS.map((date) => `steady,${date},10,`),
  ...MONTHS.filter((date) => date < "2026-10").map((date) => `changed,${date},20,`),
  "changed,2026-10-01,29,Sold by the tray from now on",
  "changed,2026-11-01,29,",
  "rare,2025-11-30,3,",
  "rare,2026-09-06,4,",
  "rare,2026-11-10,4.5,",
  "young,2026-11-12,6.5,",
);

/** The rows from a week to an earlier one; runs of equal weeks. */
function runsOf(weeks: readonly string[]): string[][] {
  const runs: string[][] = [];
  for (const week of weeks) {
    const [, day = "", cost = ""] = /^(\S+) (.*)$/.exec(week) ?? [];
    const last = runs.at(-1);
    if (last?.[2] === cost) last[1] = day;
    else runs.push([day, day, cost]);
  }
  return runs;
}

testWith("python3")(
  "no price crosses a break or is over its carry limit, and a new part is named",
  async () => {
    const store = new MemoryStore();
    await mustPublish(store, {
      catalog: catalogOf([
        "steady",
        "changed",
        { id: "rare", max_carry_days: "20" },
        "young",
        "never",
      ]),
      closes: CLOSES,
      quotes: quotesOf({ steady: 10.5, changed: 30, rare: 5, young: 7 }),
      acceptMoves: true,
    });
    const proxy = await startTestProxy({ store });
    const client = await PythonClient.download(proxy.url, proxy.pro);
    try {
      const bill = { steady: 2, changed: 1, rare: 10, young: 4, never: 3, "new-part": 1 };
      const rows = Object.entries(bill).map(([id, quantity]) => `${id},${quantity}`);
      await writeFile(join(client.home, "bill.csv"), lines("id,quantity", ...rows));
      const said = await client.print(programUnder("A bill of materials", proxy.url));
      const [now, ...weeks] = said.trimEnd().split("\n");
      const query = "ids=steady,changed,rare,young&quantities=2,1,10,4";
      const { json } = await proxy.get(`/api/public/v1/index?${query}`, { key: proxy.pro });
      expect(json.cost_usd).toBe(129);
      expect(now).toBe("now 129.00 without never new-part");
      expect(weeks).toHaveLength(52);
      expect(runsOf(weeks)).toEqual([
        ["2026-11-14", "2026-11-14", "120.00 without never new-part"],
        ["2026-11-07", "2026-10-03", "49.00 without rare young never new-part"],
        ["2026-09-26", "2026-09-12", "60.00 without changed young never new-part"],
        ["2026-09-05", "2025-12-27", "20.00 without changed rare young never new-part"],
        ["2025-12-20", "2025-12-06", "50.00 without changed young never new-part"],
        ["2025-11-29", "2025-11-22", "20.00 without changed rare young never new-part"],
      ]);

      await writeFile(join(client.home, "bill.csv"), "id,quantity\nnew-part,1\n");
      const none = await client.print(programUnder("A bill of materials", proxy.url));
      expect(none).toMatch(
        /^now 0\.00 without new-part\n(?:\d{4}-\S+ 0\.00 without new-part\n){52}$/,
      );
    } finally {
      await proxy.close();
      await client.remove();
    }
  },
);

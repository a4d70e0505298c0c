/** The formulas of the methodology give the published figures, and its tables equal the program's. */
import { describe, expect, test } from "vitest";
import { GATE_NAMES } from "../../src/feed/gates.ts";
import { equalWeighted } from "../../src/market/composite.ts";
import { microsOf } from "../../src/market/decimal.ts";
import { BOARD_BASES } from "../../src/market/series.ts";
import examples from "../../src/docs/examples.json" with { type: "json" };
import { MemoryStore } from "../store/memory-store.ts";
import {
  catalogOf,
  headJson,
  lines,
  mustPublish,
  quotesOf,
  type Run,
} from "../cli/small-market.ts";
import { rowsOf, textOf, under } from "./guide-texts.ts";

const TEXT = textOf("documents/methodology.md");
/** Its prose and its answers, without the ends of lines. */
const WORDS = TEXT.replaceAll(/\s+/g, " ");

const answerTo = (path: string): { [name: string]: number } =>
  JSON.parse(
    examples.find(({ request, tier }) => request === `GET /api/public/v1/${path}` && tier === "pro")
      ?.body ?? "",
  );
/** The rows of the tables in a text, with numbers as programs write them. */
const numbersOf = (text: string): string[][] => rowsOf(text.replaceAll(/(?<=\d),(?=\d{3})/g, ""));
const percent = (ratio: number): number => Number(((ratio - 1) * 100).toFixed(2));

describe("the index by example", () => {
  const section = under(TEXT, "The index by example");
  const cells = numbersOf(section);
  const index = equalWeighted(
    cells.slice(0, 3).map(([id = "", base, now]) => ({
      id,
      ticker: id,
      segment: id,
      basis: "reported",
      asOf: 0,
      baseAsOf: 0,
      reason: null,
      now: microsOf(Number(now)),
      base: microsOf(Number(base)),
      then24h: microsOf(Number(now)),
      then30d: microsOf(Number(now)),
    })),
  );
  const signed = (points: string): string => points.replace(/^-?/, (sign) => (sign ? "−" : "+"));

  test("has the relatives, contributions and level that the program calculates", () => {
    const told = index.contributions.map((each) => [
      each.relative,
      signed(each.contribution ?? ""),
    ]);
    expect(cells.slice(0, 3).map((row) => row.slice(3))).toEqual(told);
    const [mean = "", sum = ""] = cells[3]?.slice(3) ?? [];
    expect(mean).toBe((Number(index.level) / 100).toFixed(6));
    expect(sum).toBe(signed((Number(index.level) - 100).toFixed(4)));
    expect(section).toContain(`**Index: ${mean} × 100 = ${index.level}**`);
    expect(section).toContain(`${percent(Number(mean))} % more than a year ago`);
  });

  test("is drawn with these lengths, from the same line", () => {
    const drawn = [...section.matchAll(/x="60" y="\d+" width="([\d.]+)".*>([\d.]+)<\/text>/g)];
    const levels = index.contributions.map((each) => 100 + percent(Number(each.relative)));
    levels.push(Number(index.level));
    expect(drawn.map(([, , level]) => Number(level))).toEqual(levels);
    const base = Number(/<line x1="(\d+)"/.exec(section)?.[1]) - 60;
    for (const [at, [, width]] of drawn.entries()) {
      expect(Number(width)).toBeCloseTo(((levels[at] as number) * base) / 100, 1);
    }
  });
});

describe("the worked example", () => {
  test("has the levels that were published", () => {
    const ids = ["ddr5-16gb", "tlc-1tb", "n3-wafer"];
    const told = numbersOf(under(TEXT, "Worked example")).flatMap(([session = "", ...cells]) =>
      cells.flatMap((cell, at) =>
        cell === "" ? [] : [`${ids[at]} ${session.replace(" ", "T")} ${Number(cell)}`],
      ),
    );
    const file = examples.find(({ request }) => request.endsWith("/history.csv"))?.body ?? "";
    const published = file
      .trim()
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(","))
      .map(([id, , usd, , , , , session = ""]) => `${id} ${session.slice(0, 16)} ${usd}`);
    expect(told.toSorted()).toEqual(published.toSorted());
  });

  test("changes, ranges and the price of a gigabyte", () => {
    const contract = answerTo("prices/ddr5-16gb");
    const changes = {
      chg_24h_pct: percent(3 / 2.9),
      chg_7d_pct: percent(3 / 2.4),
      chg_30d_pct: percent(3 / 2.4),
      chg_yoy_pct: percent(3 / 2),
    };
    expect(contract).toMatchObject({ ...changes, chg_60d_pct: null, usd_per_gb: 3 / 2 });
    const rows = rowsOf(under(TEXT, "Changes"));
    for (const [field, change] of Object.entries(changes)) {
      const row = rows.find(([first]) => first === `\`${field}\``);
      expect(row?.at(-1)).toMatch(new RegExp(`− 1 = ${change} %$`));
    }
    expect(rows.find(([first]) => first === "`chg_60d_pct`")?.at(-1)).toBe("null");
    expect(WORDS).toContain(`here ${contract["prev_as_of"]}. If`);
    expect(WORDS).toContain(`: ${contract["low_52w_usd"]} and ${contract["high_52w_usd"]}. The`);
    expect(WORDS).toContain(`3.00 / 2 = ${contract["usd_per_gb"]}.`);
    expect(WORDS).toContain(
      `${contract["inputs"]} prices from ${contract["low_usd"]?.toFixed(2)} to ${contract["high_usd"]?.toFixed(2)}`,
    );
  });

  test("index and basket", () => {
    const index = answerTo("index");
    const now = (3 / 2 + 60 / 80 + 11_000 / 10_000) / 3;
    const then = (2.9 / 2 + 61.2 / 80 + 11_000 / 10_000) / 3;
    expect(index["level"]).toBe(Number((now * 100).toFixed(4)));
    expect(index["chg_24h_pct"]).toBe(percent(now / then));
    expect(WORDS).toContain(`× 100 = ${index["level"]}.`);
    expect(WORDS).toContain(`= ${then.toFixed(3)}, and`);
    expect(WORDS).toContain(`= ${index["chg_24h_pct"]} %.`);
    const added = (((3 - 2.9) / 2 / 3 / then) * 100).toFixed(4);
    expect(index["contributions"]).toMatchObject([{ contribution_24h_pct: Number(added) }, {}, {}]);
    expect(WORDS).toContain(`(3.00 − 2.90) / 2 / 3 / 1.105 = ${added} %`);
    const basket = answerTo("index?ids=ddr5-16gb,tlc-1tb&weights=60,40");
    expect(basket["level"]).toBe(Number(((0.6 * 1.5 + 0.4 * 0.75) * 100).toFixed(4)));
    expect(WORDS).toContain(`the level of ${basket["level"]}.`);
  });

  test("what quantities cost", () => {
    const basket = answerTo("index?ids=ddr5-16gb,tlc-1tb,n3-wafer&quantities=64,2,0.02");
    const cost = (d5: number, s1: number, n3: number): number => 64 * d5 + 2 * s1 + 0.02 * n3;
    const costs = {
      cost_usd: cost(3, 60, 11_000),
      cost_24h_usd: cost(2.9, 61.2, 11_000),
      cost_30d_usd: cost(2.4, 64, 10_800),
      cost_base_usd: cost(2, 80, 10_000),
    };
    const rows = rowsOf(under(TEXT, "Baskets"));
    for (const [field, value] of Object.entries(costs)) {
      expect([field, basket[field]]).toEqual([field, Number(value.toFixed(6))]);
      const row = rows.find(([first = ""]) => first.endsWith(`\`${field}\``));
      expect(row?.at(-1)).toBe(String(basket[field]));
    }
    const { cost_usd: now, cost_24h_usd: day, cost_30d_usd: month, cost_base_usd: year } = costs;
    expect(basket["level"]).toBe(Number(((now / year) * 100).toFixed(4)));
    expect([basket["chg_24h_pct"], basket["chg_30d_pct"]]).toEqual([
      percent(now / day),
      percent(now / month),
    ]);
    expect(basket["contributions"]).toMatchObject([{ weight_pct: 26.2295 }, {}, {}]);
    for (const text of [`= ${basket["level"]},`, `= ${percent(now / day)} %`, "= 26.2295 %"]) {
      expect(WORDS).toContain(text);
    }
    expect(WORDS).toContain(`= ${percent(now / month)} %`);
  });
});

describe("its examples of gaps and corrections", () => {
  const AWAY = catalogOf([{ id: "a", max_carry_days: "1" }, "b"]);
  const DELISTED = catalogOf([{ id: "a", delisted_on: "2026-11-17" }, "b"]);
  const PLAIN = catalogOf(["a", "b"]);
  /** By heading: the catalog, and of days that have more than their levels the rest of the run. */
  const EXAMPLES: [string, string, Readonly<Record<string, Partial<Run>>>][] = [
    ["A return after a gap", AWAY, {}],
    [
      "A misprint",
      catalogOf(["a", "b", "c"]),
      {
        "2026-11-18": {
          closes: lines("id,date,close_usd", "a,2026-11-17,10"),
          revise: "A misprint",
        },
      },
    ],
    [
      "A break that is told late",
      PLAIN,
      {
        "2026-11-18": {
          quotes: lines(
            "id,spot_usd,session_utc,break",
            "a,80,2026-11-17T12Z,Per module",
            "a,80,,",
            "b,10,,",
          ),
          revise: "Another unit",
        },
      },
    ],
    [
      "A delisting that is undone",
      PLAIN,
      { "2026-11-17": { catalog: DELISTED }, "2026-11-18": { catalog: PLAIN } },
    ],
  ];

  test.each(EXAMPLES)("%s", async (heading, catalog, runs) => {
    const table = numbersOf(under(TEXT, heading)).filter(([first = ""]) => /^\d{4}-/.test(first));
    const store = new MemoryStore();
    for (const [at, [date = "", ...cells]] of table.entries()) {
      const levels = cells.slice(0, -2).map((usd, place) => ["abc"[place] as string, usd] as const);
      await mustPublish(store, {
        session: `${date}T12Z`,
        ...(at === 0 && { catalog }),
        quotes: quotesOf(Object.fromEntries(levels.filter(([, usd]) => usd !== ""))),
        acceptMoves: true,
        allowSparse: true,
        ...runs[date],
      });
    }
    const { series } = await headJson(store, "pro/indices/composite.json");
    expect(table.length).toBeGreaterThan(2);
    expect(series.history).toEqual(
      table.map((cells) => ({ date: cells[0], close: Number(cells.at(-1)) })),
    );
    for (const cells of table) {
      const [, root, product = "", mean] =
        /([√∛])\(([\d. ×]+)\) = ([\d.]+)/.exec(cells.at(-2) ?? "") ?? [];
      if (root === undefined) continue;
      const whole = product.split(" × ").reduce((result, each) => result * Number(each), 1);
      const exact = whole ** (root === "√" ? 1 / 2 : 1 / 3);
      expect(mean, cells.join(" ")).toBe(String(Number(exact.toFixed(4))));
    }
  });
});

describe("its example of a series", () => {
  const dated = numbersOf(under(TEXT, "Series")).filter(([first = ""]) => /^\d{4}-/.test(first));
  const rows = dated.slice(0, 3);
  const levels = rows.map((cells) => cells.slice(1, 4).map((cell) => Number(cell)));

  test("equals the published figure for its levels", async () => {
    const closes = rows.flatMap(([date, ...cells]) =>
      cells.slice(0, 3).flatMap((usd, at) => (usd === "" ? [] : [`${"abc"[at]},${date},${usd}`])),
    );
    const store = new MemoryStore();
    await mustPublish(store, {
      session: "2026-11-21T12Z",
      catalog: catalogOf(["a", "b", "c"]),
      closes: lines("id,date,close_usd", ...closes),
      acceptMoves: true,
    });
    const { series } = await headJson(store, "pro/indices/composite.json");
    expect(rows).toHaveLength(3);
    expect(series.history).toEqual(
      rows.map((cells) => ({ date: cells[0], close: Number(cells.at(-1)) })),
    );
  });

  test("has the mean of each day, of the contracts that were there the day before", () => {
    rows.slice(1).forEach((cells, at) => {
      const [before = [], now = []] = [levels[at], levels[at + 1]];
      const moves = now.flatMap((usd, place) =>
        before[place] === 0 ? [] : [Number((usd / (before[place] as number)).toFixed(6))],
      );
      const mean = moves.reduce((product, move) => product * move, 1) ** (1 / moves.length);
      const root = moves.length === 2 ? "√" : "∛";
      expect(cells[4]).toBe(`${root}(${moves.join(" × ")}) = ${mean.toFixed(1)}`);
      expect(Number(cells[5])).toBeCloseTo(Number(rows[at]?.[5]) * mean, 9);
    });
  });

  test("the other numbers of the section", () => {
    const change = (from: number, to: number): number => Number(((to / from - 1) * 100).toFixed(6));
    expect(WORDS).toContain(`2.42 / 2.00 = ${2.42 / 2}`);
    expect(WORDS).toContain(`9000 / 10000 = ${9000 / 10_000}`);
    expect(WORDS).toContain(
      `fell by ${-change(110, 99)} % that day, 99 / 110 − 1, and by ${-change(100, 99)} %`,
    );
    const [up, down] = [(2 + 1) / 2, (0.5 + 1) / 2];
    expect(WORDS).toContain(`(2 + 1) / 2 = ${up} and (0.5 + 1) / 2 = ${down}`);
    expect(WORDS).toContain(`${up} × ${down} = ${up * down}: up ${change(1, up * down)} %`);
    const [root, back] = [Math.sqrt(2), Math.sqrt(0.5)];
    expect(WORDS).toContain(`√(2 × 1) = ${root.toFixed(4)} and √(0.5 × 1) = ${back.toFixed(4)}`);
    expect(root * back).toBeCloseTo(1, 12);
  });
});

test("it says what each basis means, and what each gate refuses", () => {
  const first = (heading: string): (string | undefined)[] =>
    rowsOf(under(TEXT, heading)).map(([cell]) => cell?.replaceAll("`", ""));
  expect(first("Basis")).toEqual([...BOARD_BASES, "discontinued"]);
  expect(first("Checks before publication")).toEqual(GATE_NAMES);
});

test("numbers in its tables have their thousands apart", () => {
  const numbers = rowsOf(TEXT)
    .flat()
    .filter((cell) => /^[\d,]{4,}$/.test(cell));
  expect(numbers).toContain("10,000");
  expect(numbers.filter((cell) => !/^\d{1,3}(,\d{3})+$/.test(cell))).toEqual([]);
});

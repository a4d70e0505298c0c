/** The market page in a browser: every figure is the API's, for every tier; sorting, filtering, calls. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { TIER_NAMES, type TierName } from "../../src/market/tier.ts";
import type { Board, BoardRow } from "../../src/site/board.js";
import { sparkline } from "../../src/site/chart.js";
import { lineOfIndex } from "../../src/site/levels.js";
import { changeBetween, rounded } from "../../src/site/decimal.js";
import { pointsOf, type Line } from "../../src/site/overview.js";
import { openAccounts } from "../../src/state/open.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { LISTED, marketClock, publishMarket } from "./page-market.ts";
import { giveKey, keepKey, open, settled, watchedContext, type Watch } from "./visit.ts";

const API = "/api/public/v1";
const LIMIT = 25_000;

let proxy: TestProxy;
let browser: Browser | undefined;
beforeAll(async () => {
  proxy = await startTestProxy({ store: await publishMarket(), clock: marketClock() });
  if (hasBrowser) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
});

const keyOf = (tier: TierName): { key?: string } => (tier === "free" ? {} : { key: proxy[tier] });

/** Opens the page of a tier in a new tab, and looks at it; nothing may be on the console. */
async function visit(
  tier: TierName,
  look: (page: Page) => Promise<void>,
  of: TestProxy = proxy,
  complaints: readonly unknown[] = [],
): Promise<void> {
  const { context, watch } = await watchedContext(browser as Browser);
  try {
    const page = await context.newPage();
    if (tier !== "free") await keepKey(page, of[tier]);
    await open(page, of.url);
    await look(page);
    expect(watch.complaints).toEqual(complaints);
  } finally {
    await context.close();
  }
}

/** The contracts that stand on the board with a lock, in its order. */
const LOCKED = LISTED.filter(({ isFree, kind }) => !isFree && kind !== "delisted");

interface ShownRow {
  readonly id: string;
  readonly name: string;
  readonly href: string;
  readonly ticker: string;
  readonly mark: string | null;
  readonly line: string | null;
  /** The text by the column's name. */
  readonly cells: Readonly<Record<string, string>>;
}

/** The rows with figures that are not filtered out. */
const rowsOf = (page: Page): Promise<ShownRow[]> =>
  page.evaluate<
    ShownRow[]
  >(`[...document.querySelectorAll("#board tbody tr:not([hidden], :has(.lock))")].map((row) => ({
    id: row.dataset.id,
    name: row.querySelector("th a").textContent,
    href: row.querySelector("th a").getAttribute("href"),
    ticker: row.querySelector("th small bdi").textContent,
    mark: row.querySelector("th .tag")?.textContent ?? null,
    line: row.querySelector("svg")?.outerHTML ?? null,
    cells: Object.fromEntries([...row.cells].map((cell) => [cell.classList.item(cell.classList.length - 1), cell.textContent])),
  }))`);

/** The number that a figure shows; null for `n/a`. Throws if it is not written as figures are. */
function shown(text: string): number | null {
  if (text === "n/a") return null;
  expect(text).toMatch(/^[+\u2212]?\d{1,3}(?:,\d{3})*\.\d{2,}$/);
  return Number(text.replaceAll(",", "").replace("\u2212", "-"));
}

function shownChange(text: string): number | null {
  const change = shown(text);
  if (change !== null) {
    expect(text[0]).toBe(change === 0 ? "0" : change > 0 ? "+" : "\u2212");
  }
  return change;
}

const board = async (tier: TierName): Promise<Board> =>
  (await proxy.get(`${API}/prices`, keyOf(tier))).json;
const recordsOf = ({ memory, semiconductor }: Board): BoardRow[] => [...memory, ...semiconductor];

describe.each(TIER_NAMES)("%s", (tier) => {
  let context: BrowserContext;
  let page: Page;
  let watch: Watch;
  inChromium("a view costs three calls at most, and none without a key", async () => {
    const used = async (): Promise<number> =>
      (await proxy.get(`${API}/usage`, keyOf(tier))).json.used;
    const before = await used();
    ({ context, watch } = await watchedContext(browser as Browser));
    page = await context.newPage();
    if (tier !== "free") await keepKey(page, proxy[tier]);
    await open(page, proxy.url);
    expect((await used()) - before).toBe(tier === "free" ? 0 : 3);
  });
  afterAll(async () => {
    await context?.close();
    expect(watch?.complaints ?? []).toEqual([]);
  });

  inChromium("every row is the API's, in its order", async () => {
    const records = recordsOf(await board(tier));
    const rows = await rowsOf(page);
    expect(rows).toHaveLength(records.length);
    const read = rows.map(({ id, name, href, ticker, mark, cells }) => ({
      id,
      name,
      href,
      ticker,
      mark,
      segment: cells["segment"],
      unit: cells["unit"],
      spot_usd: shown(cells["level"] as string),
      chg_24h_pct: shownChange(cells["day"] as string),
      chg_30d_pct: shownChange(cells["month"] as string),
      chg_yoy_pct: shownChange(cells["year"] as string),
      ...(tier !== "free" && { chg_90d_pct: shownChange(cells["quarter"] as string) }),
      basis: cells["basis"],
    }));
    expect(read).toEqual(
      records.map((record) => ({
        id: record.id,
        name: record.name,
        href: `contracts/${record.id}`,
        ticker: record.ticker,
        mark: record.break && `break ${record.break.session_utc.slice(0, 10)}`,
        segment: record.segment,
        unit: record.unit,
        spot_usd: record.spot_usd,
        chg_24h_pct: record.chg_24h_pct,
        chg_30d_pct: record.chg_30d_pct,
        chg_yoy_pct: record.chg_yoy_pct,
        ...(tier !== "free" && { chg_90d_pct: record.chg_90d_pct }),
        basis: record.basis === "carried" ? `carried ${record.as_of}` : record.basis,
      })),
    );
    // What happens in this market is there to be seen.
    expect(rows.filter(({ mark }) => mark !== null).length).toBeGreaterThan(0);
    const tags = await page.locator("td.basis .tag").allTextContents();
    const carried = records.filter(({ basis }) => basis === "carried").length;
    expect(carried).toBeGreaterThan(0);
    expect(tags).toEqual(Array.from({ length: carried }, () => "carried"));
    expect(rows.some(({ cells }) => cells["year"] === "n/a")).toBe(true);
  });

  inChromium("session, lateness, counts, credit and licence are the API's", async () => {
    const body = await board(tier);
    const session = page.locator("#session");
    const times = session.locator("time");
    expect(await times.first().getAttribute("datetime")).toBe(body.session_utc);
    expect(await times.last().getAttribute("datetime")).toBe(body.next_session_utc);
    const said = await session.textContent();
    expect(said?.includes("(12 hours delayed)")).toBe(tier !== "pro");
    expect(await session.locator(".late").textContent()).toMatch(/^Late: 1 session overdue/);
    const { memory, semiconductor } = body.counts;
    const carried = recordsOf(body).filter(({ basis }) => basis === "carried").length;
    const all = memory + semiconductor;
    expect(await page.textContent("#shown")).toBe(
      tier === "free"
        ? `${all} of ${all + LOCKED.length} contracts, free. See all ${all + LOCKED.length}.`
        : `${all} contracts: ${memory} memory, ${semiconductor} semiconductor; ${carried} older than their cadence.`,
    );
    expect(await page.textContent("#attribution")).toBe(body.attribution);
    expect(await page.textContent("#license")).toBe(body.license);
  });

  inChromium("the indices are the API's, for those who may see them", async () => {
    expect((await page.locator("#indices tr").count()) > 0).toBe(tier !== "free");
    if (tier === "free") return;
    const { indices } = (await proxy.get(`${API}/indices`, keyOf(tier))).json;
    const { indices: lines } = (await proxy.get(`${API}/sparklines`, keyOf(tier))).json;
    const rows = await page.locator("#indices tbody tr").evaluateAll((found) =>
      found.map((row) => ({
        href: row.querySelector("a")?.getAttribute("href"),
        figures: [...row.querySelectorAll("td.n")].map(({ textContent }) => textContent),
        line: row.querySelector("path")?.getAttribute("d"),
      })),
    );
    expect(rows.map(({ href }) => href)).toEqual(
      indices.map(({ id }: { id: string }) => `indices#${id}`),
    );
    const changeIn = (closes: readonly number[]): number =>
      Number(changeBetween(String(closes[0]), String(closes.at(-1))));
    const lineOf = (line: Line, date: string) => lineOfIndex(pointsOf(line, date));
    for (const [at, { series_date }] of indices.entries()) {
      const row = rows[at] as (typeof rows)[number];
      expect(row.figures.map((text) => shownChange(text as string))).toEqual([
        changeIn(lines[at].closes.slice(-31)),
        changeIn(lines[at].closes.slice(-2)),
      ]);
      const { closes } = lines[at];
      expect(closes).toHaveLength(at === 0 ? Math.min(366, closes.length) : 90);
      expect(sparkline(lineOf(lines[at], series_date))).toContain(`d="${row.line}"`);
    }
    const { closes } = lines[0];
    const [range, since] =
      tier === "pro" ? ["1 year", closes.at(-366)] : ["30 days", closes.at(-31)];
    const change = changeIn([since, closes.at(-1)]);
    const figure = `${change < 0 ? "\u{2212}" : "+"}${Math.abs(change).toFixed(2)}`;
    expect(await page.textContent("#composite .chart-title")).toBe(
      `Memory and semiconductor prices, ${range}: ${figure}\u00A0%`,
    );
    const chart = page.locator("#composite [role=img]");
    expect(await chart.getAttribute("aria-label")).toContain(
      rounded(String(lines[0].closes.at(-1))),
    );
  });

  inChromium("the largest moves are the board's", async () => {
    const moved = recordsOf(await board(tier)).filter(({ chg_24h_pct }) => chg_24h_pct);
    const ids = (way: number): string[] =>
      moved
        .filter(({ chg_24h_pct }) => Number(chg_24h_pct) * way > 0)
        .sort((a, b) => (Number(b.chg_24h_pct) - Number(a.chg_24h_pct)) * way)
        .slice(0, 3)
        .map(({ id, chg_24h_pct }) => `${id} ${chg_24h_pct}`);
    const items = await page
      .locator("#moves li")
      .evaluateAll((found) =>
        found.map(
          (item) =>
            [
              item.getAttribute("data-id") as string,
              item.querySelector("[data-field]")?.textContent as string,
            ] as const,
        ),
      );
    if (moved.length <= 10) {
      // The lists would be the board again.
      const text = (await page.textContent("#moves")) ?? "";
      const counts = [1, -1].map(
        (way) => moved.filter(({ chg_24h_pct }) => Number(chg_24h_pct) * way > 0).length,
      );
      expect(text).toMatch(
        new RegExp(`^Last 24 hours: ${counts[0]} up, ${counts[1]} down(?:, \\d+ unchanged)?\\. `),
      );
      for (const [way, word] of [
        [1, /strongest /i],
        [-1, /weakest /i],
      ] as const) {
        const [id, change] = ids(way)[0]?.split(" ") ?? [];
        expect(word.test(text)).toBe(id !== undefined);
        if (id === undefined) continue;
        const name = await page.textContent(`#moves a[href="contracts/${id}"]`);
        const said = `${word.exec(text)?.[0]}${name} `;
        expect(text).toContain(said);
        const shown = text.slice(text.indexOf(said) + said.length).split("\u{a0}")[0] ?? "";
        expect(shownChange(shown)).toBe(Number(change));
      }
      return;
    }
    expect(items.length).toBeGreaterThan(2);
    expect(items.map(([id, text]) => `${id} ${shownChange(text)}`)).toEqual([
      ...ids(1),
      ...ids(-1),
    ]);
  });
});

inChromium.each(["starter", "pro"] as const)(
  "%s: each line is drawn from the contract's own history, broken at its breaks",
  async (tier) => {
    const body = await board(tier);
    const drawn = new Map<string, string>();
    for (const { id } of recordsOf(body)) {
      const { json } = await proxy.get(`${API}/prices/${id}`, keyOf(tier));
      const { history, breaks, max_carry_days } = json as {
        history: { date: string; close_usd: number }[];
        breaks: { session_utc: string }[];
        max_carry_days: number;
      };
      const levels = history.map(({ date, close_usd }, at) => ({
        date,
        close: close_usd,
        ...(`${date}T12` > body.session_utc && { session: body.session_utc }),
        isBreak: breaks.some(({ session_utc }) => {
          const day = session_utc.slice(0, 10);
          return day <= date && (at === 0 || (history[at - 1]?.date as string) < day);
        }),
      }));
      const line = { levels: levels.slice(-90), carryDays: max_carry_days, to: body.session_utc };
      drawn.set(id, sparkline(line));
    }
    await visit(tier, async (page) => {
      const rows = await rowsOf(page);
      const template = await page.evaluate<Record<string, string>>(
        `Object.fromEntries(${JSON.stringify([...drawn])}.map(([id, svg]) => {
          const template = document.createElement("template");
          template.innerHTML = svg;
          return [id, template.innerHTML];
        }))`,
      );
      expect(Object.fromEntries(rows.map(({ id, line }) => [id, line]))).toEqual(template);
      // A broken line starts twice, any other once.
      const starts = rows.map(({ mark, line }) => [
        mark === null ? 1 : 2,
        line?.match(/m/g)?.length,
      ]);
      for (const [expected, found] of starts) expect(found).toBe(expected);
      expect(new Set(starts.map(([expected]) => expected))).toEqual(new Set([1, 2]));
    });
  },
);

describe("sorting", () => {
  const collator = new Intl.Collator("en", { numeric: true });

  /** Expects the values to ascend or descend, and those that are missing to be last. */
  function expectOrder(values: readonly (string | number | null)[], order: string): void {
    const present = values.filter((value) => value !== null);
    expect(values.slice(present.length).every((value) => value === null)).toBe(true);
    expect(new Set(present).size).toBeGreaterThan(0);
    for (const [at, value] of present.slice(1).entries()) {
      const before = present[at] as string | number;
      const step =
        typeof value === "number"
          ? value - Number(before)
          : collator.compare(value, String(before));
      expect(order === "ascending" ? step : -step).toBeGreaterThanOrEqual(0);
    }
  }

  const HEADS: readonly (readonly [string, string])[] = [
    ["contract", "Contract"],
    ["segment", "Segment"],
    ["level", "Level"],
    ["unit", "Unit"],
    ["day", "24 h %"],
    ["month", "30 d %"],
    ["quarter", "90 d %"],
    ["year", "1 year %"],
    ["basis", "Basis"],
  ];
  const FIGURES = new Set(["level", "day", "month", "quarter", "year"]);
  const SORTED = `[...document.querySelectorAll("[aria-sort]")].map((head) => [head.textContent, head.ariaSort])`;

  inChromium("every column sorts both ways by keyboard, says so, and goes back", async () => {
    await visit("pro", async (page) => {
      const original = (await rowsOf(page)).map(({ id }) => id);
      const all = original.length;
      const buttons = page.locator("#board thead th").getByRole("button");
      expect(await buttons.allTextContents()).toEqual(HEADS.map(([, label]) => label));
      for (const [column, [name, label]] of HEADS.entries()) {
        const isNumber = FIGURES.has(name);
        const orders = ["descending", "ascending"];
        await buttons.nth(column).focus();
        for (const order of isNumber ? orders : orders.toReversed()) {
          await page.keyboard.press(order === "ascending" ? "Enter" : "Space");
          expect(await page.evaluate(SORTED)).toEqual([[label, order]]);
          expect(await page.textContent("output#shown")).toBe(
            `${all} contracts, sorted by ${label}, ${order}`,
          );
          const texts = (await rowsOf(page)).map(({ cells }) => cells[name] as string);
          expectOrder(isNumber ? texts.map(shown) : texts, order);
        }
        await page.keyboard.press("Enter");
        expect(await page.evaluate(SORTED)).toEqual([]);
        expect((await rowsOf(page)).map(({ id }) => id)).toEqual(original);
      }
    });
  });
});

inChromium(
  "of 1,200 contracts a keystroke makes no row, and shows at most 60 in a turn",
  async () => {
    const { context, watch } = await watchedContext(browser as Browser);
    try {
      const page = await context.newPage();
      const all = await board("pro");
      const [row] = recordsOf(all) as [BoardRow];
      const many = Array.from({ length: 1_200 }, (_, at) => ({
        ...row,
        id: `part-${at}`,
        name: `Part ${at} of many`,
      }));
      await page.route("**/v1/prices", (route) =>
        route.fulfill({ json: { ...all, memory: many, semiconductor: [] } }),
      );
      await keepKey(page, proxy.pro);
      await open(page, proxy.url);
      const rows = page.locator("#board tbody tr");
      expect(await rows.count()).toBe(1_200);
      // Rows out of sight are not drawn.
      const drawn = (at: number): Promise<unknown> =>
        rows
          .nth(at)
          .evaluate((each) =>
            each.firstElementChild?.checkVisibility({ contentVisibilityAuto: true }),
          );
      expect([await drawn(0), await drawn(1_199)]).toEqual([true, false]);
      await page.evaluate(`
      globalThis.made = 0;
      globalThis.turns = [];
      new MutationObserver((records) => {
        made += records.filter(({ type }) => type === "childList").length;
        turns.push(records.filter(({ attributeName, target }) => attributeName && !target.hidden).length);
      }).observe(document.querySelector("#board tbody"),
        { subtree: true, childList: true, attributeFilter: ["hidden"] });
    `);
      await page.getByLabel("Find").pressSequentially("part 77");
      await expect.poll(() => rows.filter({ visible: true }).count()).toBe(21);
      await page.evaluate("turns.length = 0");
      await page.getByLabel("Find").fill("");
      await expect.poll(() => rows.filter({ visible: true }).count()).toBe(1_200);
      const turns = await page.evaluate<number[]>("turns");
      expect(Math.max(...turns)).toBeLessThanOrEqual(60);
      expect(turns.reduce((sum, count) => sum + count, 0)).toBe(1_179);
      expect(await page.evaluate("made")).toBe(0);
      expect(watch.complaints).toEqual([]);
    } finally {
      await context.close();
    }
  },
);

inChromium("four contracts at most are ticked, and a link compares them", () =>
  visit("pro", async (page) => {
    const records = recordsOf(await board("pro"));
    const boxes = page.locator("#board input[type=checkbox]");
    expect(await boxes.count()).toBe(records.length);
    for (const at of [0, 1, 2, 3]) await boxes.nth(at).check();
    expect(await boxes.nth(4).isDisabled()).toBe(true);
    await boxes.nth(1).uncheck();
    expect(await boxes.nth(4).isDisabled()).toBe(false);
    const link = page.locator("#compare a");
    expect(await link.innerText()).toBe("Compare 3 contracts");
    const ids = [0, 2, 3].map((at) => records[at]?.id);
    expect(await link.getAttribute("href")).toBe(`compare#ids=${ids.join(",")}`);
    await link.click();
    await page.waitForURL("**/compare#*");
    await page.goBack();
    await settled(page);
    expect(await link.innerText()).toBe("Compare 3 contracts");
    const ticked = page.locator("#board input:checked");
    expect(
      await ticked.evaluateAll((found) => found.map((box) => box.getAttribute("value"))),
    ).toEqual(ids);
  }),
);

inChromium("levels for a gigabyte are the API's, sorted, and kept in the address", () =>
  visit("pro", async (page) => {
    const records = recordsOf(await board("pro"));
    await page.click("#gigabyte");
    await page.click("#board thead .level button");
    const perGb = new Map(records.map((row) => [row.id, row.usd_per_gb ?? null]));
    const rows = await rowsOf(page);
    const figures = rows.map(({ id, cells }) => [id, cells["level"]]);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(records.length);
    for (const [id = "", text] of figures) {
      const exact = perGb.get(id);
      expect([id, text === "" ? null : shown(text as string)]).toEqual([
        id,
        exact == null ? null : Number(exact.toFixed(3)),
      ]);
    }
    const sorted = rows.flatMap(({ id }) => perGb.get(id) ?? []);
    expect(sorted.length).toBeGreaterThan(1);
    expect(sorted).toEqual(sorted.toSorted((a, b) => b - a));
    expect(page.url()).toBe(`${proxy.url}/?scale=gb&sort=-spot_usd`);
    await page.click("#gigabyte");
    expect(page.url()).toBe(`${proxy.url}/?sort=-spot_usd`);
  }),
);

inChromium("segment and words filter together, and keep their order", async () => {
  const records = recordsOf(await board("pro"));
  await visit("pro", async (page) => {
    const said = (): Promise<string | null> => page.textContent("#shown");
    const shownIds = async (): Promise<string[]> => (await rowsOf(page)).map(({ id }) => id);
    const whole = await said();
    expect(whole).toMatch(/^\d+ contracts: /);
    const options = await page.locator("#segment option").allTextContents();
    expect(options).toEqual(["all", ...new Set(records.map(({ segment }) => segment))]);

    const carried = records.find(
      ({ name, basis }) => name.includes("Withheld") && basis === "carried",
    ) as BoardRow;
    const chosen = records.filter(({ segment }) => segment === carried.segment);
    await page.getByLabel("Segment").selectOption(carried.segment);
    expect(await shownIds()).toEqual(chosen.map(({ id }) => id));
    expect(await said()).toBe(`${chosen.length} of ${records.length} contracts`);
    await page.getByLabel("Find", { exact: true }).fill("  CARRIED withheld ");
    expect(await shownIds()).toEqual([carried.id]);
    expect(await said()).toBe(`1 of ${records.length} contracts`);
    await page.getByLabel("Find", { exact: true }).fill("<no such thing>");
    expect([await shownIds(), await said()]).toEqual([[], `0 of ${records.length} contracts`]);
    const none = page.locator("#no-match");
    expect(await page.locator("#board").isVisible()).toBe(false);
    expect(await none.textContent()).toContain(
      `No contract of ${carried.segment} matches “<no such thing>”.`,
    );
    await none.getByRole("button", { name: "Clear" }).click();
    expect([await none.isVisible(), await said()]).toEqual([false, whole]);
    for (const [text, { id }] of [
      [carried.id, carried],
      [carried.source, carried],
    ] as const) {
      await page.getByLabel("Find", { exact: true }).fill(text);
      expect(await shownIds()).toContain(id);
    }
    await page.getByLabel("Find", { exact: true }).fill("");
    await page.getByLabel("Segment").selectOption(carried.segment);
    await page.getByRole("button", { name: "Level" }).press("Enter");
    const byLevel = chosen.toSorted((a, b) => b.spot_usd - a.spot_usd);
    expect(await shownIds()).toEqual(byLevel.map(({ id }) => id));
  });
});

inChromium(
  "find, segment and sort are in the address; Back restores them and the place",
  async () => {
    await visit("pro", async (page) => {
      await page.getByLabel("Find", { exact: true }).fill("plain");
      await page.getByLabel("Segment").selectOption("DRAM");
      await page.getByRole("button", { name: "1 year %" }).press("Enter");
      const query = "?q=plain&segment=DRAM&sort=-chg_yoy_pct";
      expect(new URL(page.url()).search).toBe(query);
      const before = (await rowsOf(page)).map(({ id }) => id);
      await page.evaluate("scrollTo(0, 700)");
      await expect.poll(() => page.evaluate("history.state?.y === 700")).toBe(true);
      await page.locator("#board tbody tr:not([hidden]) a").nth(8).click();
      await page.waitForURL("**/contracts/*");
      await page.goBack();
      await settled(page);
      expect(new URL(page.url()).search).toBe(query);
      expect((await rowsOf(page)).map(({ id }) => id)).toEqual(before);
      expect(await page.inputValue("#find")).toBe("plain");
      expect(await page.evaluate("scrollY")).toBe(700);
      // A key that was pasted into the wrong field stays out of the address.
      await page.getByLabel("Find", { exact: true }).fill(proxy.pro);
      await page.getByLabel("Segment").selectOption("");
      expect(new URL(page.url()).search).toBe("?sort=-chg_yoy_pct");
    });
  },
);

inChromium("without a key all other contracts stand on the board, with a lock", async () => {
  await visit("free", async (page) => {
    const locked = page.locator("#board tbody tr:has(.lock)");
    const read = await locked.evaluateAll((rows) =>
      rows.map((row) => [
        row.getAttribute("data-id"),
        row.querySelector("a")?.getAttribute("href"),
        row.querySelector("a")?.textContent,
        row.querySelector(".segment")?.textContent,
        row.querySelector(".unit")?.textContent,
        row.querySelector(".level")?.textContent,
      ]),
    );
    expect(read).toEqual(
      LOCKED.map(({ id, name, segment }) => [
        id,
        `contracts/${id}`,
        name,
        segment,
        "USD per piece",
        "needs a key",
      ]),
    );
    // They are found, follow the free ones in every order, and are never a match that is denied.
    const [wanted] = LOCKED.slice(20);
    await page.getByLabel("Find", { exact: true }).fill(wanted?.id ?? "");
    expect(await locked.filter({ visible: true }).count()).toBe(1);
    expect(await page.textContent("#shown")).toMatch(/^1 of \d+ contracts$/);
    await page.getByLabel("Find", { exact: true }).fill("");
    await page.getByRole("button", { name: "Level" }).press("Enter");
    const order = await page
      .locator("#board tbody tr")
      .evaluateAll((rows) => rows.map((row) => row.querySelector(".lock") !== null));
    expect(order).toEqual(order.toSorted((a, b) => Number(a) - Number(b)));
  });
});

inChromium(
  "the front door says what this is and where a key is had, until there is one",
  async () => {
    const plans = {
      get_url: "https://keys.example/get",
      starter: { usd_per_month: 7.5 },
      publisher: "A publisher & its <desk>",
    };
    const front = await startTestProxy({ store: proxy.store, clock: marketClock(), plans });
    try {
      await visit(
        "free",
        async (page) => {
          const door = page.locator(".door");
          const all = recordsOf(await board("free")).length + LOCKED.length;
          expect(await door.locator(".claim").innerText()).toBe(
            `Price levels of ${all} contracts and 5 indices, published every 12 hours.`,
          );
          const way = door.getByRole("link", { name: "Get a key" });
          expect(await way.getAttribute("href")).toBe(plans.get_url);
          expect(await door.innerText()).toContain("Starter 7.50 USD a month. Compare plans");
          expect(await door.innerText()).not.toContain("Pro 19");
          const proofs = await door
            .locator(".proofs a")
            .evaluateAll((links) =>
              links.map((link) => (link as unknown as { href: string }).href),
            );
          expect(proofs).toHaveLength(3);
          for (const href of proofs) {
            const { pathname, hash } = new URL(href);
            expect((await front.get(pathname)).text).toContain(`id="${hash.slice(1)}"`);
          }
          // Nobody said for whom it is.
          const kept = LISTED.flatMap(({ kind }, at) => (kind === "delisted" ? [] : [at]));
          const kinds = ["spot", "contract", "retail"]
            .map((type, at) => ({ type, count: kept.filter((each) => each % 3 === at).length }))
            .toSorted((a, b) => b.count - a.count)
            .map(({ type, count }) => `${count} ${type}`);
          const sources = kept.slice(0, 3).map((at) => `Source ${at} of a test`);
          expect(await door.locator(".about div").allInnerTexts()).toEqual([
            `Publisher\n${plans.publisher}`,
            `Prices\n${kinds.join(", ")}`,
            `Sources\n${sources.join("; ")}; ${kept.length - sources.length} others`,
          ]);
          const command = await door.locator("pre").innerText();
          const [, url = ""] = /^curl -s '(.*)'$/.exec(command) ?? [];
          const answer = (await front.get(new URL(url).pathname)) as { readonly text: string };
          expect(JSON.parse(answer.text).id).toBe(recordsOf(await board("free"))[0]?.id);
          expect(await door.locator("img, picture, svg").count()).toBe(0);
          await giveKey(page, front.pro);
          expect(await door.isVisible()).toBe(false);
        },
        front,
      );
    } finally {
      await front.close();
    }
  },
);

inChromium("a link to an order that only a key shows waits for the key", async () => {
  await visit("free", async (page) => {
    const query = "?segment=Guarded+photomasks&sort=chg_90d_pct";
    await open(page, `${proxy.url}/${query}`);
    expect(await rowsOf(page)).toEqual([]);
    await giveKey(page, proxy.pro);
    expect(new URL(page.url()).search).toBe(query);
    const rows = await rowsOf(page);
    expect(new Set(rows.map(({ cells }) => cells["segment"]))).toEqual(
      new Set(["Guarded photomasks"]),
    );
    expect(await page.textContent("#shown")).toContain("sorted by 90 d %, ascending");
  });
});

inChromium(
  "on a phone a row has 64 px and one change, that by which the select sorts",
  async () => {
    await visit("pro", async (page) => {
      await page.setViewportSize({ width: 390, height: 844 });
      const shownCells = (): Promise<unknown> =>
        page.evaluate(
          `[...document.querySelector("#board tbody tr").cells].filter((cell) => cell.checkVisibility()).map((cell) => cell.classList.item(cell.classList.length - 1))`,
        );
      expect(await shownCells()).toEqual(["contract", "level", "day", "line"]);
      await page.getByLabel("Sort").selectOption({ label: "1 year %" });
      expect(await shownCells()).toEqual(["contract", "level", "line", "year"]);
      expect(new URL(page.url()).search).toBe("?sort=-chg_yoy_pct");
      await page.getByRole("button", { name: "descending" }).click();
      expect(new URL(page.url()).search).toBe("?sort=chg_yoy_pct");
      const heights = await page.evaluate(
        `[...document.querySelectorAll("#board tbody tr, #controls :is(input, select, button)")].map((found) => found.getBoundingClientRect().height)`,
      );
      expect(new Set(heights as number[])).toEqual(new Set([44, 64]));
      const picked = await page.locator("#board .pick").first().boundingBox();
      expect(picked?.width).toBeGreaterThanOrEqual(24);
      expect(picked?.height).toBeGreaterThanOrEqual(24);
      // Presses beside the small box count.
      await page.mouse.click((picked?.x ?? 0) + 26, (picked?.y ?? 0) + 4);
      expect(await page.locator("#board input:checked").count()).toBe(1);
    });
  },
);

inChromium("typed text and choices stay when a key brings the whole board", async () => {
  await visit("free", async (page) => {
    await page.getByLabel("Segment").selectOption("DRAM");
    await page.getByLabel("Find", { exact: true }).fill("plain");
    await page.evaluate("globalThis.isSamePage = true");
    // Pasted with what stood around it.
    await giveKey(page, ` x-api-key: ${proxy.starter.slice(0, 30)}\n  ${proxy.starter.slice(30)} `);
    expect(await page.evaluate("globalThis.isSamePage")).toBe(true);
    const plain = recordsOf(await board("starter")).filter(
      ({ id, segment }) => id.includes("plain") && segment === "DRAM",
    );
    expect((await rowsOf(page)).map(({ id }) => id)).toEqual(plain.map(({ id }) => id));
    expect(await page.locator("#key-field").isVisible()).toBe(false);
    expect(await page.evaluate("document.activeElement.id")).toBe("content");
    expect(await page.locator("#composite .chart").isVisible()).toBe(true);
  });
});

inChromium("a session published while the page asks is said, and the key stays in use", () =>
  visit("pro", async (page) => {
    await page.route("**/v1/indices", async (route) => {
      const response = await route.fetch();
      const headers = { ...response.headers(), "x-snapshot": "2030-01-01T00Z/r1" };
      await route.fulfill({ response, headers });
    });
    await open(page, proxy.url);
    expect(await page.textContent("#board-problem")).toContain("A newer session came meanwhile");
    expect(await page.getByRole("button", { name: "Forget" }).isVisible()).toBe(true);
    expect(await page.locator("#overview").isVisible()).toBe(false);
  }),
);

inChromium("each sheet has a foot, and the board its segments, if it is in its own order", () =>
  visit("pro", async (page) => {
    await page.emulateMedia({ media: "print" });
    await page.pdf();
    const foot = await page.evaluate<string>(
      `getComputedStyle(document.documentElement).getPropertyValue("--sheet-foot")`,
    );
    const session = await page.textContent("#session time");
    expect(JSON.parse(foot)).toBe(`Prices of ${session} · ${proxy.url}/`);
    const groups = (): Promise<string[]> =>
      page.evaluate(`[...document.querySelectorAll("#board tbody tr")].flatMap((row) => {
        const { content } = getComputedStyle(row, "::before");
        return content === "none" ? [] : content.replaceAll('"', "");
      })`);
    const rows = recordsOf(await board("pro"));
    const segments = rows.map(({ segment }) => segment);
    expect(await groups()).toEqual(segments.filter((one, at) => segments[at - 1] !== one));
    await page.emulateMedia({ media: "screen" });
    await page.locator("#board thead .level button").click();
    await page.emulateMedia({ media: "print" });
    expect(await groups()).toEqual([]);
    expect(await page.locator("#board td.unit .usd").filter({ visible: true }).count()).toBe(0);
  }),
);

inChromium("names and units are whole on all widths and on paper", () =>
  visit("pro", async (page) => {
    const cut = `[...document.querySelectorAll(".board :is(.contract, .unit)")].filter(
      ({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + 1).length`;
    for (const width of [1280, 1199, 1024, 900, 760, 720, 390]) {
      await page.setViewportSize({ width, height: 900 });
      expect([width, await page.evaluate(cut)]).toEqual([width, 0]);
    }
    await page.emulateMedia({ media: "print" });
    await page.setViewportSize({ width: 720, height: 900 });
    expect(await page.evaluate(cut)).toBe(0);
  }),
);

inChromium.each(TIER_NAMES)(
  "%s: paper has each figure below its head, and no empty place",
  (tier) =>
    visit(tier, async (page) => {
      await page.emulateMedia({ media: "print" });
      // A4, upright and across.
      for (const width of [718, 1047]) {
        await page.setViewportSize({ width, height: 1000 });
        const astray = await page.evaluate<string[]>(
          `(() => {
          const rows = [...document.querySelectorAll("#board tr")].filter((row) => row.checkVisibility());
          const placesOf = (row) => [...row.cells].filter((cell) => cell.checkVisibility()).map((cell) => {
            const { left, right, width } = cell.getBoundingClientRect();
            const isIn = cell.scrollWidth <= Math.ceil(width) && right <= innerWidth;
            return [cell.className.replace(/^n /, ""), Math.round(left), isIn].join(" ");
          }).join();
          const [head, ...others] = rows.map(placesOf);
          return [...new Set(others)].filter((places) => places !== head);
        })()`,
        );
        expect([width, astray]).toEqual([width, []]);
        const empty = await page.evaluate<number[]>(
          `["#overview", "#moves"].map((id) => document.querySelector(id)).map((part) => {
          const inside = [...part.querySelectorAll(":scope > p, :scope > * > *")];
          const places = inside.map((each) => each.getBoundingClientRect());
          const ends = places.flatMap(({ height, bottom }) => (height > 0 ? bottom : []));
          return part.getBoundingClientRect().bottom - Math.max(0, ...ends);
        })`,
        );
        expect([width, empty.filter((heightPx) => heightPx > 24)]).toEqual([width, []]);
      }
    }),
);

inChromium("a page that the back button shows has no figures of a forgotten key", async () => {
  await visit("free", async (page) => {
    await giveKey(page, proxy.pro);
    expect(await rowsOf(page)).toHaveLength(recordsOf(await board("pro")).length);
    await page.evaluate(`sessionStorage.removeItem("chipboard-key")`);
    await page.evaluate(`dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))`);
    await page.locator("#key-open").waitFor();
    expect(await rowsOf(page)).toHaveLength(recordsOf(await board("free")).length);
  });
});

inChromium(
  "spent calls take the lines first, then the whole board, and the page says so",
  async () => {
    const state = await mkdtemp(join(tmpdir(), "chipboard-spent-"));
    const spent = await startTestProxy({ store: proxy.store, clock: marketClock(), state });
    const accounts = await openAccounts(state, spent.clock);
    const { account_id } = await spent.registry.account("small");
    const take = (calls: number): Promise<unknown> =>
      Promise.all(
        Array.from({ length: calls }, async () =>
          accounts.counts.take(`account:${account_id}`, LIMIT, spent.clock.ms),
        ),
      );
    const refusal = expect.stringContaining("429");
    try {
      await take(LIMIT - 2);
      const two = async (page: Page): Promise<void> => {
        const rows = await rowsOf(page);
        expect(rows).toHaveLength(recordsOf(await board("starter")).length);
        expect(await page.textContent("#key-message")).toBe("Starter · 0 calls left");
        const problem = page.locator("#trouble");
        expect(await problem.isVisible()).toBe(true);
        // Indices and lines are asked for at once: either may get the last call.
        const hasLines = rows.some(({ line }) => line !== null);
        expect((await page.locator("#indices tr").count()) > 0).toBe(!hasLines);
      };
      await visit("starter", two, spent, [refusal]);
      const none = async (page: Page): Promise<void> => {
        expect(await rowsOf(page)).toHaveLength(recordsOf(await board("free")).length);
        expect(await page.locator("main").innerText()).toMatch(
          /calls of the account in this month are used\. Counting starts again at 1 \w+ \d{4}, 00:00 UTC\. See the plans\s+This is the page without a key\./,
        );
      };
      await visit("starter", none, spent, [refusal]);
    } finally {
      await accounts.close();
      await spent.close();
      await rm(state, { recursive: true, force: true });
    }
  },
);

inChromium("the picture of Pro has the width of a page, and on a phone a drawing for it", () =>
  visit("free", async (page) => {
    await open(page, `${proxy.url}/indices`);
    const picture = 'document.querySelector(".pro-picture img")';
    for (const [width, ownWidth, file] of [
      [390, 358, /pro-narrow-light/],
      [1280, 680, /pro-light/],
    ] as const) {
      await page.setViewportSize({ width, height: 900 });
      await page.locator(".pro-picture img").scrollIntoViewIfNeeded();
      await expect.poll(() => page.evaluate<string>(`${picture}.currentSrc`)).toMatch(file);
      await page.evaluate(`${picture}.decode()`);
      const [shown = 0, ratio, drawnRatio = 0] = await page.evaluate<number[]>(
        `[${picture}].flatMap((one) =>
          [one.clientWidth, one.width / one.height, one.naturalWidth / one.naturalHeight])`,
      );
      expect(Math.abs(shown - ownWidth)).toBeLessThanOrEqual(2);
      expect(ratio).toBeCloseTo(drawnRatio, 1);
    }
  }),
);

inChromium("without script the free board is there, and nothing that needs one", async () => {
  const { context } = await watchedContext(browser as Browser, { javaScriptEnabled: false });
  try {
    const page = await context.newPage();
    await page.goto(proxy.url);
    const names = await page.locator("#board tbody th a").allTextContents();
    const free = recordsOf(await board("free")).map(({ name }) => name);
    expect(names).toEqual([...free, ...LOCKED.map(({ name }) => name)]);
    expect(await page.locator("input, select, button").filter({ visible: true }).count()).toBe(0);
  } finally {
    await context.close();
  }
});

/** The market page in a browser: every figure is the API's, for every tier; sorting, filtering, calls. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { TIER_NAMES, type TierName } from "../../src/market/tier.ts";
import type { Board, BoardRow } from "../../src/site/board.js";
import { sparkline } from "../../src/site/chart.js";
import { openGatekeeper } from "../../src/state/open.ts";
import { hasBrowser, inChromium, launchBrowser } from "../http/browser.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { marketClock, publishMarket } from "./market.ts";
import { giveKey, keepKey, open, watchedContext, type Watch } from "./visit.ts";

const API = "/api/public/v1";
const LIMIT = 25_000;

let proxy: TestProxy;
let browser: Browser | undefined;
beforeAll(async () => {
  proxy = await startTestProxy({ store: await publishMarket(), clock: marketClock() });
  if (hasBrowser) browser = await launchBrowser();
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

/** The rows that are not filtered out. */
const rowsOf = (page: Page): Promise<ShownRow[]> =>
  page.evaluate<
    ShownRow[]
  >(`[...document.querySelectorAll("#board tbody tr:not([hidden])")].map((row) => ({
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
      as_of: cells["as-of"],
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
        basis: record.basis,
        as_of: record.as_of,
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
    expect(said).toContain(tier === "pro" ? "the newest" : "1 session behind the newest");
    expect(await session.locator(".late").textContent()).toMatch(/^Late: 1 session overdue/);
    const { memory, semiconductor } = body.counts;
    const carried = recordsOf(body).filter(({ basis }) => basis === "carried").length;
    expect(await page.textContent("#coverage")).toContain(
      `${memory + semiconductor} contracts: ${memory} memory, ${semiconductor} semiconductor; ${carried} carried`,
    );
    expect(await page.textContent("#credit")).toBe(body.attribution);
    expect(await page.textContent("#license")).toBe(body.license);
  });

  inChromium("the index is the API's, for those who may see it", async () => {
    const { json } = await proxy.get(`${API}/index`, keyOf(tier));
    const tile = page.locator("#index");
    expect(await tile.isVisible()).toBe(tier !== "free");
    if (tier === "free") return;
    const figures = await tile.locator("dd").allTextContents();
    expect(figures.map(shown)).toEqual([json.level, json.chg_24h_pct, json.chg_30d_pct]);
    expect(await tile.locator("dt").allTextContents()).toEqual([
      "Level, points",
      "24 h, %",
      "30 d, %",
    ]);
    expect(await page.textContent("#index-base")).toBe(
      `${json.base.date} = 100; ${json.constituents} constituents, ${json.carried} carried`,
    );
    expect(await tile.locator("a").getAttribute("href")).toBe("indices");
  });
});

inChromium.each(["starter", "pro"] as const)(
  "%s: each line is drawn from the contract's own history, broken at its breaks",
  async (tier) => {
    const body = await board(tier);
    const to = body.session_utc.slice(0, 10);
    const after = new Date(Date.parse(to) - 90 * 86_400_000).toISOString().slice(0, 10);
    const drawn = new Map<string, string>();
    for (const { id } of recordsOf(body)) {
      const { history, breaks } = (await proxy.get(`${API}/prices/${id}`, keyOf(tier))).json as {
        history: { date: string; close_usd: number }[];
        breaks: { session_utc: string }[];
      };
      const points = history.map(({ date, close_usd }, at) => ({
        date,
        close: close_usd,
        isBreak: breaks.some(({ session_utc }) => {
          const day = session_utc.slice(0, 10);
          return day <= date && (at === 0 || (history[at - 1]?.date as string) < day);
        }),
      }));
      drawn.set(
        id,
        sparkline(
          points.filter(({ date }) => date > after),
          to,
        ),
      );
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
    ["as-of", "As of"],
  ];
  const FIGURES = new Set(["level", "day", "month", "quarter", "year"]);
  const SORTED = `[...document.querySelectorAll("[aria-sort]")].map((head) => [head.textContent, head.ariaSort])`;

  inChromium(
    "every column sorts both ways by keyboard, says so, and goes back",
    async () => {
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
              `${all} of ${all} contracts, sorted by ${label}, ${order}`,
            );
            const texts = (await rowsOf(page)).map(({ cells }) => cells[name] as string);
            expectOrder(isNumber ? texts.map(shown) : texts, order);
          }
          await page.keyboard.press("Enter");
          expect(await page.evaluate(SORTED)).toEqual([]);
          expect((await rowsOf(page)).map(({ id }) => id)).toEqual(original);
        }
      });
    },
    300_000,
  );
});

inChromium("segment and words filter together, and keep their order", async () => {
  const records = recordsOf(await board("pro"));
  await visit("pro", async (page) => {
    const said = (): Promise<string | null> => page.textContent("#shown");
    const shownIds = async (): Promise<string[]> => (await rowsOf(page)).map(({ id }) => id);
    expect(await said()).toBe("");
    const groups = await page
      .locator("#segment optgroup")
      .evaluateAll((found) =>
        found.map((group) => [
          group.getAttribute("label"),
          ...[...group.children].map(({ textContent }) => textContent),
        ]),
      );
    const segments = (rows: readonly BoardRow[]): string[] => [
      ...new Set(rows.map(({ segment }) => segment)),
    ];
    const { memory, semiconductor } = await board("pro");
    expect(groups).toEqual([
      ["Memory", ...segments(memory)],
      ["Semiconductor", ...segments(semiconductor)],
    ]);

    const carried = records.find(
      ({ name, basis }) => name.includes("Withheld") && basis === "carried",
    ) as BoardRow;
    const chosen = records.filter(({ segment }) => segment === carried.segment);
    await page.getByLabel("Segment").selectOption(carried.segment);
    expect(await shownIds()).toEqual(chosen.map(({ id }) => id));
    expect(await said()).toBe(`${chosen.length} of ${records.length} contracts`);
    await page.getByLabel("Find").fill("  CARRIED withheld ");
    expect(await shownIds()).toEqual([carried.id]);
    expect(await said()).toBe(`1 of ${records.length} contracts`);
    await page.getByLabel("Find").fill("<no such thing>");
    expect([await shownIds(), await said()]).toEqual([[], `0 of ${records.length} contracts`]);
    await page.getByLabel("Find").fill("");
    await page.getByRole("button", { name: "Level" }).press("Enter");
    const byLevel = chosen.toSorted((a, b) => b.spot_usd - a.spot_usd);
    expect(await shownIds()).toEqual(byLevel.map(({ id }) => id));
  });
});

inChromium("what was typed and chosen stays when a key brings the whole board", async () => {
  await visit("free", async (page) => {
    await page.getByLabel("Segment").selectOption("DRAM");
    await page.getByLabel("Find").fill("plain");
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
  });
});

inChromium("a page that the back button shows has no figures of a forgotten key", async () => {
  await visit("free", async (page) => {
    await giveKey(page, proxy.pro);
    expect(await rowsOf(page)).toHaveLength(recordsOf(await board("pro")).length);
    await page.evaluate(`sessionStorage.removeItem("chipboard-key")`);
    await page.evaluate(`dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))`);
    await page.locator("#key-field").waitFor();
    expect(await rowsOf(page)).toHaveLength(recordsOf(await board("free")).length);
  });
});

inChromium(
  "spent calls take the lines first, then the whole board, and the page says so",
  async () => {
    const state = await mkdtemp(join(tmpdir(), "chipboard-spent-"));
    const spent = await startTestProxy({ store: proxy.store, clock: marketClock(), state });
    const gatekeeper = await openGatekeeper(state, spent.clock);
    const { account_id } = await spent.registry.account("small");
    const take = (calls: number): Promise<unknown> =>
      Promise.all(
        Array.from({ length: calls }, async () =>
          gatekeeper.counts.take(`account:${account_id}`, LIMIT, spent.clock.ms),
        ),
      );
    const refusal = expect.stringContaining("429");
    try {
      await take(LIMIT - 2);
      const two = async (page: Page): Promise<void> => {
        const rows = await rowsOf(page);
        expect(rows).toHaveLength(recordsOf(await board("starter")).length);
        expect(await page.textContent("#key-message")).toBe("Tier starter, 0 calls left");
        const problem = page.locator("#board-problem");
        expect(await problem.isVisible()).toBe(true);
        // Index and histories are asked for at once: either may get the last call.
        const hasLines = rows.some(({ line }) => line !== null);
        expect(await page.locator("#index").isVisible()).toBe(!hasLines);
      };
      await visit("starter", two, spent, [refusal]);
      const none = async (page: Page): Promise<void> => {
        expect(await rowsOf(page)).toHaveLength(recordsOf(await board("free")).length);
        expect(await page.textContent("#board-problem")).toMatch(
          /calls .* The page shows what everybody sees\.$/,
        );
      };
      await visit("starter", none, spent, [refusal]);
    } finally {
      await gatekeeper.close();
      await spent.close();
      await rm(state, { recursive: true, force: true });
    }
  },
);

inChromium("without script the free board is there, and nothing that needs one", async () => {
  const { context } = await watchedContext(browser as Browser, { javaScriptEnabled: false });
  try {
    const page = await context.newPage();
    await page.goto(proxy.url);
    const names = await page.locator("#board tbody th a").allTextContents();
    expect(names).toEqual(recordsOf(await board("free")).map(({ name }) => name));
    expect(await page.locator("input, select, button").filter({ visible: true }).count()).toBe(0);
  } finally {
    await context.close();
  }
});

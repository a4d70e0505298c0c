/** The page of a contract in a browser: its public facts without a key, and the figures of the API with one. */
import { buffer, text } from "node:stream/consumers";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TIER_NAMES, type TierName } from "../../src/market/tier.ts";
import { fieldOf, RECORD_COLUMNS } from "../../src/public/columns.ts";
import type { ContractBody } from "../../src/site/record.js";
import { dayText } from "../../src/site/axis.js";
import { rounded } from "../../src/site/decimal.js";
import * as levels from "../../src/site/levels.js";
import { MemoryStore } from "../store/memory-store.ts";
import { catalogOf, mustPublish, quotesOf } from "../cli/small-market.ts";
import { formerId, idsOf, LISTED, marketClock, publishMarket } from "./page-market.ts";
import { keepKey, open, watchedContext, type Watch } from "./visit.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { NEVER, startTestProxy, type TestProxy } from "../http/fixture.ts";

const API = "/api/public/v1";
const HTML = "text/html; charset=utf-8";
const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

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

const keyOf = (tier: TierName, of = proxy): string | null => (tier === "free" ? null : of[tier]);

async function answer(id: string, tier: TierName, of = proxy): Promise<ContractBody> {
  const key = keyOf(tier, of);
  const { status, json } = await of.get(`${API}/prices/${id}`, key === null ? {} : { key });
  expect(status).toBe(200);
  return json;
}

/** Opens the page in a new tab. It must neither complain nor ask another host. */
async function visit(
  id: string,
  tier: TierName,
  look: (page: Page, watch: Watch) => Promise<void>,
  of = proxy,
  options: BrowserContextOptions = {},
): Promise<void> {
  const { context, watch } = await watchedContext(browser as Browser, options);
  try {
    const page = await context.newPage();
    const key = keyOf(tier, of);
    if (key !== null) await keepKey(page, key);
    await open(page, `${of.url}/contracts/${id}`);
    await look(page, watch);
    expect(watch.complaints).toEqual([]);
    const hosts = watch.requests.map(({ url }) => url).filter((url) => !url.startsWith("blob:"));
    expect(hosts.filter((url) => !url.startsWith(`${of.url}/`))).toEqual([]);
  } finally {
    await context.close();
  }
}

/** The fields of a record, but for those that stand in the title, or as a link. */
const [FIGURES, TEXTS] = [true, false].map((isFigure) =>
  RECORD_COLUMNS.filter(({ kind }) => (kind === "decimal") === isFigure)
    .map(fieldOf)
    .filter((field) => !["id", "ticker", "name", "segment", "source_url"].includes(field)),
) as [string[], string[]];

/** The values on the page, by field: figures as numbers, `n/a` as null. */
async function fieldsOf(page: Page): Promise<Record<string, string | number | null>> {
  const shown = await page.$$eval("[data-field]", (all) =>
    all.map((element) => [element.getAttribute("data-field") as string, element.textContent ?? ""]),
  );
  return Object.fromEntries(
    (shown as [string, string][]).map(([field, text]) => [field, valueOf(field, text)]),
  );
}

function valueOf(field: string, text: string): string | number | null {
  if (text === "n/a") return null;
  if (!FIGURES.includes(field)) return text;
  expect(text).toMatch(/^[+−]?\d{1,3}(,\d{3})*(\.\d+)?$/);
  return Number(text.replaceAll(",", "").replace("−", "-").replace("+", ""));
}

/** All fields with a value that says something, and the changes. */
function expected(body: ContractBody): Record<string, unknown> {
  const dayBefore = new Date(Date.parse(body.session_utc.slice(0, 10)) - 86_400_000);
  const said = {
    ...body,
    age_days: body.age_days || null,
    prev_as_of: body.prev_as_of === dayBefore.toISOString().slice(0, 10) ? null : body.prev_as_of,
    usd_per_gb: body.usd_per_gb && Number(rounded(String(body.usd_per_gb), 3)),
  };
  return Object.fromEntries(
    [...FIGURES, ...TEXTS, "rationale"]
      .map((field) => [field, said[field as keyof ContractBody]] as const)
      .filter(([field, value]) => value !== null || field.startsWith("chg_")),
  );
}

/** In the free slice, and outside it. */
const [SHOWN, WITHHELD] = [0, 1].map((slice) =>
  (["carried", "broken", "delisted", "renamed", "corrected", "young"] as const).map(
    (kind) => idsOf(kind)[slice] as string,
  ),
) as [string[], string[]];

describe("without a key", () => {
  test("the free slice is shown in the page itself", async () => {
    for (const id of SHOWN) {
      const { status, headers, text } = await proxy.get(`/contracts/${id}`);
      expect([status, headers["content-type"]]).toEqual([200, HTML]);
      const { name, session_utc, attribution } = await answer(id, "free");
      for (const part of [name, session_utc, attribution, id]) expect(text).toContain(part);
      expect(text).toContain("Late: 1 session overdue.");
      const isDelisted = LISTED.find((each) => each.id === id)?.kind === "delisted";
      expect(text.includes("The next update was due <time")).toBe(!isDelisted);
      const command = `chipboard check <span data-option></span>\\\n  '<span data-proof>${proxy.url}${API}/prices/${id}</span>'`;
      expect(text).toContain(command);
    }
  });

  test("others have what the catalog says, a locked chart, and nothing of their levels", async () => {
    const { contracts } = (await proxy.get(`${API}/contracts`)).json;
    const counts = new Map<
      string,
      Record<"starter" | "pro", { count: number; first_month: string }>
    >(contracts.map(({ id, closes }: { id: string; closes: never }) => [id, closes]));
    for (const { id, name, kind } of LISTED.filter(({ isFree }) => !isFree)) {
      const { status, text } = await proxy.get(`/contracts/${id}`);
      expect(status).toBe(200);
      expect(text).toContain(
        kind === "delisted"
          ? "Delisted. Unlock its history from <b>9 USD</b> a month."
          : "Usually priced every 12 hours. Unlock price and history from <b>9 USD</b> a month.",
      );
      expect(text).not.toContain("noindex");
      const facts = contracts.find((one: { id: string }) => one.id === id);
      expect(text).toContain(
        `<meta name="description" content="${facts.ticker}, ${facts.segment}, in ${facts.unit}. Source: ${facts.source}." />`,
      );
      expect(text).toContain(`<h1><bdi>${name}</bdi></h1>`);
      expect([id, text.includes(">Add to basket<")]).toEqual([id, kind !== "delisted"]);
      const told = counts.get(id);
      if (told === undefined) throw new Error(`/contracts has no ${id}`);
      const { starter, pro } = told;
      const month = new Date(`${pro.first_month}-01`).toLocaleDateString("en-GB", {
        month: "long",
        year: "numeric",
        timeZone: "UTC",
      });
      expect(text).toContain(
        `${pro.count} closes since ${month} with Pro (<b>19 USD</b> a month), ${starter.count} with Starter (<b>9 USD</b> a month).`,
      );
      const { unit, ticker, segment, source, spot_usd } = await answer(id, "pro");
      for (const part of [unit, ticker, segment, source]) expect(text).toContain(part);
      const own = text.slice(text.indexOf("<h1>"), text.indexOf('<div id="others"'));
      expect(own).not.toContain("data-field");
      expect(own).not.toContain(String(spot_usd));
      expect(own).toMatch(/Particulars<\/h2>\n<dl class="facts">\n<div><dt>Unit<\/dt>/);
      expect(text).toContain('<details id="proof" hidden>');
      expect(own).not.toMatch(/\d{4}-\d\d-\d\d|table|<time/);
    }
  });

  test("others of its segment are listed, those that need a key with a lock, and the way to all", async () => {
    for (const id of [SHOWN[0], WITHHELD[0]] as string[]) {
      const { text } = await proxy.get(`/contracts/${id}`);
      const others = text.slice(
        text.indexOf('<div id="others"'),
        text.indexOf('<section id="request"'),
      );
      const rows = [...others.matchAll(/<tr data-id="([^"]*)">(.*?)<\/tr>/g)].map(
        ([, other, row]) => [other, row?.includes('class="lock"')],
      );
      const segment = LISTED.find((each) => each.id === id)?.segment;
      const near = LISTED.filter(
        (each) => each.segment === segment && each.kind !== "delisted" && each.id !== id,
      ).map((each) => [each.id, !each.isFree]);
      expect(near).toEqual(expect.arrayContaining(rows));
      expect(rows).toHaveLength(Math.min(12, near.length));
      expect(others.includes(`?segment=${encodeURIComponent(String(segment))}">Show all`)).toBe(
        near.length > 12,
      );
    }
  });

  test("an id that no contract has is refused as the API refuses it", async () => {
    for (const id of ["none", "%00", "%3Cb%3E", "constructor", "key_required"]) {
      const document = await proxy.get(`/contracts/${id}`);
      const { json } = await proxy.get(`${API}/prices/${id}`);
      expect([document.status, document.json]).toEqual([404, json]);
      const page = await proxy.get(`/contracts/${id}`, { headers: BROWSER });
      expect([page.status, page.headers["content-type"]]).toEqual([404, HTML]);
      expect(page.text).toContain("<h1>Unknown contract</h1>");
    }
  });

  test("a former id leads to the present one, also below a prefix", async () => {
    for (const id of idsOf("renamed")) {
      const moved = await proxy.get(`/contracts/${formerId(id)}`);
      expect(moved.status).toBe(308);
      const at = (url: string) => new URL(moved.headers.location as string, url).href;
      const page = `${proxy.url}/contracts/`;
      expect(at(page + formerId(id))).toBe(page + id);
      expect(at(`https://a.example/chips/contracts/x`)).toBe(
        `https://a.example/chips/contracts/${id}`,
      );
      expect((await proxy.get(`/contracts/${id}`)).status).toBe(200);
    }
  });

  test("nothing is counted, and known files are not sent again", async () => {
    const { json: before } = await proxy.get(`${API}/usage`);
    for (const id of [...SHOWN, ...WITHHELD]) {
      const { headers, text } = await proxy.get(`/contracts/${id}`);
      const etag = headers.etag as string;
      const again = await proxy.get(`/contracts/${id}`, { headers: { "if-none-match": etag } });
      expect([again.status, again.text, again.headers.etag]).toEqual([304, "", etag]);
      const head = await proxy.get(`/contracts/${id}`, { method: "HEAD" });
      expect(head.headers["content-length"]).toBe(String(Buffer.byteLength(text)));
      const coded = await proxy.get(`/contracts/${id}`, { headers: { "accept-encoding": "gzip" } });
      expect([coded.headers["content-encoding"], coded.text]).toEqual(["gzip", text]);
    }
    const { json: after } = await proxy.get(`${API}/usage`);
    expect(after.used).toBe(before.used);
  });
});

test("before the first publication the page says so", async () => {
  const empty = await startTestProxy({ store: new MemoryStore() });
  try {
    const document = await empty.get("/contracts/any");
    expect([document.status, document.json.code]).toEqual([503, "no_session"]);
    expect(document.headers["retry-after"]).toBe("1");
    const page = await empty.get("/contracts/any", { headers: BROWSER });
    expect([page.status, page.headers["content-type"]]).toEqual([503, HTML]);
    expect(page.text).toContain("No session is published yet.");
  } finally {
    await empty.close();
  }
});

inChromium.each(TIER_NAMES)("in a browser, %s: every figure is the API's", async (tier) => {
  const used = async (): Promise<number> => {
    const key = keyOf(tier);
    return (await proxy.get(`${API}/usage`, key === null ? {} : { key })).json.used;
  };
  const [first, ...others] = tier === "free" ? SHOWN : [...SHOWN.slice(0, 1), ...WITHHELD];
  const expectFigures = async (page: Page, body: ContractBody): Promise<void> => {
    expect(await fieldsOf(page)).toEqual(expected(body));
    expect(await page.locator("h1").innerText()).toBe(body.name);
    expect(await page.title()).toBe(`${body.name} · chipboard`);
    const main = await page.locator("main").innerText();
    for (const part of [body.ticker, body.unit, body.license]) {
      expect(main).toContain(part);
    }
    expect(await page.innerText("#attribution")).toBe(body.attribution);
    expect(
      await page.getByRole("link", { name: body.source, exact: true }).getAttribute("href"),
    ).toBe(body.source_url);
    const key = keyOf(tier);
    const board = await proxy.get(`${API}/prices`, key === null ? {} : { key });
    const { next_session_utc: next } = board.json;
    const due = page.locator(`.session time[datetime="${next}"]`);
    expect(await due.count()).toBe(body.basis === "discontinued" ? 0 : 1);
    const discontinued = `Discontinued: this contract is off the board. Its last level is of ${body.as_of}`;
    expect(main.includes(discontinued)).toBe(body.basis === "discontinued");
    const { delisted_on: day } = body;
    if (day != null) expect(main).toContain(`there are no changes. It was delisted on ${day}.`);
    expect(await page.locator(".tag").allInnerTexts()).toEqual(
      body.basis === "discontinued" ? [body.basis] : [],
    );
    expect(await page.locator(".charted").count()).toBe(body.history.length === 0 ? 0 : 1);
  };
  const before = await used();
  await visit(first as string, tier, async (page) => {
    expect(await used()).toBe(before + (tier === "free" ? 0 : 3));
    await expectFigures(page, await answer(first as string, tier));
    for (const id of others) {
      await open(page, `${proxy.url}/contracts/${id}`);
      await expectFigures(page, await answer(id, tier));
    }
  });
});

/** What a chart of a range has. */
function drawnOf(body: ContractBody, label: string): levels.Drawn {
  const closes = body.history.map(({ date, close_usd, session_utc }) => ({
    date,
    close: close_usd,
    text: String(close_usd),
    ...(session_utc !== undefined && { session: session_utc }),
  }));
  const line = {
    levels: closes,
    known: levels.withReferences(closes, body.references),
    carryDays: body.max_carry_days,
    to: body.session_utc,
  };
  return levels.drawnOf(line, label.toLowerCase().replace(" ", ""));
}

/** Its levels as dates and figures. */
const within = (body: ContractBody, label: string): [string, number][] =>
  drawnOf(body, label).points.map(({ date, close }) => [date, close]);

/** The date and the figure under the cursor. */
async function read(page: Page): Promise<[string, number]> {
  const [date, figure] = await page.$$eval(".tip time, .tip b", ([time, level]) => [
    time?.getAttribute("datetime"),
    level?.textContent,
  ]);
  return [date as string, valueOf("spot_usd", figure as string) as number];
}

/** Every close that the cursor finds from the right end to the left one, in ascending order. */
async function readAll(page: Page): Promise<[string, number][]> {
  await page.getByRole("slider").focus();
  await page.keyboard.press("End");
  const found = [await read(page)];
  for (;;) {
    await page.keyboard.press("ArrowLeft");
    const close = await read(page);
    if (close[0] === found[0]?.[0]) return found;
    found.unshift(close);
  }
}

const RANGES = {
  starter: ["30 d", "90 d", "All"],
  pro: "30 d,90 d,6 m,YTD,1 y,5 y,All".split(","),
};

describe("the chart", () => {
  for (const tier of ["starter", "pro"] as const) {
    inChromium(`has the ranges of ${tier}, and the cursor reads every close`, () =>
      visit("keyed-corrected", tier, async (page) => {
        const body = await answer("keyed-corrected", tier);
        const buttons = page.getByRole("group", { name: "Range" }).getByRole("button");
        const ranges = await buttons.allInnerTexts();
        expect(ranges).toEqual(RANGES[tier]);
        const pressed = () =>
          buttons.evaluateAll((all) => all.map((button) => button.getAttribute("aria-pressed")));
        expect(await pressed()).toEqual(
          ranges.map((range) => String(range === (tier === "pro" ? "1 y" : "30 d"))),
        );
        for (const range of ranges) {
          await page.getByRole("button", { name: range, exact: true }).focus();
          await page.keyboard.press("Enter");
          expect(await pressed()).toEqual(ranges.map((other) => String(other === range)));
          const kept = new URL(page.url()).searchParams.get("range");
          expect(kept).toBe(range.toLowerCase().replace(" ", ""));
          const closes = within(body, range);
          expect(await readAll(page)).toEqual(closes);
          const { points } = drawnOf(body, range);
          const changes = levels.changesOfContract(body);
          expect(await page.textContent(".chart-title")).toBe(
            levels.titleOf(body.name, kept as string, changes, points, Infinity),
          );
          const slider = page.getByRole("slider");
          expect(await slider.getAttribute("max")).toBe(String(closes.length - 1));
          const day = new Date(closes[0]?.[0] as string);
          const words = `${day.getUTCDate()} ${day.toLocaleString("en", { month: "long", timeZone: "UTC" })} ${day.getUTCFullYear()}: `;
          const said = (await slider.getAttribute("aria-valuetext")) as string;
          expect(said.startsWith(words)).toBe(true);
          expect(said.endsWith(` ${body.unit}`)).toBe(true);
          await page.keyboard.press("End");
          expect(await read(page)).toEqual(closes.at(-1));
          await page.keyboard.press("PageDown");
          expect(await read(page)).toEqual(closes[Math.round((closes.length - 1) * 0.9)]);
          await page.keyboard.press("Home");
          expect(await read(page)).toEqual(closes[0]);
        }
      }),
    );
  }

  inChromium("shows the range that the address names", () =>
    visit("keyed-plain-20?range=6m", "pro", async (page) => {
      expect(await page.locator(".ranges [aria-pressed=true]").innerText()).toBe("6 m");
    }),
  );

  inChromium("follows the pointer", () =>
    visit("keyed-plain-20", "pro", async (page) => {
      const closes = within(await answer("keyed-plain-20", "pro"), "1 y");
      await page.locator(".cursor").scrollIntoViewIfNeeded();
      const box = await page.locator(".cursor").boundingBox();
      if (box === null) throw new Error("The cursor has no place");
      const middle = box.y + box.height / 2;
      const tip = page.locator(".tip");
      expect(await tip.isVisible()).toBe(false);
      await page.mouse.move(box.x + 1, middle);
      expect(await read(page)).toEqual(closes[0]);
      expect(await tip.isVisible()).toBe(true);
      await page.mouse.move(box.x + box.width - 0.2, middle);
      expect(await read(page)).toEqual(closes.at(-1));
      // The close of a day is at its share of the year.
      const [date] = closes[4] as [string, number];
      const [start, end] = ["2025-11-21", "2026-11-21"].map((day) => Date.parse(day)) as [
        number,
        number,
      ];
      const share = (Date.parse(`${date}T12:00Z`) - start) / (end - start);
      await page.mouse.move(box.x + share * box.width, middle);
      expect(await read(page)).toEqual(closes[4]);
      expect((await tip.innerText()).split("\n")).toHaveLength(2);
    }),
  );

  inChromium("follows a finger drawn across it, and lets the page scroll", async () => {
    const look = async (page: Page): Promise<void> => {
      const closes = within(await answer("keyed-plain-20", "pro"), "1 y");
      await page.locator(".cursor").scrollIntoViewIfNeeded();
      const box = await page.locator(".cursor").boundingBox();
      if (box === null) throw new Error("The cursor has no place");
      const middle = box.y + box.height / 2;
      const devtools = await page.context().newCDPSession(page);
      const touch = (type: "touchStart" | "touchMove", x: number, y = middle) =>
        devtools.send("Input.dispatchTouchEvent", { type, touchPoints: [{ x, y }] });
      const lift = () =>
        devtools.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });

      const [start, end] = ["2025-11-21", "2026-11-21"].map((day) => Date.parse(day)) as [
        number,
        number,
      ];
      await touch("touchStart", box.x + 5);
      for (const at of [2, 8, 9, -2, -6]) {
        const [date, close] = closes.at(at) as [string, number];
        const share = (Date.parse(`${date}T12:00Z`) - start) / (end - start);
        await touch("touchMove", box.x + share * box.width);
        await expect.poll(() => read(page)).toEqual([date, close]);
        expect(await page.locator(".tip").isVisible()).toBe(true);
      }
      await lift();
      expect((await read(page))[0]).toBe(closes.at(-6)?.[0]);
      expect(await page.locator(".tip").isVisible()).toBe(true);

      const before = await page.evaluate<number>("scrollY");
      await touch("touchStart", box.x + 50);
      for (let moved = 20; moved <= 200; moved += 20) {
        await touch("touchMove", box.x + 50, middle - moved);
      }
      await lift();
      await expect.poll(() => page.evaluate("scrollY")).toBeGreaterThan(before + 100);
    };
    const phone = { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } };
    await visit("keyed-plain-20", "pro", look, proxy, phone);
  });

  inChromium("its text stays on a narrow screen wherever the cursor is", () =>
    visit(
      "free-broken",
      "pro",
      async (page) => {
        await page.getByRole("slider").focus();
        const count = Number(await page.getByRole("slider").getAttribute("max"));
        for (let at = count; at >= 0; at -= 5) {
          const box = await page.locator(".tip").boundingBox();
          expect(box?.x).toBeGreaterThanOrEqual(0);
          expect((box?.x ?? 0) + (box?.width ?? 1e9)).toBeLessThanOrEqual(390);
          const words = await page.locator("text.break").boundingBox();
          expect(box?.y).toBeGreaterThan((words?.y ?? 0) + (words?.height ?? 1e9) - 8);
          for (let step = 0; step < 5; step += 1) await page.keyboard.press("ArrowLeft");
        }
      },
      proxy,
      { viewport: { width: 390, height: 844 } },
    ),
  );

  inChromium("is not drawn across a break, says it in words and lists it", () =>
    visit("free-broken", "pro", async (page) => {
      const body = await answer("free-broken", "pro");
      const [{ session_utc, reason }] = body.breaks as [ContractBody["breaks"][0]];
      const date = session_utc.slice(0, 10);
      expect(await page.locator(".chart .past").count()).toBe(1);
      const words = await page.locator(".chart text.break").allTextContents();
      expect(words).toHaveLength(1);
      expect(words[0]).toMatch(/^From \d+ \w+ 2026: Sold by the tray from now on /);
      const label = await page.locator(".chart").getAttribute("aria-label");
      expect(label).toContain(`Breaks: ${date} (${reason}).`);
      expect(await page.locator("#breaks li").allInnerTexts()).toEqual([
        `${date} 12:00 UTC: ${reason}`,
      ]);
      expect(await page.locator("#closes").innerText()).not.toContain("Mark");
      await page.getByRole("slider").focus();
      while ((await read(page))[0] !== date) await page.keyboard.press("ArrowLeft");
      expect(await page.locator(".tip").innerText()).toContain(
        `First close after a break: ${reason}`,
      );
    }),
  );

  inChromium("marks a corrected close and lists the correction", () =>
    visit("keyed-corrected", "starter", async (page) => {
      const body = await answer("keyed-corrected", "starter");
      const [item] = body.corrections as [ContractBody["corrections"][0]];
      expect(await page.locator(".chart circle.corrected").count()).toBe(1);
      expect(await page.locator("#closes").innerText()).toContain("Mark");
      const date = item.session_utc.slice(0, 10);
      const cells = await page.locator("#corrections tbody tr > *").allInnerTexts();
      expect(cells).toEqual([
        `${date} 12:00 UTC`,
        String(item.old_usd),
        String(item.new_usd),
        item.reason,
        item.corrected_in,
      ]);
      await page.getByRole("slider").focus();
      while ((await read(page))[0] !== date) await page.keyboard.press("ArrowLeft");
      expect(await read(page)).toEqual([date, item.new_usd]);
      expect(await page.locator(".tip").innerText()).toContain("Correction");
    }),
  );
});

inChromium("the last 30 closes and the others in the segment are the API's", () =>
  visit("keyed-corrected", "pro", async (page) => {
    const body = await answer("keyed-corrected", "pro");
    const rows = await page.$$eval("#closes tbody tr", (all) =>
      all.map(({ children: [date, close] }) => [date?.textContent, close?.textContent]),
    );
    const last = body.history.slice(-30).toReversed();
    expect(rows.map(([date, close]) => [date, valueOf("spot_usd", close as string)])).toEqual(
      last.map(({ date, close_usd }) => [date, close_usd]),
    );
    const { json } = await proxy.get(`${API}/prices`, { key: proxy.pro });
    const near = [...json.memory, ...json.semiconductor].filter(
      ({ segment }) => segment === body.segment,
    );
    const links = await page.$$eval("#others tbody a", (all) =>
      all.map((link) => link.getAttribute("href")),
    );
    expect(near.map(({ id }) => id)).toEqual(expect.arrayContaining(links));
    const place = near.findIndex(({ id }) => id === body.id);
    const next = page.locator("#others a[rel=next]");
    const nextId = near[place + 1]?.id;
    expect(await next.count()).toBe(nextId === undefined ? 0 : 1);
    const levels = await page.$$eval("#others tbody tr", (all) =>
      all.map(({ dataset, children }) => [dataset["id"], children[1]?.textContent]),
    );
    for (const [id, level] of levels) {
      const row = near.find((each) => each.id === id);
      expect(valueOf("spot_usd", level as string)).toBe(row.spot_usd);
    }
    const basket = page.getByRole("link", { name: "Add to basket" });
    expect(await basket.getAttribute("href")).toBe("../basket#ids=keyed-corrected&quantities=1");
    const code = await page.locator("#request .code code").allTextContents();
    for (const program of code.slice(1)) {
      expect(program).toContain(`${proxy.url}/api/public/v1/prices/keyed-corrected`);
    }
  }),
);

async function saved(page: Page, button: string): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: button, exact: true }).click(),
  ]);
  return {
    name: download.suggestedFilename(),
    text: await text(await download.createReadStream()),
  };
}

describe("files", () => {
  for (const tier of ["starter", "pro"] as const) {
    inChromium(`the CSV has the range and the scale that the chart shows to ${tier}`, () =>
      visit("keyed-broken", tier, async (page) => {
        const { history, breaks, session_utc } = await answer("keyed-broken", tier);
        const session = tier === "pro" ? "2026-11-21T00Z" : "2026-11-20T12Z";
        const rowsOf = (csv: string) =>
          csv
            .trim()
            .split("\r\n")
            .map((line) => line.split(","));
        await page.getByRole("button", { name: "All", exact: true }).click();
        const all = await saved(page, "CSV");
        expect(all.name).toBe(`chipboard-${session}-${tier}-keyed-broken-all.csv`);
        const [head, ...rows] = rowsOf(all.text);
        expect(head?.slice(0, 2)).toEqual(["instant_utc", "keyed-broken"]);
        const closes = history.map((close) => [
          close.session_utc ?? `${close.date}T12:00:00.000Z`,
          close.close_usd,
        ]);
        const levelsIn = rows.map(([at, level]) => [at, Number(level)]);
        expect(levelsIn).toEqual(expect.arrayContaining(closes));
        expect(rows.at(-1)?.[0]).toBe(session_utc);
        const reasons = rows.flatMap(
          (row) => row[head?.indexOf("keyed-broken_break_reason") ?? -1] || [],
        );
        expect(reasons).toEqual(breaks.map(({ reason }) => reason));
        await page.getByRole("button", { name: "30 d", exact: true }).click();
        const month = await saved(page, "CSV");
        expect(month.name).toBe(`chipboard-${session}-${tier}-keyed-broken-30d.csv`);
        const from = new Date(Date.parse(session_utc) - 30 * 86_400_000).toISOString();
        const within = rowsOf(month.text).slice(1);
        expect(within.filter(([at = ""]) => at < from)).toEqual([]);
        expect(within.length).toBeLessThan(rows.length);
      }),
    );
  }

  inChromium("the PNG is a picture of the SVG, twice its size", () =>
    visit("keyed-broken", "pro", async (page) => {
      const svg = await saved(page, "SVG");
      const [, width, height] = /width="(\d+)" height="(\d+)"/.exec(svg.text) ?? [];
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("button", { name: "PNG", exact: true }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(svg.name.replace(".svg", ".png"));
      const png = await buffer(await download.createReadStream());
      expect(png.subarray(1, 4).toString()).toBe("PNG");
      expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([
        2 * Number(width),
        2 * Number(height),
      ]);
    }),
  );

  inChromium("the SVG opens alone, with what the chart shows", () =>
    visit("keyed-broken", "pro", async (page, watch) => {
      const body = await answer("keyed-broken", "pro");
      await page.getByRole("button", { name: "5 y" }).click();
      const { name, text } = await saved(page, "SVG");
      expect(name).toBe("chipboard-2026-11-21T00Z-pro-keyed-broken-5y.svg");
      const before = watch.requests.length;
      const alone = await page.context().newPage();
      await alone.goto(`data:image/svg+xml;base64,${Buffer.from(text).toString("base64")}`);
      expect(watch.requests.slice(before)).toEqual([]);
      const shown = await alone.$$eval("text", (all) => all.map(({ textContent }) => textContent));
      const titles = await alone.$$eval("text.title", (all) =>
        all.map(({ textContent }) => textContent.trim()),
      );
      expect(titles.join(" ")).toBe(await page.textContent(".chart-title"));
      const notes = [
        `${body.ticker}, ${body.id}. Source: ${body.source}`,
        "Session 2026-11-21 00:00 UTC, publication 4, chipboard.",
        body.attribution,
      ];
      expect(shown.slice(-3)).toEqual(notes);
      const faces = `document.fonts.load('600 20px "Figtree Variable"').then((all) => all.map(({ status }) => status))`;
      expect(await alone.evaluate(faces)).toEqual(["loaded"]);
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.bringToFront();
      await page.getByRole("button", { name: "Cite this" }).click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      const address = `${proxy.url}/contracts/keyed-broken?range=5y&publication=4`;
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(
        [titles.join(" "), ...notes, address].map((part) => part.replace(/\.$/, "")).join(". "),
      );
      await page.goto(address);
      await page.locator(".chart-title").waitFor();
      expect(await page.textContent(".chart-title")).toBe(titles.join(" "));
      expect(shown).toContain("Before a break: not comparable");
      const edges = await alone.$$eval("text.title", (all) =>
        all.map((title) => title.getBoundingClientRect().right),
      );
      expect(Math.max(...edges)).toBeLessThan(936);
      const stroke = 'getComputedStyle(document.querySelector(".curve")).stroke';
      expect(await alone.evaluate(stroke)).toBe("rgb(11, 79, 138)");
    }),
  );
});

inChromium(
  "hostile text is text in the files that are saved, and for readers of the chart",
  async () => {
    // What the page itself makes of such texts: test/pages/hostile.test.ts.
    const name = `=1+1"><img src=x onerror="globalThis.broken = true"></script><script>globalThis.broken = true</script>&lt;b&gt;`;
    const quoted = `"${name.replaceAll('"', '""')}"`;
    const store = new MemoryStore();
    await mustPublish(store, {
      catalog: catalogOf([{ id: "hostile", name: quoted }]),
      closes: JSON.stringify([
        { id: "hostile", date: "2026-11-17", close_usd: 1 },
        { id: "hostile", date: "2026-11-18", close_usd: 2, break: name },
      ]),
      quotes: quotesOf({ hostile: 2 }),
    });
    const hostile = await startTestProxy({ store });
    const look = async (page: Page): Promise<void> => {
      expect(await page.locator(".chart").getAttribute("aria-label")).toContain(name);
      const svg = await saved(page, "SVG");
      expect(svg.text).toContain("=1+1");
      const parsed = `new DOMParser().parseFromString(${JSON.stringify(svg.text)}, "image/svg+xml")`;
      const foreign = '"parsererror, script, img, b, [onerror], [onmouseover]"';
      // The page's own policy would complain of the file's style.
      const blank = await page.context().newPage();
      expect(await blank.evaluate(`${parsed}.querySelector(${foreign})`)).toBeNull();
      const csv = await saved(page, "CSV");
      expect(csv.text).toContain(`${quoted.replace("=", "'=")}\r\n`);
      expect(await page.evaluate("globalThis.broken")).toBeUndefined();
    };
    try {
      await visit("hostile", "pro", look, hostile);
    } finally {
      await hostile.close();
    }
  },
);

inChromium.each(["starter", "pro"] as const)(
  "%s: as known on a day, every figure is the API's of then, until the newest is asked for",
  async (tier) => {
    const day = "2026-11-20";
    const key = proxy[tier];
    const path = "prices/keyed-corrected";
    const { json: then, headers } = await proxy.get(`${API}/${path}?as_of=${day}`, { key });
    const now = await answer("keyed-corrected", tier);
    expect(then.session_utc).not.toBe(now.session_utc);
    await visit("keyed-corrected", tier, async (page) => {
      expect(await fieldsOf(page)).toEqual(expected(now));
      await page.getByText("Publications since 19 November 2026").waitFor();
      // Key by key, as the years 2, 20 and 202 come before 2026.
      await page.getByLabel("As known on").pressSequentially("11202026");
      const banner = page.locator("#as-known", { hasText: "As published by" });
      await banner.waitFor();
      const publication = String(headers["x-publication"]);
      expect(await banner.innerText()).toBe(
        `As published by the end of 20 November 2026 (publication ${publication}). Later prices and corrections are left out.`,
      );
      expect(new URL(page.url()).searchParams.get("as_of")).toBe(day);
      expect(await fieldsOf(page)).toEqual(expected(then));
      expect(await page.locator(".session time").count()).toBe(1);
      const published = await proxy.get(`${API}/${path}?publication=${publication}`, { key });
      expect(published.json).toEqual(then);
      expect((await readAll(page)).at(-1)).toEqual([
        then.history.at(-1).date,
        then.history.at(-1).close_usd,
      ]);
      await page.locator("#proof summary").click();
      expect(await page.locator("#proof pre").innerText()).toBe(
        `chipboard check --key "$KEY" \\\n  '${proxy.url}${API}/${path}?publication=${publication}'`,
      );
      expect(await page.innerText("#proof")).toContain(
        "Ask the publisher for the program chipboard",
      );
      await page.getByRole("button", { name: "Show the newest" }).click();
      await expect.poll(() => page.textContent("#as-known")).toBe("");
      expect(await fieldsOf(page)).toEqual(expected(now));
    });
  },
);

test("an address of another time shows no price of today without a key, but the way to it", async () => {
  const [id = ""] = idsOf("plain");
  const { spot_usd } = await answer(id, "free");
  for (const query of ["as_of=2026-11-20", "as_of=2020-01-01", "publication=1", "as_of=x"]) {
    const { status, text: page } = await proxy.get(`/contracts/${id}?${query}`);
    expect([query, status]).toEqual([query, 200]);
    expect(page).toContain("This address asks for prices as they were known at another time");
    expect(page).toContain('<a href="#key-field">Paste your key above</a>');
    expect(page).not.toContain("data-field");
    expect(page).not.toContain(String(spot_usd));
    // The request on the page asks for prices of today.
    expect(page).toMatch(/<section id="request"[^>]* hidden>/);
    const { text: indices } = await proxy.get(`/indices?${query}`);
    expect(indices).toContain("This address asks for prices as they were known at another time");
    for (const path of ["/", "/compare", "/basket"]) {
      const headers = { accept: "text/html" };
      const refused = await proxy.get(`${path}?${query}`, { headers });
      expect([path, refused.status]).toEqual([path, 400]);
      expect(refused.text).toContain("This page shows the newest prices alone.");
      expect(refused.text).not.toContain(String(spot_usd));
    }
  }
  expect((await proxy.get(`/contracts/${id}?as_of=`)).text).toContain("data-field");
});

inChromium("an address before the first publication shows no figure, also with a key", async () => {
  const [id = ""] = idsOf("plain");
  for (const query of ["as_of=2020-01-01", "as_of=x"]) {
    const { context } = await watchedContext(browser as Browser);
    try {
      const page = await context.newPage();
      await keepKey(page, proxy.pro);
      await open(page, `${proxy.url}/contracts/${id}?${query}`);
      const words = query === "as_of=x" ? "The address names no moment" : "Nothing was known then.";
      expect(await page.innerText("#trouble")).toContain(words);
      expect(await page.locator("main [data-field], main .chart").count()).toBe(0);
      expect(await page.locator("#request").isVisible()).toBe(false);
    } finally {
      await context.close();
    }
  }
});

inChromium("an address with a publication shows the figures of that one", async () => {
  const [id = ""] = idsOf("plain");
  const { json } = await proxy.get(`${API}/prices/${id}?publication=1`, { key: proxy.pro });
  await visit(`${id}?publication=1`, "pro", async (page) => {
    expect(await page.textContent("#as-known")).toContain("As of publication 1.");
    expect(await fieldsOf(page)).toEqual(expected(json));
  });
});

inChromium("a day before the first publication is answered in words, with a way back", () =>
  visit("keyed-plain-20", "pro", async (page) => {
    const [first] = (await proxy.get(`${API}/publications?after=0&limit=1`)).json.publications;
    const words = `Nothing was published before ${dayText(first.at.slice(0, 10))}.`;
    const now = await fieldsOf(page);
    await page.getByLabel("As known on").fill("2001-01-01");
    expect(await page.innerText("#as-known")).toBe(words);
    expect(await fieldsOf(page)).toEqual(now);
    expect(page.url()).not.toContain("as_of");
    await page.getByRole("button", { name: "Show the newest" }).click();
    await expect.poll(() => page.textContent("#as-known")).toBe("");
    expect(await page.inputValue("#as-of")).toBe("");
  }),
);

inChromium("per gigabyte, each close is divided by the capacity, the last as the API has it", () =>
  visit("keyed-plain-20?per=gb", "pro", async (page) => {
    const body = await answer("keyed-plain-20", "pro");
    const places = (usd: number): number => Number(rounded(usd.toFixed(9), 3));
    const closes = within(body, "1 y").map(([date, usd]) => [
      date,
      places(usd / (body.capacity_gb as number)),
    ]);
    expect(await readAll(page)).toEqual(closes);
    expect(closes.at(-1)?.[1]).toBe(places(body.usd_per_gb as number));
    expect(await page.textContent(".chart-unit")).toContain("USD per GB, ");
    await page.getByRole("button", { name: "USD per GB" }).press("Enter");
    expect(new URL(page.url()).searchParams.has("per")).toBe(false);
    expect((await readAll(page)).at(-1)).toEqual(within(body, "1 y").at(-1));
  }),
);

describe("while the service is away", () => {
  const away = "**/api/public/v1/{prices,history.csv}**";

  inChromium("a caller with a key reads that, and can ask again", async () => {
    const { context } = await watchedContext(browser as Browser);
    try {
      const page = await context.newPage();
      await keepKey(page, proxy.pro);
      await page.route(away, (route) => route.abort());
      await open(page, `${proxy.url}/contracts/keyed-plain-20`);
      const main = await page.locator("main").innerText();
      expect(main).toContain("Could not reach the service. Retry");
      expect(main).not.toMatch(/Unlock|with Pro|Loading/);
      await page.unroute(away);
      await page.getByRole("button", { name: "Retry" }).click();
      await page.locator(".charted").waitFor();
      const body = await answer("keyed-plain-20", "pro");
      expect((await fieldsOf(page))["spot_usd"]).toBe(body.spot_usd);
      expect(await page.locator("main").innerText()).not.toContain("Could not reach");
    } finally {
      await context.close();
    }
  });

  inChromium("also if nobody says whose key it is; what everybody sees stays", async () => {
    const { context } = await watchedContext(browser as Browser);
    try {
      const page = await context.newPage();
      await keepKey(page, proxy.pro);
      await page.route("**/api/public/v1/**", (route) => route.fulfill({ status: 503, body: "" }));
      await open(page, `${proxy.url}/contracts/free-corrected`);
      const { spot_usd } = await answer("free-corrected", "free");
      expect((await fieldsOf(page))["spot_usd"]).toBe(spot_usd);
      const main = await page.locator("main").innerText();
      expect(main).toContain("Could not reach the service. Retry");
      expect(main).not.toContain("with Pro");
    } finally {
      await context.close();
    }
  });
});

inChromium("with a key, a contract without a level says so", async () => {
  const other = await startTestProxy();
  try {
    const { text } = await other.get(`/contracts/${NEVER}`);
    expect(text).toContain("Unlock price and history");
    const { context } = await watchedContext(browser as Browser);
    const page = await context.newPage();
    await keepKey(page, other.pro);
    await open(page, `${other.url}/contracts/${NEVER}`);
    expect(await page.getByRole("alert").innerText()).toBe(
      `Contract "${NEVER}" has no level so far.`,
    );
    await context.close();
  } finally {
    await other.close();
  }
});

inChromium(
  "a contract whose first level the free tier does not see yet is shown with a key",
  async () => {
    const store = new MemoryStore();
    await mustPublish(store, { catalog: catalogOf(["new"]), quotes: quotesOf({ new: 5 }) });
    const other = await startTestProxy({ store });
    try {
      const { status, text } = await other.get("/contracts/new");
      expect(status).toBe(200);
      expect(text).toContain("Without a key this contract has no price yet.");
      await visit(
        "new",
        "pro",
        async (page) => {
          expect((await fieldsOf(page))["spot_usd"]).toBe(5);
          expect(await readAll(page)).toEqual([["2026-11-21", 5]]);
        },
        other,
      );
    } finally {
      await other.close();
    }
  },
);

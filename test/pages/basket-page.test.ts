/** The basket page in a browser: it and its programs show the API's answers. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";
import { parse } from "csv-parse/sync";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from "vitest";
import { expectInSight, keepKey, open, watchedContext, type Watch } from "./visit.ts";
import { hasBrowser, inChromium as testInChromium, openBrowser } from "../services/browser.ts";
import { eventually, snapshotOf, startTestProxy, type TestProxy } from "../http/fixture.ts";
import {
  type Answer,
  BROKEN,
  CONTRIBUTION_FIELDS,
  fieldsOf,
  figuresIn,
  FORMER,
  INDEX_FIELDS,
  NAMES,
  publishIndexMarket,
  publishNext,
  rowsIn,
  YOUNG,
} from "../http/index-market.ts";
import { isInstalled, testWith } from "../http/needed-tools.ts";

const run = promisify(execFile);
const missing = ["curl", "python3"].find((program) => !isInstalled(program));
const inChromium = missing === undefined ? testInChromium : testWith(missing);
const API = "/api/public/v1";
const COSTS = ["cost_usd", "cost_24h_usd", "cost_30d_usd", "cost_base_usd"];

let proxy: TestProxy;
let browser: Browser | undefined;
beforeAll(async () => {
  proxy = await startTestProxy({ store: await publishIndexMarket() });
  if (hasBrowser) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
});

let context: BrowserContext;
let watch: Watch;
let page: Page;
beforeEach(async () => {
  if (browser === undefined) return;
  ({ context, watch } = await watchedContext(browser));
  page = await context.newPage();
});
afterEach(() => context?.close());

async function visit(key: string | null, fragment = ""): Promise<void> {
  if (key !== null) await keepKey(page, key);
  await open(page, `${proxy.url}/basket${fragment}`);
}

const used = async (key: string): Promise<number> =>
  (await proxy.get(`${API}/usage`, { key })).json.used;

const priced = (): Promise<void> => page.locator("#figures .figures").first().waitFor();
const press = async (...keys: readonly string[]): Promise<void> => {
  for (const key of keys) await page.keyboard.press(key);
};
const focused = (attribute: string): Promise<string | null> =>
  page.evaluate<string | null>(`document.activeElement.getAttribute("${attribute}")`);

const placed = (): Promise<string> => page.evaluate<string>("location.href");

/** Compares all figures of the price with the API's answer to the query. */
async function expectPrice(query: string): Promise<void> {
  const { status, json } = await proxy.get(`${API}/index?${query}`, { key: proxy.pro });
  expect(status).toBe(200);
  const isCost = query.includes("quantities");
  const fields = isCost ? [...INDEX_FIELDS, ...COSTS] : INDEX_FIELDS;
  expect(await figuresIn(page, "#figures")).toEqual(fieldsOf(json, fields));
  const of = isCost ? [...CONTRIBUTION_FIELDS, "quantity", "cost_usd"] : CONTRIBUTION_FIELDS;
  const rows = json.contributions.map((item: Answer) => [item.id, fieldsOf({ ...item }, of)]);
  expect(await rowsIn(page, "#contributions")).toEqual(rows);
  const bars = page.locator("#contributions .bar");
  expect(await bars.count()).toBe(2 * json.contributions.length);
  if (!isCost) return;
  const shares = await page.locator("#contributions tbody td:nth-child(4)").allInnerTexts();
  expect(shares).toEqual(
    json.contributions.map(({ cost_usd: cost }: { cost_usd: number }) =>
      ((cost / json.cost_usd) * 100).toFixed(2),
    ),
  );
}

describe("without a key", () => {
  inChromium("an example is priced at the levels that everybody sees", async () => {
    const { json } = await proxy.get(`${API}/prices`);
    const [part] = [...json.memory, ...json.semiconductor];
    await visit(null);
    const query = (await page.getAttribute("#programs", "data-query")) ?? "";
    expect((await proxy.get(`${API}/index?${query}`, { key: proxy.pro })).status).toBe(200);
    const cells = await page.locator("#example tbody tr").first().locator("th, td").allInnerTexts();
    expect(cells[0]).toContain(part.name);
    expect(cells.slice(1).map((text) => Number(text.replaceAll(",", "")))).toEqual([
      64,
      part.spot_usd,
      Number((64 * part.spot_usd).toFixed(6)),
      expect.any(Number),
    ]);
    const shown = await page.locator("#example td:nth-child(4)").allInnerTexts();
    const costs = shown.map((text) => Number(text.replaceAll(",", "")));
    const total = (await page.innerText("#example .costs dd")).replaceAll(/,| USD/g, "");
    expect(Number(total)).toBeCloseTo(
      costs.reduce((sum, cost) => sum + cost, 0),
      6,
    );
    expect(await page.innerText("#example")).toContain("Priced at the free levels of");
    expect(await page.textContent("#programs")).toContain(`${proxy.url}${API}/index?${query}`);
    expect(await page.isVisible("#tool")).toBe(false);
    expect(watch.requests.filter(({ url }) => url.includes("/api/"))).toEqual([]);
    expect(watch.complaints).toEqual([]);
  });

  inChromium("the page leads to the field of the key", async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await visit(null);
    await page.click("text=Paste it above");
    expect(await focused("id")).toBe("key-field");
    expect(page.url()).toBe(`${proxy.url}/basket`);
  });

  inChromium("a link shows its contracts by name, and costs nothing", async () => {
    await visit(null, "#ids=d-plain,%3Cb%3E,no-such&quantities=8,1,64");
    expect(await page.innerText("#held")).toBe("This link holds 8 × Plain part, 64 × no-such.");
    expect(await page.getAttribute("#held a", "href")).toBe("contracts/d-plain");
    const asked = watch.requests.filter(({ url }) => url.includes("/api/"));
    expect(asked.map(({ url }) => url)).toEqual([`${proxy.url}${API}/contracts`]);
    const query = "ids=d-plain,no-such&quantities=8,64";
    expect(await page.textContent("#programs")).toContain(`'${proxy.url}${API}/index?${query}'`);
    expect(await page.isVisible("#example")).toBe(false);
  });

  inChromium("without script the programs are also there", async () => {
    const still = await (browser as Browser).newContext({ javaScriptEnabled: false });
    const plain = await still.newPage();
    await plain.goto(`${proxy.url}/basket`);
    expect(await plain.textContent("#programs")).toContain(`'${proxy.url}${API}/index?ids=`);
    expect(await plain.innerText("#access")).toMatch(
      /^Included in Pro, 19 USD a month\..*needs script/s,
    );
    await still.close();
  });
});

inChromium("a starter key is told that baskets need pro, and is charged nothing", async () => {
  const before = await used(proxy.starter);
  await visit(proxy.starter, "#ids=d-plain");
  expect(await page.innerText("#upgrade")).toBe(
    "Your Starter key does not price baskets. Pro does: 19 USD a month. Compare the plans.",
  );
  expect(await page.innerText("#held")).toBe("This link holds 1 × Plain part, in equal parts.");
  expect(await page.isVisible("#access")).toBe(false);
  expect(await page.isVisible("#tool")).toBe(false);
  expect(await page.textContent("#programs")).toContain(`'${proxy.url}${API}/index?ids=d-plain'`);
  expect(await used(proxy.starter)).toBe(before);
});

describe("with a key of pro", () => {
  inChromium(
    "the keyboard alone picks, counts, prices and removes; a price costs a call",
    async () => {
      const before = await used(proxy.pro);
      await visit(proxy.pro);
      await page.focus("#find");
      await page.keyboard.type("plain");
      expect(await page.innerText("#find-count")).toBe("1 contract found");
      expect(await focused("aria-activedescendant")).toBe("found-0");
      await press("Enter");
      await press("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp");
      // Above the first choice is the last one.
      expect(await page.innerText("[aria-selected=true]")).toContain("Wafer");
      await press("Enter");
      await page.keyboard.type("markup");
      await press("Escape");
      expect(await page.isVisible("#found")).toBe(false);
      await press("ArrowDown", "Enter");
      expect(await rowsIn(page, "#parts")).toMatchObject(
        [["d-plain"], ["h-wafer"], ["a-markup"]].map(([id]) => [id, {}]),
      );
      expect(await page.innerText("#status")).toBe("Pricing uses 1 call, 2 with quantities.");
      await page.focus("#parts tr[data-id=d-plain] input");
      await press("ControlOrMeta+a");
      await page.keyboard.type("64");
      await press("Tab", "Tab", "ControlOrMeta+a");
      await page.keyboard.type("0.000000001");
      expect(await used(proxy.pro)).toBe(before + 1);
      await press("Enter");
      await priced();
      await page.locator("#costs .chart").waitFor();
      expect(await used(proxy.pro)).toBe(before + 3);
      // Not compared as a number of JavaScript, which would write 1e-9.
      const wafer = (await rowsIn(page, "#contributions")).find(([id]) => id === "h-wafer");
      expect(wafer?.[1]["quantity"]).toBe("0.000000001");
      await press("ControlOrMeta+a");
      await page.keyboard.type("3.5");
      expect(await page.isVisible("#result")).toBe(false);
      await press("Enter");
      await priced();
      await expectPrice("ids=d-plain,h-wafer,a-markup&quantities=64,3.5,1");
      await press("Tab", "Enter");
      expect(await focused("data-remove")).toBe("a-markup");
      expect(await page.isVisible("#result")).toBe(false);
      await press("Enter");
      expect(await focused("data-remove")).toBe("d-plain");
      await press("Enter");
      expect(await focused("id")).toBe("find");
      expect(await page.innerText("#parts")).toContain("No contract yet");
      await press("Enter");
      expect(watch.complaints).toEqual([]);
    },
  );

  for (const [weighting, query] of [
    ["quantities", "ids=c-long,d-plain,e-carried&quantities=64,0.02,7"],
    ["weights", "ids=e-carried,a-markup,b-turned&weights=1,2,0.5"],
    ["equal", "ids=b-turned,c-long"],
  ] as const) {
    inChromium(`${weighting}: every figure is the API's, and the programs print them`, async () => {
      const before = await used(proxy.pro);
      await visit(proxy.pro, `#${query}`);
      expect(await page.isChecked(`[value=${weighting}]`)).toBe(true);
      await priced();
      if (weighting === "quantities") await page.locator("#costs .chart").waitFor();
      expect(await used(proxy.pro)).toBe(before + (weighting === "quantities" ? 3 : 2));
      await expectPrice(query);
      await expectPrograms(query);
      await expectCopies();
      expect(watch.complaints).toEqual([]);
    });
  }

  async function expectCopies(): Promise<void> {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const shown = page.locator("#programs pre").filter({ visible: true });
    for (const language of ["curl", "Python", "JavaScript"]) {
      await page.locator("#programs summary", { hasText: language }).press("Enter");
      expect(await shown.count()).toBe(1);
      await page.click("#programs button");
      await page.locator("#programs output", { hasText: "Copied" }).waitFor();
      const text = (await shown.textContent()) ?? "";
      expect(text).toContain({ curl: "curl ", Python: "import ", JavaScript: "await " }[language]);
      expect(await page.evaluate("navigator.clipboard.readText()")).toBe(text);
    }
  }

  /** Runs the programs as they stand on the page: each prints the answer. */
  async function expectPrograms(query: string): Promise<void> {
    const [curl = "", python = "", javascript = ""] = await page
      .locator("#programs pre code")
      .allTextContents();
    const folder = await mkdtemp(join(tmpdir(), "chipboard-basket-"));
    const options = { cwd: folder, env: { ...process.env, KEY: proxy.pro } };
    await writeFile(join(folder, "basket.mjs"), javascript);
    await writeFile(join(folder, "basket.py"), python);
    const [answer, byPython, byNode] = await Promise.all([
      run("sh", ["-c", curl], options),
      run("python3", ["basket.py"], options),
      run(process.execPath, ["basket.mjs"], options),
    ]);
    await rm(folder, { recursive: true });
    const { text, json } = await proxy.get(`${API}/index?${query}`, { key: proxy.pro });
    expect(answer.stdout).toBe(text);
    const asJson = "import ast, json, sys; print(json.dumps(ast.literal_eval(sys.argv[1])))";
    const { stdout } = await run("python3", ["-c", asJson, byPython.stdout]);
    expect(JSON.parse(stdout)).toEqual(json);
    expect({ ...(runInNewContext(`(${byNode.stdout})`) as Answer) }).toEqual(json);
  }

  inChromium("by quantity a line shows the cost over the year, from one request", async () => {
    const ids = ["c-long", "e-carried", BROKEN];
    await visit(proxy.pro, `#ids=${ids.join()}&quantities=2,0.5,3`);
    await page.locator("#costs .chart").waitFor();
    expect(await page.innerText("#status")).toMatch(/without a change against a year ago/);
    const { like_for_like: like } = (
      await proxy.get(`${API}/index?ids=${ids.join()}&quantities=2,0.5,3`, { key: proxy.pro })
    ).json;
    const said = (await page.innerText("#like")).replaceAll(",", "");
    expect(said).toMatch(/^Like for like 2 of 3 contracts/);
    for (const usd of [like.cost_base_usd, like.cost_usd]) expect(said).toContain(String(usd));
    await expectPrice(`ids=${ids.join()}&quantities=2,0.5,3`);
    const asked = watch.requests.filter(({ url }) => url.includes("/history.csv"));
    expect(asked.map(({ url }) => url)).toEqual([
      `${proxy.url}${API}/history.csv?ids=${ids.join()}`,
    ]);
    const history = await proxy.get(`${API}/history.csv?ids=${ids.join()}`, { key: proxy.pro });
    const rows: Record<string, string>[] = parse(history.text, { columns: true });
    const levelOn = (id: string, date: string): number =>
      Number(
        rows.findLast((row) => row["contract_id"] === id && String(row["date"]) <= date)?.[
          "close_usd"
        ],
      );
    const costOn = (date: string): string => {
      const usd =
        2 * levelOn("c-long", date) + levelOn("e-carried", date) / 2 + 3 * levelOn(BROKEN, date);
      return String(Number(usd.toFixed(6)));
    };
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV", exact: true }).click(),
    ]);
    const [head, ...costs] = (await text(await download.createReadStream()))
      .trimEnd()
      .split("\r\n");
    expect(head).toBe("instant_utc,cost_usd,cost_usd_break_reason");
    const pairs = costs.map((cost) => {
      const [at = "", usd = ""] = cost.split(",");
      return [at.slice(0, 10), usd] as [string, string];
    });
    expect(pairs).toEqual(pairs.map(([date]) => [date, costOn(date)]));
    // From the break of one part on, each day, although another part had no close on the last days.
    const price = await proxy.get(`${API}/index?ids=${ids.join()}&quantities=2,0.5,3`, {
      key: proxy.pro,
    });
    expect([pairs.length, pairs[0]?.[0]]).toEqual([31, "2026-10-22"]);
    expect(pairs.at(-1)).toEqual(["2026-11-21", String(price.json.cost_usd)]);
    expect(await page.innerText("#costs")).toContain("Another package");
    await page.evaluate(`location.hash = "#ids=c-long&weights=1"`);
    await priced();
    expect(await page.isVisible("#year")).toBe(false);
    const heads = page.locator("#contributions thead th");
    expect(await heads.allInnerTexts()).toContain("Weight, %");
    // Where both shares of the cost are equal, one is shown.
    await page.evaluate(`location.hash = "#ids=c-long&quantities=2"`);
    await heads.getByText("Share of cost, %").waitFor();
    expect(await heads.getByText("Share a year ago, %").count()).toBe(0);
    expect(watch.complaints).toEqual([]);
  });

  inChromium(
    "a link to former ids is one to the present ones, with their levels and costs",
    async () => {
      const [once, first] = FORMER;
      await visit(proxy.pro, `#ids=d-plain,${once},${first}&quantities=3,2,9`);
      await page.locator("#costs .chart").waitFor();
      const query = "ids=d-plain,c-long&quantities=3,2";
      expect(await placed()).toBe(`${proxy.url}/basket#${query}`);
      expect(await page.innerText("#parts")).toContain(NAMES["c-long"]);
      // A contract that is named twice counts once.
      expect(await page.innerText("#find-error")).toMatch(/^1 item of the address left out/);
      await expectPrice(query);
      expect(watch.complaints).toEqual([]);
    },
  );

  inChromium("each error stands at its field, and costs nothing", async () => {
    const ids = ["d-plain", YOUNG, BROKEN, "not-listed", "e-carried"];
    await visit(proxy.pro, `#ids=${ids.join(",")}&weights=0,2,3,4,5`);
    const before = await used(proxy.pro);
    expect(await focused("id")).not.toBe("d-plain");
    await page.click("text=Price this basket");
    const { json } = await proxy.get(`${API}/index?ids=${ids.join(",")}&weights=0,2,3,4,5`, {
      key: proxy.pro,
    });
    await page.locator("#status.error").waitFor();
    const detailOf = (wanted: string): string =>
      json.errors.find(({ value }: { value: string }) => value === wanted).detail;
    const errors = await page.locator("#parts .error").allInnerTexts();
    expect(errors.map((text) => text.trim())).toEqual([
      `0: ${detailOf("0")}.`,
      `${YOUNG}: ${detailOf(YOUNG)}.`,
      `${BROKEN}: ${detailOf(BROKEN)}.`,
      `not-listed: ${detailOf("not-listed")}.`,
      "",
    ]);
    const invalid = await page
      .locator("#parts input[aria-invalid]")
      .evaluateAll((fields) => fields.map((field) => String(field.getAttribute("data-id"))));
    expect(invalid).toEqual(["d-plain"]);
    await page.locator("[data-id=d-plain]:focus").waitFor();
    expect(await page.innerText("#parts tr[data-id=not-listed] small")).toBe("not on the board");
    expect(await used(proxy.pro)).toBe(before);
    // A comma would begin another item of the query, and a key must not get into an address.
    const asked = watch.requests.length;
    const field = page.locator("#parts tr[data-id=d-plain] input");
    for (const typed of ["1,5", proxy.pro, ""]) {
      await field.fill(typed);
      expect(await page.locator("#parts tr[data-id=d-plain] .error").innerText()).toBe("");
      await field.press("Enter");
      expect(await page.locator("#parts input:invalid").count()).toBe(1);
    }
    expect(watch.requests.length).toBe(asked);
  });

  inChromium("more contracts than the service takes are refused beside the list", async () => {
    const ids = Array.from({ length: 101 }, (_, at) => `part-${at}`);
    await visit(proxy.pro, `#ids=${ids.join(",")}`);
    await page.click("text=Price this basket");
    await page.locator("#status.error").waitFor();
    expect(await page.innerText("#find-error")).toBe("expected 1 to 100 ids, got 101.");
  });

  inChromium(
    "the address keeps the basket through a reload, a link and the skip link",
    async () => {
      await visit(proxy.pro);
      await page.click("#find");
      await page.click("#found-3");
      await page.check("[value=weights]");
      await page.fill("#parts input", "12.5");
      const address = `${proxy.url}/basket#ids=d-plain&weights=12.5`;
      expect(await placed()).toBe(address);
      await page.focus(".skip");
      await press("Enter");
      await page.waitForURL(address);
      await page.reload();
      await page.locator("#parts input").waitFor();
      expect(await page.inputValue("#parts input")).toBe("12.5");
      expect(await page.isChecked("[value=weights]")).toBe(true);
      await page.evaluate(
        `location.hash = "#ids=d-plain,d-plain,%3Cimg%20src=x%3E,h-wafer&quantities=1,2,3,4"`,
      );
      await page.locator("#parts tr[data-id=h-wafer]").waitFor();
      expect(await page.inputValue("#parts tr[data-id=h-wafer] input")).toBe("4");
      expect(await page.innerText("#find-error")).toMatch(/^2 items of the address left out/);
      expect(await placed()).toBe(`${proxy.url}/basket#ids=d-plain,h-wafer&quantities=1,4`);
    },
  );

  inChromium("a price of a newer session than the board's says so", async () => {
    const store = await publishIndexMarket();
    const own = await startTestProxy({ store });
    await keepKey(page, own.pro);
    await open(page, `${own.url}/basket#ids=d-plain`);
    await priced();
    const newest = await publishNext(store);
    await eventually(async () => (await snapshotOf(own)) === newest);
    await page.check("[value=quantities]");
    await page.click("text=Price this basket");
    await page.getByText("A newer session").waitFor();
    expect(await page.innerText("#status")).toMatch(/A newer session came meanwhile/);
    await own.close();
  });

  inChromium("hostile names are text", async () => {
    await visit(proxy.pro, "#ids=a-markup,b-turned,c-long");
    await page.click("text=Price this basket");
    await priced();
    for (const [at, name] of Object.values(NAMES).slice(0, 3).entries()) {
      for (const table of ["#parts", "#contributions"]) {
        const cell = page.locator(`${table} tbody th bdi`).nth(at * 3);
        expect(await cell.textContent()).toBe(name);
      }
    }
    await page.fill("#find", "<img");
    expect(await page.innerText("#find-count")).toBe("0 contracts found");
    expect(await page.evaluate("window.hacked")).toBeUndefined();
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(width);
      await expectInSight(page, "#contributions :is(button, tbody th, td, small)", width);
    }
    expect(watch.complaints).toEqual([]);
  });
});

/** The page of comparisons in a browser: every figure is the API's, and the address keeps all of it. */
import { text } from "node:stream/consumers";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withReferences } from "../../src/site/levels.js";
import { changeBetween, rounded } from "../../src/site/decimal.js";
import { formerId, idsOf, marketClock, publishMarket } from "./page-market.ts";
import { expectInSight, giveKey, keepKey, open, watchedContext, type Watch } from "./visit.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";

const API = "/api/public/v1";
const A = "keyed-plain-20";
const B = "keyed-plain-21";
/** Of the same capacity as A; B has none. */
const C = "keyed-plain-25";

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

/** Opens the page in a new tab; it must not complain, unless told so. */
async function visit(
  address: string,
  key: string | null,
  look: (page: Page, watch: Watch) => Promise<void>,
): Promise<void> {
  const { context, watch } = await watchedContext(browser as Browser);
  try {
    const page = await context.newPage();
    if (key !== null) await keepKey(page, key);
    await open(page, `${proxy.url}/compare${address}`);
    await look(page, watch);
    expect(watch.complaints).toEqual([]);
  } finally {
    await context.close();
  }
}

const used = async (key: string): Promise<number> =>
  (await proxy.get(`${API}/usage`, { key })).json.used;

interface Close {
  readonly date: string;
  readonly session: string;
  readonly close: number;
}

/** The closes of a contract or an index, as its own address has them; of a contract with those that changes compare with. */
async function closesOf(path: string, key: string): Promise<readonly Close[]> {
  const { json } = await proxy.get(`${API}/${path}`, { key });
  const history: Record<string, string>[] = json.history ?? json.series.history;
  const closes = history.map(({ date, close, close_usd, session_utc }) => ({
    date: String(date),
    session: session_utc ?? `${date}T12:00:00.000Z`,
    close: Number(close ?? close_usd),
  }));
  return withReferences(closes, json.references ?? []) as Close[];
}

/** The level in force at an instant. */
const inForce = (closes: readonly Close[], instant: string): Close =>
  closes.findLast(({ session }) => session <= instant) as Close;

/** The rows of the table: name, first, last and change. */
const rowsOf = (page: Page): Promise<(string | null)[][]> =>
  page
    .locator("#lines tbody tr")
    .evaluateAll((rows) =>
      rows.map((row) => [
        row.querySelector("a")?.textContent ?? null,
        ...[...row.querySelectorAll("td.n")].slice(0, 3).map(({ textContent }) => textContent),
      ]),
    );

const signed = (change: string): string =>
  Number(change) > 0 ? `+${change}` : change.replace("-", "\u{2212}");

test("without a key the page says what includes it, and names nothing of the market", async () => {
  const { status, text: page } = await proxy.get("/compare");
  expect(status).toBe(200);
  expect(page.replaceAll(/\s+/g, " ")).toContain(
    'Included in Starter and Pro. <span class="scripted">Have a key? <a href="#key-field">Paste it above</a>.</span>',
  );
  expect(page).toContain("Closes of up to 5 years with Pro (<b>19 USD</b> a month)");
});

inChromium("without a key a link tells the names of its lines, and costs nothing", () =>
  visit(`#ids=${A},none&indices=nand-flash`, null, async (page, { requests }) => {
    expect(await page.innerText("#held")).toBe(
      "This link compares Withheld plain part no. 20, as it is traded, NAND flash index, none.",
    );
    expect(
      await page.locator("#held a").evaluateAll((all) => all.map((a) => a.getAttribute("href"))),
    ).toEqual([`contracts/${A}`, "indices#nand-flash"]);
    const asked = requests.filter(({ url }) => url.includes("/api/"));
    expect(asked.map(({ url }) => url)).toEqual([`${proxy.url}${API}/contracts`]);
    await page.evaluate(`location.hash = "#ids=${B}"`);
    await page.getByText("This link compares Withheld plain part no. 21").waitFor();
    await giveKey(page, proxy.starter);
    await page.locator(".chart path.line").waitFor();
    expect(await page.innerText("#held")).toBe("");
  }),
);

describe.each(["starter", "pro"] as const)("with a key of %s", (tier) => {
  inChromium(
    "three calls at most; lines begin at 100 and have the changes of the API",
    async () => {
      const key = proxy[tier];
      const before = await used(key);
      await visit(`?range=30d#ids=${A},${B}&indices=composite`, key, async (page) => {
        await page.locator(".charted").waitFor();
        expect(await used(key)).toBe(before + 3);
        const to: string = (await proxy.get(`${API}/prices`, { key })).json.session_utc;
        const from = new Date(Date.parse(to) - 30 * 86_400_000).toISOString();
        const expected = await Promise.all(
          [`prices/${A}`, `prices/${B}`, "indices/composite"].map(async (path) => {
            const { json } = await proxy.get(`${API}/${path}`, { key });
            const closes = await closesOf(path, key);
            const [first, last] = [inForce(closes, from), closes.at(-1) as Close];
            const level = ((last.close / first.close) * 100).toFixed(9);
            const decimals = Number(level) < 100 ? 3 : 2;
            const shown = (rounded(level, decimals) ?? "").replace(/(\.\d\d)0$/, "$1");
            const index = changeBetween(String(first.close), String(last.close));
            return [
              `100.00 ${first.date}`,
              `${shown} ${last.date}`,
              signed(Number(json.chg_yoy_pct === undefined ? index : json.chg_30d_pct).toFixed(2)),
            ];
          }),
        );
        const rows = await rowsOf(page);
        expect(rows.map(([, ...figures]) => figures)).toEqual(expected);
        expect(await page.locator(".chart path.line").count()).toBe(3);
      });
    },
  );
});

describe("with a key of pro", () => {
  inChromium("scale and axis are in the address; contracts without such a price are left out", () =>
    visit(`?scale=gb&axis=log#ids=${A},${B}&indices=composite`, proxy.pro, async (page) => {
      const { json } = await proxy.get(`${API}/prices/${A}`, { key: proxy.pro });
      const [row] = await rowsOf(page);
      expect(row?.[2]).toContain(String(Number(rounded(String(json.usd_per_gb), 3))));
      const leftOut = await page.innerText("#left-out");
      expect(leftOut).toMatch(/no capacity in gigabytes.*an index has no price/);
      expect(await page.locator("[data-axis]").getAttribute("aria-pressed")).toBe("true");
      await page.getByRole("button", { name: "USD", exact: true }).press("Enter");
      expect(new URL(page.url()).search).toBe("?scale=usd&axis=log");
      const last = (await closesOf(`prices/${B}`, proxy.pro)).at(-1);
      expect((await rowsOf(page))[1]?.[2]).toContain(`${last?.date}`);
      await page.getByRole("button", { name: "Log", exact: true }).press("Enter");
      expect(new URL(page.url()).search).toBe("?scale=usd");
    }),
  );

  const placesOf = (usd: number): string => {
    const exact = rounded(usd.toFixed(9), usd < 100 ? 3 : 2) ?? "";
    const shown = exact.replace(/(\.\d\d)0$/, "$1");
    return shown.replace(/\B(?=(?:\d{3})+\.)/, ",");
  };

  inChromium("on each scale the cursor reads the API's levels in force", async () => {
    const paths = [`prices/${A}`, `prices/${C}`, "indices/composite"];
    const [first, second, index] = (await Promise.all(
      paths.map((path) => closesOf(path, proxy.pro)),
    )) as [readonly Close[], readonly Close[], readonly Close[]];
    const capacityGb = (await proxy.get(`${API}/prices/${A}`, { key: proxy.pro })).json.capacity_gb;
    const asOf = (closes: readonly Close[], instant: string): number =>
      inForce(closes, instant).close;
    const scales = {
      usd: {
        lines: [first, second],
        of: (closes: readonly Close[], instant: string) => asOf(closes, instant),
      },
      gb: {
        lines: [first, second],
        of: (closes: readonly Close[], instant: string) =>
          Number((asOf(closes, instant) / capacityGb).toFixed(6)),
      },
      rebased: {
        lines: [first, second, index],
        of: (closes: readonly Close[], instant: string, base: string) =>
          (asOf(closes, instant) / asOf(closes, base)) * 100,
      },
    };
    const to: string = (await proxy.get(`${API}/prices`, { key: proxy.pro })).json.session_utc;
    const from = new Date(Date.parse(to) - 90 * 86_400_000).toISOString();
    for (const [scale, { lines, of }] of Object.entries(scales)) {
      await visit(
        `?scale=${scale}&range=90d#ids=${A},${C}&indices=composite`,
        proxy.pro,
        async (page) => {
          await page.locator(".charted").waitFor();
          const slider = page.getByRole("slider", { name: "Date on the chart" });
          const read: string[] = [];
          await slider.focus();
          await slider.press("Home");
          for (let at = Number(await slider.getAttribute("max")); at >= 0; at -= 1) {
            read.push((await slider.getAttribute("aria-valuetext")) ?? "");
            await slider.press("ArrowRight");
          }
          // References of other ranges are no points of this one.
          const sessions = lines.flatMap((closes) =>
            closes.map(({ session }) => session).filter((at) => at.includes("T12") && at > from),
          );
          const instants = [...new Set([from, ...sessions, to])].toSorted();
          expect(instants.length).toBeGreaterThan(85);
          expect(read.map((words) => words.match(/\d[\d,]*\.\d+(?=,|$)/g))).toEqual(
            instants.map((at) => lines.map((closes) => placesOf(of(closes, at, from)))),
          );
        },
      );
    }
  });

  inChromium("a scale that no line has leaves the way to another one", () =>
    visit("?scale=usd#indices=composite", proxy.pro, async (page) => {
      expect(await page.locator(".charted").count()).toBe(0);
      await page.getByRole("button", { name: "Rebased to 100" }).press("Enter");
      expect(await page.locator(".chart path.line").count()).toBe(1);
    }),
  );

  inChromium("lines are added and removed; each new one costs a call; Back goes back", () =>
    visit("", proxy.pro, async (page) => {
      const before = await used(proxy.pro);
      const charted = (count: number) =>
        expect.poll(() => page.locator(".chart path.line").count()).toBe(count);
      const add = page.getByLabel("Add a contract or an index");
      for (const [at, wanted] of [A, B, "composite ind", "nand index"].entries()) {
        await add.fill(wanted);
        expect(await page.innerText("#add-count")).toBe("1 line found");
        await add.press("Enter");
        await charted(at + 1);
      }
      expect(await used(proxy.pro)).toBe(before + 4);
      expect(new URL(page.url()).hash).toBe(`#ids=${A},${B}&indices=composite,nand-flash`);
      expect(await add.isDisabled()).toBe(true);
      await page.locator(".cursor").hover();
      const colours = (selector: string, property: string): Promise<unknown> =>
        page.evaluate(
          `[...document.querySelectorAll("${selector}")].map((each) => getComputedStyle(each).${property})`,
        );
      const lines = await colours(".chart path.line", "stroke");
      expect(new Set(lines as string[]).size).toBe(4);
      expect(await colours(".cursor circle", "fill")).toEqual(lines);
      const ends = await colours(".chart circle", "fill");
      expect((ends as string[]).toSorted()).toEqual((lines as string[]).toSorted());
      await page.getByRole("button", { name: /^Remove .*no. 20/ }).click();
      await charted(3);
      await page.goBack();
      await charted(4);
      expect(await used(proxy.pro)).toBe(before + 4);
      await page.focus(".skip");
      await page.keyboard.press("Enter");
      await expect.poll(() => new URL(page.url()).hash).toContain(`#ids=${A},`);
      await charted(4);
    }),
  );

  inChromium("on a telephone all figures are in sight, with the button that removes them", () =>
    visit(`?scale=usd#ids=${A},${B}`, proxy.pro, async (page) => {
      await page.setViewportSize({ width: 390, height: 844 });
      await page.locator(".charted").waitFor();
      await expectInSight(page, "#lines tbody :is(th, td, button)", 390);
    }),
  );

  inChromium(
    "a former id is known, another text is left out, and a key leaves the address",
    async () => {
      const [, renamed] = idsOf("renamed") as [string, string];
      await visit(`#ids=${formerId(renamed)},none,%3Cb%3E`, proxy.pro, async (page) => {
        expect(await page.locator("#lines a").getAttribute("href")).toBe(`contracts/${renamed}`);
        expect(await page.innerText("#left-out")).toBe("Left out: none, <b>.");
      });
      await visit(`#ids=${proxy.pro}`, proxy.pro, async (page) => {
        expect(page.url()).toBe(`${proxy.url}/compare`);
      });
    },
  );

  inChromium("the files have the drawn lines, and the request names their sources", () =>
    visit(`?scale=usd&range=30d#ids=${A},${B}`, proxy.pro, async (page) => {
      const saved = async (button: string): Promise<string> => {
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.getByRole("button", { name: button, exact: true }).click(),
        ]);
        return text(await download.createReadStream());
      };
      const csv = await saved("CSV");
      const closes = await closesOf(`prices/${A}`, proxy.pro);
      const [head, ...rows] = csv.trimEnd().split("\r\n");
      expect(head).toBe(`instant_utc,${A},${B}`);
      expect(rows.map((row) => row.split(",")[1])).toEqual(
        rows.map((row) => String(inForce(closes, row.split(",")[0] as string).close)),
      );
      expect(rows.length).toBeGreaterThan(25);
      const svg = await saved("SVG");
      expect(svg).toContain(await page.innerText("#attribution"));
      expect(svg.match(/class="line line-[01]" vector/g)).toHaveLength(2);
    }),
  );

  inChromium(
    "while the service is away it says so, keeps the drawing, and asks again",
    async () => {
      const { context } = await watchedContext(browser as Browser);
      try {
        const page = await context.newPage();
        await keepKey(page, proxy.pro);
        await open(page, `${proxy.url}/compare#ids=${A}`);
        await page.route("**/levels.csv**", (route) => route.abort());
        await page.getByLabel("Add a contract or an index").fill(B);
        await page.getByLabel("Add a contract or an index").press("Enter");
        await page.locator("#trouble button").waitFor();
        expect(await page.innerText("#trouble")).toBe("Could not reach the service. Retry");
        expect(await page.locator(".chart path.line").count()).toBe(1);
        await page.unroute("**/levels.csv**");
        await page.getByRole("button", { name: "Retry" }).click();
        await page.locator(".chart path.line-1").waitFor();
        expect(await page.innerText("#trouble")).toBe("");
      } finally {
        await context.close();
      }
    },
  );
});

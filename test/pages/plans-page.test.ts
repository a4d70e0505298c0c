/** The page of plans: the whole table of tiers, an operator's own terms, and the caller's tier. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { parsePlanTerms, type PlanTerms } from "../../src/pages/plan-terms.ts";
import { createState } from "../../src/state/open.ts";
import { inProcess } from "../cli/run.ts";
import { serve } from "../program/program.ts";
import { inChromium, openBrowser } from "../services/browser.ts";
import { giveKey } from "./visit.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";

/** What a reader must find: label, no key, Starter, Pro. */
const PRICES = ["free", "9 USD a month or 90 USD a year", "19 USD a month or 190 USD a year"];
const OFFERS = [
  ["Contracts /prices", "10", "all 15", "all 15"],
  [
    "Names, units and sources of all contracts, for no call /contracts /contracts.csv",
    "yes",
    "yes",
    "yes",
  ],
  ["Freshness", "1 session (12 hours) behind", "1 session (12 hours) behind", "live session"],
  ["History of a contract /prices/{id}", "none", "90 days", "5 years"],
  ["Last 90 closes of each contract /sparklines", "no", "yes", "yes"],
  ["Indices with their series /index /indices /indices/{id} /indices.csv", "no", "yes", "yes"],
  ["Custom baskets, by weights or quantities /index?ids=", "no", "no", "yes"],
  ["Exports of the board /export.csv /export.xlsx", "none", "CSV", "CSV and Excel"],
  [
    "All histories and levels in a file /history.csv /history.parquet /levels.csv",
    "none",
    "CSV",
    "CSV and Parquet",
  ],
  [
    "The time since which each level is known, and its earlier values /superseded.csv",
    "no",
    "no",
    "yes",
  ],
  ["The members of each index, by day /members.csv", "no", "no", "yes"],
  [
    "Settlements of months, which never change /settlements.csv /settlements/contracts/{id} /settlements/indices/{id}",
    "none",
    "90 days as CSV",
    "5 years as CSV and JSON",
  ],
  ["Point-in-time data (vintages) ?publication= ?as_of= ?session=", "none", "90 days", "5 years"],
  ["Corrections of all contracts /corrections", "none", "90 days", "5 years"],
  ["SHA-256 of each file, for one call /sums", "newest publication", "90 days", "5 years"],
  ["Calls a month", "1,000 per network address", "25,000 per account", "unlimited"],
  ["API keys of an account", "none", "2", "10"],
  [
    "Use and redistribution",
    "internal use only",
    "internal use only",
    "internal use and internal redistribution permitted",
  ],
];
const SUPPORT = ["Support", "–", "e-mail, 2 business days", "priority, named contact"];

let proxy: TestProxy | undefined;
afterEach(async () => {
  await proxy?.close();
  proxy = undefined;
});

/** The cells of the table as text. */
const rowsOf = (html: string): string[][] =>
  [...html.matchAll(/<tr>\s*(<th scope="row">[^]*?)<\/tr>/g)].map(([, row = ""]) =>
    row
      .split(/<\/t[hd]>/)
      .slice(0, -1)
      .map((cell) => cell.replace(/<[^>]*>/g, "").trim()),
  );

/** The text of an element of each card. */
const ofCards = (html: string, element: RegExp): string[] =>
  [...html.matchAll(/<article class="plan"[^]*?<\/article>/g)].map(([card]) =>
    (element.exec(card)?.[1] ?? "").replace(/<[^>]*>/g, "").trim(),
  );
const pricesOf = (html: string): string[] => ofCards(html, /<p class="price">([^]*?)<\/p>/);
const stepsOf = (html: string): string[] => ofCards(html, /<p class="step action">([^]*?)<\/p>/);

const served = async (plans?: PlanTerms): Promise<string> => {
  proxy = await startTestProxy({ plans });
  const { status, text } = await proxy.get("/plans");
  expect(status).toBe(200);
  return text;
};

test("it has the whole table of tiers", async () => {
  const html = await served();
  expect(rowsOf(html)).toEqual([...OFFERS, SUPPORT]);
  const groups = [...html.matchAll(/<tr class="group">(.*?)<\/tr>/g)];
  expect(groups.map(([, words = ""]) => words.replace(/<[^>]*>/g, ""))).toEqual([
    "What you see",
    "History and files",
    "Calls and keys",
    "Terms",
  ]);
  expect([...html.matchAll(/<th scope="col"[^>]*>([^<]*)/g)].map(([, name]) => name)).toEqual([
    "No key",
    "Starter",
    "Pro",
  ]);
  expect(html).toContain("Redistribution beyond this requires a separate enterprise licence.");
});

test("a card for each tier: its price, its limits as in the table, and the next step", async () => {
  const html = await served();
  expect(ofCards(html, /<h2>(.*?)<\/h2>/)).toEqual(["No key", "Starter", "Pro"]);
  expect(pricesOf(html)).toEqual(PRICES);
  const limits = ofCards(html, /<dl>([^]*?)<\/dl>/).map((text) => text.split(/\s*\n\s*/));
  const lines = OFFERS.filter(([label = ""]) =>
    /^(?:Contracts|Freshness|History|Calls)\b/.test(label),
  );
  expect(limits).toEqual(
    [1, 2, 3].map((tier) =>
      lines.map(([label = "", ...texts]) => label.replace(/ \/.*/, "") + texts[tier - 1]),
    ),
  );
  expect(stepsOf(html)).toEqual([
    "See the prices",
    "Ask us for a Starter key.",
    "Ask us for a Pro key.",
  ]);
});

const own = (value: unknown): PlanTerms => parsePlanTerms(Buffer.from(JSON.stringify(value)), "p");

describe("an operator's terms", () => {
  test("none", async () => {
    const html = await served({});
    expect(rowsOf(html)).toEqual(OFFERS);
    expect(pricesOf(html)).toEqual(["free", "", ""]);
    expect(own({})).toEqual({});
  });

  test("all, with cents, nothing to pay, and text as it is", async () => {
    const plans = own({
      starter: { usd_per_month: 0, usd_per_year: 1234.5, support: "<b>none</b> & \u{202E}more" },
      pro: { usd_per_month: 1_000_000, usd_per_year: 0.07, support: "+1 555 0100" },
    });
    const html = await served(plans);
    expect(pricesOf(html)).toEqual([
      "free",
      "free or 1,234.50 USD a year",
      "1,000,000 USD a month or 0.07 USD a year",
    ]);
    expect(rowsOf(html)).toEqual([
      ...OFFERS,
      ["Support", "–", "&lt;b&gt;none&lt;/b&gt; &amp; \u{202E}more", "+1 555 0100"],
    ]);
    expect(html).toContain("<bdi>&lt;b&gt;none&lt;/b&gt;");
  });

  test("where one gets a plan, asks, and reads the terms: of a tier, and of all", async () => {
    const html = await served(
      own({
        starter: { get_url: "https://shop.example/starter?a=1&b=2", terms_url: null },
        pro: { contact: "mailto:pro@example.com", terms_url: "https://example.com/pro" },
        get_url: "https://shop.example",
        contact: "sales@example.com",
      }),
    );
    expect(stepsOf(html)).toEqual(["See the prices", "Get Starter", "Get Pro"]);
    expect(rowsOf(html)).toEqual([
      ...OFFERS,
      ["Contact", "–", "–", "pro@example.com"],
      ["Terms", "–", "–", "Terms"],
    ]);
    const links = [...html.matchAll(/<a href="((?:https|mailto):[^"]*)"[^>]*><bdi>([^<]*)/g)];
    expect(links.map(([, address, words]) => [address, words])).toEqual([
      ["https://shop.example/starter?a=1&amp;b=2", "Get Starter"],
      ["https://shop.example", "Get Pro"],
      ["mailto:pro@example.com", "pro@example.com"],
      ["https://example.com/pro", "Terms"],
      ["mailto:sales@example.com", "sales@example.com"],
      // The foot of every page.
      ["https://shop.example", "Get a key"],
      ["mailto:sales@example.com", "Contact"],
    ]);
  });

  test("without an address for a key, the contact is where one asks for it", async () => {
    const html = await served(own({ contact: "sales@example.com" }));
    expect(stepsOf(html)).toEqual(["See the prices", "E-mail us", "E-mail us"]);
    const page = await served(own({ contact: "https://example.com/contact" }));
    expect(stepsOf(page)).toEqual(["See the prices", "Contact us", "Contact us"]);
  });

  test("some: missing terms are left out, also a line without any", async () => {
    const html = await served(own({ pro: { usd_per_year: 200, support: null } }));
    expect(pricesOf(html)).toEqual(["free", "", "200 USD a year"]);
    expect(rowsOf(html)).toEqual(OFFERS);
  });
});

describe("--plans", () => {
  const PRICE = "expected a number of US dollars, 0 to 1000000, with at most 2 decimals";
  const TIER =
    "expected an object with usd_per_month, usd_per_year, support, get_url, contact, terms_url, or some of them";
  const ADDRESS = "expected an https, mailto or e-mail address of at most 200 characters";
  const folder = mkdtempSync(join(tmpdir(), "chipboard-plans-"));
  const file = join(folder, "plans.json");
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each([
    ["not JSON", "{", /: expected JSON \(.*JSON/],
    ["not UTF-8", Buffer.from([0xff]), /: expected JSON \(/],
    [
      "another kind of value",
      "[]",
      `: []: expected an object with starter, pro, get_url, contact, terms_url, evidence, publisher, audience, or some of them`,
    ],
    [
      "a tier without a price",
      '{"free":{}}',
      `: {"free":{}}: expected an object with starter, pro`,
    ],
    ["a tier that is no object", '{"pro":19}', `: pro 19: ${TIER}`],
    ["an unknown field", '{"pro":{"usd":1}}', `: pro {"usd":1}: ${TIER}`],
    ["a text as a price", '{"pro":{"usd_per_month":"9"}}', `: pro usd_per_month "9": ${PRICE}`],
    [
      "a price that stands twice",
      '{"pro":{"usd_per_month":9,"usd_per_month":19}}',
      `: the member "pro.usd_per_month" appears twice`,
    ],
    ["a negative price", '{"pro":{"usd_per_month":-1}}', `: pro usd_per_month -1: ${PRICE}`],
    ["tenths of a cent", '{"pro":{"usd_per_year":9.999}}', `: pro usd_per_year 9.999: ${PRICE}`],
    ["too much", '{"pro":{"usd_per_year":1e21}}', `: pro usd_per_year 1e+21: ${PRICE}`],
    [
      "a script",
      '{"get_url":"javascript:alert(1)"}',
      `: get_url "javascript:alert(1)": ${ADDRESS}`,
    ],
    [
      "a script that looks like mail",
      '{"pro":{"contact":"javascript:a@b"}}',
      `: pro contact "javascript:a@b": ${ADDRESS}`,
    ],
    [
      "plain HTTP",
      '{"terms_url":"http://x.example"}',
      `: terms_url "http://x.example": ${ADDRESS}`,
    ],
    [
      "a user in an address",
      '{"get_url":"https://bank.example@x.example/"}',
      `: get_url "https://***@x.example/": ${ADDRESS}`,
    ],
    [
      "a key in an address",
      '{"pro":{"get_url":"https://x.example/?token=s3cr3t"}}',
      /: pro get_url "https:\/\/x\.example\/\?token=\*\*\*: expected public text, without user, password or key\n$/,
    ],
    [
      "a key in the line of support",
      '{"pro":{"support":"see https://x.example?key=s3cr3t"}}',
      /: pro support "see https:\/\/x\.example\?key=\*\*\*: expected public text, without user, password or key\n$/,
    ],
    ["a blank", '{"contact":"a@b.example c"}', `: contact "a@b.example c": ${ADDRESS}`],
    ["a line break", '{"contact":"a@b\\nc"}', `: contact "a@b\\nc": ${ADDRESS}`],
    ["a number", '{"pro":{"get_url":1}}', `: pro get_url 1: ${ADDRESS}`],
    [
      "a long address",
      `{"get_url":"https://x.example/${"a".repeat(200)}"}`,
      /: get_url "https:\/\/x\.example\/a+…: expected an https/,
    ],
    [
      "two lines of support",
      '{"starter":{"support":"a\\nb"}}',
      `: starter support "a\\nb": expected text of 1 to 200 characters on one line`,
    ],
  ])(
    "%s: the error names the file, the field, the value and the expected form",
    async (_, text, says) => {
      writeFileSync(file, text);
      const { code, stdout, stderr } = await inProcess(["serve", "--plans", file]);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain(`--plans ${JSON.stringify(file)}: `);
      if (typeof says === "string") expect(stderr).toContain(says);
      else expect(stderr).toMatch(says);
    },
  );

  test("every fault has its line", async () => {
    writeFileSync(file, '{"starter":{"usd_per_month":"a"},"pro":{"usd_per_year":"b"}}');
    const { stderr } = await inProcess(["serve", "--plans", file]);
    expect(stderr).toContain(
      `starter usd_per_month "a": ${PRICE}\n  pro usd_per_year "b": ${PRICE}`,
    );
  });

  test("a file that is not there", async () => {
    const { code, stderr } = await inProcess(["serve", "--plans", join(folder, "none.json")]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--plans ".*none\.json": cannot be read: ENOENT/);
  });

  test.each([
    ["the file's terms", "plans.json", ["free", "", "7.50 USD a month"]],
    ["off: no terms", "off", ["free", "", ""]],
  ])("%s are on the page", async (_, plans, prices) => {
    writeFileSync(join(folder, "plans.json"), '{"pro":{"usd_per_month":7.5}}');
    await createState(join(folder, "st"));
    const serving = await serve(["--store", "s", "--state", "st"], {
      cwd: folder,
      env: { CHIPBOARD_PLANS: plans },
    });
    try {
      const html = await (await fetch(`${serving.url}/plans`)).text();
      expect(pricesOf(html)).toEqual(prices);
      // Nothing is served, so that nobody knows how many contracts there are.
      const contracts = ["Contracts /prices", "10", "all", "all"];
      expect(rowsOf(html)).toEqual([contracts, ...OFFERS.slice(1)]);
    } finally {
      await serving.end();
    }
  });
});

inChromium("a key marks its plan and offers only fuller ones, at the cost of no call", async () => {
  proxy = await startTestProxy({ plans: { get_url: "https://keys.example/get" } });
  const { url, starter, pro, get } = proxy;
  await get("/api/public/v1/prices", { key: starter });
  const browser = await openBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`${url}/plans`);
    const marked = page.locator("thead .own");
    const line = page.locator("#own");
    expect([await marked.count(), await line.isVisible()]).toEqual([0, false]);
    await giveKey(page, starter);
    await line.waitFor();
    expect(await marked.allTextContents()).toEqual(["Starter"]);
    const lines = await page.locator("tbody tr:not(.group)").count();
    expect(await page.locator("tbody .own").count()).toBe(lines);
    expect(await page.locator(".plan.own h2").allTextContents()).toEqual(["Starter"]);
    expect(await line.textContent()).toBe(
      "Your plan is Starter: 1 of 25,000 calls used this month.",
    );
    const steps = page.locator(".step").filter({ visible: true });
    expect(await steps.allInnerTexts()).toEqual(["Your plan", "Get Pro"]);
    await page.evaluate("sessionStorage.clear()");
    await page.reload();
    expect(await marked.count()).toBe(0);
    await giveKey(page, pro);
    await line.waitFor();
    expect(await marked.allTextContents()).toEqual(["Pro"]);
    expect(await line.textContent()).toBe("Your plan is Pro: 0 calls used this month.");
    expect(await steps.allInnerTexts()).toEqual(["Your plan"]);
  } finally {
    await browser.close();
  }
});

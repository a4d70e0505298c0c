/** What everybody gets: no counted call, and nothing that only a tier with keys has. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { KEY_TIER_NAMES, type TierName } from "../../src/market/tier.ts";
import { ASSETS_PATH, FEED_PATH, OPENAPI_PATH, STATUS_PATH } from "../../src/proxy/routes.ts";
import { siteAssets } from "../../src/site/files.ts";
import { launchBrowser } from "../http/browser.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { isInstalled, testWith } from "../http/tools.ts";
import { formerId, LISTED, marketClock, publishMarket, SEGMENTS } from "./market.ts";
import { open, PAGES, watchedContext } from "./visit.ts";

const API = "/api/public/v1";

let proxy: TestProxy;
let browser: Browser | undefined;
beforeAll(async () => {
  proxy = await startTestProxy({ store: await publishMarket(), clock: marketClock() });
  if (isInstalled("chromium")) browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
});

const keysOf = { free: () => undefined, starter: () => proxy.starter, pro: () => proxy.pro };

async function bodyOf(path: string, tier: TierName): Promise<string> {
  const key = keysOf[tier]();
  const { status, text } = await proxy.get(API + path, key === undefined ? {} : { key });
  expect([path, status]).toEqual([path, 200]);
  return text;
}

const contractsOf = (free: boolean): string[] =>
  LISTED.filter(({ isFree }) => !free || isFree).map(({ id }) => `/prices/${id}`);

/** Every JSON answer that the tier gets, as text. */
async function answersOf(tier: TierName): Promise<string[]> {
  const paths =
    tier === "free"
      ? ["/prices", "/publications", ...contractsOf(true)]
      : ["/prices", "/index", "/indices", "/corrections", ...indices(), ...contractsOf(false)];
  return Promise.all(paths.map((path) => bodyOf(path, tier)));
}

const indices = (): string[] =>
  ["composite", ...SEGMENTS.map((name) => name.toLowerCase().replaceAll(" ", "-"))].map(
    (id) => `/indices/${id}`,
  );

/** Figures with so many digits that none of them stands on a page by chance. */
const FIGURES = /\d+(?:\.\d+)?/g;
const isTelling = (figure: string): boolean =>
  figure.includes(".") && figure.replace(".", "").replace(/^0+/, "").length >= 6;
const figuresIn = (text: string): string[] =>
  (text.replace(/(\d),(?=\d{3})/g, "$1").match(FIGURES) ?? []).filter(isTelling);

/** What a market's owner writes; all else, and shorter texts, are words of the interface. */
const WRITTEN = /^(?:id|contract_id|ticker|name|segment|unit|source|source_url|reason|rationale)$/;

function textsIn(json: string): string[] {
  const texts: string[] = [];
  JSON.parse(json, (field, value: unknown) => {
    const isWritten = WRITTEN.test(field) && typeof value === "string" && value.length > 5;
    if (isWritten && value !== "composite" && !value.includes("_")) texts.push(value);
    return value;
  });
  return texts;
}

test("keyless pages hold no level, name, id or history of a tier with keys", async () => {
  const free = await answersOf("free");
  const paid = (await Promise.all(KEY_TIER_NAMES.map(answersOf))).flat();
  const known = new Set([...free.flatMap(figuresIn), ...free.flatMap(textsIn)]);
  const secret = {
    figures: new Set(paid.flatMap(figuresIn).filter((figure) => !known.has(figure))),
    texts: new Set(paid.flatMap(textsIn).filter((text) => !known.has(text))),
  };
  for (const { isFree, id } of LISTED) if (!isFree) secret.texts.add(id).add(formerId(id));
  expect(secret.figures.size).toBeGreaterThan(10_000);
  expect(secret.texts.size).toBeGreaterThan(400);

  const shown = [...PAGES, FEED_PATH, STATUS_PATH, OPENAPI_PATH, "/readyz"];
  const assets = siteAssets().map((name) => ASSETS_PATH + name);
  for (const path of [...shown, ...assets]) {
    const { text } = await proxy.get(path, { headers: { accept: "text/html" } });
    // A page may repeat the id in its own address.
    const own = path.split("/").at(-1) as string;
    expect([path, figuresIn(text).filter((figure) => secret.figures.has(figure))]).toEqual([
      path,
      [],
    ]);
    const told = [...secret.texts].filter((secretText) => text.includes(secretText));
    expect([path, told.filter((found) => found !== own)]).toEqual([path, []]);
  }
});

testWith("chromium")("showing them takes no call", async () => {
  const { context, watch } = await watchedContext(browser as Browser);
  try {
    const page = await context.newPage();
    const before = await bodyOf("/usage", "free");
    for (const path of PAGES) await open(page, proxy.url + path);
    expect(watch.requests.length).toBeGreaterThan(PAGES.length);
    expect(watch.requests.filter(({ url }) => url.includes("/api/"))).toEqual([]);
    expect(await bodyOf("/usage", "free")).toBe(before);
  } finally {
    await context.close();
  }
});

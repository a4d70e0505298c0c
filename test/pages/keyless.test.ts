/** What everybody gets: no counted call, and nothing that only a tier with keys has. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { assetPath } from "../../src/pages/assets.ts";
import { slugOf } from "../../src/market/indices.ts";
import { KEY_TIER_NAMES } from "../../src/market/tier.ts";
import { siteAssets } from "../../src/site/site-files.ts";
import { uncountedPaths } from "../http/addresses.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { startTestProxy, type TestProxy } from "../http/fixture.ts";
import { formerId, LISTED, marketClock, publishMarket, SEGMENTS } from "./page-market.ts";
import { answersOf, figuresIn } from "./tier-answers.ts";
import { open, PAGES, watchedContext } from "./visit.ts";

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

/** Figures with so many digits that none of them stands on a page by chance. */
const tellingIn = (text: string): string[] =>
  figuresIn(text).filter(
    (figure) => figure.includes(".") && figure.replace(/^-?0?\.?0*/, "").length >= 7,
  );

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

test("keyless pages hold no level or history of a tier with keys, and names only where they list them", async () => {
  const free = [...(await answersOf(proxy, "free")).values()];
  const answers = await Promise.all(KEY_TIER_NAMES.map((tier) => answersOf(proxy, tier)));
  const paid = answers.flatMap((of) => [...of.values()]);
  const texts = free.flatMap(textsIn);
  // The names of segments are public. A name gives away the id of its index.
  texts.push(...SEGMENTS);
  const known = new Set([...free.flatMap(tellingIn), ...texts, ...texts.map(slugOf)]);
  const secret = {
    figures: new Set(paid.flatMap(tellingIn).filter((figure) => !known.has(figure))),
    texts: new Set(paid.flatMap(textsIn).filter((text) => !known.has(text))),
  };
  for (const { isFree, id } of LISTED) if (!isFree) secret.texts.add(id).add(formerId(id));
  expect(secret.figures.size).toBeGreaterThan(10_000);
  expect(secret.texts.size).toBeGreaterThan(400);

  // What everybody may know of each contract of the catalog, by its id.
  const facts = new Map(
    LISTED.flatMap(({ id: listed }) => {
      const answer = answers.at(-1)?.get(`/prices/${listed}`);
      if (answer === undefined) return [];
      const { id, ticker, name, segment, unit, source } = JSON.parse(answer);
      return [
        [id, { name, segment, all: [id, ticker, name, segment, unit, source, slugOf(segment)] }],
      ];
    }),
  );
  // The board names every contract, and the page of a contract names the contracts of its segment.
  const everywhere = new Set([...facts.values()].flatMap(({ all }) => all));
  const namedOn = (path: string): ReadonlySet<string> => {
    if (path === "/") return everywhere;
    // The page of a contract outside the slice has the id in its address.
    const own = facts.get(path.split("/").at(-1));
    const near = [...facts].filter(([, { segment }]) => segment === own?.segment);
    return new Set([
      path.split("/").at(-1) as string,
      ...(own?.all ?? []),
      ...near.flatMap(([id, { name }]) => [id, name]),
    ]);
  };
  const shown = [...PAGES, ...uncountedPaths("everybody")];
  const assets = siteAssets().map(assetPath);
  for (const path of [...shown, ...assets]) {
    const { text } = await proxy.get(path, { headers: { accept: "text/html" } });
    expect([path, tellingIn(text).filter((figure) => secret.figures.has(figure))]).toEqual([
      path,
      [],
    ]);
    const told = [...secret.texts].filter((secretText) => text.includes(secretText));
    const named = namedOn(path);
    expect([path, told.filter((found) => !named.has(found))]).toEqual([path, []]);
  }
});

const usage = async (): Promise<number> => (await proxy.get("/api/public/v1/usage")).json.used;

inChromium("showing them takes no call", async () => {
  const { context, watch } = await watchedContext(browser as Browser);
  try {
    const page = await context.newPage();
    const before = await usage();
    for (const path of PAGES) await open(page, proxy.url + path);
    expect(watch.requests.length).toBeGreaterThan(PAGES.length);
    expect(watch.requests.filter(({ url }) => url.includes("/api/"))).toEqual([]);
    expect(await usage()).toBe(before);
  } finally {
    await context.close();
  }
});

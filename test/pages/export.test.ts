/**
 * An exported site on a plain server of files: every page in a browser, every link, how late it says it is, and its
 * data beside the answers of a service. At the root of its host and below a path; with a service and without.
 */
import { createHash } from "node:crypto";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DamageError } from "../../src/lib/errors.ts";
import { sessionStartMs } from "../../src/market/session.ts";
import { escaped } from "../../src/site/text.js";
import { MemoryStore } from "../store/memory-store.ts";
import { publishSession, SESSION, startTestCore, TestClock } from "../http/fixture.ts";
import { CLOCK_MS, OPERATOR, publishThree, RETIRED, signedBy } from "../http/signed-log.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { exportOf, filesIn } from "./exported.ts";
import { startFileServer, type FileServer } from "./file-server.ts";
import { formerId, HEAD, idsOf, LISTED, publishMarket } from "./page-market.ts";
import { open, watchedContext, type Watch } from "./visit.ts";

const SERVICE = "https://service.example/prices";
const MINUTE_MS = 60_000;
const DUE_MS = sessionStartMs(HEAD + 1);

let store: MemoryStore;
let browser: Browser | undefined;
beforeAll(async () => {
  store = await publishMarket();
  if (hasBrowser) browser = await openBrowser();
});
afterAll(() => browser?.close());

describe("the files", () => {
  const PUBLIC_URL = "https://host.example/repo";
  let files: ReadonlyMap<string, Buffer>;
  beforeAll(async () => {
    files = await filesIn(await exportOf(store, PUBLIC_URL));
  });
  const textOf = (path: string): string => (files.get(path) as Buffer).toString();

  test("are the same in two exports of a publication", async () => {
    expect(await filesIn(await exportOf(store, PUBLIC_URL))).toEqual(files);
  });

  test("have the answers of a service without a key, to the byte", async () => {
    const core = await startTestCore({ store, clock: new TestClock(DUE_MS - MINUTE_MS) });
    try {
      const answers = new Map<string, string>();
      const ask = async (target: string, file: string): Promise<void> => {
        const { status, body } = await core.get(target);
        if (status === 200) answers.set(file, body.toString());
      };
      const api = "/api/public/v1";
      await ask(`${api}/prices`, "data/board.json");
      await ask(`${api}/sums`, "data/SHA256SUMS");
      await ask(`${api}/contracts`, "data/contracts.json");
      for (const { id } of LISTED) await ask(`${api}/prices/${id}`, `data/contracts/${id}.json`);
      for (const number of [1, 2, 3, 4, 5]) await ask(`/log/${number}`, `log/${number}`);
      expect(answers.size).toBe(17);
      const made = [...files.keys()].filter((path) => /^(?:data|log)\//.test(path));
      expect(made.toSorted()).toEqual([...answers.keys()].toSorted());
      for (const [path, text] of answers) expect([path, textOf(path)]).toEqual([path, text]);
    } finally {
      await core.close();
    }
  });

  test("are proven by the sums of the tier, and by the list of the export", () => {
    for (const [list, folder] of [
      ["data/SHA256SUMS", "data/"],
      ["chipboard-export.sha256", ""],
    ] as const) {
      const lines = textOf(list).trimEnd().split("\n");
      for (const line of lines) {
        const path = folder + line.slice(66);
        const digest = createHash("sha256").update(files.get(path) as Buffer);
        expect([path, digest.digest("hex")]).toEqual([path, line.slice(0, 64)]);
      }
      if (folder === "") expect(lines).toHaveLength(files.size - 1);
    }
  });

  test("say in feed, sitemap and robots where they are", () => {
    const named = [...textOf("sitemap.xml").matchAll(/<loc>(.*?)<\/loc>/g)].map(([, url]) => url);
    const contracts = LISTED.map(({ id }) => `/contracts/${id}/`);
    const fixed = ["/", "/status/", "/corrections/", "/verify/", "/methodology/"];
    expect(named).toEqual([...fixed, ...contracts].map((path) => PUBLIC_URL + path));
    const links = [...textOf("feed.atom").matchAll(/href="([^"]*)"/g)].map(([, url]) => url);
    expect([...new Set(links)]).toEqual([
      `${PUBLIC_URL}/feed.atom`,
      `${PUBLIC_URL}/`,
      `${PUBLIC_URL}/status/`,
      expect.stringMatching(`^${PUBLIC_URL}/corrections/#publication-\\d$`),
    ]);
    expect(textOf("robots.txt")).toContain(`Sitemap: ${PUBLIC_URL}/sitemap.xml\n`);
  });

  test("name the board as their data, and no address of the API", () => {
    const [, json = ""] = /ld\+json">(.*?)<\/script>/.exec(textOf("index.html")) ?? [];
    expect(JSON.parse(json).distribution.contentUrl).toBe(`${PUBLIC_URL}/data/board.json`);
    for (const [path, bytes] of files) {
      if (!path.endsWith(".html")) continue;
      expect([path, bytes.includes(`${PUBLIC_URL}/api/`)]).toEqual([path, false]);
      expect([path, bytes.includes("<!--")]).toEqual([path, false]);
    }
  });
});

test("an address of the site in a text of the publisher stays a text", async () => {
  const attribution =
    'See "https://host.example/plans" and <a href="plans">plans</a>, <!--served-->';
  const quoted = new MemoryStore();
  await publishSession(quoted, new TestClock(), SESSION, { first: true, attribution });
  const page = (await filesIn(await exportOf(quoted, "https://host.example"))).get("index.html");
  const [, json = ""] = /ld\+json">(.*?)<\/script>/.exec(page?.toString() ?? "") ?? [];
  expect(JSON.parse(json).description).toContain(attribution);
  expect(page?.toString()).toContain(
    `<p class="notice" id="attribution">${escaped(attribution)}</p>`,
  );
});

test("a signed log has its keys beside it, and its tiles", async () => {
  const signed = await publishThree(OPERATOR);
  const clock = new TestClock(CLOCK_MS);
  for (let revision = 2; revision <= 15; revision += 1) {
    await publishSession(signed, clock, SESSION + 1, {
      usd: 12 + (revision % 2),
      revise: "Restated",
      keys: signedBy(OPERATOR),
    });
  }
  const folder = await exportOf(signed, "https://host.example", null, [OPERATOR.verifyKey]);
  const files = await filesIn(folder);
  expect(files.get("log/keys.pem")?.toString()).toBe(OPERATOR.verifyKey.pem);
  const entries = Array.from({ length: 16 }, (_, at) => files.get(`log/${at + 1}`) as Buffer);
  expect(files.get("log/tiles/16/0000000000")).toEqual(Buffer.concat(entries));
  expect(files.has("log/17")).toBe(true);
  await expect(exportOf(signed, "https://host.example", null, [RETIRED.verifyKey])).rejects.toThrow(
    DamageError,
  );
});

describe.each([
  ["at the root of its host", "", null],
  ["below a path", "/repo", null],
  ["below a path, with a service", "/repo", SERVICE],
])("%s", (_, prefix, service) => {
  let server: FileServer;
  let root: string;
  let context: BrowserContext;
  let watch: Watch;
  let page: Page;
  beforeAll(async () => {
    server = await startFileServer(prefix);
    ({ root } = server);
    server.folder = await exportOf(store, root, service);
    if (browser === undefined) return;
    ({ context, watch } = await watchedContext(browser));
    page = await context.newPage();
    await page.clock.setFixedTime(DUE_MS - MINUTE_MS);
  });
  afterAll(async () => {
    await context?.close();
    server.close();
  });

  /** The addresses that a page names. */
  const linksOn = (): Promise<string[]> =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll("[href], [src]")].map((at) => at.href ?? at.src)`,
    );

  inChromium("every page can be reached and works, and every link leads somewhere", async () => {
    // No page of a service names those that are delisted either.
    const delisted = idsOf("delisted").map((id) => `${root}/contracts/${id}/`);
    const seen = new Set<string>([`${root}/`, ...delisted]);
    const outside = new Set<string>();
    const note = (link: string): void => {
      const plain = link.replace(/[#?].*/, "");
      if (plain.startsWith(`${root}/`)) seen.add(plain);
      else outside.add(plain);
    };
    let pages = 0;
    for (const url of seen) {
      const response = await fetch(url);
      expect([url, response.status, response.redirected]).toEqual([url, 200, false]);
      if (!response.headers.get("content-type")?.startsWith("text/html")) continue;
      pages += 1;
      // Of a hundred pages that are made alike, the links count.
      if (url.includes("-plain-")) {
        const hrefs = (await response.text()).matchAll(/ (?:href|src)="([^"]*)"/g);
        for (const [, href = ""] of hrefs) note(new URL(href, url).href);
        continue;
      }
      await open(page, url);
      expect(await page.locator("#key, #key-open, #request [data-proof]").count()).toBe(
        service !== null && url.includes("/contracts/") ? 1 : 0,
      );
      expect(await page.textContent("footer")).toContain("not an API");
      const canonical = page.locator("link[rel=canonical]");
      if ((await canonical.count()) === 1) expect(await canonical.getAttribute("href")).toBe(url);
      for (const link of await linksOn()) note(link);
    }
    expect(pages).toBe(5 + LISTED.length);
    expect(watch.complaints).toEqual([]);
    expect(watch.requests.filter(({ url }) => !url.startsWith(`${root}/`))).toEqual([]);
    const elsewhere = [...outside].filter((url) => !/^https:\/\/source-\d+\.example\//.test(url));
    const atService = ["docs", "guide", "indices", "basket", "compare", "plans", "alerts"];
    const further = ["llms.txt", "changelog", "status.json"];
    expect(elsewhere.toSorted()).toEqual(
      service === null
        ? []
        : [...atService, ...further].map((path) => `${service}/${path}`).toSorted(),
    );
  });

  inChromium("a wrong address at any depth shows a page that works", async () => {
    watch.complaints.length = watch.requests.length = 0;
    await page.goto(`${root}/contracts/deep/below/nothing`);
    expect(await page.textContent("h1")).toBe("No such address");
    for (const link of await linksOn()) {
      if (link.startsWith(root) && !link.includes("#"))
        expect([link, (await fetch(link)).status]).toEqual([link, 200]);
    }
    // The browser tells of the answer itself, and of nothing else.
    expect(watch.complaints).toEqual([expect.stringContaining("404")]);
  });

  inChromium("a former address leads on", async () => {
    const [id = ""] = idsOf("renamed");
    await page.goto(`${root}/contracts/${formerId(id)}/`);
    await page.waitForURL(`${root}/contracts/${id}/`);
    expect(await page.textContent(".ids code")).toBe(id);
  });

  inChromium("the search finds contracts by name and former id, and opens them", async () => {
    await open(page, `${root}/status/`);
    const [, keyed = ""] = idsOf("renamed");
    await page.getByRole("combobox").fill(formerId(keyed));
    await page.getByRole("option").first().click();
    await page.waitForURL(`${root}/contracts/${keyed}/`);
  });

  inChromium("filter and order of the board are kept in the address", async () => {
    await open(page, `${root}/?q=corrected&sort=-spot_usd`);
    const rows = page.locator("#board tbody tr:visible");
    expect(await rows.count()).toBe(2);
    expect(await page.inputValue("#find")).toBe("corrected");
  });

  const [broken = ""] = idsOf("broken");
  inChromium.each([
    ["before it is due", -1, "Next update", null],
    ["within the grace", 1, "The next update was due", null],
    ["beyond the grace", 60, "The next update was due", "Late: 1 session overdue."],
    ["a day later", 60 + 24 * 60, "The next update was due", "Late: 3 sessions overdue."],
  ])("%s the pages tell how late they are", async (_name, minutes, words, late) => {
    await page.clock.setFixedTime(DUE_MS + minutes * MINUTE_MS);
    for (const path of ["/", `/contracts/${broken}/`]) {
      await open(page, root + path);
      expect(await page.textContent("p.session")).toContain(words);
      const told = await page.locator("p.late[role=status]:visible").allTextContents();
      expect(told.map((text) => text.slice(0, text.indexOf(".") + 1))).toEqual(
        late === null ? [] : [late],
      );
    }
    await open(page, `${root}/status/`);
    const verdict = await page.textContent(".verdict h1");
    expect(verdict?.endsWith("late")).toBe(late !== null);
  });

  inChromium("the pages are read on paper", async () => {
    await page.clock.setFixedTime(DUE_MS - MINUTE_MS);
    for (const path of ["/", `/contracts/${broken}/`, "/status/", "/corrections/"]) {
      await open(page, root + path);
      await page.setViewportSize({ width: 718, height: 1000 });
      await page.emulateMedia({ media: "print" });
      const widthPx = await page.evaluate<number>("document.documentElement.scrollWidth");
      const controls = await page
        .locator("button:visible:not(thead button), input:visible")
        .count();
      const isShown = await page.locator("main h1").isVisible();
      await page.emulateMedia({ media: "screen" });
      expect([path, widthPx <= 718, controls, isShown]).toEqual([path, true, 0, true]);
    }
  });
});

inChromium("without scripts and without a service, no page speaks of a key", async () => {
  const server = await startFileServer("/repo");
  try {
    server.folder = await exportOf(store, server.root);
    const { context, watch } = await watchedContext(browser as Browser, {
      javaScriptEnabled: false,
    });
    const page = await context.newPage();
    const [, locked = ""] = idsOf("plain").filter((id) => id.startsWith("keyed"));
    for (const path of ["/", `/contracts/${locked}/`, "/corrections/", "/status/"]) {
      await page.goto(server.root + path);
      const text = await page.innerText("body");
      expect([path, /\bkey\b/i.test(text)]).toEqual([path, false]);
    }
    expect(watch.complaints).toEqual([]);
    await context.close();
  } finally {
    server.close();
  }
});

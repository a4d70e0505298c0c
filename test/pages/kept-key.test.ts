/** The key that a reader types in: its effects, and all the places where it must not be. */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { BROWSER, hasBrowser, inChromium, openBrowser, PATIENCE_MS } from "../services/browser.ts";
import { testWithService } from "../services/service-programs.ts";
import { eventually, startTestProxy, type TestProxy } from "../http/fixture.ts";
import { startPrefixFront } from "../http/prefix-front.ts";
import { giveKey, open, openKey, FIXED_PAGES, watchedContext } from "./visit.ts";

let proxy: TestProxy;
let browser: Browser | undefined;
beforeAll(async () => {
  // It logs every request.
  proxy = await startTestProxy();
  if (hasBrowser) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
});

const contextOf = () => watchedContext(browser as Browser);
const said = (page: Page): Promise<string | null> => page.textContent("#key-message");

/** What the page's scripts can find: the names in its stores, and all of their text. */
const STORES = `(async () => ({
  session: Object.keys(sessionStorage),
  local: Object.keys(localStorage),
  cookies: document.cookie,
  databases: (await indexedDB.databases()).map(({ name }) => name),
  caches: globalThis.caches === undefined ? [] : await caches.keys(),
  html: document.documentElement.outerHTML,
  fields: [...document.querySelectorAll("input, textarea")].map(({ value }) => value).join(" "),
  addresses: [location.href, document.referrer, document.title, JSON.stringify(history.state), name,
    ...performance.getEntries().map((entry) => entry.name),
    ...[...document.querySelectorAll("[href], [src]")].map((at) => at.getAttribute("href") + at.getAttribute("src"))].join(" "),
}))()`;
type Stores = Readonly<Record<"session" | "local" | "databases" | "caches", string[]>> &
  Readonly<Record<"cookies" | "html" | "fields" | "addresses", string>>;

inChromium(
  "typed in, the key is the caller's on every page, and is sent in a header field only",
  async () => {
    const { context, watch } = await contextOf();
    try {
      const page = await context.newPage();
      const headers: Promise<Record<string, string>>[] = [];
      page.on("request", (request) => headers.push(request.allHeaders()));
      for (const path of FIXED_PAGES) {
        await open(page, proxy.url + path);
        if (path === FIXED_PAGES[0]) await giveKey(page, proxy.starter);
        expect([path, await said(page)]).toEqual([
          path,
          expect.stringMatching(/^Starter · \S+ calls left/),
        ]);
        const { session, local, cookies, databases, caches, ...texts } =
          await page.evaluate<Stores>(STORES);
        expect({ session, local, cookies, databases, caches }).toEqual({
          session: ["chipboard-key"],
          local: [],
          cookies: "",
          databases: [],
          caches: [],
        });
        for (const text of Object.values(texts)) expect(text).not.toContain(proxy.starter);
      }
      expect(await context.cookies()).toEqual([]);
      expect(watch.requests.map(({ url }) => url).join()).not.toContain("cbk_");
      const sent = (await Promise.all(headers)).flatMap((fields) => Object.entries(fields));
      const carrying = sent.filter(([, value]) => value.includes(proxy.starter));
      expect(new Set(carrying.map(([name]) => name))).toEqual(new Set(["x-api-key"]));
      expect(proxy.logged.join("")).not.toContain(proxy.starter.slice(4));
      expect(proxy.logged.some((line) => line.includes('"tier":"starter"'))).toBe(true);
      expect(watch.complaints).toEqual([]);
    } finally {
      await context.close();
    }
  },
);

inChromium("a double click on Use does not forget it", async () => {
  const { context } = await contextOf();
  try {
    const page = await context.newPage();
    await open(page, proxy.url);
    await openKey(page);
    await page.getByLabel("API key").fill(proxy.pro);
    await page.getByRole("button", { name: "Use" }).dblclick();
    await expect
      .poll(() =>
        page.evaluate(`document.getElementById("key-message").textContent.includes("Pro")`),
      )
      .toBe(true);
    await page.getByRole("button", { name: "Forget" }).click({ clickCount: 2 });
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
  } finally {
    await context.close();
  }
});

inChromium("it outlives the page but not the tab, and no other tab has it", async () => {
  const { context } = await contextOf();
  try {
    const page = await context.newPage();
    await open(page, proxy.url);
    await giveKey(page, proxy.pro);
    await page.reload();
    await expect
      .poll(() =>
        page.evaluate(`document.getElementById("key-message").textContent.includes("Pro")`),
      )
      .toBe(true);

    const other = await context.newPage();
    await open(other, proxy.url);
    expect([await said(other), await rowsOf(other)]).toEqual(["", 10]);
    await giveKey(other, proxy.starter);
    expect(await said(other)).toContain("Starter");
    await page.reload();
    await expect
      .poll(() =>
        page.evaluate(`document.getElementById("key-message").textContent.includes("Pro")`),
      )
      .toBe(true);

    await page.close();
    const next = await context.newPage();
    await open(next, proxy.url);
    expect([await said(next), await rowsOf(next)]).toEqual(["", 10]);
  } finally {
    await context.close();
  }
});

inChromium(
  "kept on the device if the reader wishes so: other tabs have it, until one forgets it",
  async () => {
    const { context } = await contextOf();
    try {
      const page = await context.newPage();
      await open(page, proxy.url);
      await openKey(page);
      expect(await page.getByLabel("Keep on this device").isChecked()).toBe(false);
      await page.getByLabel("Keep on this device").check();
      await giveKey(page, proxy.pro);
      expect(await page.evaluate("[sessionStorage.length, localStorage.length]")).toEqual([0, 1]);

      const other = await context.newPage();
      await open(other, proxy.url);
      expect([await said(other), await rowsOf(other)]).toEqual([
        expect.stringMatching(/^Pro · unlimited calls/),
        await rowsOf(page),
      ]);
      await other.getByRole("button", { name: "Forget" }).click();
      await expect
        .poll(() =>
          other.evaluate(
            `document.querySelectorAll("#board tbody tr:not(:has(.lock))").length === 10`,
          ),
        )
        .toBe(true);
      expect(await other.evaluate("[sessionStorage.length, localStorage.length]")).toEqual([0, 0]);
      await page.reload();
      expect(await rowsOf(page)).toBe(10);
    } finally {
      await context.close();
    }
  },
);

inChromium(
  "below a prefix the device's store is others' as well: it is not offered, nor read",
  async () => {
    const front = await startPrefixFront("/a");
    front.target = proxy.url;
    const { context } = await contextOf();
    try {
      const page = await context.newPage();
      await page.addInitScript((key) => localStorage.setItem("chipboard-key", key), proxy.pro);
      await open(page, `${front.root}/`);
      expect([await said(page), await rowsOf(page)]).toEqual(["", 10]);
      await openKey(page);
      expect(await page.getByLabel("Keep on this device").isVisible()).toBe(false);
      expect(await page.locator("html.keyed").count()).toBe(0);
    } finally {
      await context.close();
      front.close();
    }
  },
);

inChromium("before the first paint the page knows whether a key is kept", async () => {
  const { context } = await contextOf();
  try {
    const page = await context.newPage();
    // Without the modules only what runs before them can know it.
    await page.route("**/assets/market.*.js", (route) => route.abort());
    await page.goto(proxy.url);
    expect(await page.locator("html.keyed").count()).toBe(0);
    await page.evaluate((key) => sessionStorage.setItem("chipboard-key", key), proxy.pro);
    await page.reload();
    expect(await page.locator("html.keyed").count()).toBe(1);
  } finally {
    await context.close();
  }
});

const rowsOf = (page: Page): Promise<number> =>
  page.locator("#board tbody tr:not(:has(.lock))").count();

inChromium("forgetting it brings the free page back", async () => {
  const { context } = await contextOf();
  try {
    const page = await context.newPage();
    await open(page, proxy.url);
    await giveKey(page, proxy.pro);
    expect(await rowsOf(page)).toBeGreaterThan(10);
    await page.getByRole("button", { name: "Forget" }).click();
    await expect
      .poll(() =>
        page.evaluate(
          `document.querySelectorAll("#board tbody tr:not(:has(.lock))").length === 10`,
        ),
      )
      .toBe(true);
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
    expect(await page.locator("#key-field").inputValue()).toBe("");
  } finally {
    await context.close();
  }
});

inChromium("a wrong key is refused at the field, in words, and is not kept", async () => {
  const { context } = await contextOf();
  try {
    const page = await context.newPage();
    const field = page.getByLabel("API key");
    for (const [wrong, why] of [
      [
        `${proxy.pro.slice(0, -1)}${proxy.pro.endsWith("0") ? 1 : 0}`,
        /^The key sent is not valid\. It may/,
      ],
      [proxy.pro.slice(1), /^A key begins with cbk_/],
      [proxy.pro.slice(0, -1), /^A key has 53 characters; this has 52/],
      ["", /^Expected a key/],
    ] as const) {
      await open(page, proxy.url);
      await openKey(page);
      await field.fill(wrong);
      await field.press("Enter");
      await page.locator("#key-field[aria-invalid=true]").waitFor();
      const message = page.locator(`#${await field.getAttribute("aria-describedby")}`);
      expect(await message.textContent()).toMatch(why);
      expect(await message.isVisible()).toBe(true);
      expect(await page.evaluate("document.activeElement.id")).toBe("key-field");
      expect(await page.evaluate("sessionStorage.length")).toBe(0);
      expect(await rowsOf(page)).toBe(10);
    }
  } finally {
    await context.close();
  }
});

inChromium("a key pasted with other words or with blanks inside is found", async () => {
  const { context } = await contextOf();
  try {
    const page = await context.newPage();
    const { pro } = proxy;
    for (const text of [
      `My key: ${pro} thanks`,
      `Authorization: Bearer "${pro}"`,
      ` ${pro.slice(0, 20)} ${pro.slice(20)}\t`,
    ]) {
      await open(page, proxy.url);
      await giveKey(page, text);
      expect([text, await said(page)]).toEqual([
        text,
        expect.stringMatching(/^Pro · unlimited calls/),
      ]);
      expect(await page.evaluate(`sessionStorage.getItem("chipboard-key")`)).toBe(pro);
      await page.evaluate("sessionStorage.clear()");
    }
  } finally {
    await context.close();
  }
});

/** A text that a test itself keeps, to show that it would be found. */
const CONTROL = "kept-for-comparison";

/** The files below a folder that hold the text, in UTF-8 or UTF-16. */
async function holding(folder: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path);
    if (bytes.includes(text) || bytes.includes(text, 0, "utf16le")) {
      found.push(relative(folder, path));
    }
  }
  return found;
}

// The shell restores no tab: this needs the whole browser.
testWithService("chromium")(
  "the browser writes it nowhere but to what restores the tab",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "chipboard-profile-"));
    try {
      const context = await chromium.launchPersistentContext(folder, {
        ...BROWSER,
        executablePath: "/usr/bin/chromium",
      });
      context.setDefaultTimeout(PATIENCE_MS);
      const [page] = context.pages() as [Page];
      await open(page, proxy.url);
      await giveKey(page, proxy.pro);
      for (const path of FIXED_PAGES) await open(page, proxy.url + path);
      await page.evaluate(`localStorage.setItem("control", "${CONTROL}")`);
      await context.close();
      expect((await holding(folder, CONTROL)).join()).toContain("Local Storage");
      const kept = await holding(folder, proxy.pro);
      expect(kept.filter((path) => !path.startsWith("Default/Session Storage/"))).toEqual([]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
);

inChromium(
  "a service that does not answer is no reason to forget it; a withdrawn key is forgotten",
  async () => {
    const { context } = await contextOf();
    try {
      const page = await context.newPage();
      await open(page, proxy.url);
      const { key, key_id } = await proxy.registry.createKey("large", null);
      await openKey(page);
      await page.getByLabel("Keep on this device").check();
      await giveKey(page, key);
      await page.route("**/usage", (route) => route.abort());
      await open(page, proxy.url);
      expect(await page.innerText("#trouble")).toBe("Could not reach the service. Retry");
      expect(await said(page)).toBe("The key is kept.");
      // Rows that the key may open do not deny it.
      expect(await page.locator("#board .lock").count()).toBeGreaterThan(0);
      expect(await page.locator("#board .lock").filter({ visible: true }).count()).toBe(0);
      expect(await page.evaluate("localStorage.length")).toBe(1);
      // The reader can still take it off the device.
      expect(await page.getByRole("button", { name: "Forget" }).isVisible()).toBe(true);
      await page.unroute("**/usage");
      await page.route("**/usage", (route) => route.fulfill({ body: "<p>Log in first</p>" }));
      await open(page, proxy.url);
      expect(await page.innerText("#trouble")).toBe("Could not reach the service. Retry");
      await page.unroute("**/usage");
      await page.getByRole("button", { name: "Retry" }).click();
      await page.locator("#key[aria-busy=false]").waitFor();
      expect(await page.isVisible("#trouble")).toBe(false);
      expect(await rowsOf(page)).toBeGreaterThan(10);
      expect(await said(page)).toContain("Pro");

      await proxy.registry.revokeKey(key_id);
      await eventually(
        async () => (await proxy.get("/api/public/v1/usage", { key })).status === 401,
      );
      await open(page, proxy.url);
      expect(await said(page)).toMatch(/^The key sent is not valid\./);
      expect(await page.getAttribute("#key-message a", "href")).toBe(`${proxy.url}/plans`);
      expect([await page.evaluate("localStorage.length"), await rowsOf(page)]).toEqual([0, 10]);
    } finally {
      await context.close();
    }
  },
);

inChromium("a key whose trial has ended leads to the plans", async () => {
  const own = await startTestProxy();
  const { context } = await contextOf();
  try {
    await own.registry.addAccount("tried", "pro", 1, null);
    const { key } = await own.registry.createKey("tried", null);
    own.clock.ms += 2 * 86_400_000;
    const page = await context.newPage();
    await open(page, own.url);
    await giveKey(page, key);
    expect(await page.innerText("#key-message")).toBe(
      "The trial of the key's account has ended. Choose a plan to go on. See the plans",
    );
    await page.click("#key-message a");
    expect(page.url()).toBe(`${own.url}/plans`);
  } finally {
    await context.close();
    await own.close();
  }
});

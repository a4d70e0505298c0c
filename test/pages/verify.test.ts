/** The page that proves a file of evidence in the browser, without a request. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import { EXPECTED } from "../golden/golden-market.ts";
import { GOLDEN_KEY } from "../golden/golden-key.ts";
import { PRELUDE, PythonClient } from "../guide/python-client.ts";
import { copyOf, startTestProxy, TestClock, type TestProxy } from "../http/fixture.ts";
import { hasBrowser, inChromium, openBrowser } from "../services/browser.ts";
import { open, watchedContext } from "./visit.ts";

let proxy: TestProxy;
let browser: Browser | undefined;
let folder: string;
beforeAll(async () => {
  const clock = new TestClock(Date.parse("2026-11-21T00:30:00Z"));
  const store = await copyOf(new FolderStore(EXPECTED));
  proxy = await startTestProxy({ store, clock, verifyKeys: [GOLDEN_KEY.verifyKey] });
  folder = await mkdtemp(join(tmpdir(), "chipboard-verify-"));
  if (hasBrowser) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await proxy.close();
  await rm(folder, { recursive: true });
});

inChromium("proves a file, and refuses another, without a request", async () => {
  const zip = join(folder, "figure.zip");
  const client = await PythonClient.download(proxy.url, proxy.pro);
  const sentence = await client.print(
    `${PRELUDE}client = Client(key=key)\neach = client.settlements()[0]\nclient.evidence(each["id"], each["month"], ${JSON.stringify(zip)}, each["kind"])\nimport zipfile\nprint(zipfile.ZipFile(${JSON.stringify(zip)}).read("figure.txt").decode().splitlines()[0])`,
  );
  await client.remove();
  const { context, watch } = await watchedContext(browser as Browser, {});
  const page = await context.newPage();
  await open(page, `${proxy.url}/verify`);
  const before = watch.requests.length;
  await page.setInputFiles("#file", zip);
  await page.locator("#proof").waitFor();
  expect(await page.textContent("#figure")).toBe(sentence.trim());
  const links = await page.locator("#steps tbody tr").allInnerTexts();
  expect(links.map((line) => line.split("\t").slice(0, 2).join())).toEqual([
    "figure,yes",
    "sums,yes",
    "root,yes",
    "signature,yes",
    "permission,no",
  ]);
  expect(links[3]).toContain(GOLDEN_KEY.verifyKey.fingerprint);

  const bytes = await readFile(zip);
  const other = join(folder, "other.zip");
  const at = bytes.indexOf("average: ") + 9;
  bytes[at] = bytes[at] === 49 ? 50 : 49;
  await writeFile(other, bytes);
  await page.setInputFiles("#file", other);
  await page.locator("#refusal").waitFor();
  expect(await page.textContent("#refusal")).toMatch(
    /^other\.zip proves nothing: figure\.txt differs/,
  );
  expect(await page.locator("#proof").isVisible()).toBe(false);
  expect(watch.requests.length).toBe(before);
  expect(watch.complaints).toEqual([]);
  await context.close();
});

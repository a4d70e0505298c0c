/**
 * Debian's Chromium without connections of its own, as the shell that draws pages but no window: a new tab
 * takes a quarter of the processor time that the whole browser needs.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium, type Browser, type BrowserServer } from "playwright-core";
import { CLIENTS, isInstalled } from "../http/needed-tools.ts";
import { testWithService } from "./service-programs.ts";

export const BROWSER_NAME = "chromium-headless-shell";
export const hasBrowser = isInstalled(BROWSER_NAME);
export const inChromium = testWithService(BROWSER_NAME);

export const BROWSER = {
  executablePath: `/usr/bin/${BROWSER_NAME}`,
  args: [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

/** How long a test waits for what a page shows: for a machine ten times slower than ours. */
export const PATIENCE_MS = 600_000;

let chromiumOfWorker: Promise<BrowserServer> | undefined;

/** A view of the one Chromium that a worker has for all its files: `close` closes the pages of this view. */
export async function openBrowser(): Promise<Browser> {
  chromiumOfWorker ??= chromium.launchServer({ ...BROWSER, host: "127.0.0.1" });
  const browser = await chromium.connect((await chromiumOfWorker).wsEndpoint());
  browser.on("context", (context) => context.setDefaultTimeout(PATIENCE_MS));
  return browser;
}

/** A script that finds in a page what readers with a disability cannot use. */
export const axeScript = (): string =>
  readFileSync(createRequire(join(CLIENTS, "package.json")).resolve("axe-core/axe.min.js"), "utf8");

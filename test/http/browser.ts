/** Debian's Chromium, headless, without connections of its own. */
import { chromium, type Browser } from "playwright-core";

export const BROWSER = {
  executablePath: "/usr/bin/chromium",
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

export const launchBrowser = (): Promise<Browser> => chromium.launch(BROWSER);

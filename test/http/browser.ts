/** Debian's Chromium, headless, without connections of its own. */
import { chromium, type Browser } from "playwright-core";

const CHROMIUM = "/usr/bin/chromium";

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM,
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
  });

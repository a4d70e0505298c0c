/**
 * Makes the pictures of src/site anew: what Pro shows, and the card of a link to the service. Run it beside
 * `chipboard demo`: `node tools/pictures/make-pictures.ts http://127.0.0.1:8080 PRO_KEY`.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { BROWSER } from "../../test/services/browser.ts";

const SITE = new URL("../../src/site/", import.meta.url);
const FONT = "@fontsource-variable/figtree/files/figtree-latin-wght-normal.woff2";

/** A PNG as lossy WebP, by the browser itself. */
async function webpOf(page: Page, png: Buffer): Promise<Buffer> {
  const base64 = await page.evaluate<string>(`(async () => {
    const image = new Image();
    image.src = "data:image/png;base64,${png.toString("base64")}";
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.8).split(",")[1];
  })()`);
  return Buffer.from(base64, "base64");
}

/** The pictures of a chart: the page's width, and the picture's size, which pro-picture.html has. */
const CHARTS = [
  { name: "pro", pageWidth: 720, width: 680, height: 296, deviceScaleFactor: 1.5 },
  { name: "pro-narrow", pageWidth: 390, width: 382, height: 296, deviceScaleFactor: 2 },
];

/**
 * The line of the composite on the market page of the demonstration. It has neither words nor figures: every service
 * shows it, and none of them are its own.
 */
async function makeChart(
  browser: Browser,
  url: string,
  key: string,
  scheme: "light" | "dark",
  { name, pageWidth, width, height, deviceScaleFactor }: (typeof CHARTS)[number],
): Promise<void> {
  const page = await browser.newPage({
    viewport: { width: pageWidth, height: 900 },
    colorScheme: scheme,
    deviceScaleFactor,
  });
  await page.addInitScript((kept) => sessionStorage.setItem("chipboard-key", kept), key);
  await page.goto(url, { waitUntil: "networkidle" });
  await page.evaluate(`for (const words of document.querySelectorAll(
    "#composite :is(.chart-title, .chart-unit, .chart-legend, text, circle, .cursor)")) words.style.visibility = "hidden"`);
  const { x, y } = (await page.locator("#composite .chart").boundingBox()) ?? { x: 0, y: 0 };
  const clip = { x: x - 12, y: y - 8, width, height };
  const webp = await webpOf(page, await page.screenshot({ clip }));
  writeFileSync(new URL(`${name}-${scheme}.webp`, SITE), webp);
}

/** What a message shows of a link: no figures, because it stays while they change. */
async function makeCard(browser: Browser): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1200, height: 630 } });
  const font = readFileSync(fileURLToPath(import.meta.resolve(FONT))).toString("base64");
  const icon = readFileSync(new URL("icon.svg", SITE)).toString("base64");
  await page.setContent(`<style>
    @font-face { font-family: F; font-weight: 300 900; src: url(data:font/woff2;base64,${font}) }
    body { margin: 0; padding: 90px; font: 600 40px/1.3 F; color: #16191d; border-bottom: 24px solid #0b4f8a; height: 426px }
    img { width: 72px; vertical-align: -16px; margin-right: 20px }
    h1 { font: 650 76px/1.15 F; letter-spacing: -0.015em; margin: 70px 0 30px }
    p { font-weight: 400; color: #595e66; margin: 0 }
  </style><img src="data:image/svg+xml;base64,${icon}">chipboard
  <h1>Memory and semiconductor prices</h1><p>Price levels and indices, re-priced every 12 hours</p>`);
  await page.evaluate("document.fonts.ready");
  writeFileSync(new URL("card.png", SITE), await page.screenshot());
}

const [url = "", key = ""] = process.argv.slice(2);
const browser = await chromium.launch(BROWSER);
try {
  for (const scheme of ["light", "dark"] as const) {
    for (const chart of CHARTS) await makeChart(browser, url, key, scheme, chart);
  }
  await makeCard(browser);
} finally {
  await browser.close();
}

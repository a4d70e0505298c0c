/** The report as a page: the same bytes everywhere, one file, and a limited size. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Correction } from "../../src/ledger/corrections.ts";
import { marketOf } from "../unit/market-fixture.ts";
import {
  at,
  HEAD,
  HOSTILE_MARKET,
  HOSTILE_NAMES,
  marketOfMany,
  PLAIN_MARKET,
  reportOf,
  textOf,
  VARIED_MARKET,
} from "./markets.ts";

const CHILD = join(import.meta.dirname, "render-child.ts");

test("the same bytes in any time zone and language", () => {
  const here = reportOf(marketOfMany(12));
  for (const [zone, language] of [
    ["Asia/Kathmandu", "de_DE.UTF-8"],
    ["America/St_Johns", "ar_EG.UTF-8"],
  ]) {
    const there = execFileSync(process.execPath, [CHILD], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"], TZ: zone, LANG: language, LC_ALL: language },
      maxBuffer: 16 * 1024 * 1024,
    });
    expect(there === here).toBe(true);
  }
});

test("the page has less than 200 kB for 120 contracts, and grows in proportion for 1,000", () => {
  const of120 = Buffer.byteLength(reportOf(marketOfMany(120)));
  expect(of120).toBeLessThan(200_000);
  expect(Buffer.byteLength(reportOf(marketOfMany(1_000)))).toBeLessThan((of120 * 1_000) / 120);
});

describe("one self-contained file", () => {
  const report = reportOf(VARIED_MARKET);

  test("it loads nothing from elsewhere", () => {
    expect(report).not.toMatch(/(?:src|srcset|action|poster)=/);
    expect(report.match(/<link [^>]*>/g)).toEqual(['<link rel="icon" href="data:,">']);
    expect(report).not.toMatch(/url\((?!"data:)|@import|https?:/);
  });

  test("the policy allows only the inline script and style sheet, by their digests", () => {
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(report)?.[1] ?? "";
    const digestOf = (tag: string): string => {
      const text =
        new RegExp(`<${tag}(?: type="module")?>([^]*?)</${tag}>`).exec(report)?.[1] ?? "";
      expect(text.length).toBeGreaterThan(100);
      return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
    };
    expect(policy.split("; ")).toEqual([
      "default-src 'none'",
      `script-src ${digestOf("script")}`,
      `style-src ${digestOf("style")}`,
      "font-src data:",
      "img-src data:",
      "base-uri 'none'",
      "form-action 'none'",
    ]);
  });
});

describe("text from the feeds", () => {
  const name = HOSTILE_NAMES[0] as string;
  const correction: Correction = {
    contract: "contract-0",
    session: HEAD - 3,
    oldUsd: "1.5",
    newUsd: null,
    reason: name,
    correctedIn: "2026-11-21T00Z/r2",
    publication: 2,
  };
  const report = reportOf(HOSTILE_MARKET, { attribution: name, corrections: [correction] });

  test("is never markup", () => {
    expect(report.match(/<script/g)).toHaveLength(1);
    expect(report).not.toMatch(/<(?:img|b)[ >]/);
    // Attribution, name, segment, its option (value and text), and there again, break and correction.
    const times = report.split("&lt;/script&gt;&lt;script&gt;globalThis.broken = true").length - 1;
    expect(times).toBeGreaterThanOrEqual(8);
    expect(report).not.toMatch(/[\0\u001B]/);
  });

  test("is isolated from the direction of the text around it", () => {
    for (const [override] of report.matchAll(/.{40}\u{202E}/gu)) {
      expect(override).toMatch(/<bdi>\u{202E}$/u);
    }
    expect(report).toContain("<bdi>\u{202E}reversed from here</bdi>");
  });
});

describe("corrections", () => {
  const correction = (number: number, correctedIn: string): Correction => ({
    contract: `contract-${number}`,
    session: at("2026-11-18T12Z"),
    oldUsd: number === 0 ? null : "1.5",
    newUsd: number === 1 ? null : "2.25",
    reason: `Reason ${number}`,
    correctedIn,
    publication: 2,
  });

  test("all are listed, newest first, with a mark at this session's", () => {
    const corrections = [
      correction(0, "2026-11-19T00Z/r2"),
      correction(1, "2026-11-21T00Z/r2"),
      correction(2, "2026-11-21T00Z/r3"),
    ];
    const text = textOf(reportOf(VARIED_MARKET, { corrections }), "corrections");
    expect(text.split("\n").filter((line) => line.includes("|Reason "))).toEqual([
      "Broken last week contract-2|2026-11-18 12:00 UTC|1.50|2.25|Reason 2|2026-11-21T00Z/r3 this session|",
      "Contract 1 contract-1|2026-11-18 12:00 UTC|1.50|withdrawn|Reason 1|2026-11-21T00Z/r2 this session|",
      "Contract 0 contract-0|2026-11-18 12:00 UTC|none|2.25|Reason 0|2026-11-19T00Z/r2|",
    ]);
    expect(text).toContain("2 corrections came with this session.");
  });

  test("20,000 corrections do not make the page too long", () => {
    const corrections = Array.from({ length: 20_000 }, (_, number) =>
      correction(number, "2026-11-21T00Z/r2"),
    );
    const report = reportOf(VARIED_MARKET, { corrections });
    expect(Buffer.byteLength(report)).toBeLessThan(200_000);
    expect(textOf(report, "corrections")).toContain(
      "The first 300 of 20000; all are in corrections.json beside this page.",
    );
  });
});

test("a market without history, and one without levels, have a complete page", () => {
  const empty = reportOf(marketOf([{ levels: [] }]));
  expect(textOf(empty, "board")).toContain("Contract|Segment|");
  for (const report of [reportOf(PLAIN_MARKET), empty, reportOf(VARIED_MARKET)]) {
    const page = report.slice(0, report.indexOf("<script"));
    expect(page).not.toMatch(/NaN|undefined|Infinity|\bnull\b/);
    expect(report.endsWith("</html>\n")).toBe(true);
  }
});

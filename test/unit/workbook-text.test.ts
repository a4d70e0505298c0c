/** Text and addresses in a workbook: readers get them unchanged, and never as a formula. */
import exceljs from "exceljs";
import { describe, expect, it } from "vitest";
import { cellText, linkTarget } from "../../src/render/workbook/cell-text.ts";
import { HEAD, listing, viewOf, type Listing } from "./market-fixture.ts";
import { cellOf, read, sheetOf } from "./workbook-sheets.ts";

const AWKWARD = [
  "=1+1",
  "+1",
  "-1",
  "@SUM(A1)",
  "'quoted",
  "\tafter a tab",
  "  spaces around  ",
  "a\rb\r\nc\nd\n",
  "_x000D_ and _x000d_ and _x005F_x000D_ and _x0041_x0042_ and _x12_",
  "<b>&amp;</b> \"'",
  "\u202eright to left\u202c \u05d0\u05d1",
  "\u{1f4c8} \u{1f468}\u200d\u{1f469}\u200d\u{1f467} 漢字 e\u0301",
  "\u00a0\u2028\u0085\ufeff",
  "x".repeat(1_000),
  "12.50",
  "2026-11-21",
  "TRUE",
  "#REF!",
  "__proto__",
  "constructor",
];

describe("renderWorkbook", () => {
  it("keeps awkward text, never as a formula, a number or a date", async () => {
    const listings = AWKWARD.map((text): Listing => ({
      contract: { name: text, ticker: text, segment: text, unit: text },
      levels: [{ session: HEAD, usd: 1_000_000, source: text, breakReason: text }],
    }));
    const sheet = sheetOf(await read(viewOf(listings)), "Memory");
    for (const [at, text] of AWKWARD.entries()) {
      for (const name of ["name", "ticker", "segment", "unit", "source", "break_reason"]) {
        const cell = cellOf(sheet, at + 2, name);
        expect(cell.value).toBe(text);
        expect(cell.type).toBe(exceljs.ValueType.String);
      }
    }
  });

  it.each(AWKWARD)("keeps the attribution %j", async (attribution) => {
    const about = sheetOf(await read(viewOf([]), attribution), "About");
    expect(about.getCell("B4").value).toBe(attribution);
  });

  it("links each row to its address; an address that cannot be a link stays text", async () => {
    const addresses = [
      'https://example.com/a?b=1&c="2"',
      "https://example.com/Preise/größe_x000D_",
      "https://example.com/plain",
      `https://example.com/${"ä".repeat(900)}`,
    ];
    const sheet = sheetOf(
      await read(viewOf(addresses.map((sourceUrl) => listing({ sourceUrl })))),
      "Memory",
    );
    const values = addresses.map((_, at) => cellOf(sheet, at + 2, "source_url").value);
    expect(values).toEqual([
      { text: addresses[0], hyperlink: "https://example.com/a?b=1&c=%222%22" },
      { text: addresses[1], hyperlink: "https://example.com/Preise/gr%C3%B6%C3%9Fe_x000D_" },
      { text: addresses[2], hyperlink: addresses[2] },
      addresses[3],
    ]);
  });
});

describe("cellText", () => {
  it("escapes characters that XML forbids, and text that looks like an escape", () => {
    expect(cellText("a\rb\u0001\u007f\uffff")).toBe("a_x000D_b_x0001__x007F__xFFFF_");
    expect(cellText("_x000D_")).toBe("_x005F_x000D_");
    expect(cellText("_x12_")).toBe("_x005F_x12_");
    expect(cellText("_x_ _x00000_ \t\n é")).toBe("_x_ _x00000_ \t\n é");
  });
});

describe("linkTarget", () => {
  it("keeps plain addresses and encodes the others", () => {
    expect(linkTarget("https://example.com")).toBe("https://example.com");
    expect(linkTarget("https://example.com/%7Ea#b")).toBe("https://example.com/%7Ea#b");
    expect(linkTarget("https://bücher.example/ü")).toBe("https://xn--bcher-kva.example/%C3%BC");
  });

  it("does not turn an address into a reference to a cell", () => {
    expect(linkTarget("https://example.com/Sheet!B12")).toBe("https://example.com/Sheet%21B12");
  });

  it("is null beyond Excel's limit, and for invalid URIs", () => {
    const longest = `https://example.com/${"a".repeat(2_059)}`;
    expect(linkTarget(longest)).toBe(longest);
    expect(linkTarget(`${longest}a`)).toBeNull();
    expect(linkTarget("=1+1")).toBeNull();
  });
});

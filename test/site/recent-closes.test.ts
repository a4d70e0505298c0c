/** The closes of 90 days out of `/history.csv`, however the bytes arrive. */
import { expect, test } from "vitest";
import { recentCloses } from "../../src/site/recent-closes.js";

const HEAD = "contract_id,date,close_usd,low_usd,high_usd,inputs,basis,session_utc,break_reason";

const row = (id: string, date: string, close: string, reason = ""): string =>
  `${id},${date},${close},,,,reported,${date}T12:00:00.000Z,${reason}`;

/** A file in pieces of `size` bytes. */
const fileOf = (rows: readonly string[], size: number): ReadableStream<Uint8Array<ArrayBuffer>> => {
  const bytes = new TextEncoder().encode(rows.map((text) => `${text}\r\n`).join(""));
  return new ReadableStream({
    start(controller) {
      for (let at = 0; at < bytes.length; at += size)
        controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });
};

const ROWS = [
  HEAD,
  row("alpha", "2026-08-23", "1.5"),
  row("alpha", "2026-08-24", "1.25"),
  row("alpha", "2026-11-21", "2", '"Sold by the tray,\r\nof ""ten"" chips,\r\n"'),
  row("bravo", "2026-09-01", "0.000001", "Größer 👍"),
  row("bravo", "2026-09-02", "999999999.999999"),
  row("long-gone", "2020-01-01", "7"),
];
const CLOSES = new Map([
  [
    "alpha",
    [
      { date: "2026-08-24", close: 1.25, isBreak: false },
      { date: "2026-11-21", close: 2, isBreak: true },
    ],
  ],
  [
    "bravo",
    [
      { date: "2026-09-01", close: 0.000001, isBreak: true },
      { date: "2026-09-02", close: 999999999.999999, isBreak: false },
    ],
  ],
]);

test.each([1, 2, 3, 7, 64, 100_000])("in pieces of %i bytes", async (size) => {
  expect(await recentCloses(fileOf(ROWS, size), "2026-11-21")).toEqual(CLOSES);
});

test("a file with other columns, or without rows, has none", async () => {
  const others = [`id,${HEAD}`, ...ROWS.slice(1)];
  expect(await recentCloses(fileOf(others, 50), "2026-11-21")).toEqual(new Map());
  expect(await recentCloses(fileOf([HEAD], 50), "2026-11-21")).toEqual(new Map());
});

test("a file that breaks off is an error", async () => {
  const broken = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode(`${HEAD}\r\n`));
      controller.error(new Error("broke off"));
    },
  });
  await expect(recentCloses(broken, "2026-11-21")).rejects.toThrow("broke off");
});

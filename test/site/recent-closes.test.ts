/** The closes of 90 days out of `/history.csv`, however the bytes arrive. */
import { expect, test } from "vitest";
import { costsOf, recentCloses } from "../../src/site/recent-closes.js";

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

test("a basket costs something when all parts have a close and none has a later break", () => {
  const days = (from: number, ...closes: (number | null)[]) =>
    closes.flatMap((close, at) =>
      close === null ? [] : [{ date: `2026-11-${from + at}`, close, isBreak: false }],
    );
  const [broken, ...later] = days(11, 5, 6, 7, 8, 9);
  const closes = new Map([
    ["daily", days(10, 1, 2, 3, 4, 5, 6, 7)],
    ["gap", days(10, 10, 20, 30, null, 50, 60)],
    [
      "broken",
      [{ date: "2026-11-10", close: 500, isBreak: false }, { ...broken, isBreak: true }, ...later],
    ],
  ]);
  const of = (parts: Record<string, string>) =>
    costsOf(closes as never, new Map(Object.entries(parts)));
  const point = (day: number, close: number, isBreak = false) => ({
    date: `2026-11-${day}`,
    close,
    isBreak,
  });
  expect(of({ daily: "2", gap: "0.1" })).toEqual({
    points: [point(10, 3), point(11, 6), point(12, 9), point(14, 15, true), point(15, 18)],
    breaks: [],
  });
  expect(of({ daily: "1", broken: "3" })).toEqual({
    points: [point(11, 17, true), point(12, 21), point(13, 25), point(14, 29), point(15, 33)],
    breaks: ["2026-11-11"],
  });
  expect(of({ daily: "1", never: "1" })).toEqual({ points: [], breaks: [] });
});

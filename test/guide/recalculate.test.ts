/** The methodology's program calculates every figure again, and names each that is published otherwise. */
import { test as property } from "@fast-check/vitest";
import { tmpdir } from "node:os";
import { expect } from "vitest";
import { FolderStore } from "../../src/store/folder-store.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { EXPECTED } from "../golden/golden-market.ts";
import { copyOf, publishedStore, startTestProxy, TestClock } from "../http/fixture.ts";
import { isInstalled, testWith } from "../http/needed-tools.ts";
import { publishRaw, splitInput } from "../property/published.ts";
import { rawCases } from "../property/raw-markets.ts";
import { MemoryStore } from "../store/memory-store.ts";
import { programUnder, run, startFront, type Front } from "./programs.ts";
import { runs } from "../property/runs.ts";

const golden = (): Promise<ObjectStore> => copyOf(new FolderStore(EXPECTED));
const NOW_MS = Date.parse("2026-11-21T00:30:00Z");

/** The exit code of the program, and the lines that it prints. */
type Said = readonly [code: number | null, lines: string[]];
const SAME = [0, [expect.stringMatching(/^\d{2,} figures compared, 0 differ$/)]];

/** Serves the store, and runs the program for each of these entries of the log; null: the newest. */
async function recalculate(
  store: ObjectStore,
  {
    nowMs = NOW_MS,
    entries = [null] as (number | null)[],
    edit = null as Front["edit"] | null,
  } = {},
): Promise<Said[]> {
  const proxy = await startTestProxy({ store, clock: new TestClock(nowMs) });
  const front = await startFront(proxy.url);
  front.edit = edit ?? front.edit;
  try {
    const program = programUnder("Calculate it again", front.url, "methodology.md");
    const said: Said[] = [];
    for (const entry of entries) {
      const args = ["-B", "-W", "error", "-c", program, ...(entry === null ? [] : [String(entry)])];
      const { code, stdout, stderr } = await run("python3", args, tmpdir(), proxy.pro);
      expect(stderr).toBe("");
      said.push([code, stdout.trimEnd().split("\n")]);
    }
    return said;
  } finally {
    await front.close();
    await proxy.close();
  }
}

testWith("python3")("of entries of the golden log, and of two years of closes", async () => {
  const entries = [1, 5, 9, 10];
  expect(await recalculate(await golden(), { entries })).toEqual(entries.map(() => SAME));
  expect(await recalculate(await publishedStore())).toEqual([SAME]);
});

/** A close of a series above 10⁷, which need not be right within 0.0001; and closes that need levels before the depth. */
const NOT_COMPARED =
  /^\/indices.* (?:(?:close|series_close): published (?:\d{8}|[\d.]+e)|series: \d+ of \d+ closes not calculated)/;
const anyMarket = isInstalled("python3") ? property : property.skip;
anyMarket.prop([rawCases], { ...runs(12), endOnFailure: true })(
  "of any market",
  async ({ raw, sessionUtc }) => {
    const store = new MemoryStore();
    const input = splitInput(raw, sessionUtc, false);
    // A level that is carried for no day may never have been in force. Before the depth nobody can tell.
    const contracts = raw.contracts.map((contract) => ({
      ...contract,
      max_carry_days: contract.max_carry_days === 0 ? 1 : contract.max_carry_days,
    }));
    const given = { ...input, contracts, maxCarryDays: Math.max(1, raw.max_carry_days) };
    await publishRaw(store, given, sessionUtc);
    const nowMs = Date.parse(sessionUtc) + 300_000;
    const [[, lines] = [null, []]] = await recalculate(store, { nowMs });
    expect(lines.filter((line) => !NOT_COMPARED.test(line))).toEqual([
      expect.stringMatching(/^\d{2,} figures compared, /),
    ]);
  },
);

/**
 * Fields that are not calculated from levels: the publisher's terms of a contract, the base of a series, and its
 * adjustments, which need the levels of earlier publications.
 */
const GIVEN =
  /"series":[^]*?"changes":|"max_carry_days":[^]*|"(?:delayed_sessions|ai_exposure_pct|capacity_gb|quantity)":[\d.]+/;
/** A number or a date, with the digit that is changed. */
const FIGURE = /"(\w+)":(?:(-?)(\d)|("\d{4}-\d\d-\d)(\d)")/;
const PARTS = new RegExp(`${GIVEN.source}|${FIGURE.source}`, "g");
const otherDigit = (digit: string): string => (digit === "9" ? "8" : String(Number(digit) + 1));

testWith("python3")("names each figure of each answer that has another digit", async () => {
  const changed: string[] = [];
  const edit: Front["edit"] = (path, text) => {
    const [address = "", query = ""] = path.replace("/api/public/v1", "").split("?");
    // Of the first answer the program reads the number of the publication alone, of others which it was before.
    if (address === "/levels.csv" || !query.includes("publication=10")) return text;
    const by = /&(weights|quantities)=/.exec(query);
    const place = by === null ? address : `/index by ${by[1]}`;
    return text.replaceAll(PARTS, (part, name, minus, digit, day, last) => {
      if (name === undefined) return part;
      changed.push(`${place} ${name}`);
      const other = digit === undefined ? `${day}${otherDigit(last)}"` : minus + otherDigit(digit);
      return `"${name}":${other}`;
    });
  };
  const [[code, lines] = [null, []]] = await recalculate(await golden(), { edit });
  const last = lines.pop();
  expect(last).toMatch(new RegExp(`^\\d+ figures compared, ${lines.length} differ$`));
  const named = lines.map((line) => {
    const [place = ""] = line.split(": ");
    const address = /^(?:\/index by \w+|\/\S+)/.exec(place)?.[0];
    return `${address} ${place.split(" ").at(-1)}`;
  });
  expect(changed.length).toBeGreaterThan(300);
  expect(named.toSorted()).toEqual(changed.toSorted());
  expect(code).toBe(1);
});

testWith("python3")("prints the published figure beside the calculated one", async () => {
  const edit: Front["edit"] = (path, text) =>
    path.includes("/index?publication")
      ? text.replace(/(?<="constituents":)\d\d/, "99")
      : text.replace(/(?<="date":"2026-11-18","close":\d+\.\d)\d/, otherDigit);
  const [[code, lines] = [null, []]] = await recalculate(await publishedStore(), { edit });
  expect([code, lines]).toEqual([
    1,
    [
      "/index constituents: published 99, calculated 13",
      "/indices/composite series 2026-11-18 close: published 104.4565, calculated 104.4465",
      "/indices/dram series 2026-11-18 close: published 104.4565, calculated 104.4465",
      expect.stringMatching(/^\d+ figures compared, 3 differ$/),
    ],
  ]);
});

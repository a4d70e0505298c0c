/** Suggestions for unknown ids: which come first, and where comparing ends. */
import { describe, expect, test } from "vitest";
import type { Contract } from "../../src/market/contract.ts";
import {
  nearContracts,
  nearIndices,
  unknownContracts,
  unknownIndices,
} from "../../src/core/find/near-ids.ts";
import type { Fault } from "../../src/public/query.ts";
import { listing, marketOf } from "./market-fixture.ts";

const catalogOf = (contracts: readonly Partial<Contract>[]): readonly Contract[] =>
  marketOf(contracts.map((contract) => listing(contract))).catalog;

test("contracts: ticker and other case, then former ids in another case, then the nearest", () => {
  const catalog = catalogOf([
    { id: "ddr5-8gb", ticker: "X" },
    { id: "ddr5-16gb", ticker: "DDR5" },
    { id: "ddr5-32gb", ticker: "Y", formerly: ["ddr5", "ddr-32gb"] },
    { id: "ddr5", ticker: "Z" },
  ]);
  expect(nearContracts("DDR-32GB", catalog)).toEqual(["ddr5-32gb"]);
  // Nearest first, ties in the catalog's order, and no more than three.
  expect(nearContracts("ddr5-6gb", catalog)).toEqual(["ddr5-8gb", "ddr5-16gb", "ddr5-32gb"]);
  expect(nearContracts("dDr5", catalog)).toEqual(["ddr5-16gb", "ddr5", "ddr5-32gb"]);
  expect(nearContracts("nothing", catalog)).toBeUndefined();
});

test("indices: names and ids in another case, then nearly the same spelling", () => {
  const catalog = catalogOf([
    { segment: "Enterprise SSD" },
    { segment: "eMMC" },
    { segment: "SSD" },
  ]);
  expect(nearIndices("ENTERPRISE-SSD", catalog)).toEqual(["enterprise-ssd"]);
  expect(nearIndices("Enterprise SSDs", catalog)).toEqual(["enterprise-ssd"]);
  expect(nearIndices("EMMC5", catalog)).toEqual(["emmc"]);
  expect(nearIndices("composit", catalog)).toEqual(["composite"]);
  const [segment, index] = (["segment", "ids"] as const).map((parameter) =>
    unknownIndices(["composit"], catalog, parameter),
  );
  expect([segment?.[0]?.did_you_mean, index?.[0]?.did_you_mean]).toEqual([
    undefined,
    ["composite"],
  ]);
});

describe("a request compares 100,000 characters, however many names there are", () => {
  /** Alike, so that comparing two takes more than 55 steps. */
  const idAt = (at: number): string =>
    `a-contract-whose-id-is-as-long-as-those-of-markets-${String(at).padStart(5, "0")}`;
  const all = Array.from({ length: 10_000 }, (_, at) => idAt(at));
  const catalog = catalogOf(all.map((id) => ({ id, ticker: id, segment: id })));
  const meant = (faults: readonly Fault[]): number =>
    faults.filter(({ did_you_mean }) => did_you_mean !== undefined).length;

  test.each([
    ["contracts", (ids: string[]) => unknownContracts(ids, catalog, "of the catalog")],
    ["segments", (ids: string[]) => unknownIndices(ids, catalog, "segment")],
    ["indices", (ids: string[]) => unknownIndices(ids, catalog, "ids")],
  ])("%s", (_, faultsOf) => {
    const near = (at: number): string => `${idAt(at)}xx`;
    // Near the first names something is found before the budget ends, near the last ones nothing is.
    expect([meant(faultsOf([near(3)])), meant(faultsOf([near(9_990)]))]).toEqual([1, 0]);
    // The unknown ids of a request share it: the first one takes all.
    expect(meant(faultsOf([near(9_990), near(3), near(4)]))).toBe(0);
    // What differs at its first character takes few steps.
    expect(meant(faultsOf(["b", "c", near(3)]))).toBe(1);
    // Only three get any.
    expect(meant(faultsOf(["b", "c", "d", near(3)]))).toBe(0);
    expect(faultsOf(["b", "c", "d", near(3)])).toHaveLength(4);
  });
});

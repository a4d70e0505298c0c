/** Members of an index whose contract is renamed to the id of another one, which has left the catalog. */
import { expect, test } from "vitest";
import { besides, type Members, type Term } from "../../src/market/members.ts";
import { withRenamedMembers, type StoredSeriesByIndex } from "../../src/market/published-series.ts";

const term = (from: number, to: number, maxCarryDays = 45): Term => ({ from, to, maxCarryDays });

test.each([
  ["before", [term(1, 4)], [term(5, 9)], [term(1, 4)]],
  ["after", [term(5, 9)], [term(1, 4)], [term(5, 9)]],
  ["around", [term(1, 9)], [term(3, 4), term(6, 6)], [term(1, 2), term(5, 5), term(7, 9)]],
  ["within", [term(3, 4)], [term(1, 9)], []],
  ["without others", [term(1, 9)], [], [term(1, 9)]],
])("the days that the others lack: %s", (_name, terms, others, expected) => {
  expect(besides(terms, others)).toEqual(expected);
});

test("days and level of both are the renamed contract's, with its limit; the others stay", () => {
  const members: Members = new Map([
    ["a", [term(1, 20)]],
    ["c", [term(10, 10), term(11, 12, 1)]],
    ["b", [term(5, 9)]],
  ]);
  // The one that left comes last, and must not win for that.
  const levels = new Map([
    ["c", { usd: 3 }],
    ["a", { usd: 1 }],
    ["b", { usd: 2 }],
  ]);
  const chained = { members, link: { levels } };
  const series = new Map([["composite", { chained, restatements: [] }]]) as unknown;
  const renamed = withRenamedMembers(series as StoredSeriesByIndex, (id) =>
    id === "c" ? "a" : id,
  );
  expect([...(renamed.get("composite")?.chained?.members ?? [])]).toEqual([
    ["a", [term(1, 10), term(11, 12, 1), term(13, 20)]],
    ["b", [term(5, 9)]],
  ]);
  expect(Object.fromEntries(renamed.get("composite")?.chained?.link?.levels ?? [])).toEqual({
    a: { usd: 3 },
    b: { usd: 2 },
  });
});

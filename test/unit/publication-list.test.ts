/** The list of publications: its parameters, its pages and its rows. */
import { describe, expect, test } from "vitest";
import {
  listBody,
  pageOf,
  readPageQuery,
  rowsOf,
  type ListPage,
  type ListRows,
} from "../../src/core/publications/publication-list.ts";
import { parseQuery } from "../../src/public/query.ts";
import { publishOf } from "./publications.ts";

test.each([
  ["", { after: null, limit: 100 }],
  ["after=0", { after: 0, limit: 100 }],
  ["limit=1000&after=9999999999", { after: 9_999_999_999, limit: 1_000 }],
  ["limit=1", { after: null, limit: 1 }],
])("the query %j is read", (text, expected) => {
  expect(readPageQuery(parseQuery(text))).toEqual(expected);
});

const NUMBER = "expected a whole number from 0 to 9999999999";
const LIMIT = "expected a whole number from 1 to 1000";
test.each([
  ["after=-1", "invalid_parameter", [["after", "-1", NUMBER]]],
  ["after=1.5", "invalid_parameter", [["after", "1.5", NUMBER]]],
  ["after=1e3", "invalid_parameter", [["after", "1e3", NUMBER]]],
  ["after=", "invalid_parameter", [["after", "", NUMBER]]],
  ["after=%2B1", "invalid_parameter", [["after", "+1", NUMBER]]],
  [
    "after=100000000000000000000",
    "invalid_parameter",
    [["after", "100000000000000000000", NUMBER]],
  ],
  ["limit=0", "invalid_parameter", [["limit", "0", LIMIT]]],
  ["limit=1001", "invalid_parameter", [["limit", "1001", LIMIT]]],
  ["after=1&after=1", "invalid_parameter", [["after", "1", "expected once"]]],
  [
    "limit=x&after=y",
    "invalid_parameter",
    [
      ["after", "y", NUMBER],
      ["limit", "x", LIMIT],
    ],
  ],
  [
    "limit=0&publication=1",
    "unknown_parameter",
    [
      ["publication", "1", "expected after, limit at this address"],
      ["limit", "0", LIMIT],
    ],
  ],
])("the query %j is refused, with every fault", (text, code, faults) => {
  const denial = readPageQuery(parseQuery(text));
  expect(denial).toMatchObject({
    status: 400,
    code,
    extras: { errors: faults.map(([parameter, value, detail]) => ({ parameter, value, detail })) },
  });
});

describe("pages of a log", () => {
  test.each([
    [7, null, 100, 1, 7, null],
    [7, null, 3, 5, 7, null],
    [7, 0, 3, 1, 3, 3],
    [7, 3, 3, 4, 6, 6],
    [7, 4, 3, 5, 7, null],
    [7, 6, 3, 7, 7, null],
  ])("of %j entries, after %j, at most %j", (newest, after, limit, first, last, next) => {
    expect(pageOf(newest, { after, limit })).toEqual({ first, last, next });
  });

  test.each([7, 8, 9_999_999_999])("after %j there is nothing", (after) => {
    const { first, last, next } = pageOf(7, { after, limit: 3 });
    expect(last).toBeLessThan(first);
    expect(next).toBeNull();
  });

  test.each([1, 2, 3, 5, 7, 8])("by %j, the pages have each entry once", (limit) => {
    const listed: number[] = [];
    for (let after: number | null = 0; after !== null;) {
      const { first, last, next } = pageOf(7, { after, limit });
      for (let number = first; number <= last; number += 1) listed.push(number);
      after = next;
    }
    expect(listed).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });
});

const textOf = (rows: ListRows, page: ListPage): string =>
  Buffer.concat(listBody(rows, page)).toString();

test("a row says what an entry did; a prune only when", () => {
  const publish = { ...publishOf(4, "2026-11-21T00Z", 2, "a reason"), corrections: 3 };
  const at = "2026-11-21T01:00:00.000Z";
  const prune = {
    number: 5,
    action: "prune" as const,
    at,
    snapshots: [],
    parts: [],
    previous: null,
  };
  const rows = rowsOf([publish, prune]);
  expect(JSON.parse(textOf(rows, { first: 4, last: 5, next: 5 }))).toEqual({
    publications: [
      {
        number: 4,
        at: publish.at,
        action: "publish",
        snapshot: "2026-11-21T00Z/r2",
        session_utc: "2026-11-21T00:00:00.000Z",
        revision: 2,
        reason: "a reason",
        corrections: 3,
      },
      {
        number: 5,
        at,
        action: "prune",
        snapshot: null,
        session_utc: null,
        revision: null,
        reason: null,
        corrections: null,
      },
    ],
    next: 5,
  });
});

test("a page without entries", () => {
  const empty = { publications: [], next: null };
  expect(JSON.parse(textOf(rowsOf([]), { first: 1, last: 0, next: null }))).toEqual(empty);
  const rows = rowsOf([publishOf(1, "2026-11-21T00Z")]);
  expect(JSON.parse(textOf(rows, { first: 2, last: 1, next: null }))).toEqual(empty);
});

test("pages share the bytes of their rows, and each is the JSON of its entries", () => {
  const entries = Array.from({ length: 40 }, (_, at) => publishOf(at + 1, "2026-11-21T00Z", at));
  const rows = rowsOf(entries);
  const all = JSON.parse(textOf(rows, { first: 1, last: 40, next: null })).publications;
  for (let first = 1; first <= 40; first += 1) {
    for (let last = first; last <= 40; last += 1) {
      const page = { first, last, next: last };
      expect(JSON.parse(textOf(rows, page))).toEqual({
        publications: all.slice(first - 1, last),
        next: last,
      });
      expect(listBody(rows, page)[1]?.buffer).toBe(rows.bytes.buffer);
    }
  }
});

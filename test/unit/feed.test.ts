/** The text of the Atom feed. */
import { fc, test as property } from "@fast-check/vitest";
import { expect, test } from "vitest";
import { feedBody, xmlText } from "../../src/core/publications/atom-feed.ts";
import { nodePlatform } from "../../src/hosts/platform.ts";
import type { Publication } from "../../src/snapshot/log/entry.ts";
import { publishOf, rollbackTo } from "./publications.ts";

const FIRST = publishOf(1, "2026-11-20T12Z");
const REVISED = publishOf(2, "2026-11-20T12Z", 2, "Restated by the source", 20);
const counted = (entry: Publication, corrections: number) => ({ ...entry, corrections });
const feedOf = (...newest: Publication[]): string =>
  feedBody(nodePlatform, "https://prices.example", { first: FIRST, newest });

const idsIn = (feed: string): string[] =>
  [...feed.matchAll(/<id>(.*)<\/id>/g)].map(([, id]) => id as string);
const contentsIn = (feed: string): string[] =>
  [...feed.matchAll(/<content type="text">(.*)<\/content>/g)].map(([, text]) => text as string);

test("entries are the newest first and say session, revision, corrections and reason", () => {
  const feed = feedOf(FIRST, counted(REVISED, 3), rollbackTo(3, FIRST, REVISED));
  expect(contentsIn(feed)).toEqual([
    "Session 2026-11-20T12:00:00.000Z, revision 1. Corrections: 0. Reason: Wrong feed",
    "Session 2026-11-20T12:00:00.000Z, revision 2. Corrections: 3. Reason: Restated by the source",
    "Session 2026-11-20T12:00:00.000Z, revision 1. Corrections: 0.",
  ]);
  expect([...feed.matchAll(/<title>(.*)<\/title>/g)].map(([, title]) => title)).toEqual([
    "chipboard: publications",
    "Rolled back to 2026-11-20T12Z/r1",
    "Revised 2026-11-20T12Z/r2",
    "Published 2026-11-20T12Z/r1",
  ]);
  expect([...feed.matchAll(/term="(.*?)"/g)].map(([, term]) => term)).toEqual([
    "rollback",
    "revise",
    "publish",
  ]);
  expect(/<updated>(.*)<\/updated>/.exec(feed)?.[1]).toBe(REVISED.at);
});

test("a session that is published first is not revised, although earlier ones are corrected", () => {
  const feed = feedOf({ ...counted(FIRST, 1), reason: "A misprint" });
  expect(feed).toContain("<title>Published 2026-11-20T12Z/r1</title>");
  expect(feed).toContain("Corrections: 1. Reason: A misprint");
});

test("ids are UUIDs of version 8; an entry keeps its own, the feed keeps the first entry's", () => {
  const [feedId, firstId] = idsIn(feedOf(FIRST));
  const all = idsIn(feedOf(FIRST, REVISED));
  expect(all).toEqual([feedId, expect.any(String), firstId]);
  expect(new Set(all).size).toBe(3);
  for (const id of all) {
    expect(id).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  }
  const elsewhere = { ...FIRST, manifest_sha256: "f".repeat(64) };
  expect(idsIn(feedOf(elsewhere))[1]).not.toBe(firstId);
});

test("addresses are whole, and lead to the corrections where there are some", () => {
  const links = [...feedOf(FIRST, counted(REVISED, 3)).matchAll(/href="(.*?)"/g)];
  expect(links.map(([, href]) => href)).toEqual([
    "https://prices.example/feed.atom",
    "https://prices.example/",
    "https://prices.example/corrections#publication-2",
    "https://prices.example/status",
  ]);
});

test.each([
  ["a < b & c > d", "a &lt; b &amp; c &gt; d"],
  ["]]>", "]]&gt;"],
  ['say "x"', "say &quot;x&quot;"],
  ["tab\tand\nline", "tab\tand\nline"],
  ["return\rhere", "return&#13;here"],
  ["bell\u0007 escape\u001b null\0", "bell\ufffd escape\ufffd null\ufffd"],
  ["\ufffe\uffff", "\ufffd\ufffd"],
  ["lone \ud83d high, lone \ude00 low", "lone \ufffd high, lone \ufffd low"],
  ["emoji 😀, אבג \u200f \u202e", "emoji 😀, אבג \u200f \u202e"],
])("the text %j in XML", (text, expected) => {
  expect(xmlText(text)).toBe(expected);
});

/** Char of XML 1.0, 2.2. */
const CHARACTERS = /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;
property.prop([fc.string({ unit: "binary" })])("no text leaves its element", (text) => {
  const escaped = xmlText(text);
  expect(escaped).toMatch(CHARACTERS);
  expect(escaped).not.toMatch(/[<>"]|&(?!(?:amp|lt|gt|quot|#13);)/);
});

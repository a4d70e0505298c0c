/** Documents, comments and messages are in plain sentences. */
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { ROOT, textOf } from "./documents.ts";
import { findHardWords } from "./prose.ts";

/** Made by the program and checked at its source, recorded, or not prose. */
const SKIPPED = [
  /^docs\/reference\/|^src\/site\/documents\//,
  /^test\/(?:golden\/(?:expected|inputs|example-inputs)|released\/\d[^/]*)\/|^snapshots\/example\//,
  /(?:^|\/)package-lock\.json$|^tools\/spelling\.txt$|^tools\/bench\/peers\//,
  // They contain the constructions as samples.
  /^test\/docs\/prose\.(?:test\.)?ts$/,
];

const TEXT =
  /\.(?:css|html|http|js|json|md|mjs|py|sh|toml|ts|txt|ya?ml)$|(?:^|\/)(?:Dockerfile|install|run)$/;

const files = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" })
  .trimEnd()
  .split("\n")
  .filter((file) => TEXT.test(file) && !SKIPPED.some((skipped) => skipped.test(file)));

/** Without the part of ARCHITECTURE.md that the program makes. */
const writtenIn = (file: string): string => textOf(file).split("<!-- From here on")[0] ?? "";

test("no sentence has a construction that makes it hard to read", () => {
  const findings = files.flatMap((file) =>
    findHardWords(writtenIn(file), file.endsWith(".md")).map(
      ({ line, words, remedy }) => `${file}:${line}: "${words}": ${remedy}`,
    ),
  );
  expect(files.length).toBeGreaterThan(500);
  expect(findings).toEqual([]);
});

describe("the search", () => {
  test.each([
    ["show how many calls accounts have made, by key or month, too", ", too"],
    ["// Worker threads load this, too. They have no channel.", ", too"],
    ["why what was judged is right: kept as --by is, never public", "what was"],
    [
      "Answers on this page are those of a small made-up market, with names of contracts",
      "those of a",
    ],
    ["So it does while no level has moved since the head", "So it does"],
    ["so that yesterday's does not let through what is wrong today", "what is"],
    ["- Who opens too many connections is best stopped in front.", "- Who opens"],
    ["Days without a close are left out, and so is all before the last break of one.", "and so is"],
    ["whoever has a private key whose public key is still given can sign", "whoever has"],
    [
      "The SBOM lists what\n * is locked. Who installs the package gets the newest versions",
      "what is",
    ],
    ['throws "a page costs no more than " +\n  "that of the other"', "that of the"],
    [
      "A claim is no lock; a run that dies leaves it; the next run takes another name.",
      "A claim is no lock; a run that dies leaves it; the next run takes another name",
    ],
  ])("finds %j", (text, words) => {
    expect(findHardWords(text, true).map((finding) => finding.words)).toContain(words);
  });

  test.each([
    "The list is not too long, too many rows are refused, and a date is never too late, too early or too far.",
    "What is a session? Who may read it?",
    "The test shows that often a run starts again, so it does not need a lock.",
    "| what you see | what to do |",
    "Anybody who has the link reads one file.",
    "A rollback takes the snapshot back; the next publish goes on from the head.",
    "Readers see the old head or the new one, and so they never see a mixture.",
    "const words = { that: of, those: [1], so: is };",
    "```sh\na; b; c; d\n```",
    "| one; two; three; four |",
    "The price of a contract is greater than the price of its parts.",
  ])("finds nothing in %j", (text) => {
    expect(findHardWords(text, true)).toEqual([]);
  });

  test("names the line", () => {
    const text = "/**\n * A comment.\n *\n * The key is that\n * of the account.\n */";
    expect(findHardWords(text, false)).toEqual([
      { line: 4, words: "that of the", remedy: "name the thing again" },
    ]);
  });
});

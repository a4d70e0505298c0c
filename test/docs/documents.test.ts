/** What all documents have in common: links, paths, commands. */
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { blocksOf } from "./blocks.ts";
import { anchorsOf, FOLLOWED, MADE, PAGES, ROOT, textOf, withoutCode } from "./documents.ts";

/** Each needs a machine of its own, or is what the tests are run by. */
const BY = ["root", "docker", "kubernetes", "npm", "python"];

/** test/guide follows the links of the texts that the proxy serves. */
const LINKING = [...PAGES, ...MADE].filter((page) => !page.startsWith("src/"));

test.each(LINKING)("%s: every link leads to a file and a heading", (page) => {
  const links = [...withoutCode(textOf(page)).matchAll(/\]\(([^)\s]+)\)/g)];
  const broken = links
    .map(([, link = ""]) => link)
    .filter((link) => !/^https?:/.test(link))
    .filter((link) => {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : normalize(join(dirname(page), path));
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(target).includes(anchor);
    });
  expect(broken).toEqual([]);
});

test("every page for operators, and every page of the reference, is named in the index", () => {
  const index = textOf("docs/README.md") + textOf("docs/reference/README.md");
  const pages = [...PAGES, ...MADE].filter((page) => /^docs\/\w+\/[a-z]/.test(page));
  expect(pages.length).toBeGreaterThan(20);
  const missing = pages.filter(
    (page) => !index.includes(page.replace(/^docs\/(?:reference\/)?/, "")),
  );
  expect(missing).toEqual([]);
});

test.each(PAGES)("%s: every path that it names exists", (page) => {
  const paths = [...textOf(page).matchAll(/`((?:src|bin|test|tools|deploy|docs)\/[\w./-]*)`/g)];
  expect(
    paths.filter(([, path = ""]) => !existsSync(join(ROOT, path))).map(([, path]) => path),
  ).toEqual([]);
});

test.each(PAGES)("%s: every command in it is followed by a test", (page) => {
  const blocks = blocksOf(textOf(page)).filter(({ language }) => /^(?:sh|console)$/.test(language));
  const unknown = blocks.filter(({ by }) =>
    by === "" ? !FOLLOWED.includes(page) : !BY.includes(by),
  );
  expect(unknown.map(({ text }) => text)).toEqual([]);
});

test("npx runs installed programs and downloads nothing", () => {
  const texts = [...PAGES, "deploy/publish.yml"].map(textOf).join("\n");
  const words = [...texts.matchAll(/^[^#\n]*\bnpx (\S+)/gm)].map(([, word]) => word);
  const { devDependencies } = JSON.parse(textOf("package.json"));
  const installed = new Set(["--no-install", ...Object.keys(devDependencies)]);
  expect(words.length).toBeGreaterThan(1);
  expect(words.filter((word = "") => !installed.has(word))).toEqual([]);
});

test("the README's stack names every library, and no other", () => {
  const [, stack = ""] = textOf("README.md").split("## The stack");
  const rows = [...stack.matchAll(/^\| (.*?) \|/gm)].map(([, cell = ""]) => cell);
  const named = rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  const { dependencies } = JSON.parse(textOf("package.json"));
  expect(named.toSorted()).toEqual(Object.keys(dependencies).toSorted());
});

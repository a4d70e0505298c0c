/** The pages that are made of the program are current: nothing is undocumented. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { architecturePage, subjectOf } from "./architecture-map.ts";
import { ROOT, textOf } from "./documents.ts";
import { referencePages } from "./reference-texts.ts";

const pages = await referencePages();

test.each(Object.entries(pages))(
  "%s is as the program says; if not, run npm run regenerate",
  (name, text) => {
    expect(textOf(`docs/reference/${name}`)).toBe(text);
  },
);

test("there are no other pages", () => {
  expect(readdirSync(join(ROOT, "docs/reference")).toSorted()).toEqual(
    Object.keys(pages).toSorted(),
  );
});

test("ARCHITECTURE.md names the layers and files there are; if not, run npm run regenerate", () => {
  expect(textOf("ARCHITECTURE.md")).toBe(architecturePage());
});

test.each([
  ["/** The sheet `About`: its terms. */\nimport a;", "The sheet `About`: its terms"],
  [
    "/**\n * `catalog.json`: the catalog in\n * order. It has a format.\n */",
    "`catalog.json`: the catalog in order",
  ],
  ["/**\n * Names in use:\n *\n *   claims/r2.json   {}\n */", "Names in use"],
  ["/* Charts */\n.chart {}", "Charts"],
  ['"""Prices. One module."""\nimport csv', "Prices"],
  ["import a;\n\n/** A function. */", ""],
])("the subject of a file is the first sentence of its first comment: %j", (text, subject) => {
  expect(subjectOf(text)).toBe(subject);
});

/** The documents of src/site/documents are those that src/docs makes now. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeDocuments } from "../../src/docs/make-documents.ts";

const FOLDER = join(import.meta.dirname, "../../src/site/documents");
const documents = makeDocuments();

test.each(Object.entries(documents))(
  "%s is as src/docs makes it; if not, run npm run regenerate",
  (name, text) => {
    expect(readFileSync(join(FOLDER, name), "utf8")).toBe(text);
  },
);

test("there are no other files", () => {
  expect(readdirSync(FOLDER).toSorted()).toEqual(Object.keys(documents).toSorted());
});

test("no page shows the marks of Markdown", () => {
  const pages = Object.entries(documents).filter(([name]) => name.endsWith(".html"));
  const marked = pages.flatMap(([name, html]) =>
    html
      .replaceAll(/<pre[^>]*>.*?<\/pre>/gs, "")
      .split("\n")
      .filter((line) => /`|\*\*/.test(line))
      .map((line) => `${name}: ${line}`),
  );
  expect(marked).toEqual([]);
});

/** The pages of docs/reference say what the program has: nothing is undocumented. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
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

/** The core needs nothing of a host, and neither does anything that it imports. */
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const SOURCE = join(import.meta.dirname, "../../src");
/** An import of values: types are gone when the program runs. */
const IMPORT = /^(?:import|export) (?!type )(?:[^"';]*? from )?"([^"]+)";$/gm;
/** What Node has and the Fetch standard's environments do not. */
const OF_NODE = /\b(?:Buffer|process|setImmediate|__dirname)\b[.([]/;

/** The files that this one imports, by whatever way, with it, and the packages that they name. */
function importsOf(start: string): { files: Map<string, string>; packages: Set<string> } {
  const files = new Map<string, string>();
  const packages = new Set<string>();
  const waiting = [start];
  for (const file of waiting) {
    if (files.has(file)) continue;
    const text = readFileSync(file, "utf8");
    files.set(file, text);
    for (const [, name = ""] of text.matchAll(IMPORT)) {
      if (name.startsWith(".")) waiting.push(join(dirname(file), name));
      else packages.add(name);
    }
  }
  return { files, packages };
}

test("all that the core imports is free of Node", () => {
  const { files, packages } = importsOf(join(SOURCE, "core/answer.ts"));
  expect(files.size).toBeGreaterThan(40);
  expect([...packages].toSorted()).toEqual(["csv-stringify/sync", "lru-cache", "zod"]);
  const found = [...files].flatMap(([file, text]) => {
    const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    return OF_NODE.test(code) ? [relative(SOURCE, file)] : [];
  });
  expect(found).toEqual([]);
});

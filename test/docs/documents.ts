/** The documents of the project, and who runs the commands in them. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { blocksOf, type Block } from "./blocks.ts";

export const ROOT = join(import.meta.dirname, "../..");

export const textOf = (page: string): string => readFileSync(join(ROOT, page), "utf8");

export const withoutCode = (text: string): string => text.replaceAll(/^```[^]*?^```$/gm, "");

/** The anchors of a page's headings, as GitHub makes them. */
export const anchorsOf = (page: string): string[] =>
  [...withoutCode(textOf(page)).matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

/** Every Markdown file of the repository, by its path. */
const all = execFileSync("git", ["ls-files", "*.md"], { cwd: ROOT, encoding: "utf8" })
  .trimEnd()
  .split("\n")
  .filter((page) => !/^(?:test\/golden|test\/released|snapshots\/example)\//.test(page));

const isMade = (page: string): boolean => /^(?:docs\/reference|src\/site\/documents)\//.test(page);

/** The pages that write-reference.ts and write-documents.ts make. */
export const MADE = all.filter(isMade);

/** The pages that people write. */
export const PAGES = all.filter((page) => !isMade(page));

/** The pages whose commands somebody in a checkout runs one after another, in this order. */
const STORY = [
  "README.md",
  "docs/operate/first-publish.md",
  "docs/operate/maps.md",
  "docs/operate/sessions.md",
  "docs/operate/customers.md",
  "docs/operate/billing.md",
  "docs/operate/leaving.md",
  "docs/operate/backup.md",
  "docs/operate/signing.md",
  "docs/operate/static.md",
];

/** The blocks of these pages that somebody in a checkout runs, writes or reads. */
export const storyBlocks = (): Block[] =>
  STORY.flatMap((page) => blocksOf(textOf(page))).filter(({ by }) => by === "");

/** The pages whose blocks without a name of who runs them are followed. */
export const FOLLOWED = [
  ...STORY,
  "docs/operate/night.md",
  // signed-log.test.ts follows this one.
  "snapshots/README.md",
  // test/guide follows these.
  "src/docs/guide-text.md",
  "src/docs/methodology-text.md",
  "src/docs/alerts-text.md",
];

/** The texts of this folder that documents are made of: Markdown, templates and programs. */
import { readFileSync } from "node:fs";

export const sourceText = (name: string): string =>
  readFileSync(new URL(name, import.meta.url), "utf8");

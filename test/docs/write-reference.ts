/** Writes the pages of docs/reference anew: `node test/docs/write-reference.ts`. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { referencePages } from "./reference-texts.ts";

const folder = join(import.meta.dirname, "../../docs/reference");
const pages = await referencePages();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const [name, text] of Object.entries(pages)) writeFileSync(join(folder, name), text);

/** Writes the pages of docs/reference and the map of the files anew: `npm run regenerate`. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { architecturePage } from "./architecture-map.ts";
import { ROOT } from "./documents.ts";
import { referencePages } from "./reference-texts.ts";

const folder = join(ROOT, "docs/reference");
const pages = await referencePages();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
for (const [name, text] of Object.entries(pages)) writeFileSync(join(folder, name), text);
writeFileSync(join(ROOT, "ARCHITECTURE.md"), architecturePage());

/** Writes the bundles that `chipboard init --edge` gives, into dist/edge. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundled, WORKERS } from "./bundle.ts";

const FOLDER = join(import.meta.dirname, "..", "..", "dist", "edge");
await mkdir(FOLDER, { recursive: true });
for (const [name, source] of Object.entries(WORKERS))
  await writeFile(join(FOLDER, `${name}.js`), await bundled(source));

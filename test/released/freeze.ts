/**
 * `node test/released/freeze.ts`: writes test/released/VERSION, once, before a version is released: a store as
 * this version writes it, and what it answers from it. Later versions must read the store and give these answers, so a
 * folder that is there is never written again.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROGRAM } from "../../src/lib/version.ts";
import { freeze } from "./release.ts";

const folder = join(import.meta.dirname, PROGRAM.version);
// Fails if the folder is there.
await freeze(folder);
await writeFile(
  join(folder, "README.md"),
  `# What ${PROGRAM.version} wrote

\`store\` is a store as chipboard ${PROGRAM.version} wrote it, with made-up levels; \`signing.pub\` is the key of its log, whose
private key nobody has any more; \`answers.ndjson\` is what its proxy answered at 2026-11-21T00:15:00Z.

Never change a byte here: every later version must read this store and give these answers (\`released.test.ts\`).
`,
);
console.log(`Wrote ${folder}: commit it, and never write it again`);

/**
 * `node test/released/freeze.ts`: writes test/released/VERSION, once, before a version is released: a store
 * as this version writes it, its answers from it, and its state. Later versions must read both and give these
 * answers, so a folder that is there is never written again.
 */
import { existsSync } from "node:fs";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROGRAM } from "../../src/lib/version.ts";
import { ASKED_AT, freeze } from "./frozen-release.ts";

const folder = join(import.meta.dirname, PROGRAM.version);
if (existsSync(folder)) throw new Error(`${folder} is there, and is never written again`);
const work = await mkdtemp(join(tmpdir(), "chipboard-freeze-"));
const made = join(work, PROGRAM.version);
await freeze(made);
await writeFile(
  join(made, "README.md"),
  `# What ${PROGRAM.version} wrote

\`store\` is a store as chipboard ${PROGRAM.version} wrote it, with made-up levels; \`signing.pub\` is the key of its log, whose
private key nobody has any more; \`answers.ndjson\` is what its proxy answered at ${ASKED_AT}.
\`state\` is the state of that proxy, with an account of each paid tier, and \`keys.json\` has a key of each.

Never change a byte here: every later version must read this store and give these answers (\`released.test.ts\`).
`,
);
await cp(made, folder, { recursive: true });
await rm(work, { recursive: true });
console.log(`Wrote ${folder}: commit it, and never write it again`);

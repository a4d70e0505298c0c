/** Records the answers in the guide. Read the difference before you commit it. */
import { writeFileSync } from "node:fs";
import { askAll } from "./asked-answers.ts";

const FILE = new URL("../../src/docs/examples.json", import.meta.url);
writeFileSync(FILE, `${JSON.stringify(await askAll(), null, 2)}\n`);

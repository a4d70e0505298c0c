/** Writes down the answers that the guide shows; read the difference before it is committed. */
import { writeFileSync } from "node:fs";
import { askAll } from "./answers.ts";

const FILE = new URL("../../src/proxy/docs/guide-examples.json", import.meta.url);
writeFileSync(FILE, `${JSON.stringify(await askAll(), null, 2)}\n`);

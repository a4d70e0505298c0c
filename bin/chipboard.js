#!/usr/bin/env node
// Also an old Node parses this file, so that it can say what it lacks: no `await` here, no `node:`.
import { existsSync } from "fs";

const { node } = process.versions;
if (Number.parseInt(node, 10) < 24) {
  process.stderr.write(`error: chipboard needs Node 24 or newer; this is Node ${node}\n`);
  process.exit(2);
}
// A checkout runs from its sources; an installed package has none, and runs what was compiled of them.
const isCheckout = existsSync(new URL("../src/main.ts", import.meta.url));
void import(isCheckout ? "./chipboard.ts" : "../dist/bin/chipboard.js");

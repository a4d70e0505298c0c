#!/usr/bin/env node
// A checkout runs from its sources; an installed package has none, and runs what was compiled of them.
import { existsSync } from "node:fs";

const isCheckout = existsSync(new URL("../src/main.ts", import.meta.url));
await import(isCheckout ? "./chipboard.ts" : "../dist/bin/chipboard.js");

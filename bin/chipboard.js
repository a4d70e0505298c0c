#!/usr/bin/env node
// Also an old Node parses this file, so that it can say what it lacks: no `await` here, no `node:`.
import { existsSync, lstatSync, mkdirSync } from "fs";
import module from "module";
import { fileURLToPath } from "url";

const { node } = process.versions;
if (Number.parseInt(node, 10) < 24) {
  process.stderr.write(`error: chipboard needs Node 24 or newer; this is Node ${node}\n`);
  process.exit(2);
}
keepCompiled(new URL("..", import.meta.url), new URL("../.compiled", import.meta.url));
// A checkout runs from its sources; an installed package has none, and runs what was compiled of them.
const isCheckout = existsSync(new URL("../src/main.ts", import.meta.url));
void import(isCheckout ? "./chipboard.ts" : "../dist/bin/chipboard.js");

/**
 * Lets Node keep what it compiles in a folder of the installation. Whoever writes there decides what runs, and no
 * source shows it: so both must belong to the user who runs this, and nobody else may write to them. Otherwise every
 * start compiles anew: in a package that root owns, for other users; on Windows, which has no such modes.
 * @param {URL} installation
 * @param {URL} folder
 */
function keepCompiled(installation, folder) {
  try {
    if (!isOurs(installation)) return;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (isOurs(folder)) module.enableCompileCache(fileURLToPath(folder));
  } catch {
    // A read-only or full disk.
  }
}

/** @param {URL} folder */
function isOurs(folder) {
  const status = lstatSync(folder);
  return status.isDirectory() && status.uid === process.geteuid?.() && (status.mode & 0o022) === 0;
}

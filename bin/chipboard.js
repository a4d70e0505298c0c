#!/usr/bin/env node
// An old Node also parses this file, to name the version that it needs: no `await` here, no `node:`.
import { spawn } from "child_process";
import { existsSync, lstatSync, mkdirSync } from "fs";
import module from "module";
import { dirname, join } from "path";
import { fileURLToPath } from "url";

const { node } = process.versions;
if (Number.parseInt(node, 10) >= 24) {
  keepCompiled(new URL("..", import.meta.url), new URL("../.compiled", import.meta.url));
  // A checkout runs from its sources; an installed package has none, and runs its compiled files.
  const isCheckout = existsSync(new URL("../src/main.ts", import.meta.url));
  void import(isCheckout ? "./chipboard.ts" : "../dist/bin/chipboard.js");
} else {
  const beside = nodeBeside();
  if (beside === null) {
    process.stderr.write(`error: chipboard needs Node 24 or newer; this is Node ${node}\n`);
    process.exit(2);
  }
  runWith(beside);
}

/** The Node that npm installed with chipboard; null: there is none for this machine. */
function nodeBeside() {
  const { platform, arch } = process;
  const file = platform === "win32" ? "node.exe" : "node";
  const { resolve } = module.createRequire(import.meta.url);
  for (const name of [
    `node-${platform}-${arch}`,
    `node-bin-${platform}-${arch}`,
    `node-win-${arch}`,
  ]) {
    try {
      const path = join(dirname(resolve(`${name}/package.json`)), "bin", file);
      if (existsSync(path)) return path;
    } catch {
      // It is not installed.
    }
  }
  return null;
}

/**
 * Runs the same command line with another Node, which gets the signals of this process and gives it its end.
 * @param {string} path
 */
function runWith(path) {
  const child = spawn(path, process.argv.slice(1), { stdio: "inherit" });
  /** @type {NodeJS.Signals[]} */
  const passedOn = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of passedOn) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(`error: ${path} cannot be run: ${error.message}\n`);
    process.exit(2);
  });
  child.on("exit", (code, signal) => {
    for (const each of passedOn) process.removeAllListeners(each);
    if (signal === null) process.exit(code);
    else process.kill(process.pid, signal);
  });
}

/**
 * Lets Node keep compiled code in a folder of the installation. Anybody who can write there decides which
 * code runs, and no source shows it. So both must belong to the user who runs this, and nobody else may write
 * to them. Otherwise every
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

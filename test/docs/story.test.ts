/**
 * Follows README.md and the pages for operators in a temporary checkout: writes their files, runs their
 * commands in order, and compares the output.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parsePlanTerms, USUAL_TERMS } from "../../src/pages/plan-terms.ts";
import { testWith } from "../http/needed-tools.ts";
import { freePort } from "../program/free-port.ts";
import { exitCodeOf, fileNameOf } from "./blocks.ts";
import { ROOT, storyBlocks } from "./documents.ts";

const blocks = storyBlocks();
/** Variables and functions of the shell, from one block to the next. */
const VARIABLES = "variables.sh";

let checkout: string;
let port: number;
const servers: ChildProcess[] = [];

beforeAll(async () => {
  checkout = await mkdtemp(join(tmpdir(), "chipboard-readme-"));
  for (const part of ["package.json", "CHANGELOG.md", "bin", "clients", "src"]) {
    await cp(join(ROOT, part), join(checkout, part), { recursive: true });
  }
  await symlink(join(ROOT, "node_modules"), join(checkout, "node_modules"));
  await writeFile(join(checkout, VARIABLES), "");
  port = await freePort();
});

afterAll(async () => {
  for (const server of servers) await stop(server);
  await rm(checkout, { recursive: true, force: true });
});

test("they have files, commands and output", () => {
  for (const language of ["csv", "sh", "text"]) {
    expect(blocks.filter((block) => block.language === language).length).toBeGreaterThan(2);
  }
});

test("the file of plans describes the page without one", () => {
  const file = blocks.find(({ before }) => /`--plans\s/.test(before));
  expect(parsePlanTerms(Buffer.from(file?.text ?? ""), "the page")).toEqual(USUAL_TERMS);
});

describe("their blocks", () => {
  let printed = "";
  for (const [index, block] of blocks.entries()) {
    const [firstLine = ""] = block.text.split("\n");
    const isMap = block.language === "json" && /`[\w-]+\.json`/.test(block.before);
    if (block.language === "csv" || isMap) {
      test(`${fileNameOf(block)} is written`, () =>
        writeFile(join(checkout, fileNameOf(block)), block.text));
    } else if (block.language === "sh") {
      const programs = /\b(?:curl|openssl)\b/.exec(block.text)?.[0] ?? "sh";
      testWith(programs)(`${index}: ${firstLine}`, async () => {
        printed = await follow(block.text, exitCodeOf(block));
      });
    } else if (block.language === "text") {
      test(`${index}: prints ${firstLine}`, () => {
        for (const line of block.text.trimEnd().split("\n")) {
          expect(blurred(printed).replaceAll(`:${port}`, ":8080")).toContain(blurred(line));
        }
      });
    }
  }
});

/** The command that serves, and where its line begins: the end of the block, if none does. */
function serverIn(commands: string): [string | null, number] {
  const found = /npm start|^chipboard serve\b/m.exec(commands);
  if (found === null) return [null, commands.length];
  return [found[0], commands.lastIndexOf("\n", found.index) + 1];
}

/** Runs a block and returns its output; for a server, the output until it listens. */
async function follow(commands: string, exitCode: number): Promise<string> {
  const [server, at] = serverIn(commands);
  const before = commands.slice(0, at);
  if (server === null || before !== "") {
    const ran = await ended(shell(before));
    expect(ran.code, ran.printed).toBe(exitCode);
    if (server === null) return ran.printed;
  }
  for (const running of servers.splice(0)) await stop(running);
  const child = shell(`${server}; exit`);
  servers.push(child);
  const printed = await printedUntil(child, "listening on");
  const key = /Pro: [^]*?(cbk_\w+)/.exec(printed)?.[1];
  if (key !== undefined) await writeFile(join(checkout, VARIABLES), `GIVEN=${key}\n`);
  return printed;
}

/** Bash keeps the variables of the block before, and stops at the first failure. */
function shell(commands: string): ChildProcess {
  const lines = commands
    .replaceAll(":8080", `:${port}`)
    .replace("KEY=cbk_...", "KEY=$GIVEN")
    .replaceAll("curl -s", "curl -s --fail");
  // `npx` takes seven times as long as the program: the block that defines the command shows that it works.
  const direct = lines.includes("npx ") ? "" : 'chipboard() { "$NODE" bin/chipboard.js "$@"; }';
  const script = `set -ea; . ./${VARIABLES}\n${direct}\n${lines}\n(export -p; declare -f) > ./${VARIABLES}`;
  return spawn("bash", ["-c", script], {
    cwd: checkout,
    detached: true,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: checkout,
      NODE: process.execPath,
      NODE_COMPILE_CACHE: join(checkout, ".compiled"),
      CHIPBOARD_NOW: "2026-11-21T12:30:00Z",
      CHIPBOARD_PORT: String(port),
      CHIPBOARD_METRICS_PORT: "0",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function ended(child: ChildProcess): Promise<{ code: number; printed: string }> {
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => (printed += text));
  }
  const [code] = await once(child, "close");
  return { code, printed };
}

const printedUntil = (child: ChildProcess, words: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let printed = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
        if (printed.includes(words)) resolve(printed);
      });
    }
    child.once("close", () => reject(new Error(`ended: ${printed}`)));
  });

/** Like Ctrl+C in a terminal: to all processes of the shell. */
async function stop(server: ChildProcess): Promise<void> {
  if (server.pid === undefined || server.exitCode !== null) return;
  const closed = once(server, "close");
  process.kill(-server.pid, "SIGINT");
  await closed;
}

/** Sizes depend on the program's version, which is in every manifest. */
const blurred = (text: string): string => text.replaceAll(/\d+ bytes/g, "… bytes");

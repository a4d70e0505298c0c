/** `demo` before it serves: errors about ports in use and damaged folders, with the way on. */
import { once } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chipboard, Serving, type Ran } from "../program/program.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-demo-start-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const demo = (...args: string[]): Promise<Ran> => chipboard(["demo", ...args], { cwd: folder });

/** Starts the demonstration and waits until it serves. */
const serving = (...args: string[]): Promise<Serving> =>
  Serving.start(["demo", "--log-level", "silent", ...args], { cwd: folder });

/** The address on the line that begins with `name`. */
const addressOf = (name: string, { printed }: Serving): string =>
  new RegExp(`^${name} +(\\S+)$`, "m").exec(printed)?.[1] ?? "";

/** Listens on a port; null if it is in use. */
async function hold(port: number): Promise<Server | null> {
  const server = createServer().listen(port, "127.0.0.1");
  const [outcome] = await Promise.race([
    once(server, "listening").then(() => ["listening"]),
    once(server, "error"),
  ]);
  return outcome === "listening" ? server : null;
}

test("a port in use: 2 before any work, and the way on that it names works", async () => {
  const holder = (await hold(0)) as Server;
  const { port } = holder.address() as AddressInfo;
  const refused = await demo("--port", String(port), "--metrics-port", "off");
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  const wayOn = /^  Take another port: npm start -- (--port (\d+))\n$/m.exec(refused.stderr);
  expect(refused.stderr.split("\n")[0]).toBe(
    `error: Cannot listen on 127.0.0.1:${port} (--port): it is in use`,
  );
  expect(["snapshots", "state"].map((name) => existsSync(join(folder, name)))).toEqual([
    false,
    false,
  ]);

  const started = await serving(...(wayOn?.[1] ?? "").split(" "), "--metrics-port", "off");
  const guide = addressOf("Guide", started);
  expect(new URL(guide).port).toBe(wayOn?.[2]);
  expect((await fetch(guide)).status).toBe(200);
  const report = readFileSync(fileURLToPath(addressOf("Report", started)), "utf8");
  expect(report).toContain("2026-11-21T00Z");
  expect(addressOf("Metrics", started)).toBe("off");
  expect(await started.end()).toBe(0);
  holder.close();
}, 180_000);

test("if the default metrics port is in use, a free one is taken; a given port that is in use is an error", async () => {
  const holder = await hold(9464);
  const started = await serving("--port", "0");
  const metrics = addressOf("Metrics", started);
  expect(new URL(metrics).port).not.toBe("9464");
  expect(await (await fetch(metrics)).text()).toContain("chipboard_");

  const given = new URL(metrics).port;
  const refused = await demo("--port", "0", "--metrics-port", given);
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(
      new RegExp(
        `:${given} \\(--metrics-port\\): it is in use\n  .*npm start -- --metrics-port \\d`,
      ),
    ),
  ]);
  expect(await started.end()).toBe(0);
  holder?.close();
}, 180_000);

/** The options of a demonstration in copies of the two folders. */
function copied(): string[] {
  const names = ["snapshots", "state"].map((name) => {
    const copy = `${name}-copy`;
    rmSync(join(folder, copy), { recursive: true, force: true });
    cpSync(join(folder, name), join(folder, copy), { recursive: true });
    return copy;
  });
  const [store = "", state = ""] = names;
  return ["--store", store, "--state", state, "--port", "0", "--metrics-port", "off"];
}

async function expectWorks(options: readonly string[]): Promise<void> {
  const anew = await serving(...options);
  expect((await fetch(addressOf("Guide", anew))).status).toBe(200);
  expect(await anew.end()).toBe(0);
}

const HEAD = "sessions/2026-11-21T00Z/r1";

test("damaged snapshots: 6 with the way on, which works", async () => {
  const wayOn =
    "  To start anew, name another folder with --store, or delete the folders in snapshots-copy (their snapshots are lost)\n";
  for (const file of [
    `${HEAD}/manifest.json`,
    `${HEAD}/pro/board.json`,
    "publications/0000000004.json",
  ]) {
    const options = copied();
    appendFileSync(join(folder, "snapshots-copy", file), "damage");
    const damaged = await demo(...options);
    expect([damaged.code, damaged.stdout]).toEqual([6, ""]);
    expect(damaged.stderr).toContain(file);
    expect(damaged.stderr.endsWith(wayOn)).toBe(true);
  }
  const options = copied();
  appendFileSync(join(folder, "snapshots-copy", HEAD, "manifest.json"), "damage");
  for (const name of readdirSync(join(folder, "snapshots-copy"))) {
    rmSync(join(folder, "snapshots-copy", name), { recursive: true });
  }
  await expectWorks(options);
}, 180_000);

test("a damaged state: 5 with the way on, which works", async () => {
  const options = copied();
  writeFileSync(join(folder, "state-copy/chipboard.sqlite"), "this is no database");
  const damaged = await demo(...options);
  expect([damaged.code, damaged.stdout]).toEqual([5, ""]);
  expect(damaged.stderr).toContain(
    "\n  To start anew, name another folder with --state, or delete state-copy (its accounts and keys are lost)\n",
  );
  rmSync(join(folder, "state-copy"), { recursive: true });
  await expectWorks(options);
}, 180_000);

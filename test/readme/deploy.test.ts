/**
 * Follows "One machine" of deploy/README.md in a temporary folder. Small scripts replace the programs that
 * would change this machine: useradd, systemctl, sudo, git and npm.
 */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { catalogOf, lines, quotesOf } from "../cli/market.ts";
import { blocksOf } from "./blocks.ts";

const ROOT = join(import.meta.dirname, "../..");
const IS_ROOT = process.getuid?.() === 0;
/** The user of the service: nobody if the tests run as root, else the current user. */
const [UID, GID] = IS_ROOT ? [65_534, 65_534] : [process.getuid?.(), process.getgid?.()];

let machine: string;
let feed: Server;
let blocks: string[];

beforeAll(async () => {
  machine = await mkdtemp(join(tmpdir(), "chipboard-deploy-"));
  await chmod(machine, 0o755);
  for (const folder of ["bin", "opt", "etc/systemd/system", "var/lib"]) {
    await mkdir(join(machine, folder), { recursive: true });
  }
  const becomeUser = IS_ROOT ? `setpriv --reuid ${UID} --regid ${GID} --clear-groups` : "";
  await script("useradd", "");
  await script("systemctl", `echo "$@" >> ${machine}/systemctl`);
  await script("git", `cp -r ${machine}/copy "$3"`);
  await script("npm", "");
  await script("sudo", `shift 2; exec ${becomeUser} "$@"`);
  const copy = join(machine, "copy");
  for (const part of ["package.json", "bin", "src", "deploy"]) {
    await cp(join(ROOT, part), join(copy, part), { recursive: true });
  }
  await symlink(join(ROOT, "node_modules"), join(copy, "node_modules"));
  await writeFile(join(copy, "catalog.csv"), catalogOf(["a", "b"]));
  await writeFile(join(copy, "closes.csv"), lines("id,date,close_usd", "a,2026-11-19,10"));
  await writeFile(join(copy, "quotes.csv"), quotesOf({ a: 11, b: 5 }));

  feed = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify([
        { id: "a", spot_usd: 12 },
        { id: "b", spot_usd: 5 },
      ]),
    );
  }).listen(0, "127.0.0.1");
  await once(feed, "listening");
  const text = await readFile(join(ROOT, "deploy/README.md"), "utf8");
  const oneMachine = /^## One machine\n([^]*?)^## /m.exec(text)?.[1] ?? "";
  blocks = blocksOf(oneMachine).map((block) => here(block.text));
});
afterAll(async () => {
  feed.close();
  await rm(machine, { recursive: true, force: true });
});

const script = (name: string, body: string): Promise<void> =>
  writeFile(join(machine, "bin", name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });

/** The same text for this machine's folder, user and feed. */
const here = (text: string): string =>
  text
    .replaceAll(/(?<=[\s=:-])\/(?=(?:etc|opt|var)\/)/g, `${machine}/`)
    .replaceAll("-o chipboard -g chipboard", `-o ${UID} -g ${GID}`)
    .replace(
      "https://feed.example",
      () => `http://127.0.0.1:${(feed.address() as AddressInfo).port}`,
    );

const environment = (now: string): Record<string, string> => ({
  PATH: `${machine}/bin:${process.env["PATH"] ?? ""}`,
  CHIPBOARD_NOW: now,
});

test("the commands create the folders, publish, and enable units that exist", async () => {
  const [setUp = "", options = "", publish = ""] = blocks;
  const environmentFile = join(machine, "etc/chipboard/chipboard.env");
  const commands = `set -e; umask 022\n${setUp}\ncat > ${environmentFile} <<'END'\n${options}END\n${publish}`;
  const env = environment("2026-11-21T00:05:00Z");
  const { stdout } = await promisify(execFile)("bash", ["--norc", "-c", commands], {
    cwd: machine,
    env,
  });
  expect(stdout).toMatch(/^Published 2026-11-21T00Z\/r1 as publication 1\n/);
  expect(stdout).toMatch(/^cbk_\w{49}\nKey cbk_\w{8} of acme/m);
  const [reload, enable = ""] = (await readFile(join(machine, "systemctl"), "utf8")).split("\n");
  expect([reload, enable]).toEqual(["daemon-reload", expect.stringMatching(/^enable --now /)]);
  for (const unit of enable.split(" ").slice(2)) {
    expect(await readFile(join(machine, "etc/systemd/system", unit), "utf8")).toContain(
      "[Install]",
    );
  }
});

test("the publishing unit publishes the next session, the proxy's unit serves it", async () => {
  const published = await output(await unit("chipboard-publish", "2026-11-21T12:05:00Z"));
  expect(published).toMatch(/^Published 2026-11-21T12Z\/r1 as publication 2\n/m);

  const proxy = await unit(
    "chipboard",
    "2026-11-21T12:05:01Z",
    "CHIPBOARD_PORT=0 CHIPBOARD_METRICS_PORT=0",
  );
  try {
    const line = await new Promise<string>((resolve, reject) => {
      proxy.stdout?.once("data", (text) => resolve(String(text)));
      proxy.once("exit", () => reject(new Error("it ended before it served")));
    });
    const url = /http:\S+/.exec(line)?.[0] ?? "";
    expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({
      snapshot: "2026-11-21T12Z/r1",
      state: "ok",
    });
  } finally {
    proxy.kill("SIGTERM");
  }
  expect((await once(proxy, "close"))[0]).toBe(0);
});

/** Starts the command of a unit with its user, folder, environment file and umask. */
async function unit(name: string, now: string, more = ""): Promise<ChildProcess> {
  const text = here(await readFile(join(machine, `etc/systemd/system/${name}.service`), "utf8"));
  const setting = (key: string): string => new RegExp(`^${key}=-?(.*)$`, "m").exec(text)?.[1] ?? "";
  expect(setting("User")).toBe("chipboard");
  const commands = `cd ${setting("WorkingDirectory")}; umask ${setting("UMask")}
    set -a; . ${setting("EnvironmentFile")}; ${more}
    exec sudo -u chipboard ${setting("ExecStart")}`;
  return spawn("bash", ["-ec", commands], {
    env: environment(now),
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function output(child: ChildProcess): Promise<string> {
  let printed = "";
  child.stdout?.on("data", (text) => (printed += String(text)));
  expect((await once(child, "close"))[0]).toBe(0);
  return printed;
}

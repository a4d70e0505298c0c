/** `init --edge`, `npm run edge`, and the page about Workers. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import wrangler from "../../deploy/edge/wrangler.json" with { type: "json" };
import { API } from "../../src/public/routes.ts";
import { bundled, WORKERS } from "../../tools/edge/bundle.ts";
import { inProcess } from "../cli/run.ts";
import { DIFFERENCES } from "./differences.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const page = await readFile(join(ROOT, "docs/operate/worker.md"), "utf8");
const run = (script: string, ...args: string[]) =>
  spawn(process.execPath, [join(ROOT, script), ...args], { stdio: ["ignore", "pipe", "inherit"] });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-edge-"));
  await once(run("tools/edge/write-bundles.ts"), "close");
});
afterAll(() => rm(folder, { recursive: true }));

test("the folder has both Workers and their configurations; the secret is shown once, its hash is kept", async () => {
  const place = join(folder, "edge");
  const { code, stdout } = await inProcess(["init", "--edge", place]);
  expect(code).toBe(0);
  const [secret = ""] = /\b[0-9a-f]{64}\b/.exec(stdout) ?? [];
  const texts = new Map<string, string>();
  for (const name of await readdir(place))
    texts.set(name, await readFile(join(place, name), "utf8"));
  expect([...texts.keys()].sort()).toEqual(["door.js", "door.json", "worker.js", "wrangler.json"]);
  for (const [name, source] of Object.entries(WORKERS))
    expect(texts.get(`${name}.js`) === (await bundled(source)), name).toBe(true);
  expect([...texts.values()].some((text) => text.includes(secret))).toBe(false);
  const hash = createHash("sha256").update(secret).digest("hex");
  expect(JSON.parse(texts.get("door.json") as string).vars).toEqual({ DOOR_SECRET_SHA256: hash });

  const again = await inProcess(["init", "--edge", place]);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("is there already")]);
  const json = JSON.parse((await inProcess(["init", "--edge", `${place}2`, "--json"])).stdout);
  expect(json).toMatchObject({
    folder: `${place}2`,
    secret: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(json.secret).not.toBe(secret);
});

test.each(["SIGTERM", "SIGKILL"] as const)(
  "npm run edge serves a store with new keys, prints one line, and ends by %s",
  async (signal) => {
    const edge = run(
      "tools/edge/edge.ts",
      "--from",
      join(ROOT, "snapshots/example"),
      "--port",
      "0",
    );
    try {
      const [line] = (await once(edge.stdout, "data")) as [Buffer];
      const { url, keys, ...others } = JSON.parse(String(line));
      expect(others).toEqual({});
      for (const tier of ["starter", "pro"]) {
        const headers = { authorization: `Bearer ${keys[tier]}` };
        const answer = await fetch(`${url}${API}/usage`, { headers });
        expect([answer.status, ((await answer.json()) as { tier: string }).tier]).toEqual([
          200,
          tier,
        ]);
      }
      edge.kill(signal);
      await once(edge, "close");
      // workerd is a process of its own.
      const ends = async () => (await fetch(`${url}/healthz`)).status;
      await expect.poll(() => ends().catch(() => "ended")).toBe("ended");
    } finally {
      edge.kill("SIGKILL");
    }
  },
);

test("the page names each difference, variable and limit that the code has", async () => {
  for (const { words } of DIFFERENCES) expect(page).toContain(`| ${words} |`);
  const source = await readFile(join(ROOT, WORKERS.worker), "utf8");
  const [, body = ""] = /interface Environment[^{]*\{(.*?)\n\}/s.exec(source) ?? [];
  const variables = [...body.matchAll(/readonly ([A-Z_]+)\?/g)].map(([, name]) => name as string);
  expect(variables.length).toBeGreaterThan(5);
  for (const name of variables.filter((each) => !each.startsWith("CHIPBOARD_")))
    expect(page).toContain(`\`${name}\``);
  expect(Object.keys(wrangler.vars)).toEqual(["PUBLIC_URL"]);
  const megabytes = (await bundled(WORKERS.worker)).length / 1e6;
  expect(page).toContain(`| size of the Worker | ${megabytes.toFixed(1)} MB,`);
});

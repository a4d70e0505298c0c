/** `demo` as a process: it publishes, creates keys, prints commands that work, and continues later. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DEMO_NOTICE } from "../../src/demo/notice.ts";
import { catalogOf, quotesOf } from "../cli/market.ts";
import { inProcess } from "../cli/run.ts";
import { Serving } from "../program/program.ts";

const exec = promisify(execFile);
const DEMO = ["demo", "--port", "0", "--metrics-port", "off", "--log-level", "warn"];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-demo-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const demo = (now: string, args: readonly string[] = []): Promise<Serving> =>
  Serving.start([...DEMO, ...args], { cwd: folder, env: { CHIPBOARD_NOW: now } });

const published = (): string[] => readdirSync(join(folder, "snapshots/sessions")).toSorted();
const FIRST = ["2026-11-19T12Z", "2026-11-20T00Z", "2026-11-20T12Z", "2026-11-21T00Z"];

test("starts in an empty folder, and continues there later", async () => {
  const first = await demo("2026-11-21T00:05:00Z");
  let keys: string[];
  try {
    expect(published()).toEqual(FIRST);
    // A second demo that cannot serve does not change the keys of the first.
    const { port, url } = first;
    const again = demo("2026-11-21T00:05:00Z", ["--port", String(port)]);
    await expect(again).rejects.toThrow(`Cannot listen on 127.0.0.1:${port}`);
    const kept = await inProcess(["keys", "ls", "--json"], { cwd: folder });
    expect(JSON.parse(kept.stdout).map(({ status }: { status: string }) => status)).toEqual([
      "active",
      "active",
    ]);
    expect(first.printed).toContain(DEMO_NOTICE);
    keys = [...new Set(first.printed.match(/cbk_[A-Za-z0-9]{49}/g))];
    expect(keys).toHaveLength(2);

    const curls = first.printed.split("\n").filter((line) => line.startsWith("  curl "));
    const answers: string[] = [];
    // One after another: the last one shows the calls of the others.
    for (const line of curls) {
      const pasted = line.replace("curl -s", "curl -sSf");
      answers.push((await exec("bash", ["-c", pasted], { cwd: folder })).stdout);
    }
    const payloads = answers.map((text) => (text.startsWith("{") ? JSON.parse(text) : text));
    const [free, contract, index, csv, pro, basket, xlsx, usage] = payloads;
    expect(payloads).toHaveLength(8);
    expect([free.delayed_sessions, free.counts.memory + free.counts.semiconductor]).toEqual([
      1, 10,
    ]);
    expect([contract.id, contract.delayed_sessions, contract.history.length > 80]).toEqual([
      "ddr5-16gb-spot",
      1,
      true,
    ]);
    expect([index.name, index.level > 0, index.session_utc]).toEqual([
      "composite",
      true,
      "2026-11-20T12:00:00.000Z",
    ]);
    expect(csv).toMatch(/^session_utc,contract_id,.*,source\r\n2026-11-20T12:00:00\.000Z,/);
    expect([pro.delayed_sessions, pro.session_utc]).toEqual([0, "2026-11-21T00:00:00.000Z"]);
    expect(pro.counts.memory + pro.counts.semiconductor).toBeGreaterThanOrEqual(110);
    expect([
      basket.name,
      basket.contributions.map((item: { weight_pct: number }) => item.weight_pct),
    ]).toEqual(["basket", [60, 40]]);
    expect(xlsx).toBe("");
    expect(
      readFileSync(join(folder, "chipboard-2026-11-21T00Z-pro.xlsx")).subarray(0, 2).toString(),
    ).toBe("PK");
    expect(usage).toMatchObject({ account: "demo-pro", tier: "pro", used: 3, limit: null });
    for (const payload of [free, contract, index, pro, basket])
      expect(payload.attribution).toBe(DEMO_NOTICE);
    // The reference shows the attribution of /readyz.
    expect(await (await fetch(`${url}/assets/reference.js`)).text()).toMatch(
      /"readyz"[^]*body\.attribution/,
    );
    expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ attribution: DEMO_NOTICE });
    const bases = new Set(pro.memory.map((record: { basis: string }) => record.basis));
    expect(bases.has("carried")).toBe(true);
  } finally {
    expect(await first.end("SIGTERM")).toBe(0);
  }

  const second = await demo("2026-11-22T00:05:00Z", ["--json"]);
  try {
    expect(published()).toEqual([...FIRST, "2026-11-21T12Z", "2026-11-22T00Z"]);
    const { url, metrics_url, keys: fresh } = JSON.parse(second.printed);
    expect(metrics_url).toBeNull();
    // The new keys work, and so do the keys of the first start.
    for (const key of [fresh.starter, fresh.pro, ...keys]) {
      const answer = await fetch(`${url}/api/public/v1/index`, { headers: { "x-api-key": key } });
      expect(answer.status).toBe(200);
    }
  } finally {
    expect(await second.end("SIGINT")).toBe(0);
  }
}, 180_000);

describe("a store with other data", () => {
  test("is refused: 4, nothing changes, and no key is created", async () => {
    writeFileSync(join(folder, "c.csv"), catalogOf(["a"]));
    writeFileSync(join(folder, "q.csv"), quotesOf({ a: 1 }));
    const inputs = ["publish", "--catalog", "c.csv", "--quotes", "q.csv", "--store", "other"];
    expect((await inProcess(inputs, { cwd: folder })).code).toBe(0);
    const { code, stdout, stderr } = await inProcess(
      [...DEMO, "--store", "other", "--state", "other-state"],
      { cwd: folder },
    );
    expect([code, stdout, stderr]).toEqual([
      4,
      "",
      "error: other holds snapshots that are not the demonstration's; name another folder with --store\n",
    ]);
    expect(readdirSync(join(folder, "other/sessions"))).toEqual(["2026-11-21T00Z"]);
    expect(readdirSync(folder)).not.toContain("other-state");
  });
});

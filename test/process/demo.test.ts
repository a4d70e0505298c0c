/**
 * `demo` as a process: errors before it serves, with the way on; then it publishes, creates keys, prints
 * commands that work, and continues later.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
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
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { DEMO_NOTICE } from "../../src/demo/notice.ts";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { inProcess } from "../cli/run.ts";
import { programUnder, run } from "../guide/programs.ts";
import { testWith } from "../http/needed-tools.ts";
import { chipboard, Serving, type Ran } from "../program/program.ts";

const exec = promisify(execFile);
const FIRST = ["2026-11-19T12Z", "2026-11-20T00Z", "2026-11-20T12Z", "2026-11-21T00Z"];
const HEAD = "sessions/2026-11-21T00Z/r1";

/** What the tests do here, one after another, is one demonstration's life. */
let folder: string;
/** The keys of the newest start in the folder. */
let keys: readonly string[];
const keysIn = ({ printed }: Serving): string[] => [
  ...new Set(printed.match(/cbk_[A-Za-z0-9]{49}/g)),
];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-demo-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const refused = (...args: string[]): Promise<Ran> => chipboard(["demo", ...args], { cwd: folder });

/** Starts the demonstration and waits until it serves. */
const serving = (...args: string[]): Promise<Serving> =>
  Serving.start(["demo", "--log-level", "warn", ...args], { cwd: folder });
const QUIET = ["--port", "0", "--metrics-port", "off"];

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

const published = (): string[] => readdirSync(join(folder, "snapshots/sessions")).toSorted();

/** Waits until the demonstration serves the session. */
const serves = (session: string, { url }: Serving): Promise<boolean> =>
  vi.waitUntil(
    async () => (await (await fetch(`${url}/readyz`)).text()).includes(`"session_utc":"${session}`),
    { timeout: 3_600_000, interval: 200 },
  );
const [FIRST_SESSION, HEAD_SESSION] = ["2026-11-19T12:00", "2026-11-21T00:00"] as const;

test("a port in use: 5 before any work", async () => {
  const holder = (await hold(0)) as Server;
  const { port } = holder.address() as AddressInfo;
  const { code, stdout, stderr } = await refused("--port", String(port), "--metrics-port", "off");
  expect([code, stdout]).toEqual([5, ""]);
  expect(stderr.split("\n")[0]).toBe(
    `error: Cannot listen on 127.0.0.1:${port} (--port): it is in use`,
  );
  const made = ["snapshots", "state"].filter((name) => existsSync(join(folder, name)));
  expect(made).toEqual([]);
  holder.close();
});

/** How a store that is damaged is refused. */
function expectDamaged({ code, stdout, stderr }: Ran, store: string, file: string): void {
  expect([code, stdout]).toEqual([6, ""]);
  expect(stderr).toContain(file);
  expect(stderr.slice(stderr.lastIndexOf("\n  ") + 1)).toBe(
    `  To start again, name another folder with --store, or delete the folders in ${store} (their snapshots are lost)\n`,
  );
}

test("a damaged log: 6, and without its folders the demonstration starts anew", async () => {
  const publications = join(folder, "snapshots/publications");
  mkdirSync(publications, { recursive: true });
  writeFileSync(join(publications, "0000000001.json"), "damage");
  expectDamaged(await refused(...QUIET), "./snapshots", "publications/0000000001.json");
  rmSync(publications, { recursive: true });

  // It serves its first session, and a stop while it publishes the others ends in order.
  const begun = await serving(...QUIET);
  expect(/^Session +(\S+)/m.exec(begun.printed)?.[1]).toBe(FIRST[0]);
  await serves(FIRST_SESSION, begun);
  expect(await begun.end("SIGTERM")).toBe(0);
  expect(published()).not.toEqual(FIRST);

  const first = await serving(...QUIET);
  try {
    await serves(HEAD_SESSION, first);
    expect(published()).toEqual(FIRST);
    expect(first.printed).toMatch(/\npublished 2026-11-21T00Z\n$/);
    // A second demo that cannot serve does not change the keys of the first.
    const { port, url } = first;
    const keyList = async (): Promise<string> =>
      (await inProcess(["keys", "ls", "--json"], { cwd: folder })).stdout;
    const created = await keyList();
    expect(JSON.parse(created)).toHaveLength(4);
    const again = serving("--port", String(port), "--metrics-port", "off");
    await expect(again).rejects.toThrow(`Cannot listen on 127.0.0.1:${port}`);
    expect(await keyList()).toEqual(created);
    expect(first.printed).toContain(DEMO_NOTICE);
    expect(keysIn(first)).toHaveLength(2);
    await expectCommands(first);
    for (const page of ["", "indices", "basket", "status"]) {
      expect(await (await fetch(`${url}/${page}`)).text()).toContain(DEMO_NOTICE);
    }
    expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ attribution: DEMO_NOTICE });
    const { info } = (await (await fetch(`${url}/openapi.json`)).json()) as { info: object };
    expect(info).toMatchObject({
      contact: { email: "sales@example.com" },
      license: { url: "https://example.com/terms" },
    });
    expect(await (await fetch(`${url}/plans`)).text()).toContain('href="https://example.com/keys"');
  } finally {
    expect(await first.end("SIGTERM")).toBe(0);
  }
});

test("it looks like a market: in time, with a correction, breaks, a renaming, a delisting", async () => {
  const started = await serving(...QUIET);
  const [starter = "", pro = ""] = keysIn(started);
  const ask = async (path: string, key?: string) => {
    const headers = key === undefined ? {} : { "x-api-key": key };
    return JSON.parse(await (await fetch(`${started.url}${path}`, { headers })).text());
  };
  const API = "/api/public/v1";
  try {
    // It publishes the last sessions while it serves.
    await expect.poll(async () => (await ask("/status.json")).overdue).toBe(0);
    const { sessions } = await ask("/status.json");
    expect(sessions).toHaveLength(4);
    for (const row of sessions) {
      expect(row).toMatchObject({ minutes_late: 5, missed: false, rolled_back: false });
      expect(row.published_at).toBe(row.session_utc.replace(":00:00.000Z", ":05:00.000Z"));
    }
    expect(await (await fetch(`${started.url}/status`)).text()).toContain('aria-label="4 on time"');

    for (const key of [starter, pro]) {
      const { corrections } = await ask(`${API}/corrections`, key);
      expect(corrections).toEqual([
        {
          contract_id: "w25q128jv-nor-128mb",
          session_utc: "2026-11-20T00:00:00.000Z",
          old_usd: expect.any(Number),
          new_usd: expect.any(Number),
          reason: "Illustrative: the source corrected a misprint",
          corrected_in: "2026-11-20T12Z/r1",
          publication: expect.any(Number),
        },
      ]);
      expect(corrections[0].old_usd / corrections[0].new_usd).toBeCloseTo(1.03, 3);
    }
    const { memory, semiconductor } = await ask(`${API}/prices`, pro);
    const records: Record<string, string | number | null>[] = [...memory, ...semiconductor];
    const byId = new Map(records.map((record) => [record["id"], record]));
    const breaks = records.filter((record) => record["break"] !== null);
    expect(breaks.map(({ id }) => id)).toEqual([
      "ddr5-rdimm-32gb-spot",
      "nand-wafer-512gb-tlc-spot",
    ]);
    expect(new Set(records.map((record) => record["price_type"]))).toEqual(
      new Set(["spot", "contract", "other", "retail"]),
    );
    expect(records.filter((record) => record["low_usd"] !== null).length).toBeGreaterThan(60);
    expect(records.filter((record) => record["inputs"] !== null).length).toBeGreaterThan(35);

    expect(byId.has("samsung-990-pro-1tb")).toBe(true);
    const former = `${started.url}${API}/prices/samsung-990pro-1tb`;
    const moved = await fetch(former, { redirect: "manual", headers: { "x-api-key": pro } });
    expect([moved.status, moved.headers.get("location")]).toEqual([
      308,
      expect.stringMatching(/\/prices\/samsung-990-pro-1tb$/),
    ]);
    expect(byId.has("gddr5-8gb-spot")).toBe(false);
    expect(await ask(`${API}/prices/gddr5-8gb-spot`, pro)).toMatchObject({
      basis: "discontinued",
      delisted_on: "2026-08-25",
      as_of: "2026-08-24",
    });
  } finally {
    expect(await started.end()).toBe(0);
  }
});

testWith("python3")("the methodology's program calculates the same figures", async () => {
  const started = await serving(...QUIET);
  try {
    const program = programUnder("Calculate it again", started.url, "methodology.md");
    const { stdout } = await run("python3", ["-c", program], folder, keysIn(started)[1] ?? "");
    const lines = stdout.trimEnd().split("\n");
    expect(lines.pop()).toMatch(/^\d{6} figures compared, 0 differ$/);
    // The demonstration has more than five years of levels.
    for (const line of lines) {
      expect(line).toMatch(
        / series: \d{1,2} of 18\d\d closes not calculated: a level before .* is needed$/,
      );
    }
  } finally {
    // A demonstration that goes on would keep the state open for the tests below.
    expect(await started.end()).toBe(0);
  }
});

/** The commands that it prints work, and show the announced data. */
async function expectCommands({ printed }: Serving): Promise<void> {
  const curls = printed.split("\n").filter((line) => line.startsWith("  curl "));
  const answers: string[] = [];
  // One after another: the last one shows the calls of the others.
  for (const line of curls) {
    const pasted = line.replace("curl -s", "curl -sSf");
    answers.push((await exec("bash", ["-c", pasted], { cwd: folder })).stdout);
  }
  const payloads = answers.map((text) => (text.startsWith("{") ? JSON.parse(text) : text));
  const [free, contract, index, csv, pro, basket, xlsx, usage] = payloads;
  expect(payloads).toHaveLength(8);
  expect([free.delayed_sessions, free.counts.memory + free.counts.semiconductor]).toEqual([1, 10]);
  expect([contract.id, contract.delayed_sessions, contract.history.length > 55]).toEqual([
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
  const weights = basket.contributions.map((item: { weight_pct: number }) => item.weight_pct);
  expect([basket.name, weights]).toEqual(["basket", [60, 40]]);
  expect(xlsx).toBe("");
  const workbook = readFileSync(join(folder, "chipboard-2026-11-21T00Z-pro.xlsx"));
  expect(workbook.subarray(0, 2).toString()).toBe("PK");
  expect(usage).toMatchObject({ account: "demo-pro", tier: "pro", used: 3, limit: null });
  for (const payload of [free, contract, index, pro, basket]) {
    expect(payload.attribution).toBe(DEMO_NOTICE);
  }
  const bases = new Set(pro.memory.map((record: { basis: string }) => record.basis));
  expect(bases.has("carried")).toBe(true);
}

test("a port in use is an error before anything is published; another one works", async () => {
  const holder = (await hold(0)) as Server;
  const { port } = holder.address() as AddressInfo;
  const { stderr } = await refused("--port", String(port), "--metrics-port", "off");
  expect(stderr).toContain(`:${port} (--port): it is in use`);
  const started = await serving("--port", "0", "--metrics-port", "off");
  const guide = addressOf("Guide", started);
  expect((await fetch(guide)).status).toBe(200);
  const report = readFileSync(fileURLToPath(addressOf("Report", started)), "utf8");
  expect(report).toContain("2026-11-21T00Z");
  expect(addressOf("Metrics", started)).toBe("off");
  expect(await started.end()).toBe(0);
  holder.close();
});

test("metrics have any free port; without a given port that is in use the demo goes on", async () => {
  const holder = await hold(9464);
  const started = await serving("--port", "0");
  keys = keysIn(started);
  const metrics = addressOf("Metrics", started);
  expect(new URL(metrics).port).not.toBe("9464");
  expect(await (await fetch(metrics)).text()).toContain("chipboard_");

  const given = new URL(metrics).port;
  expect(await started.end()).toBe(0);
  const taken = await hold(Number(given));
  const without = await serving("--port", "0", "--metrics-port", given);
  keys = keysIn(without);
  expect(addressOf("Metrics", without)).toBe("off");
  expect(await without.end()).toBe(0);
  taken?.close();
  holder?.close();
});

/** The options of a demonstration in copies of the two folders. */
function copied(): string[] {
  const names = ["snapshots", "state"].map((name) => {
    const copy = `${name}-copy`;
    rmSync(join(folder, copy), { recursive: true, force: true });
    cpSync(join(folder, name), join(folder, copy), { recursive: true });
    return copy;
  });
  const [store = "", state = ""] = names;
  return ["--store", store, "--state", state, ...QUIET];
}

test.each([`${HEAD}/manifest.json`, `${HEAD}/pro/board.json`, "publications/0000000004.json"])(
  "damaged %s: 6 with the way on",
  async (file) => {
    const options = copied();
    appendFileSync(join(folder, "snapshots-copy", file), "damage");
    expectDamaged(await refused(...options), "snapshots-copy", file);
  },
);

test("a damaged state: 5 with the way on, which works", async () => {
  const options = copied();
  writeFileSync(join(folder, "state-copy/chipboard.sqlite"), "this is no database");
  const damaged = await refused(...options);
  expect([damaged.code, damaged.stdout]).toEqual([5, ""]);
  expect(damaged.stderr).toContain(
    "\n  To start again, name another folder with --state, or delete state-copy (its accounts and keys are lost)\n",
  );
  rmSync(join(folder, "state-copy"), { recursive: true });
  const anew = await serving(...options);
  expect((await fetch(addressOf("Guide", anew))).status).toBe(200);
  expect(await anew.end()).toBe(0);
});

test("it continues later, and the keys of the start before still work", async () => {
  const later = await Serving.start(["demo", "--json", ...QUIET], {
    cwd: folder,
    env: { CHIPBOARD_NOW: "2026-11-22T00:05:00Z" },
  });
  try {
    await serves("2026-11-22T00:00", later);
    expect(published()).toEqual([...FIRST, "2026-11-21T12Z", "2026-11-22T00Z"]);
    const { url, metrics_url, session, keys: fresh } = JSON.parse(later.printed);
    expect(session).toBe("2026-11-21T00Z");
    expect(keys).toHaveLength(2);
    expect(metrics_url).toBeNull();
    for (const key of [fresh.starter, fresh.pro, ...keys]) {
      const answer = await fetch(`${url}/api/public/v1/index`, { headers: { "x-api-key": key } });
      expect(answer.status).toBe(200);
    }
  } finally {
    expect(await later.end("SIGINT")).toBe(0);
  }
});

test("a store with other data is refused: 4, nothing changes, and no key is created", async () => {
  writeFileSync(join(folder, "c.csv"), catalogOf(["a"]));
  writeFileSync(join(folder, "q.csv"), quotesOf({ a: 1 }));
  const inputs = ["publish", "--catalog", "c.csv", "--quotes", "q.csv", "--store", "other"];
  expect((await inProcess(inputs, { cwd: folder })).code).toBe(0);
  const { code, stdout, stderr } = await inProcess(
    ["demo", ...QUIET, "--store", "other", "--state", "other-state"],
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

/**
 * A fortnight of one service: 28 sessions, and each event of a bad night once. Each event is seen in the exit code of
 * the command that meets it, in what callers get, and in the alerts. The alerts are judged at the end: promtool runs the
 * rules of deploy/monitoring over the metrics that the proxy gave in each hour.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  parseSession,
  sessionKey,
  sessionStartMs,
  type Session,
} from "../../src/market/session.ts";
import { parseVerifyKeys } from "../../src/snapshot/signing-key.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { inProcess } from "../cli/run.ts";
import { eventually, startTestProxy, TestClock, type TestProxy } from "../http/fixture.ts";
import { chipboard, type Ran } from "../program/program.ts";
import { RedisServer } from "../services/redis-server.ts";
import { testWithService } from "../services/service-programs.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A Monday. */
const FIRST = parseSession("2026-11-09T00Z") as Session;
const SESSIONS = Array.from({ length: 28 }, (_, at) => FIRST + at);
const IDS = Array.from({ length: 12 }, (_, at) => `item-${at}`);
const KILLER = join(import.meta.dirname, "killed-at.ts");
const RULES = join(import.meta.dirname, "../../deploy/monitoring/alerts.yml");
/** The alerts on a session that a job has not published in two hours. */
const FAILED = ["ChipboardJobFailed", "ChipboardSessionOverdue"];
/** They come 13 hours after the last publish: later than FAILED if the session before was published late. */
const OLD = ["ChipboardJobLate", "ChipboardNoPublish"];

let folder: string;
let server: Server;
/** What the feed answers; null: it closes the connection. Each session begins with levels that have moved. */
let feed: string | null;
/** By how much the machine's clock is wrong, as the server of the feed sees it. */
let aheadMs = 0;
let feedUrl: string;
const clock = new TestClock();
/** The right time. */
let nowMs = 0;
let proxy: TestProxy;
let redis: RedisServer | null = null;
/** The free part of the disk, as node_exporter and doctor see it. */
let freeShare = 0.5;
const { statfs } = fs;

const levels = (session: Session): Record<string, number> =>
  Object.fromEntries(IDS.map((id, number) => [id, 10 + number + (session % 5) / 10]));
/** The levels of the last session before a weekend. */
const FRIDAY = quotesOf(levels(FIRST + 9));

const path = (name: string): string => join(folder, name);

/** Sets the right time; the machine and its proxy may see another. */
function at(session: Session, hours: number, minutes = 0): void {
  nowMs = sessionStartMs(session) + hours * HOUR_MS + minutes * MINUTE_MS;
  clock.ms = nowMs + aheadMs;
}

const env = (): Record<string, string> => ({
  CHIPBOARD_NOW: new Date(clock.ms).toISOString(),
  CHIPBOARD_STORE: path("store"),
  CHIPBOARD_QUOTES: feedUrl,
});

/** Runs a command at the present time of the machine. */
const run = (line: string) => inProcess(line.split(" "), { cwd: folder, env: env() });

const JOB = "publish --closed Sat,Sun --max-unchanged 5 --sign-key s.pem --verify-key s.pem.pub";
const job = { exitCode: 0, succeededMs: 0 };

/** Notes how the job ended, as deploy/watched does. */
function ended(ran: Ran): Ran {
  job.exitCode = ran.code ?? 137;
  if (ran.code === 0) job.succeededMs = nowMs;
  return ran;
}

/** What the timer starts; it must end with `code`. */
async function jobEnds(code: number, more = ""): Promise<Ran> {
  const ran = ended(await run(`${JOB} ${more}`.trim()));
  expect(ran.code, ran.stderr).toBe(code);
  return ran;
}

/** Publishes the session, and waits until the proxy serves it. */
async function publish(session: Session, more = ""): Promise<void> {
  const { stdout } = await jobEnds(0, more);
  const [, snapshot = ""] = /^Published (\S+) as/m.exec(stdout) ?? [];
  expect(snapshot).toMatch(`${sessionKey(session)}/r`);
  await eventually(async () => (await readyz()).snapshot === snapshot);
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests check the fields that they read
const json = async (address: string): Promise<any> => (await proxy.get(address)).json;
const readyz = () => json("/readyz");

/** The exit code of doctor, and the checks that it does not find well. */
async function doctor(key = "s.pem.pub") {
  const options = `--state ${state} --verify-key ${key}`;
  const { code, stdout } = await run(`doctor --json --port 0 --metrics-port off ${options}`);
  const checks = JSON.parse(stdout).checks as { check: string; result: string }[];
  const faults = checks.filter(({ result }) => result === "fault").map(({ check }) => check);
  return [code, ...faults];
}

const verify = async (key = "s.pem.pub"): Promise<number | null> =>
  (await run(`snapshots verify --verify-key ${key}`)).code;

let state = "";
let starts = 0;

/** Starts the proxy, or starts it again; with a new state, because an account has few keys. */
async function startProxy(key = "s.pem.pub", location?: string): Promise<void> {
  await proxy?.close();
  starts += 1;
  state = location ?? path(`state-${starts}`);
  const verifyKeys = parseVerifyKeys(readFileSync(path(key), "utf8"), key);
  const store = new FolderStore(path("store"));
  proxy = await startTestProxy({ store, state, verifyKeys, clock });
}

/** Each series, with its value of each hour. */
const series = new Map<string, string[]>();
let hoursSampled = 0;

const metrics = async (): Promise<string> => (await fetch(proxy.metricsUrl)).text();

/** What Prometheus scrapes: the proxy, the job and the disk. Its own clock is right; its time begins with 0. */
async function scrape(): Promise<void> {
  const samples = [
    ...(await metrics()).matchAll(/^(chipboard_\w+(?:\{gate="\w+"\})?) (\S+)$/gm),
  ].map(([, name = "", value = ""]) => [name, Number(value)] as const);
  const beganSeconds = (sessionStartMs(FIRST) + HOUR_MS / 2) / 1_000;
  const all = [
    ...samples,
    ['up{job="chipboard"}', 1],
    ['chipboard_job_exit_code{name="publish"}', job.exitCode],
    ['chipboard_job_success_timestamp_seconds{name="publish"}', job.succeededMs / 1_000],
    ['node_filesystem_avail_bytes{fstype="ext4"}', freeShare],
    ['node_filesystem_size_bytes{fstype="ext4"}', 1],
  ] as const;
  for (const [name, value] of all) {
    const isTime = /^chipboard_(?!certificate)\w*(?:timestamp|time)_seconds/.test(name);
    const values = series.get(name) ?? Array.from({ length: hoursSampled }, () => "_");
    values.push(String(isTime ? value - beganSeconds : value));
    series.set(name, values);
  }
  hoursSampled += 1;
  for (const values of series.values()) if (values.length < hoursSampled) values.push("_");
}

/** Scrapes at half past each hour from `from` on, up to `to`. */
async function scrapeHours(session: Session, from: number, to: number): Promise<void> {
  for (let hour = from; hour <= to; hour += 1) {
    at(session, hour, 30);
    await scrape();
  }
}

interface Night {
  readonly title: string;
  /** What happens five minutes after the start of the session; by default a good feed is published. */
  readonly happens?: (session: Session) => Promise<void>;
  /** The checks after two and a half hours; `alerts` are those that fire then. */
  readonly seen?: (session: Session) => Promise<void>;
  readonly alerts?: readonly string[];
  /** What makes it good after three hours. */
  readonly mended?: (session: Session) => Promise<void>;
  /** The alerts that still fire at the end of the session. */
  readonly later?: readonly string[];
}

/** The job refuses with the code, and callers are told that the session is late. */
async function seenAsLate(...others: readonly string[]): Promise<void> {
  expect(await doctor()).toEqual([3, "age", ...others]);
  expect([(await readyz()).overdue, (await json("/status.json")).overdue]).toEqual([1, 1]);
}

const NIGHTS: Readonly<Record<number, Night>> = {
  0: {
    title: "the first publish",
    happens: (session) => publish(session, "--catalog c.csv"),
  },
  2: {
    title: "the feed cannot be reached",
    async happens() {
      feed = null;
      await jobEnds(2);
    },
    seen: () => seenAsLate("feeds"),
    alerts: [...FAILED, ...OLD],
    mended: async (session) => {
      feed = quotesOf(levels(session));
      await publish(session);
    },
  },
  3: {
    title: "half of the feed is there",
    async happens(session) {
      feed = quotesOf(Object.fromEntries(Object.entries(levels(session)).slice(6)));
      await jobEnds(3);
    },
    seen: () => seenAsLate(),
    alerts: FAILED,
    mended: (session) => publish(session, "--accept sparse"),
    later: ["ChipboardContractsCarried", "ChipboardJudgement"],
  },
  4: {
    title: "a level moves by more than the limit",
    async happens(session) {
      feed = quotesOf({ ...levels(session), "item-0": 16 });
      await jobEnds(3);
    },
    seen: () => seenAsLate(),
    alerts: [...FAILED, "ChipboardContractsCarried", "ChipboardJudgement"],
    mended: (session) => publish(session, "--accept moves:item-0"),
    later: ["ChipboardJudgement"],
  },
  5: {
    title: "a misprint is corrected",
    async happens(session) {
      // A correction of more than one percent of the index would meet the gate on series.
      feed = quotesOf({ ...levels(session), "item-1": 12 });
      await publish(session);
    },
    async mended(session) {
      feed = quotesOf(levels(session));
      await jobEnds(4);
      await publish(session, "--revise misprint");
      const [newest] = (await json("/status.json")).sessions;
      expect(newest).toMatchObject({ revised: true, snapshot: `${sessionKey(session)}/r2` });
    },
  },
  6: {
    title: "the publish is killed",
    async happens() {
      const killed = { ...env(), KILLED_AT: "60" };
      const options = { cwd: folder, preload: KILLER, env: killed };
      const { code } = ended(await chipboard(JOB.split(" "), options));
      expect(code).toBeNull();
    },
    async seen() {
      await seenAsLate();
      expect(await verify()).toBe(0);
    },
    alerts: FAILED,
    mended: publish,
  },
  7: {
    title: "the scheduler misses a session",
    happens: async () => {},
    seen: () => seenAsLate(),
    alerts: ["ChipboardSessionOverdue"],
    later: ["ChipboardSessionOverdue", ...OLD],
  },
  8: {
    title: "the disk is full",
    async happens() {
      freeShare = 0.02;
      const options = { cwd: folder, env: env(), fileLimitKilobytes: 1 };
      const { code, stderr } = ended(await chipboard(JOB.split(" "), options));
      expect(code, stderr).toBe(5);
    },
    async seen() {
      expect(await doctor()).toEqual([3, "space", "age"]);
      // The session before was missed.
      expect([(await readyz()).overdue, (await json("/status.json")).overdue]).toEqual([2, 2]);
    },
    alerts: ["ChipboardDiskFull", ...FAILED, ...OLD],
    async mended(session) {
      freeShare = 0.5;
      await publish(session);
      const { sessions } = await json("/status.json");
      expect(sessions.map((row: { missed: boolean }) => row.missed).slice(0, 3)).toEqual([
        false,
        true,
        false,
      ]);
    },
  },
  10: {
    title: "a closed day without rows in the feed",
    async happens(session) {
      feed = quotesOf({});
      await publish(session);
      const metrics = await (await fetch(proxy.metricsUrl)).text();
      expect(metrics).toMatch(/^chipboard_closed_day 1$/m);
      expect(metrics).toMatch(/^chipboard_carried_contracts 12$/m);
    },
  },
  ...Object.fromEntries(
    [11, 12, 13].map((session) => [
      session,
      { title: "a closed day, on which the feed stands still", happens: standsStill },
    ]),
  ),
  14: {
    title: "the feed still stands still on Monday",
    happens: standsStill,
    seen: async () => expect(await doctor()).toEqual([3, "unchanged"]),
    alerts: ["ChipboardFeedUnchanged"],
    later: ["ChipboardFeedUnchanged"],
  },
  15: {
    title: "the feed stands still for too long",
    async happens() {
      feed = FRIDAY;
      await jobEnds(3);
    },
    seen: async () => {
      expect(await doctor()).toEqual([3, "age", "unchanged"]);
      expect((await json("/status.json")).overdue).toBe(1);
    },
    alerts: ["ChipboardFeedUnchanged", ...FAILED, ...OLD],
    mended: async (session) => {
      feed = quotesOf(levels(session));
      await publish(session);
    },
  },
  16: {
    title: "the proxy cannot read the store",
    async happens(session) {
      await publish(session);
      renameSync(path("store"), path("away"));
      writeFileSync(path("store"), "no folder");
      await eventually(async () => (await readyz()).store === "unreachable");
    },
    seen: async () => {
      expect(await doctor()).toEqual([5, "store"]);
      expect(await readyz()).toMatchObject({ status: "ready", store: "unreachable" });
    },
    alerts: ["ChipboardStoreUnreachable"],
    async mended() {
      rmSync(path("store"));
      renameSync(path("away"), path("store"));
      await eventually(async () => (await readyz()).store === "ok");
    },
  },
  17: {
    title: "the state is lost",
    async happens(session) {
      await publish(session);
      await loseState();
    },
    seen: async () => {
      expect(await doctor()).toEqual([5, "state"]);
      // The key is not refused: only its account is lost.
      expect([await statusWithKey(), (await readyz()).state]).toEqual([503, "unavailable"]);
    },
    alerts: ["ChipboardStateDown"],
    mended: bringBackState,
  },
  18: {
    title: "Redis may drop keys",
    async happens(session) {
      redis = await RedisServer.start("--maxmemory-policy", "noeviction");
      if (redis === null) return publish(session);
      await startProxy("s.pem.pub", `redis://127.0.0.1:${redis.port}/0`);
      await publish(session);
      const client = new Redis(redis.port);
      await client.config("SET", "maxmemory-policy", "allkeys-lru");
      client.disconnect();
      clock.ms += HOUR_MS / 4;
      await eventually(async () => (await readyz()).state === "evicting");
    },
    seen: async () => {
      if (redis !== null) expect(await doctor()).toEqual([5, "policy"]);
    },
    alerts: ["ChipboardStateEvicts"],
    async mended() {
      await startProxy();
      await redis?.stop();
    },
  },
  19: {
    title: "an entry of the log is changed",
    async happens(session) {
      await publish(session);
      entry = newestEntry();
      renameSync(entry, path("entry"));
      const text = readFileSync(path("entry"), "utf8");
      writeFileSync(entry, text.replace(/"manifest_sha256":"..../, '"manifest_sha256":"0000'));
      await startProxy();
    },
    seen: async () => {
      expect(await doctor()).toEqual([6, "head"]);
      expect(await verify()).toBe(6);
      expect(await readyz()).toMatchObject({ store: "damaged", overdue: 1 });
    },
    alerts: ["ChipboardNoPublish", "ChipboardSessionOverdue", "ChipboardSnapshotDamaged"],
    mended: putBack,
  },
  20: {
    title: "the newest entry of the log is cut off",
    async happens(session) {
      await publish(session);
      entry = newestEntry();
      renameSync(entry, path("entry"));
      await eventually(async () => (await readyz()).store === "lost");
    },
    seen: async () => {
      expect(await doctor()).toEqual([5, "lost", "age"]);
    },
    alerts: ["ChipboardStoreLost"],
    mended: putBack,
  },
  21: {
    title: "the signing key is withdrawn",
    async happens(session) {
      await publish(session);
      await startProxy("other.pem.pub");
      const { code } = await run(
        "publish --sign-key other.pem --verify-key other.pem.pub --dry-run",
      );
      expect(code).toBe(6);
    },
    seen: async () => {
      expect(await verify("other.pem.pub")).toBe(6);
      expect(await doctor("other.pem.pub")).toEqual([6, "head"]);
      expect((await proxy.get("/readyz")).status).toBe(503);
    },
    alerts: ["ChipboardNoSnapshot", "ChipboardSnapshotDamaged"],
    mended: () => startProxy(),
  },
  22: clockWrong("ahead", 13),
  23: clockWrong("behind", -13),
  25: {
    title: "an empty state takes the place of the lost one",
    async happens(session) {
      await publish(session);
      await loseState();
      expect((await run(`state init --state ${state}`)).code).toBe(0);
      await eventually(async () => (await readyz()).state === "ok");
      await eventually(async () => (await metrics()).includes("\nchipboard_accounts 0\n"));
    },
    seen: async () => expect(await statusWithKey()).toBe(401),
    alerts: ["ChipboardAccountsLost"],
    async mended() {
      rmSync(state, { recursive: true });
      await bringBackState();
    },
  },
};

async function loseState(): Promise<void> {
  renameSync(state, path("state-away"));
  await eventually(async () => (await readyz()).state === "unavailable");
}

/** The proxy closes an empty state that it has opened before it opens this one. */
async function bringBackState(): Promise<void> {
  renameSync(path("state-away"), state);
  await eventually(async () => (await statusWithKey()) === 200);
}

const statusWithKey = async (): Promise<number> =>
  (await proxy.get("/api/public/v1/history.csv", { key: proxy.pro })).status;

async function standsStill(session: Session): Promise<void> {
  feed = FRIDAY;
  await publish(session);
}

/** The file of an entry that was changed or removed; "entry" is the right one. */
let entry = "";
function newestEntry(): string {
  const names = readdirSync(path("store/publications")).filter((name) => name.endsWith(".json"));
  return path(`store/publications/${names.toSorted().at(-1)}`);
}

async function putBack(): Promise<void> {
  rmSync(entry, { force: true });
  renameSync(path("entry"), entry);
  await eventually(async () => (await readyz()).store === "ok");
}

/** The machine of publisher and proxy has another time than the feed. */
function clockWrong(side: "ahead" | "behind", hours: number): Night {
  return {
    title: `the clock is ${Math.abs(hours)} hours ${side}`,
    async happens(session) {
      aheadMs = hours * HOUR_MS;
      at(session, 0, 5);
      // A session before the head is refused before any gate.
      const { stderr } = await jobEnds(side === "ahead" ? 3 : 4);
      expect(stderr).toMatch(side === "ahead" ? /: it is 78\d minutes ahead/ : /: the clock says /);
    },
    seen: async () => {
      expect(await doctor()).toEqual(side === "ahead" ? [3, "clock", "age"] : [3, "clock"]);
      const { overdue } = await readyz();
      expect(overdue).toBe(side === "ahead" ? 2 : 0);
    },
    // By a clock that is behind, no session is overdue. The second of the two nights follows a late publish.
    alerts: [
      "ChipboardClockWrong",
      ...(side === "ahead" ? [...FAILED, ...OLD] : ["ChipboardJobFailed"]),
    ],
    async mended(session) {
      aheadMs = 0;
      at(session, 3);
      await publish(session);
    },
  };
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-fortnight-"));
  mkdirSync(path("store"));
  writeFileSync(path("c.csv"), catalogOf(IDS));
  server = createServer((request, response) => {
    if (feed === null) return request.socket.destroy();
    response.setHeader("date", new Date(Date.now() - aheadMs).toUTCString());
    return response.end(feed);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  feedUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/feed.csv`;
  at(FIRST, 0);
  for (const name of ["s.pem", "other.pem"]) {
    expect((await run(`keys signing --out ${name}`)).code).toBe(0);
  }
  Object.assign(fs, {
    statfs: async (place: string) => {
      const found = await statfs(place);
      return { ...found, bavail: Math.round(found.blocks * freeShare), files: 0 };
    },
  });
  syncBuiltinESMExports();
  await startProxy();
});
afterAll(async () => {
  Object.assign(fs, { statfs });
  syncBuiltinESMExports();
  await proxy?.close();
  await redis?.stop();
  server.close();
  rmSync(folder, { recursive: true });
});

const nightOf = (number: number): Night => NIGHTS[number] ?? { title: "a good night" };

test.each(SESSIONS.map((session, number) => [sessionKey(session), nightOf(number).title, number]))(
  "%s: %s",
  async (_key, _title, number) => {
    const session = FIRST + number;
    const night = nightOf(number);
    at(session, 0, 5);
    feed = quotesOf(levels(session));
    await (night.happens ?? publish)(session);
    await scrapeHours(session, 0, 2);
    if (night.seen === undefined && night.alerts === undefined) {
      expect(await doctor()).toEqual([0]);
      expect(await readyz()).toMatchObject({ overdue: 0, clock: "ok", state: "ok", store: "ok" });
    }
    await night.seen?.(session);
    at(session, 3);
    await night.mended?.(session);
    await scrapeHours(session, 3, 11);
  },
);

testWithService("promtool")("each event raises its alerts, and nothing else does", async () => {
  expect(hoursSampled).toBe(SESSIONS.length * 12);
  const checks = SESSIONS.flatMap((_, number) => {
    const { alerts = [], later = [] } = nightOf(number);
    return [
      [number * 12 + 2, alerts],
      [number * 12 + 11, later],
    ] as const;
  });
  const tests = {
    rule_files: [RULES],
    evaluation_interval: "1h",
    tests: [
      {
        interval: "1h",
        input_series: [...series].map(([name, values]) => ({
          series: name,
          values: values.join(" "),
        })),
        promql_expr_test: checks.map(([hour, names]) => ({
          expr: 'sum by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: `${hour}h`,
          exp_samples: names.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
        })),
      },
    ],
  };
  // JSON is YAML.
  writeFileSync(path("tests.yml"), JSON.stringify(tests));
  await promisify(execFile)("promtool", ["test", "rules", path("tests.yml")]);
});

/** `doctor` with folders: each check in order, its finding, its code, and that it changes nothing. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ALERT_LIMITS, CHECKS } from "../../src/doctor/checks.ts";
import { certificate } from "../http/certificate.ts";
import { testUnprivileged, testWith } from "../http/needed-tools.ts";
import { chipboard, serve } from "../program/program.ts";
import { inProcess } from "./run.ts";
import { catalogOf, quotesOf } from "./small-market.ts";

const PORTS = "--port 0 --metrics-port off";
let folder: string;

interface Doctor {
  readonly code: number | null;
  readonly results: Readonly<Record<string, string>>;
  readonly texts: Readonly<Record<string, string>>;
  // oxlint-disable-next-line typescript/no-explicit-any -- its shape is what the tests check
  readonly json: any;
}

async function doctor(line = "", env: Record<string, string> = {}): Promise<Doctor> {
  const words = `doctor --json ${PORTS} ${line}`.trim().split(/\s+/);
  const { code, stdout } = await inProcess(words, { env, cwd: folder });
  const json = JSON.parse(stdout);
  const by = (field: string) =>
    Object.fromEntries(
      json.checks.map((each: Record<string, string>) => [each["check"], each[field]]),
    );
  expect(json.exit_code).toBe(code);
  return { code, results: by("result"), texts: by("text"), json };
}

/** Every file below the folder, with its size and the time of its last change. */
const contents = (): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .toSorted()
    .map((name) => {
      const { size, mtimeMs } = statSync(join(folder, name));
      return statSync(join(folder, name)).isDirectory() ? name : `${name} ${size} ${mtimeMs}`;
    });

const run = async (line: string, env: Record<string, string> = {}): Promise<void> => {
  expect((await inProcess(line.split(" "), { cwd: folder, env })).code).toBe(0);
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-doctor-"));
  writeFileSync(join(folder, "c.csv"), catalogOf(["a", "b"]));
  writeFileSync(join(folder, "q.csv"), quotesOf({ a: 11, b: 5 }));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("before anything is there, it lists missing things with remedies, and creates nothing", async () => {
  const before = contents();
  const { code, json, results } = await doctor();
  expect(code).toBe(5);
  expect(Object.keys(results)).toEqual(Object.keys(CHECKS));
  expect(results).toMatchObject({ store: "fault", head: "fault", state: "fault", age: "unknown" });
  for (const { result, remedy } of json.checks) {
    if (result === "fault" || result === "note") expect(remedy).toMatch(/\w/);
    else expect(remedy).toBeNull();
  }
  expect(contents()).toEqual(before);
});

test("a store that has only begun is no fault, and one that has not names the command", async () => {
  await run("store init --store begun");
  const found = (await doctor("--store begun")).json.checks[1];
  expect(found).toMatchObject({ check: "store", result: "note", remedy: "chipboard publish" });
  const missing = (await doctor("--store elsewhere")).json.checks[1];
  expect(missing).toMatchObject({ check: "store", result: "fault", exit_code: 5 });
  expect(missing.remedy).toContain("chipboard store init");
});

describe("a service that is well", () => {
  beforeAll(async () => {
    await run("publish --catalog c.csv --quotes q.csv");
    await run("accounts add acme --tier pro");
  });

  test("has no fault, and doctor changes no file", async () => {
    const before = contents();
    const { code, results, texts } = await doctor();
    expect(code).toBe(0);
    expect(Object.values(results)).not.toContain("fault");
    expect(Object.values(results)).not.toContain("unknown");
    expect(texts).toMatchObject({
      head: expect.stringMatching(/^2026-11-21T00Z\/r1: \d+ files .* and 1 entry are whole$/),
      state: expect.stringMatching(/mark; 1 account$/),
    });
    expect(contents()).toEqual(before);
  });

  describe("broken in one way", () => {
    let gone: Server;
    beforeAll(async () => {
      gone = createServer((_, response) => response.writeHead(404).end());
      await once(gone.listen(0, "127.0.0.1"), "listening");
      mkdirSync(join(folder, "other"));
      writeFileSync(join(folder, "other/chipboard.sqlite"), "not a database");
    });
    afterAll(() => gone.close());

    const [FILE, FEED] = [/^correct the file, or name another/, /^correct the feed or its options/];
    const BACKUP = /make another one: systemctl start chipboard-backup/;
    test.each([
      ["a session is overdue", "", "2026-11-21T13:01:00Z", "age", 3, /then publish the session$/],
      ["the clock is before the head", "", "2026-11-20T23:00:00Z", "clock", 3, /^set the clock/],
      ["the clock is far from the log", "", "2027-01-21T00:05:00Z", "clock", 3, /^set the clock/],
      ["the state is missing", "--state ./elsewhere", "", "state", 5, /^bring it back, restore/],
      ["the state is another file", "--state ./other", "", "state", 5, /^bring it back, restore/],
      ["the store is missing", "--store ./elsewhere", "", "store", 5, /bring its disk back/],
      ["the store is a file", "--store ./c.csv", "", "store", 5, /^bring it back: disk/],
      [
        "the address is not this machine's",
        "--host 192.0.2.1 --port 18099",
        "",
        "port",
        2,
        /^name an address of this machine/,
      ],
      [
        "the certificate is missing",
        "--tls-cert no.pem --tls-key no.pem",
        "",
        "certificate",
        2,
        /^renew it/,
      ],
      ["one of its files is missing", "--tls-cert c.csv", "", "certificate", 2, /^renew it/],
      ["the file of plans is missing", "--plans no.json", "", "options", 2, FILE],
      ["a file holds no public key", "--verify-key c.csv", "", "options", 2, FILE],
      ["the signing key is missing", "--quotes q.csv --sign-key no.pem", "", "options", 2, FILE],
      ["no proxy runs", "--port 18097", "", "port", 5, /^systemctl start chipboard\.socket/],
      [
        "nobody answers at the public address",
        "--public-url http://127.0.0.1:1",
        "",
        "public",
        5,
        /^journalctl --unit chipboard, .* front proxy$/,
      ],
      ["the catalog is missing", "--catalog no.csv", "", "catalog", 2, FILE],
      ["the catalog is another file", "--catalog q.csv", "", "catalog", 2, FILE],
      ["the map is missing", "--quotes q.csv --map no.json", "", "map", 2, FILE],
      ["the holidays are missing", "--holidays no.txt", "", "holidays", 2, FILE],
      ["a feed is missing", "--quotes no.csv", "", "feeds", 2, FEED],
      ["a feed is another file", "--quotes c.csv", "", "feeds", 2, FEED],
      ["a feed does not listen", "--quotes http://127.0.0.1:1/q.csv", "", "feeds", 2, FEED],
      ["a feed is not found", "--quotes http://GONE/q.csv", "", "feeds", 2, FEED],
      ["a feed's name is unknown", "--quotes http://feed.invalid/q.csv", "", "feeds", 2, FEED],
      ["there is no backup", "--backup no", "", "backup", 2, BACKUP],
      ["the backup is another file", "--backup c.csv", "", "backup", 6, BACKUP],
      ["the memory is another file", "--memory c.csv", "", "memory", 2, /^name a file of guard's/],
    ])("%s", async (_what, line, now, check, worst, remedy) => {
      const address = `127.0.0.1:${(gone.address() as AddressInfo).port}`;
      const env = now === "" ? {} : { CHIPBOARD_NOW: now };
      const { code, json, results } = await doctor(line.replace("GONE", address), env);
      expect([code, results[check]]).toEqual([worst, "fault"]);
      const found = json.checks.find((each: { check: string }) => each.check === check);
      expect(found).toMatchObject({ exit_code: worst, ...rowOf(check) });
      expect(found.remedy).toMatch(remedy);
    });

    test.each([
      ["CHIPBOARD_MAX_MOVE", "abc", /^error: CHIPBOARD_MAX_MOVE "abc": expected /],
      ["CHIPBOARD_CLOSED", "Samstag", /^error: CHIPBOARD_CLOSED "Samstag": expected /],
      ["CHIPBOARD_DRY_RUN", "1", /^error: CHIPBOARD_DRY_RUN is not a variable of chipboard/],
    ])("%s=%s", async (name, value, message) => {
      const words = `doctor ${PORTS}`.split(" ");
      const { code, stderr } = await inProcess(words, { env: { [name]: value }, cwd: folder });
      expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    });
  });

  test("the feed is read, and the clock is compared with its server", async () => {
    const asked: string[] = [];
    let aheadMs = 0;
    const server = createServer(({ method, url }, response) => {
      asked.push(`${method} ${url}`);
      response.setHeader("date", new Date(Date.now() + aheadMs).toUTCString());
      response.end(quotesOf({ a: 11, b: 5 }));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const feed = { CHIPBOARD_QUOTES: `http://user:secret@${address}/feed?key=secret` };
    const right = await doctor("", feed);
    expect([right.code, right.texts["clock"]]).toEqual([
      0,
      expect.stringContaining(`within 5 minutes of http://${address}/feed`),
    ]);
    aheadMs = 13 * 3_600_000;
    const wrong = await doctor("", feed);
    expect([wrong.code, wrong.results["clock"], wrong.texts["clock"]]).toEqual([
      3,
      "fault",
      expect.stringMatching(/: it is 7(?:79|80|81) minutes behind, expected at most 5$/),
    ]);
    expect(asked).toEqual(["GET /feed?key=secret", "GET /feed?key=secret"]);
    server.close();
    const file = await doctor("", { CHIPBOARD_QUOTES: "q.csv" });
    expect([file.code, file.results["feeds"]]).toEqual([0, "ok"]);
    expect(file.texts["clock"]).toContain("no server to compare it with");
    const gone = await doctor("", feed);
    expect([gone.code, gone.results["feeds"]]).toEqual([2, "fault"]);
    expect(gone.texts["feeds"]).not.toContain("secret");
  });

  testUnprivileged()(
    "a user without permissions reads so, and is not told to create another state",
    async () => {
      const places = ["snapshots", "state"].map((name) => join(folder, name));
      const modes = places.map((place) => statSync(place).mode);
      chmodSync(folder, 0o755);
      for (const place of places) chmodSync(place, 0);
      const args = ["doctor", "--json", ...PORTS.split(" ")];
      const { code, stdout } = await chipboard(args, { cwd: folder, unprivileged: true });
      for (const [at, place] of places.entries()) chmodSync(place, modes[at] as number);
      const checks: { check: string; exit_code: number; text: string }[] =
        JSON.parse(stdout).checks;
      const faults = checks.filter(({ exit_code }) => exit_code > 0);
      expect([code, faults.map(({ check, exit_code }) => [check, exit_code])]).toEqual([
        5,
        [
          ["store", 5],
          ["state", 5],
        ],
      ]);
      for (const { text } of faults) expect(text).toMatch(/permission denied/);
    },
  );

  test("an unknown state does not hide what the store says", async () => {
    const { results } = await doctor("--state ./elsewhere");
    expect(results).toMatchObject({ state: "fault", policy: "unknown", head: "ok", age: "ok" });
  });

  testWith("openssl")("a certificate that ends soon exceeds the alert's limit", async () => {
    for (const [days, code] of [
      [13, 3],
      [30, 0],
    ] as const) {
      const { cert, key } = await certificate(folder, days);
      const found = await doctor(`--tls-cert ${cert} --tls-key ${key}`, { CHIPBOARD_NOW: "" });
      expect(found.results["certificate"]).toBe(code === 0 ? "ok" : "fault");
      rmSync(cert);
      rmSync(key);
    }
  });

  testWith("openssl")(
    "a certificate of an authority that is not known here is trusted",
    async () => {
      const place = mkdtempSync(join(folder, "authority-"));
      const script = `set -e; echo "subjectAltName=IP:127.0.0.1" > names
      openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=Authority
      openssl req -newkey rsa:2048 -nodes -keyout key.pem -out asked.pem -subj /CN=127.0.0.1
      openssl x509 -req -in asked.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 365 -extfile names -out cert.pem`;
      await promisify(execFile)("sh", ["-c", script], { cwd: place });
      const line = `--tls-cert ${place}/cert.pem --tls-key ${place}/key.pem`;
      const proxy = await serve(["--json", ...line.split(" ")], { cwd: folder });
      const found = await doctor(`${line} --public-url ${proxy.url}`, { CHIPBOARD_NOW: "" });
      expect([found.results["certificate"], found.texts["certificate"]]).toEqual([
        "ok",
        expect.stringMatching(/^fits 127\.0\.0\.1; ends /),
      ]);
      await proxy.end();
    },
  );

  testWith("openssl")(
    "a certificate that is for another name than the public address",
    async () => {
      const { cert, key } = await certificate(folder);
      const line = `--tls-cert ${cert} --tls-key ${key} --public-url`;
      const found = await doctor(`${line} https://prices.invalid`);
      expect([found.results["certificate"], found.texts["certificate"]]).toEqual([
        "fault",
        expect.stringContaining("127.0.0.1"),
      ]);
      // Nobody answers there, but the name fits.
      const fits = await doctor(`${line} https://127.0.0.1:1`);
      expect(fits.results).toMatchObject({ certificate: "ok", public: "fault" });
      rmSync(cert);
      rmSync(key);
    },
  );

  test("a port that serve has is well, one that another program has is a fault", async () => {
    const proxy = await serve(["--json", "--metrics-port", "0"], { cwd: folder });
    const metrics = new URL(proxy.metricsUrl as string).port;
    const held = await doctor(`--port ${proxy.port} --metrics-port ${metrics}`);
    expect(held.code).toBe(0);
    expect(held.texts["port"]).toMatch(/chipboard itself, which serves 2026-11-21T00Z\/r1$/);
    expect(held.texts["metrics-port"]).toMatch(/chipboard itself, version /);
    await proxy.end();
    const other = createServer((_, response) => response.end("{}"));
    await once(other.listen(0, "127.0.0.1"), "listening");
    const { port } = other.address() as AddressInfo;
    const taken = await doctor(`--port ${port} --metrics-port ${port}`);
    other.close();
    expect([taken.code, taken.results["port"], taken.results["metrics-port"]]).toEqual([
      5,
      "fault",
      "fault",
    ]);
  });

  test("a store that cannot be written to names its disk", async () => {
    const args = ["doctor", "--json", ...PORTS.split(" ")];
    const { stdout } = await chipboard(args, { cwd: folder, fileLimitKilobytes: 0 });
    const checks: { check: string }[] = JSON.parse(stdout).checks;
    expect(checks.find(({ check }) => check === "condition")).toMatchObject({
      result: "fault",
      exit_code: 5,
      remedy: expect.stringMatching(/^make room on its disk/),
    });
  });

  test("damage of the head has the worst code", async () => {
    const file = join(folder, "snapshots/sessions/2026-11-21T00Z/r1/pro/SHA256SUMS");
    const whole = readFileSync(file);
    writeFileSync(file, "x");
    const { code, texts } = await doctor("--state ./elsewhere");
    writeFileSync(file, whole);
    expect([code, texts["head"]]).toEqual([6, expect.stringContaining("SHA256SUMS")]);
  });
});

describe("the configuration in force", () => {
  const valueOf = ({ json }: Doctor, name: string) =>
    json.configuration.find(({ option }: { option: string }) => option === name);

  test("says where each value comes from, and shows no secret", async () => {
    const found = await doctor("--poll 1s --state redis://:hidden@127.0.0.1:1/0", {
      CHIPBOARD_GRACE: "30m",
      CHIPBOARD_STORE: "./snapshots",
      CHIPBOARD_QUOTES: "q.csv",
      CHIPBOARD_REMEMBER: "seen.json",
      CHIPBOARD_ENV_FILE: "/etc/chipboard/chipboard.env CHIPBOARD_STORE",
    });
    expect(valueOf(found, "--poll")).toMatchObject({ value: "1s", source: "option" });
    expect(valueOf(found, "--grace")).toMatchObject({ value: "30m", source: "variable" });
    expect(valueOf(found, "--cache-mb")).toMatchObject({ value: "256", source: "default" });
    expect(valueOf(found, "--store")).toMatchObject({
      source: "file",
      file: "/etc/chipboard/chipboard.env",
    });
    expect(valueOf(found, "--quotes")).toMatchObject({ value: '["q.csv"]', source: "variable" });
    expect(found.json.other_variables).toEqual(["CHIPBOARD_REMEMBER"]);
    expect(JSON.stringify(found.json)).not.toContain("hidden");
  });

  test("stands below the checks, for people", async () => {
    const { stdout } = await inProcess(["doctor", ...PORTS.split(" ")], { cwd: folder });
    expect(stdout).toMatch(/^ok +head +2026-11-21T00Z\/r1: /m);
    expect(stdout).toMatch(/^--port +0 +option$/m);
  });
});

const rowOf = (check: string) => {
  const { gauge, alert, runbook, refusedAtStart } = CHECKS[check as keyof typeof CHECKS];
  return { gauge, alert, runbook, refused_at_start: refusedAtStart };
};

test("the members of --json are these, for programs that read them", async () => {
  const { json } = await doctor();
  expect(Object.keys(json)).toEqual(["exit_code", "checks", "configuration", "other_variables"]);
  const found = ["check", "result", "exit_code", "text", "remedy"];
  const row = ["gauge", "alert", "runbook", "refused_at_start"];
  for (const each of json.checks) {
    expect(Object.keys(each)).toEqual([...found, ...row]);
    expect(each.result).toMatch(/^(?:ok|note|fault|unknown|not watched)$/);
    expect(each.exit_code > 0).toBe(each.result === "fault");
  }
  for (const each of json.configuration) {
    expect(Object.keys(each)).toEqual(["option", "variable", "value", "source", "file"]);
  }
});

describe("the table of checks", () => {
  const read = (path: string): string =>
    readFileSync(join(import.meta.dirname, "../..", path), "utf8");
  const alerts = read("deploy/monitoring/alerts.yml");
  const alertOf = (name: string): string =>
    alerts.split(/^ {6}- alert: /m).find((text) => text.startsWith(`${name}\n`)) ?? "";

  test.each(Object.entries(CHECKS))(
    "%s has the gauge, the alert and the page of its row",
    (_name, row) => {
      if (row.gauge !== null)
        expect(read("docs/reference/metrics.md")).toContain(`\`${row.gauge}\``);
      if (row.alert === null) return;
      expect(alertOf(row.alert)).toContain(row.runbook);
      if (row.gauge !== null) expect(alertOf(row.alert)).toContain(row.gauge);
    },
  );

  test("the limits equal the limits of the alerts", () => {
    const { unchangedSessions, certificateDays, freeShare } = ALERT_LIMITS;
    expect(alertOf("ChipboardFeedUnchanged")).toContain(`> ${unchangedSessions} unless `);
    expect(alertOf("ChipboardCertificateEnds")).toContain(`< ${certificateDays} * 86400`);
    expect(alertOf("ChipboardDiskFull")).toContain(`< ${freeShare}\n`);
  });
});

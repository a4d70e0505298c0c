/** `serve` as a process: options, TLS, signals, output. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createState, withRegistry } from "../../src/state/open.ts";
import { PROGRAM } from "../../src/lib/version.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { chipboard, serve, type Ran, type Serving } from "../program/program.ts";
import { certificate } from "./certificate.ts";
import { call } from "./client.ts";
import { eventually, publishSession, SESSION, TestClock } from "./fixture.ts";
import { testWith } from "./needed-tools.ts";

const API = "/api/public/v1";

let folder: string;
let store: string;
let state: string;
let pro: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-serve-"));
  store = join(folder, "snapshots");
  state = join(folder, "state");
  const clock = new TestClock();
  await publishSession(new FolderStore(store), clock, SESSION, { first: true });
  pro = await withRegistry(state, clock, "create", async (registry) => {
    await registry.addAccount("large", "pro", null);
    return (await registry.createKey("large", null)).key;
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const serving = (args: readonly string[], env: Record<string, string> = {}): Promise<Serving> =>
  serve(["--store", store, "--state", state, ...args], { env });

/** Runs a `serve` that must not start. */
const refused = (args: readonly string[]): Promise<Ran> => {
  const all = ["--store", store, "--state", state, "--port", "0", "--metrics-port", "off", ...args];
  return chipboard(["serve", ...all]);
};

test("prints its address, serves, and ends with 0 on SIGTERM and SIGINT", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const proxy = await serving([]);
    expect(proxy.printed).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+\n$/);
    const { status, json } = await call(`${proxy.url}${API}/prices`, { key: pro });
    expect([status, json.delayed_sessions]).toEqual([200, 0]);
    expect(await proxy.end(signal)).toBe(0);
  }
});

test("--json, options from the environment, and IPv6", async () => {
  const proxy = await serving(["--json", "--host", "::1"], {
    CHIPBOARD_METRICS_PORT: "0",
    CHIPBOARD_GRACE: "90",
    CHIPBOARD_LOG_LEVEL: "silent",
  });
  const printed = JSON.parse(proxy.printed);
  expect(printed.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
  expect(printed.metrics_url).toBeNull();
  expect((await fetch(`${printed.url}/healthz`)).status).toBe(200);
  expect(await proxy.end()).toBe(0);
  expect(proxy.stderr()).toBe("");
});

test.each([
  ["problems", [[404, "not_found"]]],
  [
    "all",
    [
      [200, undefined],
      [404, "not_found"],
    ],
  ],
  ["none", []],
])("--log-requests %s", async (which, expected) => {
  // `problems` is the default.
  const proxy = await serving(which === "problems" ? [] : ["--log-requests", which]);
  await call(`${proxy.url}${API}/prices`, { key: pro });
  await call(`${proxy.url}${API}/nothing`, { key: pro });
  expect(await proxy.end()).toBe(0);
  const lines = proxy.stderr().trim().split("\n");
  const requests = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "request");
  expect(requests.map(({ status, code }) => [status, code])).toEqual(expected);
});

test("several proxies with one state count together", async () => {
  const all = await Promise.all([serving([]), serving([])]);
  const before = await used("large");
  for (const { url } of [...all, ...all]) {
    expect((await call(`${url}${API}/prices`, { key: pro })).status).toBe(200);
  }
  expect(await used("large")).toBe(before + 4);
  expect(await Promise.all(all.map((proxy) => proxy.end()))).toEqual([0, 0]);
});

test("the log says why the state does not answer, once, and when it answers again", async () => {
  const proxy = await serving([]);
  const file = join(state, "chipboard.sqlite");
  await rename(file, `${file}.away`);
  const stateOf = async (): Promise<string> =>
    (await call(`${proxy.url}/readyz`)).json.state as string;
  await eventually(async () => (await stateOf()) === "unavailable");
  await rename(`${file}.away`, file);
  await eventually(async () => (await stateOf()) === "ok");
  expect(await proxy.end()).toBe(0);
  const lines = proxy.stderr().trim().split("\n");
  const said = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes("the state"));
  expect(said).toMatchObject([
    {
      level: 50,
      trouble: expect.stringMatching(
        /^State ".*" \(--state\) cannot be used: chipboard.sqlite is gone$/,
      ),
    },
    { level: 30, msg: "the state answers again" },
  ]);
});

test("metrics have their own port, and are not on the other one", async () => {
  const proxy = await serving(["--metrics-port", "0", "--json"]);
  const { url } = proxy;
  const metricsUrl = String(proxy.metricsUrl);
  await call(`${url}${API}/prices`);
  const metrics = await fetch(metricsUrl);
  expect(metrics.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const text = await metrics.text();
  expect(text).toMatch(
    /^chipboard_requests_total\{route="\/api\/public\/v1\/prices",status="200",tier="free"\} 1$/m,
  );
  expect(text).toMatch(/^chipboard_ready 1$/m);
  expect(text).toMatch(/^chipboard_state_up 1$/m);
  expect(text).toMatch(/^chipboard_state_evicts 0$/m);
  expect(text).toMatch(/^chipboard_accounts 1$/m);
  expect(text).toContain(`\nchipboard_build_info{version="${PROGRAM.version}"} 1\n`);
  expect(text).toMatch(/^process_resident_memory_bytes \d+/m);
  expect((await call(`${url}/metrics`)).status).toBe(404);
  expect((await fetch(metricsUrl.replace("/metrics", "/prices"))).status).toBe(404);
  expect((await fetch(`${metricsUrl}?collect[]=http&x=/prices?`)).status).toBe(200);
  expect((await fetch(metricsUrl.replace("/metrics", "/?/metrics"))).status).toBe(404);
  const head = await fetch(metricsUrl, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
    const { status, headers } = await fetch(metricsUrl, { method });
    expect([method, status, headers.get("allow")]).toEqual([method, 405, "GET, HEAD"]);
  }
  expect(await proxy.end()).toBe(0);
});

test("SIGTERM: no new connections are accepted, open requests are answered, counts are written", async () => {
  const before = await used("large");
  const proxy = await serving([]);
  const { port } = proxy;
  // More than the sockets' buffers hold, so that the last answers wait for the reader.
  const asked = 600;
  const socket = connect(port, "127.0.0.1").pause();
  const request = `GET ${API}/prices/dram-0 HTTP/1.1\r\nHost: x\r\nx-api-key: ${pro}\r\n\r\n`;
  socket.write(request.repeat(asked));
  await eventually(
    async () => (await call(`${proxy.url}${API}/usage`, { key: pro })).json.used > before,
  );
  proxy.child.kill("SIGTERM");
  await eventually(async () => (await connectionError(port)) === "ECONNREFUSED");
  expect(proxy.child.exitCode).toBeNull();

  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString("latin1");
  const answers = text.split("HTTP/1.1 200 OK\r\n").slice(1);
  const [first = ""] = answers;
  const bodyBytes = Number(/content-length: (\d+)/.exec(first)?.[1]);
  for (const answer of answers) {
    expect(answer.slice(answer.indexOf("\r\n\r\n") + 4)).toHaveLength(bodyBytes);
  }
  expect(await proxy.ended).toBe(0);
  expect(answers.length).toBeGreaterThan(0);
  expect(await used("large")).toBe(before + answers.length);
});

describe("TLS", () => {
  test("serves HTTPS with the certificate given", async () => {
    const { cert, key } = await certificate(folder);
    const proxy = await serving(["--tls-cert", cert, "--tls-key", key]);
    expect(proxy.url).toMatch(/^https:/);
    const ca = await readFile(cert, "utf8");
    const { status, json } = await call(`${proxy.url}${API}/prices/dram-0`, { key: pro, ca });
    expect([status, json.id]).toEqual([200, "dram-0"]);
    await expect(call(`${proxy.url}/healthz`)).rejects.toThrow(/self-signed/);
    expect(await proxy.end()).toBe(0);
  });

  testWith("openssl")("TLS 1.2 with forward secrecy and AEAD, or TLS 1.3", async () => {
    const { cert, key } = await certificate(folder);
    const proxy = await serving(["--tls-cert", cert, "--tls-key", key]);
    const { host } = new URL(proxy.url);
    const handshake = async (offer: string): Promise<string> => {
      const args = ["s_client", "-connect", host, "-brief", ...offer.split(" ")];
      const client = promisify(execFile)("openssl", args);
      client.child.stdin?.end();
      const { stderr } = await client.catch((error: { stderr: string }) => error);
      return /^Ciphersuite: (.*)$/m.exec(stderr)?.[1] ?? "refused";
    };
    const weak = "@SECLEVEL=0";
    expect({
      tls13: await handshake("-tls1_3"),
      gcm: await handshake("-tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256"),
      chacha: await handshake("-tls1_2 -cipher ECDHE-RSA-CHACHA20-POLY1305"),
      staticRsa: await handshake(`-tls1_2 -cipher kRSA:${weak}`),
      cbc: await handshake(`-tls1_2 -cipher ALL:!AESGCM:!CHACHA20:!AESCCM:!ARIAGCM:${weak}`),
      tls11: await handshake(`-tls1_1 -cipher ALL:${weak}`),
    }).toEqual({
      tls13: "TLS_AES_256_GCM_SHA384",
      gcm: "ECDHE-RSA-AES128-GCM-SHA256",
      chacha: "ECDHE-RSA-CHACHA20-POLY1305",
      staticRsa: "refused",
      cbc: "refused",
      tls11: "refused",
    });
    expect(await proxy.end()).toBe(0);
  });

  test("missing and invalid files are usage errors that name the option", async () => {
    const { cert } = await certificate(folder);
    const cases = [
      [["--tls-cert", cert], "--tls-cert and --tls-key belong together: give both, or none"],
      [["--tls-cert", cert, "--tls-key", join(folder, "none")], "--tls-key"],
      [["--tls-cert", cert, "--tls-key", cert], "--tls-cert and --tls-key cannot be used"],
    ] as const;
    for (const [args, message] of cases) {
      const { code, stdout, stderr } = await refused(args);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain(message);
    }
  });
});

describe("invalid options and locations", () => {
  const BAD = [
    ["--host", ""],
    ["--poll", "soon"],
    ["--poll", "0"],
    ["--grace", "13h"],
    ["--port", "65536"],
    ["--metrics-port", "on"],
    ["--trust-proxy", "-1"],
    ["--cache-mb", "lots"],
    ["--s3-endpoint", "nowhere"],
    ["--log-level", "loud"],
    ["--log-requests", "some"],
    ["--workers", "2"],
  ];
  for (const [option = "", value = ""] of BAD) {
    test(`${option} ${value}`, async () => {
      const { code, stderr } = await refused([option, value]);
      expect(code).toBe(2);
      expect(stderr).toContain(option);
      expect(stderr).not.toMatch(/\n\s+at /);
    });
  }

  test("a port in use is named", async () => {
    const first = await serving([]);
    const port = String(first.port);
    const other = join(folder, "other-state");
    await createState(other);
    const second = await refused(["--port", port, "--state", other]);
    expect(second.code).toBe(5);
    expect(second.stderr).toContain(`Cannot listen on 127.0.0.1:${port} (--port): it is in use`);
    // An address that is not this machine's is a wrong option, which trying again does not mend.
    expect((await refused(["--host", "192.0.2.1"])).code).toBe(2);
    expect(await first.end()).toBe(0);
  });

  test("a metrics port in use stops no proxy: it says so, and has the metrics once the port is free", async () => {
    const first = await serving(["--metrics-port", "0", "--json"]);
    const metricsUrl = String(first.metricsUrl);
    const port = new URL(metricsUrl).port;
    const other = join(folder, "state-without-metrics");
    await createState(other);
    const second = await serving(["--metrics-port", port, "--state", other, "--json"]);
    expect([second.metricsUrl, (await call(`${second.url}/healthz`)).status]).toEqual([null, 200]);
    await eventually(async () => second.stderr().includes("no metrics: their port is in use"));
    expect(second.stderr()).toContain(`:${port} (--metrics-port): it is in use`);
    expect(await first.end()).toBe(0);
    await eventually(async () => second.stderr().includes("metrics are served now"));
    expect(await (await fetch(metricsUrl)).text()).toContain("chipboard_build_info");
    expect(await second.end()).toBe(0);
  });

  test("without a state: 5, with both commands that create one, and nothing is created", async () => {
    const none = join(folder, "no-state");
    const { code, stdout, stderr } = await refused(["--state", none]);
    expect([code, stdout, existsSync(none)]).toEqual([5, "", false]);
    expect(stderr).toBe(
      `error: There is no state at ${none}/chipboard.sqlite: name the one with your accounts (--state or CHIPBOARD_STATE), or create an empty one with "state init" or "accounts add"\n`,
    );
    expect((await chipboard(["state", "init", "--state", none])).code).toBe(0);
    const proxy = await serving(["--state", none]);
    expect((await call(`${proxy.url}${API}/prices`)).status).toBe(200);
    expect(await proxy.end()).toBe(0);
  });

  test("a store that is a file is not a store", async () => {
    const file = join(folder, "file");
    await writeFile(file, "");
    const { code, stdout } = await refused(["--store", file]);
    expect([code, stdout]).toEqual([5, ""]);
  });
});

async function used(account: string): Promise<number> {
  const [usage] = await withRegistry(state, new TestClock(), "use", (registry) =>
    registry.usage(account),
  );
  return usage?.used ?? Number.NaN;
}

const connectionError = (port: number): Promise<unknown> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(null);
    });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
  });

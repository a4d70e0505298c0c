/** `serve` as a process: options, TLS, signals, what it prints. */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { withRegistry } from "../../src/state/open.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { certificate } from "./certificate.ts";
import { call } from "./client.ts";
import { eventually, publishSession, SESSION, TestClock } from "./fixture.ts";
import { testWith } from "./tools.ts";

const API = "/api/public/v1";
const PROGRAM = fileURLToPath(new URL("../../bin/chipboard.ts", import.meta.url));
const NOW = "2026-11-21T00:05:00Z";

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
  pro = await withRegistry(state, clock, "change", async (registry) => {
    await registry.addAccount("large", "pro", null);
    return (await registry.createKey("large", null)).key;
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Serving {
  readonly child: ChildProcess;
  readonly line: string;
  readonly url: string;
  readonly exit: Promise<number | null>;
  stderr(): string;
}

/** Starts `serve` and waits for the line that says where. */
async function serve(args: readonly string[], env: Record<string, string> = {}): Promise<Serving> {
  const all = ["--store", store, "--state", state, "--port", "0", "--metrics-port", "off", ...args];
  const child = spawn(process.execPath, [PROGRAM, "serve", ...all], {
    env: { ...process.env, CHIPBOARD_NOW: NOW, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (piece) => (stdout += String(piece)));
  child.stderr.on("data", (piece) => (stderr += String(piece)));
  const exit = new Promise<number | null>((resolve) => child.once("exit", resolve));
  await Promise.race([eventually(() => stdout.includes("\n")), exit]);
  const line = stdout.trim();
  return {
    child,
    line,
    url: /https?:\/\/[^"\s]+/.exec(line)?.[0] ?? "",
    exit,
    stderr: () => stderr,
  };
}

async function end({ child, exit }: Serving): Promise<number | null> {
  child.kill("SIGTERM");
  return exit;
}

test("prints its address, serves, and ends with 0 on SIGTERM and SIGINT", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const serving = await serve([]);
    expect(serving.line).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+$/);
    const { status, json } = await call(`${serving.url}${API}/prices`, { key: pro });
    expect([status, json.delayed_sessions]).toEqual([200, 0]);
    serving.child.kill(signal);
    expect(await serving.exit).toBe(0);
  }
});

test("--json, options from the environment, and IPv6", async () => {
  const serving = await serve(["--json", "--host", "::1"], {
    CHIPBOARD_METRICS_PORT: "0",
    CHIPBOARD_GRACE: "90",
    CHIPBOARD_LOG_LEVEL: "silent",
  });
  const printed = JSON.parse(serving.line);
  expect(printed.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
  expect(printed.metrics_url).toBeNull();
  expect((await fetch(`${printed.url}/healthz`)).status).toBe(200);
  expect(await end(serving)).toBe(0);
  expect(serving.stderr()).toBe("");
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
  // What is not said is the default.
  const serving = await serve(which === "problems" ? [] : ["--log-requests", which]);
  await call(`${serving.url}${API}/prices`, { key: pro });
  await call(`${serving.url}${API}/nothing`, { key: pro });
  expect(await end(serving)).toBe(0);
  const lines = serving.stderr().trim().split("\n");
  const requests = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === "request");
  expect(requests.map(({ status, code }) => [status, code])).toEqual(expected);
});

test("several serves on one state count together", async () => {
  const all = await Promise.all([serve([]), serve([])]);
  const before = await used("large");
  for (const { url } of [...all, ...all]) {
    expect((await call(`${url}${API}/prices`, { key: pro })).status).toBe(200);
  }
  expect(await used("large")).toBe(before + 4);
  expect(await Promise.all(all.map(end))).toEqual([0, 0]);
});

test("the log says why the state does not answer, once, and when it answers again", async () => {
  const serving = await serve([]);
  const file = join(state, "chipboard.sqlite");
  await rename(file, `${file}.away`);
  const stateOf = async (): Promise<string> =>
    (await call(`${serving.url}/readyz`)).json.state as string;
  await eventually(async () => (await stateOf()) === "unavailable");
  await rename(`${file}.away`, file);
  await eventually(async () => (await stateOf()) === "ok");
  expect(await end(serving)).toBe(0);
  const lines = serving.stderr().trim().split("\n");
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

test("metrics have a port of their own, and are nowhere else", async () => {
  const args = ["--store", store, "--state", state, "--port", "0", "--metrics-port", "0", "--json"];
  const child = spawn(process.execPath, [PROGRAM, "serve", ...args], {
    env: { ...process.env, CHIPBOARD_NOW: NOW },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const exit = new Promise((resolve) => child.once("exit", resolve));
  const line = await new Promise<string>((resolve) =>
    child.stdout.once("data", (piece) => resolve(String(piece))),
  );
  const { url, metrics_url } = JSON.parse(line);
  await call(`${url}${API}/prices`);
  const metrics = await fetch(metrics_url);
  expect(metrics.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const text = await metrics.text();
  expect(text).toMatch(
    /^chipboard_requests_total\{route="\/api\/public\/v1\/prices",status="200",tier="free"\} 1$/m,
  );
  expect(text).toMatch(/^chipboard_ready 1$/m);
  expect(text).toMatch(/^chipboard_state_up 1$/m);
  expect(text).toMatch(/^process_resident_memory_bytes \d+/m);
  expect((await call(`${url}/metrics`)).status).toBe(404);
  expect((await fetch(metrics_url.replace("/metrics", "/prices"))).status).toBe(404);
  child.kill("SIGTERM");
  expect(await exit).toBe(0);
});

test("SIGTERM: nothing new is accepted, what is in flight is finished, counts are written", async () => {
  const before = await used("large");
  const serving = await serve([]);
  const port = Number(new URL(serving.url).port);
  // More than the sockets' buffers hold, so that the last answers wait for the reader.
  const asked = 600;
  const socket = connect(port, "127.0.0.1").pause();
  const request = `GET ${API}/prices/dram-0 HTTP/1.1\r\nHost: x\r\nx-api-key: ${pro}\r\n\r\n`;
  socket.write(request.repeat(asked));
  await eventually(
    async () => (await call(`${serving.url}${API}/usage`, { key: pro })).json.used > before,
  );
  serving.child.kill("SIGTERM");
  await eventually(async () => (await refused(port)) === "ECONNREFUSED");
  expect(serving.child.exitCode).toBeNull();

  const pieces: Buffer[] = [];
  for await (const piece of socket) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString("latin1");
  const answers = text.split("HTTP/1.1 200 OK\r\n").slice(1);
  const [first = ""] = answers;
  const bodyBytes = Number(/content-length: (\d+)/.exec(first)?.[1]);
  for (const answer of answers) {
    expect(answer.slice(answer.indexOf("\r\n\r\n") + 4)).toHaveLength(bodyBytes);
  }
  expect(await serving.exit).toBe(0);
  expect(answers.length).toBeGreaterThan(0);
  expect(await used("large")).toBe(before + answers.length);
});

describe("TLS", () => {
  test("serves HTTPS with the certificate given", async () => {
    const { cert, key } = await certificate(folder);
    const serving = await serve(["--tls-cert", cert, "--tls-key", key]);
    expect(serving.url).toMatch(/^https:/);
    const ca = await readFile(cert, "utf8");
    const { status, json } = await call(`${serving.url}${API}/prices/dram-0`, { key: pro, ca });
    expect([status, json.id]).toEqual([200, "dram-0"]);
    await expect(call(`${serving.url}/healthz`)).rejects.toThrow(/self-signed/);
    expect(await end(serving)).toBe(0);
  });

  testWith("openssl")("TLS 1.2 with forward secrecy and AEAD, or TLS 1.3", async () => {
    const { cert, key } = await certificate(folder);
    const serving = await serve(["--tls-cert", cert, "--tls-key", key]);
    const { host } = new URL(serving.url);
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
    expect(await end(serving)).toBe(0);
  });

  test("files that are missing, or none, are usage errors that name the option", async () => {
    const { cert } = await certificate(folder);
    const cases = [
      [["--tls-cert", cert], "--tls-cert and --tls-key belong together: give both, or none"],
      [["--tls-cert", cert, "--tls-key", join(folder, "none")], "--tls-key"],
      [["--tls-cert", cert, "--tls-key", cert], "--tls-cert and --tls-key cannot be used"],
    ] as const;
    for (const [args, message] of cases) {
      const serving = await serve(args);
      expect([await serving.exit, serving.line]).toEqual([2, ""]);
      expect(serving.stderr()).toContain(message);
    }
  });
});

describe("what it cannot start with", () => {
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
      const serving = await serve([option, value]);
      expect(await serving.exit).toBe(2);
      expect(serving.stderr()).toContain(option);
      expect(serving.stderr()).not.toMatch(/\n\s+at /);
    });
  }

  test("a port in use is named", async () => {
    const first = await serve([]);
    const { port } = new URL(first.url);
    const second = await serve(["--port", port, "--state", join(folder, "other-state")]);
    expect(await second.exit).toBe(2);
    expect(second.stderr()).toContain(`Cannot listen on 127.0.0.1:${port} (--port): it is in use`);
    expect(await end(first)).toBe(0);
  });

  test("a store that is a file is not a store", async () => {
    const file = join(folder, "file");
    await writeFile(file, "");
    const serving = await serve(["--store", file]);
    expect([await serving.exit, serving.line]).toEqual([5, ""]);
  });
});

async function used(account: string): Promise<number> {
  const [usage] = await withRegistry(state, new TestClock(), "read", (registry) =>
    registry.usage(account),
  );
  return usage?.used ?? Number.NaN;
}

const refused = (port: number): Promise<unknown> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(null);
    });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code));
  });

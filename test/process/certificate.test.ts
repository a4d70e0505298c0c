/** A proxy reads its certificate again on SIGHUP, without a restart. */
import { spawn } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createState } from "../../src/state/open.ts";
import { certificate } from "../http/certificate.ts";
import { eventually } from "../http/fixture.ts";
import { testWith } from "../http/needed-tools.ts";
import { BIN, serve, type Serving } from "../program/program.ts";

let folder: string;
const pairs: { cert: string; key: string }[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chipboard-certificate-"));
  for (const [name, days] of [
    ["first", 30],
    ["second", 60],
  ] as const) {
    await mkdir(join(folder, name));
    pairs.push(await certificate(join(folder, name), days));
  }
  for (const state of ["s", "t"]) await createState(join(folder, state));
});
afterAll(() => rm(folder, { recursive: true }));

const serving = (args: readonly string[] = []): Promise<Serving> =>
  serve(["--store", "none", "--state", "s", ...args], { cwd: folder });

/** Requests /healthz; returns the status and the fingerprint of the connection's certificate. */
const answer = (url: string, agent: Agent): Promise<{ status: number; fingerprint: string }> =>
  new Promise((resolve, reject) => {
    const sent = request(`${url}/healthz`, { agent, rejectUnauthorized: false }, (response) => {
      const { fingerprint256 } = (response.socket as TLSSocket).getPeerCertificate();
      response.resume().once("end", () => {
        resolve({ status: response.statusCode ?? 0, fingerprint: fingerprint256 });
      });
    });
    sent.once("error", reject).end();
  });

const anew = (url: string): ReturnType<typeof answer> => answer(url, new Agent());

test("new connections get the new certificate, open ones continue; an invalid one changes nothing", async () => {
  const [first, second] = pairs as [(typeof pairs)[0], (typeof pairs)[0]];
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const install = async (from: { cert: string; key: string }): Promise<void> => {
    await copyFile(from.cert, cert);
    await copyFile(from.key, key);
  };
  await install(first);
  // The last --metrics-port is the one that counts.
  const metrics = ["--json", "--metrics-port", "0"];
  const proxy = await serving(["--tls-cert", cert, "--tls-key", key, ...metrics]);
  const expectEndOf = async (pair: { cert: string }): Promise<void> => {
    const text = await (await fetch(proxy.metricsUrl as string)).text();
    const [, end] = /^chipboard_certificate_end_timestamp_seconds (\d+)$/m.exec(text) ?? [];
    const { validTo } = new X509Certificate(await readFile(pair.cert));
    expect(Number(end) * 1000).toBe(Date.parse(validTo));
  };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const hangUp = async (words: string): Promise<void> => {
    const before = proxy.stderr().split(words).length;
    proxy.child.kill("SIGHUP");
    await eventually(() => proxy.stderr().split(words).length > before);
  };
  try {
    const old = await answer(proxy.url, agent);
    expect(await anew(proxy.url)).toEqual(old);
    await expectEndOf(first);

    await install(second);
    await hangUp("new connections get this certificate");
    await expectEndOf(second);
    const renewed = await anew(proxy.url);
    expect([renewed.status, renewed.fingerprint === old.fingerprint]).toEqual([200, false]);
    expect(await answer(proxy.url, agent)).toEqual(old);

    // A certificate of another key, no certificate at all, no file.
    for (const spoil of [
      () => copyFile(first.cert, cert),
      () => writeFile(cert, "-----BEGIN CERTIFICATE-----\n"),
      () => rm(cert),
    ]) {
      await install(second);
      await spoil();
      await hangUp("the certificate cannot be used; the old one stays in use");
      expect(await anew(proxy.url)).toEqual(renewed);
      await expectEndOf(second);
    }
    expect(proxy.stderr()).toContain("--tls-cert and --tls-key cannot be used: ");
    expect(proxy.stderr()).toMatch(/--tls-cert [^ ]+: cannot be read: ENOENT/);

    await install(first);
    await hangUp("new connections get this certificate");
    expect(await anew(proxy.url)).toEqual(old);
  } finally {
    agent.destroy();
    expect(await proxy.end()).toBe(0);
  }
});

describe("without a certificate", () => {
  test("SIGHUP changes nothing", async () => {
    const proxy = await serving();
    proxy.child.kill("SIGHUP");
    await eventually(() => proxy.stderr().includes("SIGHUP ignored: no --tls-cert configured"));
    expect((await fetch(`${proxy.url}/healthz`)).status).toBe(200);
    expect(await proxy.end()).toBe(0);
  });

  testWith("script")("in a terminal that closes, the proxy ends", async () => {
    const options = ["--port", "0", "--metrics-port", "off", "--store", "none", "--state", "t"];
    const command = [process.execPath, BIN, "serve", ...options].join(" ");
    const terminal = spawn("script", ["-qefc", command, "/dev/null"], {
      cwd: folder,
      stdio: ["pipe", "pipe", "inherit"],
    });
    let printed = "";
    terminal.stdout.on("data", (text) => (printed += String(text)));
    await eventually(() => /listening on \S+/.test(printed));
    const [url = ""] = /http:[\w.:/]+/.exec(printed) ?? [];
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    terminal.kill("SIGKILL");
    await eventually(() =>
      fetch(`${url}/healthz`).then(
        () => false,
        () => true,
      ),
    );
  });
});

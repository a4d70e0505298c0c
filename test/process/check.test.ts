/**
 * `check` against the demonstration as a process: in time and late, with each kind of key, and through a
 * forwarder that changes one byte.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { check, type CheckRequest } from "../../src/check/check.ts";
import type { Step } from "../../src/check/step.ts";
import { ChipboardError, DamageError } from "../../src/lib/errors.ts";
import { parseVerifyKeys, type VerifyKey } from "../../src/snapshot/signing-key.ts";
import { certificate } from "../http/certificate.ts";
import { inProcess } from "../cli/run.ts";
import { chipboard, serve, Serving, type Ran } from "../program/program.ts";

const API = "/api/public/v1";

let folder: string;
let verifyKeys: readonly VerifyKey[];
/** The demonstration's keys; null: none. */
let keys: { free: null; starter: string; pro: string };
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-check-"));
  const ports = ["--port", "0", "--metrics-port", "off"];
  const demo = await Serving.start(["demo", ...ports, "--log-level", "warn"], { cwd: folder });
  const [starter = "", pro = ""] = new Set(demo.printed.match(/cbk_[A-Za-z0-9]{49}/g));
  keys = { free: null, starter, pro };
  // It serves its first session, and publishes the others meanwhile.
  const isWhole = (): boolean => demo.printed.includes("published 2026-11-21T00Z\n");
  await vi.waitUntil(isWhole, { timeout: 3_600_000, interval: 200 });
  await demo.end();
  // The demonstration's log is not signed. Two rollbacks leave its head, and sign it.
  for (const args of [
    ["keys", "signing", "--out", "signing.pem"],
    ["snapshots", "rollback", "head~1", "--reason", "Away", "--sign-key", "signing.pem"],
    ["snapshots", "rollback", "head~1", "--reason", "And back", "--sign-key", "signing.pem"],
  ]) {
    expect(await inProcess(args, { cwd: folder })).toMatchObject({ code: 0, stderr: "" });
  }
  const pem = readFileSync(join(folder, "signing.pem.pub"), "utf8");
  verifyKeys = parseVerifyKeys(pem, "signing.pem.pub");
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (url: string, key: string | null, ...more: string[]): Promise<Ran> =>
  chipboard(["check", url, "--verify-key", "signing.pem.pub", ...more], {
    cwd: folder,
    env: key === null ? {} : { CHIPBOARD_KEY: key },
  });

/** The steps, or the error that ends them. */
async function outcome(request: Pick<CheckRequest, "url" | "key">): Promise<Step[] | Error> {
  const steps: Step[] = [];
  const whole = { verifyKeys, remember: null, ...request };
  return check(whole, (step) => steps.push(step), 1).then(
    () => steps,
    (error: Error) => error,
  );
}

describe.each([
  ["in time", "2026-11-21T00:10:00Z"],
  ["late", "2026-11-22T14:00:00Z"],
])("the demonstration, %s", (when, now) => {
  let served: Serving;
  beforeAll(async () => {
    served = await serve(["--log-level", "warn"], { cwd: folder, env: { CHIPBOARD_NOW: now } });
  });
  afterAll(async () => {
    await served.end();
  });

  test("with a key of each tier and without", async () => {
    for (const [tier, key] of Object.entries(keys)) {
      const ran = await run(served.url, key);
      expect([ran.code, ran.stderr]).toEqual([0, ""]);
      expect(ran.stdout).toContain(`SHA256SUMS of the tier ${tier}`);
      expect(ran.stdout.includes("delayed_sessions put back")).toBe(when === "late");
      expect(ran.stdout).toMatch(/^proven {6}signature {2}Entry 6 of the log is signed by/m);
    }
    const ran = await run(`${served.url}${API}/history.parquet`, keys.pro, "--remember", "seen");
    expect([ran.code, ran.stderr]).toEqual([0, ""]);
    expect(JSON.parse(readFileSync(join(folder, "seen"), "utf8"))).toMatchObject({ number: 6 });
  });

  test.each(["free", "starter", "pro"] as const)(
    "%s: one byte of any message changes on the way",
    async (tier) => {
      const key = keys[tier];
      const forwarder = new Forwarder(served.port);
      const url = await forwarder.listen();
      try {
        const whole = await outcome({ url, key });
        expect(whole).toBeInstanceOf(Array);
        const passed = new Map(forwarder.passed);
        // The answer, its sums, six entries and one that is not there yet.
        expect(passed.size).toBe(9);
        for (const [target, exchange] of passed) {
          // The log is the same for everybody, at any time.
          if (target.startsWith("/log/") && (tier !== "pro" || when === "late")) continue;
          for (const side of ["request", "response"] as const) {
            for (const change of changesOf(target, exchange[side], side)) {
              forwarder.change = { target, side, ...change };
              const found = await outcome({ url, key });
              const { at, bits, breaks } = change;
              const where = `${target}, byte ${at} of the ${side}, bits ${bits}`;
              if (breaks) expect(found, where).toBeInstanceOf(DamageError);
              else if (!(found instanceof ChipboardError)) expect(found, where).toEqual(whole);
            }
          }
        }
      } finally {
        await forwarder.close();
      }
    },
  );

  test("the program then ends with 6, and names the link", async () => {
    const forwarder = new Forwarder(served.port);
    const url = await forwarder.listen();
    try {
      for (const [target, link] of [
        [`${API}/prices`, /^error: GET .*\/prices: the answer has the SHA-256/],
        ["/log/2", /^error: GET .*\/log\/2: the answer has the SHA-256/],
      ] as const) {
        const at = -1;
        forwarder.change = { target, side: "response", at, bits: 1 };
        const ran = await run(url, keys.pro);
        expect([target, ran.code, ran.stderr]).toEqual([target, 6, expect.stringMatching(link)]);
      }
    } finally {
      await forwarder.close();
    }
  });
});

test("over TLS, with a certificate that is trusted, and with one that is not", async () => {
  const { cert, key } = await certificate(folder);
  const tls = ["--tls-cert", cert, "--tls-key", key, "--log-level", "warn"];
  const served = await serve(tls, { cwd: folder });
  try {
    const trusting = { cwd: folder, env: { NODE_EXTRA_CA_CERTS: cert } };
    expect(await chipboard(["check", served.url], trusting)).toMatchObject({ code: 0, stderr: "" });
    const { code, stdout, stderr } = await chipboard(["check", served.url], { cwd: folder });
    expect([code, stdout]).toEqual([5, ""]);
    expect(stderr).toMatch(/^error: GET https:.*\/prices: self-signed certificate.*\n$/);
  } finally {
    await served.end();
  }
});

/** A byte to change, by its place (negative: from the end), and its bits to change. */
interface ByteChange {
  readonly at: number;
  readonly bits: number;
}

/** The fields of an answer that mean something to the proof. */
const PROVEN_FIELD =
  /^(?:unencoded-digest|x-publication|x-snapshot|x-session-utc|x-delayed-sessions): /;

let random = 1;
/** The minimal standard generator: each run changes the same bytes. */
const below = (bound: number): number => (random = (random * 48_271) % 2_147_483_647) % bound;

/**
 * Changes of bytes all over the message, and whether the change must break the proof: one of a body, of
 * a status, or of a field that the proof needs.
 */
function changesOf(
  target: string,
  message: Buffer,
  side: "request" | "response",
): (ByteChange & { readonly breaks: boolean })[] {
  const head = message.indexOf("\r\n\r\n");
  const body = head + 4;
  const middle = Math.floor((body + message.length) / 2);
  const isFound = message.toString("latin1", 9, 12) === "200";
  const lines = message.toString("latin1", 0, head).split("\r\n");
  const places = [below(lines[0]?.length ?? 0), ...Array.from({ length: 3 }, () => below(head))];
  if (side === "response") {
    places.push(9, 10, 11);
    if (isFound) places.push(body, middle, message.length - 1, body + below(message.length - body));
    let start = 0;
    for (const line of lines) {
      if (PROVEN_FIELD.test(line) && target === `${API}/prices`) {
        places.push(start + below(line.length));
      }
      start += line.length + 2;
    }
  }
  return places.map((at) => {
    const bits = 1 + below(255);
    const isProven =
      target === `${API}/prices` && PROVEN_FIELD.test(lineAt(message, at)) && bits !== 0x20;
    const breaks =
      side === "response" && isFound && (at >= body || (at >= 9 && at < 12) || isProven);
    return { at, bits, breaks };
  });
}

const lineAt = (message: Buffer, at: number): string =>
  message.toString("latin1", message.lastIndexOf("\n", at - 1) + 1, message.indexOf("\r", at));

/** Forwards each request to the port, and changes a byte of some. */
class Forwarder {
  readonly #server = createServer((socket) => this.#forward(socket));
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  /** The messages of the last exchange by its target. */
  readonly passed = new Map<string, { request: Buffer; response: Buffer }>();
  change: (ByteChange & { target: string; side: "request" | "response" }) | null = null;

  constructor(port: number) {
    this.#port = port;
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forward(socket: Socket): void {
    this.#sockets.add(socket.on("error", () => undefined));
    let request = Buffer.alloc(0);
    socket.on("data", (piece) => {
      request = Buffer.concat([request, piece]);
      if (request.indexOf("\r\n\r\n") === -1) return;
      void this.#exchange(socket, request);
      request = Buffer.alloc(0);
    });
    socket.on("close", () => this.#sockets.delete(socket));
  }

  async #exchange(socket: Socket, request: Buffer): Promise<void> {
    const target = request.toString("latin1").split(" ")[1] as string;
    const change = this.change?.target === target ? this.change : null;
    const sent = change?.side === "request" ? changed(request, change) : request;
    const response = await answerOf(this.#port, sent);
    this.passed.set(target, { request, response });
    socket.write(change?.side === "response" ? changed(response, change) : response);
    // A changed length must not make the reader wait for more.
    if (change !== null) socket.end();
  }
}

function changed(message: Buffer, { at, bits }: ByteChange): Buffer {
  const copy = Buffer.from(message);
  const place = at < 0 ? copy.length + at : at;
  copy[place] = (copy[place] as number) ^ bits;
  return copy;
}

/** What the port answers, until its content-length or its end. */
const answerOf = (port: number, request: Buffer): Promise<Buffer> =>
  new Promise((resolve) => {
    const onward = connect(port, "127.0.0.1");
    let answer = Buffer.alloc(0);
    const finish = (): void => {
      resolve(answer);
      onward.destroy();
    };
    onward.on("error", finish).on("close", finish);
    onward.on("data", (piece) => {
      answer = Buffer.concat([answer, piece]);
      const body = answer.indexOf("\r\n\r\n") + 4;
      const length = /^content-length: (\d+)/im.exec(answer.toString("latin1", 0, body))?.[1];
      if (body > 3 && length !== undefined && answer.length >= body + Number(length)) finish();
    });
    onward.write(request);
  });

/** deploy/nginx.conf and deploy/Caddyfile: a real nginx and a real Caddy, with TLS, in front of the proxy. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import { Agent, request } from "node:https";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { connect as connectTcp, createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { API } from "../../src/public/routes.ts";
import { FolderStore } from "../../src/store/folder-store.ts";
import { FILES } from "../../src/store/paths.ts";
import { changeHead } from "../cli/signed.ts";
import { certificate } from "../http/certificate.ts";
import {
  eventually,
  publishSession,
  SESSION,
  startTestProxy,
  TestClock,
  type TestProxy,
} from "../http/fixture.ts";
import { isInstalled } from "../http/needed-tools.ts";
import { freePort } from "../program/free-port.ts";
import { endWithUs } from "../program/program.ts";
import { testWithService } from "../services/service-programs.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy");
/** More than the buffers of the connections take. */
const BIG = Buffer.from(
  Array.from({ length: 1_500_000 }, (_, line) => `row ${line}\r\n`).join(""),
  "latin1",
);
const TOKEN = `lnk_${"a1B2".repeat(10)}xyz`;

/** Requests of one address; the sample has 128. */
const AT_ONCE = 3;

/** How a program is started with its sample, on `port`, in front of the proxy at `target`. */
interface Program {
  readonly name: "caddy" | "nginx";
  start(folder: string, port: number, target: string): Promise<[command: string, ...string[]]>;
}

const nginx: Program = {
  name: "nginx",
  async start(folder, port, target) {
    const sample = (await readFile(join(DEPLOY, "nginx.conf"), "utf8"))
      .replace("listen 443 ssl;", `listen 127.0.0.1:${port} ssl;`)
      .replaceAll("/etc/nginx/", `${folder}/`)
      .replace("/var/log/nginx/", `${folder}/logs/`)
      .replace("limit_conn addresses 128;", `limit_conn addresses ${AT_ONCE};`)
      .replace("server 127.0.0.1:8080;", `server ${target};`);
    await writeFile(join(folder, "chipboard.conf"), sample);
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (kind) => `${kind}_temp_path ${kind};`,
    );
    const user = process.getuid?.() === 0 ? "user root;" : "";
    await writeFile(
      join(folder, "nginx.conf"),
      `${user} daemon off; pid nginx.pid; error_log logs/error.log; events {}
http { access_log logs/access.log; ${temporary.join(" ")} include chipboard.conf;
  set_real_ip_from 127.0.0.0/8; real_ip_header X-Test-Address; }`,
    );
    return ["nginx", "-p", `${folder}/`, "-c", join(folder, "nginx.conf"), "-e", "logs/error.log"];
  },
};

const caddy: Program = {
  name: "caddy",
  async start(folder, port, target) {
    const sample = (await readFile(join(DEPLOY, "Caddyfile"), "utf8"))
      .replace(/^\{\n/m, "{\n\tadmin off\n\tauto_https disable_redirects\n")
      .replace(
        "prices.example {",
        `https://127.0.0.1:${port} {\n\ttls ${folder}/cert.pem ${folder}/key.pem`,
      )
      .replace("127.0.0.1:8080", target);
    await writeFile(join(folder, "Caddyfile"), sample);
    return ["caddy", "run", "--adapter", "caddyfile", "--config", join(folder, "Caddyfile")];
  },
};

interface Relay {
  readonly target: string;
  /** How many connections it got. */
  count(): number;
  close(): void;
}

/** Passes connections on, and counts them. */
async function startRelay(port: number): Promise<Relay> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const onward = connectTcp(port, "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => onward.destroy()).on("close", () => onward.destroy());
    onward.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    target: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: () => sockets.length,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

describe.each([nginx, caddy])("$name", ({ name, start }) => {
  const test = testWithService(name);
  let folder: string;
  let port: number;
  let ca: string;
  let proxy: TestProxy;
  let relay: Relay;
  let front: ChildProcess;
  let printed = "";
  let agent: Agent;

  beforeAll(async () => {
    if (!isInstalled(name)) return;
    folder = await mkdtemp(join(tmpdir(), `chipboard-${name}-`));
    const { cert } = await certificate(folder);
    ca = await readFile(cert, "utf8");
    port = await freePort();
    const store = new FolderStore(join(folder, "snapshots"));
    await publishSession(store, new TestClock(), SESSION, { first: true });
    await changeHead(store, () => ({}), { [FILES.csv("pro")]: BIG });
    const publicUrl = `https://127.0.0.1:${port}/market`;
    proxy = await startTestProxy({ store, trustedHops: 1, publicUrl });
    relay = await startRelay(Number(new URL(proxy.url).port));
    await mkdir(join(folder, "logs"));
    const [command, ...args] = await start(folder, port, relay.target);
    front = spawn(command, args, {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env["PATH"], HOME: folder },
    });
    endWithUs(front);
    front.stderr?.on("data", (text) => (printed += String(text)));
    agent = new Agent({ ca, keepAlive: true, maxSockets: 1 });
    await eventually(() =>
      get("/healthz").then(
        ({ status }) => status === 200,
        () => front.exitCode !== null,
      ),
    );
    expect([front.exitCode, printed]).toEqual([null, expect.any(String)]);
  });
  afterAll(async () => {
    if (!isInstalled(name)) return;
    agent.destroy();
    const ended = once(front, "close");
    front.kill();
    await ended;
    relay.close();
    await proxy.close();
    await rm(folder, { recursive: true });
  });

  /** Asks the front as a caller at `from` does, and proves its certificate. */
  const get = (path: string, headers: OutgoingHttpHeaders = {}, from = "127.0.0.1") =>
    new Promise<Answer>((resolve, reject) => {
      const own = from === "127.0.0.1" ? agent : new Agent({ ca });
      const options = { host: "127.0.0.1", port, path, headers, agent: own, localAddress: from };
      request(options, (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece)).on("error", reject);
        response.on("end", () => {
          const { statusCode: status = 0, headers: fields } = response;
          resolve({ status, headers: fields, body: Buffer.concat(pieces) });
        });
      })
        .on("error", reject)
        .end();
    });
  const key = () => ({ "x-api-key": proxy.pro });

  /** What its logs hold. */
  async function logged(): Promise<string> {
    const logs = join(folder, "logs");
    const texts = (await readdir(logs)).map((file) => readFile(join(logs, file), "utf8"));
    return [printed, ...(await Promise.all(texts))].join("");
  }

  test("keys, tags, codings and parts pass over TLS", async () => {
    const board = await get(`${API}/prices`, { ...key(), "accept-encoding": "gzip" });
    expect([board.status, board.headers["content-encoding"]]).toEqual([200, "gzip"]);
    const again = { "accept-encoding": "gzip", "if-none-match": board.headers.etag };
    const unchanged = await get(`${API}/prices`, { ...key(), ...again });
    expect([unchanged.status, unchanged.body.length]).toEqual([304, 0]);
    // The plain form stays plain on the way, with its own tag.
    const { status, headers } = await get(`${API}/prices`, key());
    const direct = await proxy.get(`${API}/prices`, { key: proxy.pro });
    expect(headers["strict-transport-security"]).toBe("max-age=31536000");
    expect([status, headers.etag, headers["content-length"]]).toEqual([
      200,
      direct.headers.etag,
      direct.headers["content-length"],
    ]);
    const part = await get(`${API}/export.csv`, { ...key(), range: "bytes=4-9" });
    expect([part.status, part.headers["content-range"]]).toEqual([206, `bytes 4-9/${BIG.length}`]);
    expect(part.body).toEqual(BIG.subarray(4, 10));
  });

  test("callers without a key are counted by their address, and none can invent one", async () => {
    const left = async (from: string, forwarded?: string): Promise<number> => {
      const field = forwarded === undefined ? {} : { "x-forwarded-for": forwarded };
      const { headers } = await get(`${API}/prices`, field, from);
      return Number(headers["x-ratelimit-remaining"]);
    };
    expect(await left("127.0.0.2")).toBe(999);
    expect(await left("127.0.0.3")).toBe(999);
    expect(await left("127.0.0.2", "127.0.0.3")).toBe(998);
    expect(await left("127.0.0.2", "203.0.113.1, 203.0.113.2")).toBe(997);
    expect(await left("127.0.0.3")).toBe(998);
  });

  test("many requests share a connection to the proxy", async () => {
    const before = relay.count();
    for (let count = 0; count < 40; count += 1) await get("/healthz");
    expect(relay.count() - before).toBeLessThan(4);
  });

  test("below the prefix it is the same service, with addresses that stay there", async () => {
    const page = await get("/market/");
    expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    const { status, body } = await get(`/market${API}/prices?last=1`, key());
    const { type } = JSON.parse(body.toString());
    expect([status, type]).toEqual([
      400,
      `https://127.0.0.1:${port}/market/docs#unknown_parameter`,
    ]);
    const bare = await get("/market");
    expect(new URL(bare.headers.location ?? "", `https://127.0.0.1:${port}/`).pathname).toBe(
      "/market/",
    );
    // As it was sent: decoded, this would be deeper by one folder, and its links would leave the prefix.
    const odd = await get("/market/a%2Fb", { accept: "text/html" });
    expect(odd.status).toBe(404);
    for (const [, link = ""] of odd.body.toString().matchAll(/ href="([^"]+)"/g)) {
      expect(new URL(link, `https://x/market/a%2Fb`).pathname).toMatch(/^\/market\//);
    }
  });

  test("a slow reader gets every byte, and others do not wait for it", async () => {
    const slow = connectTls({ host: "127.0.0.1", port, ca }).pause();
    slow.write(
      `GET ${API}/export.csv HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\nx-api-key: ${proxy.pro}\r\n\r\n`,
    );
    const asked = (): number =>
      proxy.logged.filter((line) => line.includes(`"route":"${API}/export.csv"`)).length;
    const before = asked();
    await eventually(() => asked() > before);
    const other = await get(`${API}/export.csv`, key());
    expect(other.body.equals(BIG)).toBe(true);
    if (name === "nginx") {
      // It keeps the rest itself: the proxy has nothing left to send.
      await eventually(async () =>
        /^chipboard_waiting_bytes 0$/m.test(await (await fetch(proxy.metricsUrl)).text()),
      );
    }
    const received = await buffer(slow);
    expect(received.subarray(received.indexOf("\r\n\r\n") + 4).equals(BIG)).toBe(true);
  });

  if (name === "nginx") {
    test("one address, or one IPv6 /64, has at most so many requests at once", async () => {
      const slow: Socket[] = [];
      const statusFrom = async (from: string): Promise<number> =>
        (await get("/healthz", { "x-test-address": from })).status;
      for (const from of ["192.0.2.1", "2001:db8:0:a0a::1"]) {
        for (let count = 0; count < AT_ONCE; count += 1) {
          const reader = connectTls({ host: "127.0.0.1", port, ca });
          slow.push(reader);
          reader.write(
            `GET ${API}/export.csv HTTP/1.1\r\nHost: x\r\nX-Test-Address: ${from}\r\nx-api-key: ${proxy.pro}\r\n\r\n`,
          );
          await once(reader, "data");
          reader.pause();
        }
      }
      const from = ["192.0.2.1", "2001:db8:0:a0a:ffff::2", "192.0.2.2", "2001:db8:0:a0b::1"];
      expect(await Promise.all(from.map(statusFrom))).toEqual([503, 503, 200, 200]);
      for (const reader of slow) reader.destroy();
      for (const each of from) await eventually(async () => (await statusFrom(each)) === 200);
    });
  }

  test("its logs have no address below /l/ and no key, also while the proxy does not answer", async () => {
    const links = [
      `/l/${TOKEN}.csv`,
      `/market/l/${TOKEN}.csv`,
      `//l/${TOKEN}.csv`,
      `/%6c/${TOKEN}.csv`,
    ];
    for (const path of links) expect((await get(path)).status).toBe(404);
    const long = { cookie: "c".repeat(40_000), ...key(), referer: `https://x/l/${TOKEN}` };
    expect([400, 431]).toContain((await get(`/l/${TOKEN}.csv`, long)).status);
    expect((await get(`/status?key=${proxy.pro}`, key())).status).toBe(400);
    expect((await get("/readyz?in=log", key())).status).toBe(200);
    relay.close();
    await eventually(async () => (await get("/healthz")).status === 502);
    const { headers } = await get("/healthz");
    expect(headers["strict-transport-security"]).toBe("max-age=31536000");
    for (const path of links) expect([404, 502]).toContain((await get(path)).status);
    expect((await get("/status?down=1", key())).status).toBe(502);
    await eventually(async () => {
      const text = await logged();
      return text.includes("/readyz?in=log") && text.split("/status?down=1").length > 2;
    });
    expect(await logged()).not.toContain(TOKEN);
    expect(await logged()).not.toContain(proxy.pro);
  });
});

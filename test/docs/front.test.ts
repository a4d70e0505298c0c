/** The configuration of nginx in docs/operate/front.md, with a real nginx in front of the proxy. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { call } from "../http/client.ts";
import { eventually, startTestProxy } from "../http/fixture.ts";
import { testWith } from "../http/tools.ts";
import { endWithUs } from "../program/program.ts";
import { blocksOf } from "./blocks.ts";
import { textOf } from "./pages.ts";

const [{ text: server } = { text: "" }] = blocksOf(textOf("docs/operate/front.md")).filter(
  ({ language }) => language === "nginx",
);

async function freePort(): Promise<number> {
  const listening = createServer().listen(0, "127.0.0.1");
  await once(listening, "listening");
  const { port } = listening.address() as AddressInfo;
  listening.close();
  await once(listening, "close");
  return port;
}

/** Starts nginx in the folder, without TLS. */
function startNginx(folder: string, port: number, proxyUrl: string): ChildProcess {
  const site = server
    .replace("listen 443 ssl;", `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_.*\n/gm, "")
    .replace("http://127.0.0.1:8080", proxyUrl);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${kind};`,
  );
  mkdirSync(join(folder, "logs"));
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; pid nginx.pid; events {}
http { access_log off; ${temporary.join(" ")}
${site}}`,
  );
  const args = ["-p", `${folder}/`, "-c", join(folder, "nginx.conf"), "-e", "error.log"];
  const child = spawn("nginx", args, { stdio: "ignore" });
  endWithUs(child);
  return child;
}

testWith("nginx")(
  "behind nginx, keys, tags and codings pass, and no address is made up",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "chipboard-nginx-"));
    const proxy = await startTestProxy({ trustedHops: 1 });
    const port = await freePort();
    const nginx = startNginx(folder, port, proxy.url);
    try {
      const get = (path: string, key?: string, headers: Record<string, string> = {}) =>
        call(`http://127.0.0.1:${port}${path}`, { ...(key !== undefined && { key }), headers });
      await eventually(async () =>
        get("/healthz").then(
          ({ status }) => status === 200,
          () => false,
        ),
      );
      const board = await get("/api/public/v1/prices", proxy.pro, { "accept-encoding": "gzip" });
      expect([board.status, board.headers["content-encoding"]]).toEqual([200, "gzip"]);
      const { etag = "" } = board.headers;
      const tagged = { "accept-encoding": "gzip", "if-none-match": etag };
      expect((await get("/api/public/v1/prices", proxy.pro, tagged)).status).toBe(304);
      const left: number[] = [];
      for (const from of ["203.0.113.1", "203.0.113.2"]) {
        const { headers } = await get("/api/public/v1/prices", undefined, {
          "x-forwarded-for": from,
        });
        left.push(Number(headers["x-ratelimit-remaining"]));
      }
      expect(left).toEqual([999, 998]);
      expect(proxy.logged.join("")).toContain('"from":"127.0.0.0/24"');
    } finally {
      const ended = once(nginx, "close");
      nginx.kill();
      await ended;
      await proxy.close();
      rmSync(folder, { recursive: true });
    }
  },
);

/** `check` as a process, against the demonstration as a process: in time and late, with each kind of key. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, connect, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chipboard, Serving, type Ran } from "../program/program.ts";

const ON = ["--port", "0", "--metrics-port", "off", "--log-level", "warn"];
const API = "/api/public/v1";

let folder: string;
let keys: readonly (string | null)[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-check-"));
  const demo = await Serving.start(["demo", ...ON], { cwd: folder });
  keys = [null, ...new Set(demo.printed.match(/cbk_[A-Za-z0-9]{49}/g))];
  await demo.end();
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true }));

const check = (url: string, key: string | null, ...more: string[]): Promise<Ran> =>
  chipboard(["check", url, ...more], {
    cwd: folder,
    env: key === null ? {} : { CHIPBOARD_KEY: key },
  });

/** What is said of the answer, and the tiers that it names. */
const tierIn = ({ stdout }: Ran): string | undefined =>
  /SHA256SUMS of the tier (\w+)/.exec(stdout)?.[1];

test.each([
  ["in time", "2026-11-21T00:10:00Z"],
  ["late", "2026-11-22T14:00:00Z"],
])(
  "the demonstration, %s",
  async (when, now) => {
    const served = await Serving.start(["serve", ...ON], {
      cwd: folder,
      env: { CHIPBOARD_NOW: now },
    });
    try {
      expect(keys).toHaveLength(3);
      const tiers: (string | undefined)[] = [];
      for (const key of keys) {
        const ran = await check(served.url, key);
        expect([ran.code, ran.stderr]).toEqual([0, ""]);
        expect(ran.stdout.includes("delayed_sessions put back")).toBe(when === "late");
        tiers.push(tierIn(ran));
      }
      expect(tiers.toSorted()).toEqual(["free", "pro", "starter"]);
      const pro = keys[tiers.indexOf("pro")] as string;
      for (const path of ["/export.xlsx", "/history.parquet", "/index", "/prices?publication=1"]) {
        const ran = await check(served.url + API + path, pro, "--remember", "seen");
        expect([path, ran.code, tierIn(ran)]).toEqual([path, 0, "pro"]);
      }
      expect(JSON.parse(readFileSync(join(folder, "seen"), "utf8"))).toMatchObject({ number: 4 });
    } finally {
      await served.end();
    }
  },
  600_000,
);

test("a byte of a body that changes on the way: 6, with the link that it broke", async () => {
  const served = await Serving.start(["serve", ...ON], { cwd: folder });
  try {
    for (const [at, link] of [
      [/^GET \/api\/public\/v1\/prices /, "the answer has the SHA-256"],
      [/^GET \/api\/public\/v1\/sums/, "SHA256SUMS (GET "],
      [/^GET \/log\/2 /, "ntry "],
    ] as const) {
      const { server, url } = await changing(served.port, at);
      const ran = await check(url, null);
      server.close();
      expect([link, ran.code, ran.stderr]).toEqual([link, 6, expect.stringContaining(link)]);
    }
  } finally {
    await served.end();
  }
}, 600_000);

/** Forwards connections to the port, and changes the last byte of each body that answers such a request. */
async function changing(port: number, wanted: RegExp): Promise<{ server: Server; url: string }> {
  const server = createServer((socket) => {
    const onward = connect(port, "127.0.0.1");
    let isWanted = false;
    let bodyBytes: number | null = null;
    socket.on("data", (piece) => {
      isWanted = wanted.test(String(piece));
      onward.write(piece);
    });
    onward.on("data", (piece: Buffer) => {
      const sent = Buffer.from(piece);
      if (bodyBytes === null) {
        const text = sent.toString("latin1");
        const end = text.indexOf("\r\n\r\n") + 4;
        bodyBytes = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0) - (sent.length - end);
      } else bodyBytes -= sent.length;
      if (bodyBytes === 0) {
        const last = sent.length - 1;
        if (isWanted) sent[last] = (sent[last] as number) ^ 1;
        bodyBytes = null;
      }
      socket.write(sent);
    });
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      from.on("error", () => to.destroy()).on("close", () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

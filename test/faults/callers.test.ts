/** Many hostile callers; and each broken promise is noticed. */
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  callerFaults,
  connectionFault,
  keysInLog,
  runCallers,
} from "../../tools/faults/hostile-callers.ts";
import { expectNothingLost, SEED } from "./short.ts";

test("nothing is lost to hostile callers", () => expectNothingLost(callerFaults));

const SPOILT: readonly ((text: string) => string)[] = [
  (text) => text.replace(/^x-ratelimit-remaining/im, "x-ratelimit-remainder"),
  (text) => text.replace(/^x-request-id/im, "x-request-no"),
  (text) => text.replace("HTTP/1.1 200 OK", "HTTP/1.1 500 Oh"),
  (text) => text.replaceAll('"name":"Item', '"name":"item'),
];

/** A server in front of a proxy that corrupts its answers in each of the ways in turn. */
async function spoiler(port: number): Promise<Server> {
  let pieces = 0;
  const spoil = (piece: Buffer): Buffer => {
    pieces += 1;
    const way = SPOILT[pieces % SPOILT.length] as (text: string) => string;
    return Buffer.from(way(piece.toString("latin1")), "latin1");
  };
  const server = createServer({ allowHalfOpen: true }, (caller) => {
    const proxy = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    caller.on("data", (piece) => proxy.write(piece)).on("end", () => proxy.end());
    proxy.on("data", (piece: Buffer) => caller.write(spoil(piece)));
    proxy.on("end", () => caller.end());
    for (const [one, other] of [
      [caller, proxy],
      [proxy, caller],
    ] as const) {
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
    }
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve(server));
  });
}

test("answers without the quota header, failures and wrong data are counted as lost", async () => {
  const folder = await mkdtemp(join(tmpdir(), "chipboard-faults-"));
  const servers: Server[] = [];
  onTestFinished(async () => {
    for (const server of servers) server.close();
    await rm(folder, { recursive: true });
  });
  const told: string[] = [];
  const rows = await runCallers({
    scale: "short",
    folder,
    seed: SEED,
    say: (text) => told.push(text),
    requests: 400,
    portOf: async ({ port }) => {
      const server = await spoiler(port);
      servers.push(server);
      return (server.address() as AddressInfo).port;
    },
  });
  expect(rows[0]?.lost).toBeGreaterThan(0);
  expect(told.join("\n")).toContain("no quota field");
  expect(told.join("\n")).toContain("no request id");
  expect(told.join("\n")).toContain("a failure of the service");
  expect(told.join("\n")).toContain("data that is no file");
});

test("a key in a log is found, also a part of 8 characters", () => {
  const say = (): void => {};
  const key = "cbk_0a1B2c3D4e5F6g7H8i9J";
  const logged = (text: string): number => keysInLog(`{"path":"${text}"}\n`, [key], { say }).lost;
  expect(logged("/prices/item-0")).toBe(0);
  // The part by which the log names a key.
  expect(logged(key.slice(4, 12))).toBe(0);
  expect(logged(key)).toBe(1);
  expect(logged(key.slice(12, 20))).toBe(1);
  expect(logged(`x${key.slice(4)}`)).toBe(1);
});

test("a connection that hangs or is closed too early is found", () => {
  const requests = [1, 2].map(() => {
    return { text: "", isHead: false, closes: false, tier: null, secrets: [] };
  });
  const answer = { status: 200, headers: new Map<string, string>(), body: Buffer.alloc(0) };
  const heard = (count: number, ending: "answered" | "closed" | "hanging" | "refused") => ({
    answers: Array.from({ length: count }, () => answer),
    ending,
    error: null,
  });
  expect(connectionFault({ requests }, heard(2, "answered"))).toBeNull();
  expect(connectionFault({ requests }, heard(1, "closed"))).toMatch(/1 answers to 2/);
  expect(connectionFault({ requests }, heard(2, "hanging"))).toMatch(/in time/);
  expect(connectionFault({ requests: null }, heard(0, "closed"))).toBeNull();
  expect(connectionFault({ requests: null }, heard(0, "hanging"))).toMatch(/in time/);
  expect(connectionFault({ requests: null }, heard(0, "refused"))).toMatch(/refused/);
});

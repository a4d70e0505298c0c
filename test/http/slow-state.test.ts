/** If the state hangs or is away, only calls for data and unknown keys wait for it or are refused. */
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { RedisServer } from "../services/redis-server.ts";
import { testWithService } from "../services/service-programs.ts";
import { pagePaths, uncountedPaths } from "./addresses.ts";
import { eventually, startTestProxy, type TestProxy } from "./fixture.ts";
import { sendTo } from "./raw-client.ts";
import { expectCode } from "./refusal.ts";

const API = "/api/public/v1";
const OPEN = [...uncountedPaths("everybody"), ...pagePaths(), "/none", `${API}/none`];
const OPEN_STATUSES = OPEN.map((path) => (path.endsWith("/none") ? 404 : 200));

let redis: RedisServer | null;
let proxy: TestProxy | undefined;
beforeAll(async () => {
  redis = await RedisServer.start();
  if (redis !== null) proxy = await startTestProxy({ state: `redis://127.0.0.1:${redis.port}/0` });
});
afterAll(async () => {
  await proxy?.close();
  await redis?.remove();
});

testWithService("redis-server")(
  "addresses outside the data, preflights and bad requests are answered while the state hangs",
  async () => {
    const { get, starter } = proxy as TestProxy;
    // The proxy then knows that the account has 24,999 calls left, and the address 999.
    await get(`${API}/prices`, { key: starter });
    await get(`${API}/prices`);
    const pages = await Promise.all(OPEN.map((path) => get(path)));
    expect(pages.map(({ status }) => status)).toEqual(OPEN_STATUSES);

    await expectAnsweredLast(proxy as TestProxy);
  },
);

/**
 * Sends a data call and then all that needs no state, while the state hangs. The data call would give up on the
 * state after a second: the timers stand still, so that it waits for as long as the others take.
 */
async function expectAnsweredLast({ get, url, starter, pro }: TestProxy): Promise<void> {
  const pid = (redis as RedisServer).pid as number;
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  process.kill(pid, "SIGSTOP");
  let isAnswered = false;
  const call = get(`${API}/prices`, { key: starter }).then((received) => {
    isAnswered = true;
    return received;
  });
  try {
    const [known, address, unasked, refused] = await Promise.all([
      answersTo(url, `x-api-key: ${starter}\r\n`),
      answersTo(url, ""),
      // A valid key that this process has not seen: only the state knows its account.
      answersTo(url, `x-api-key: ${pro}\r\n`),
      Promise.all([
        sendTo(url, "GET / X\r\n\r\n"),
        sendTo(url, `GET ${API}/prices HTTP/1.1\r\nConnection: close\r\n\r\n`),
        sendTo(url, `GET ${API}/prices?${"a".repeat(17_000)} HTTP/1.1\r\nHost: x\r\n\r\n`),
        sendTo(url, "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT", "/none"),
      ]),
    ]);
    // One more request, so that any answer that was sent together with these has arrived.
    await get("/healthz");
    expect(isAnswered).toBe(false);
    const statuses = [...OPEN_STATUSES, 204, 405];
    for (const answers of [known, address, unasked]) {
      expect(answers.map(({ status }) => status)).toEqual(statuses);
    }
    for (const { left } of [...known, ...unasked]) expect(left).toMatch(/^\d+$/);
    expect(new Set(known.map(({ left }) => left)).size).toBe(1);
    expect(new Set(address.map(({ left }) => left))).toEqual(new Set(["999"]));
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 431, 405]);
  } finally {
    process.kill(pid, "SIGCONT");
    vi.useRealTimers();
  }
  expect((await call).status).toBe(200);
}

/** Answers to HEAD of every open address, a preflight and a refused method, on one connection. */
async function answersTo(url: string, lines: string): Promise<{ status: number; left: string }[]> {
  const requests = [
    ...OPEN.map((path) => `HEAD ${path}`),
    `OPTIONS ${API}/prices`,
    "POST /healthz",
  ];
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let text = "";
  socket.on("data", (piece) => (text += piece.toString("latin1")));
  const bytes = requests.map((request, at) => {
    const last = at === requests.length - 1 ? "Connection: close\r\n" : "";
    return `${request} HTTP/1.1\r\nHost: x\r\n${lines}${last}\r\n`;
  });
  socket.end(bytes.join(""));
  await once(socket, "close");
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) [^]*?x-ratelimit-remaining: (\d+)\r\n/gi)].map(
    ([, status, left]) => ({ status: Number(status), left: left as string }),
  );
}

testWithService("redis-server")(
  "503 state_unavailable before a route's own refusals; known keys and the free slice still work",
  async () => {
    const redis = (await RedisServer.start()) as RedisServer;
    const cut = await startTestProxy({ state: `redis://127.0.0.1:${redis.port}/0` });
    try {
      expect((await cut.get(`${API}/prices`, { key: cut.starter })).status).toBe(200);
      await redis.stop();
      await eventually(async () => (await cut.get("/readyz")).json.state === "unavailable");
      const path = `${API}/index?x=1`;
      const refused = await expectCode(cut, path, { key: cut.pro }, "state_unavailable");
      expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
      const known = await cut.get(`${API}/prices`, { key: cut.starter });
      expect([known.status, known.headers["x-ratelimit-remaining"]]).toEqual([200, "24998"]);
      expect((await cut.get(`${API}/prices`)).status).toBe(200);
      const metrics = await (await fetch(cut.metricsUrl)).text();
      expect(metrics).toMatch(/^chipboard_state_up 0$/m);
      await redis.resume();
      await eventually(async () => (await cut.get("/readyz")).json.state === "ok");
      expect((await cut.get(`${API}/prices`, { key: cut.pro })).status).toBe(200);
      expect((await cut.get(`${API}/usage`, { key: cut.starter })).json.used).toBe(2);
    } finally {
      await cut.close();
      await redis.remove();
    }
  },
);

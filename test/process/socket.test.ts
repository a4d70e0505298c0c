/** `serve` on a listening socket that another process keeps, as systemd does: restarts refuse nobody. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { inProcess } from "../cli/run.ts";
import { catalogOf, quotesOf } from "../cli/small-market.ts";
import { eventually } from "../http/fixture.ts";
import { testWith } from "../http/needed-tools.ts";
import { BIN, endWithUs, environment } from "../program/program.ts";

/** Opens a socket, prints its port, and for each line starts the program with the socket as systemd does. */
const KEEPER = `
import os, socket, subprocess, sys
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(4096)
os.dup2(listener.fileno(), 3, inheritable=True)
print(listener.getsockname()[1], flush=True)
for line in sys.stdin:
    command = 'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"'
    child = subprocess.Popen(["sh", "-c", command, "sh", *sys.argv[1:]], pass_fds=[3],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
`;

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "chipboard-socket-"));
  writeFileSync(join(folder, "c.csv"), catalogOf(["a"]));
  writeFileSync(join(folder, "q.csv"), quotesOf({ a: 11 }));
  const published = "publish --catalog c.csv --quotes q.csv";
  expect((await inProcess(published.split(" "), { cwd: folder })).code).toBe(0);
  expect((await inProcess(["state", "init"], { cwd: folder })).code).toBe(0);
});
afterAll(() => rmSync(folder, { recursive: true }));

class Keeper {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly running = new Set<number>();
  url = "";

  constructor(...args: string[]) {
    const command = [process.execPath, BIN, "serve", "--metrics-port", "off", ...args];
    const notify = {
      NOTIFY_SOCKET: join(folder, "nobody"),
      PATH: `${folder}:${process.env["PATH"]}`,
    };
    this.#child = spawn("python3", ["-c", KEEPER, ...command], {
      cwd: folder,
      env: { ...environment(), ...notify },
      stdio: ["pipe", "pipe", "ignore"],
    });
    endWithUs(this.#child);
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
  }

  async #line(): Promise<string> {
    return String((await this.#lines.next()).value);
  }

  async open(): Promise<void> {
    onTestFinished(() => this.#close());
    this.url = `http://127.0.0.1:${await this.#line()}`;
  }

  /** Starts a proxy on the socket; returns its process. */
  async start(): Promise<number> {
    this.#child.stdin?.write("start\n");
    const pid = Number(await this.#line());
    this.running.add(pid);
    return pid;
  }

  async #close(): Promise<void> {
    for (const pid of this.running) process.kill(pid);
    this.#child.stdin?.end();
    await once(this.#child, "close");
  }
}

/** One of a stream of requests; what went wrong, or null. */
const ask = (url: string, agent: Agent): Promise<string | null> =>
  new Promise((resolve) => {
    get(`${url}/readyz`, { agent }, (answer) => {
      answer.resume().once("end", () => {
        resolve(answer.statusCode === 200 ? null : String(answer.statusCode));
      });
    }).once("error", (error) => resolve(error.message));
  });

/**
 * Fifty callers ask until `ended`, half of them on connections that they keep. However long a restart takes, no more
 * connections wait than one address may have.
 */
async function load(url: string, ended: Promise<void>) {
  const kept = new Agent({ keepAlive: true, maxSockets: 8 });
  const asked: (string | null)[] = [];
  let isEnded = false;
  void ended.then(() => (isEnded = true));
  const callers = Array.from({ length: 50 }, async (_, each) => {
    while (!isEnded) {
      asked.push(await ask(url, each % 2 === 0 ? kept : new Agent()));
      await delay(50);
    }
  });
  await Promise.all(callers);
  kept.destroy();
  return { asked: asked.length, failures: asked.filter((failure) => failure !== null) };
}

const answers = (url: string): Promise<boolean> =>
  ask(url, new Agent()).then((why) => why === null);

const isGone = (pid: number): boolean => {
  try {
    return /^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return true;
  }
};

testWith("python3")(
  "one proxy after the other takes the socket, and no request is refused",
  async () => {
    // In place of systemd's program; records its arguments.
    writeFileSync(join(folder, "systemd-notify"), `#!/bin/sh\necho "$@" >> ${folder}/told\n`, {
      mode: 0o755,
    });
    const keeper = new Keeper();
    await keeper.open();
    let proxy = await keeper.start();
    expect(await answers(keeper.url)).toBe(true);
    const end = Promise.withResolvers<void>();
    const loading = load(keeper.url, end.promise);
    for (let restart = 0; restart < 3; restart++) {
      await delay(200);
      process.kill(proxy);
      keeper.running.delete(proxy);
      const old = proxy;
      await eventually(async () => isGone(old));
      // Requests wait in the socket meanwhile.
      proxy = await keeper.start();
      await eventually(async () => answers(keeper.url));
    }
    end.resolve();
    const { asked, failures } = await loading;
    expect(failures).toEqual([]);
    expect(asked).toBeGreaterThan(100);
    // Each of the four said that it is ready.
    expect(readFileSync(join(folder, "told"), "utf8")).toBe("--ready\n".repeat(4));
  },
);

testWith("python3")(
  "several share one socket: each can be restarted while the other answers",
  async () => {
    const keeper = new Keeper();
    await keeper.open();
    const first = await keeper.start();
    await keeper.start();
    expect(await answers(keeper.url)).toBe(true);
    const end = Promise.withResolvers<void>();
    const loading = load(keeper.url, end.promise);
    await delay(200);
    process.kill(first);
    keeper.running.delete(first);
    await eventually(async () => isGone(first));
    end.resolve();
    expect((await loading).failures).toEqual([]);
  },
);

testWith("python3")("a thousand connections wait while a proxy accepts none", async () => {
  const keeper = new Keeper();
  await keeper.open();
  const proxy = await keeper.start();
  expect(await answers(keeper.url)).toBe(true);
  process.kill(proxy, "SIGSTOP");
  try {
    const port = Number(new URL(keeper.url).port);
    const waiting = Array.from({ length: 1_000 }, () => connect(port, "127.0.0.1"));
    // What finds no place stays unconnected.
    await Promise.all(waiting.map((socket) => once(socket, "connect")));
    for (const socket of waiting) socket.destroy();
  } finally {
    process.kill(proxy, "SIGCONT");
  }
});

test("variables of another process are not for this one, and are unset", async () => {
  const { takeSocket } = await import("../../src/lib/config.ts");
  const given = (pid: number, count: string): void => {
    Object.assign(process.env, { LISTEN_PID: String(pid), LISTEN_FDS: count, LISTEN_FDNAMES: "x" });
  };
  given(process.pid + 1, "1");
  expect(takeSocket()).toBeNull();
  given(process.pid, "1");
  expect(takeSocket()).toBe(3);
  expect(Object.keys(process.env).filter((name) => name.startsWith("LISTEN_"))).toEqual([]);
  given(process.pid, "2");
  expect(() => takeSocket()).toThrow("systemd passes 2 sockets: expected one");
  expect(takeSocket()).toBeNull();
});

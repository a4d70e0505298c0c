/**
 * A Redis for tests: the one of CHIPBOARD_TEST_REDIS_URL, or a new redis-server on a free
 * port of 127.0.0.1.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { freePort } from "../program/free-port.ts";

export class RedisServer {
  readonly port: number;
  readonly #folder: string;
  readonly #options: readonly string[];
  #process: ChildProcess | null = null;

  private constructor(port: number, folder: string, options: readonly string[]) {
    this.port = port;
    this.#folder = folder;
    this.#options = options;
  }

  /** Starts a server; null if this machine has no redis-server. */
  static async start(...options: string[]): Promise<RedisServer | null> {
    const folder = await mkdtemp(join(tmpdir(), "chipboard-redis-"));
    const server = new RedisServer(await freePort(), folder, options);
    try {
      await server.resume();
      return server;
    } catch (error) {
      await rm(folder, { recursive: true });
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
      throw error;
    }
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts the server again with its old data. */
  async resume(): Promise<void> {
    const fixed = ["--port", String(this.port), "--bind", "127.0.0.1", "--dir", this.#folder];
    const durable = ["--save", "", "--appendonly", "yes", "--appendfsync", "always"];
    const child = spawn("redis-server", [...fixed, ...durable, ...this.#options], {
      stdio: "ignore",
    });
    await once(child, "spawn");
    this.#process = child;
    const probe = new Redis(this.port, "127.0.0.1", { retryStrategy: () => 20 });
    probe.on("error", () => undefined);
    // Any reply shows that it runs, even one that asks for a password.
    while (probe.status !== "ready" && probe.status !== "connect") await delay(10);
    probe.disconnect();
  }

  /** Kills the server; its data stays. */
  async stop(): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (child === null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async remove(): Promise<void> {
    await this.stop();
    await rm(this.#folder, { recursive: true });
  }
}

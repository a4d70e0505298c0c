/** The callers of a soak, with and without keys. They send requests all the time and check answers. */
import { Agent, request, type IncomingHttpHeaders } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import type { TierName } from "../../src/market/tier.ts";
import { same, type AnswerBook } from "./soak-answers.ts";
import type { Draws } from "./soak-draws.ts";
import type { SoakProxy } from "./soak-proxy.ts";
import { ROUTES, type Route } from "./soak-routes.ts";
import type { SoakTime } from "./soak-time.ts";

const CALLERS_AT_ONCE = 3;
const PAUSE_MS = 25;
const PATIENCE_MS = 20_000;

/** A caller with its own count: an account with one key, or an address. */
export interface Caller {
  readonly name: string;
  readonly tier: TierName;
  /** Null: it has no key, and `name` is its address. */
  readonly key: string | null;
  /** Calls a month. */
  readonly limit: number | null;
  /** Calls answered with data this month. */
  answered: number;
  /** Calls whose connection broke: they may have been counted. */
  uncertain: number;
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** After decoding. */
  readonly body: Buffer;
}

export interface LoadParts {
  readonly proxies: readonly SoakProxy[];
  readonly callers: readonly Caller[];
  readonly book: AnswerBook;
  readonly time: SoakTime;
  readonly draws: Draws;
}

export class Load {
  /** Number of all answers received. */
  answers = 0;
  readonly #parts: LoadParts;
  readonly #agent = new Agent({ keepAlive: true });
  #faults: string[] = [];
  #isPaused = true;
  #isOver = false;
  #inFlight = 0;
  readonly #workers: Promise<void>[];

  constructor(parts: LoadParts) {
    this.#parts = parts;
    this.#workers = Array.from({ length: CALLERS_AT_ONCE }, () => this.#work());
  }

  resume(): void {
    this.#isPaused = false;
  }

  /** Resolves when no request is in flight. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    while (this.#inFlight > 0) await delay(5);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#workers);
    this.#agent.destroy();
  }

  /** Returns the wrong answers since the last call. */
  takeFaults(): string[] {
    return this.#faults.splice(0);
  }

  /** Calls each proxy with each key, so that it knows the key during an outage. */
  async greet(): Promise<void> {
    const { proxies, callers } = this.#parts;
    for (const proxy of proxies) {
      for (const caller of callers) if (proxy.isUp) await this.#judged(proxy, caller, ROUTES.board);
    }
  }

  /**
   * Sends one request, checks its answer and counts it. Null if the connection broke because the
   * proxy was ended. Throws if the answer is wrong.
   */
  async ask(proxy: SoakProxy, caller: Caller, route: Route): Promise<Received | null> {
    const since = proxy.settled;
    const mayBreak = proxy.isDisturbed;
    const received = await this.#get(proxy, caller, route).catch((error: unknown) => {
      caller.uncertain += 1;
      if (mayBreak || proxy.isDisturbed) return null;
      throw error;
    });
    if (received === null) return null;
    this.answers += 1;
    const { status, body } = received;
    if (status === 200) {
      if (route.kind !== "uncounted") caller.answered += 1;
      same(null, route.refusal(caller.tier), "code");
      const { book, time } = this.#parts;
      if (route.kind !== "uncounted")
        await book.check(received, route, caller.tier, since, time.nowMs());
      return received;
    }
    const { code } = JSON.parse(body.toString("utf8")) as { code: unknown };
    const { answered, uncertain, limit } = caller;
    const isSpent = limit !== null && answered + uncertain + this.#inFlight >= limit;
    if (code === route.refusal(caller.tier) || (code === "quota_exceeded" && isSpent))
      return received;
    throw new Error(`${status}: ${body.toString("utf8")}\n${status === 500 ? proxy.stderr : ""}`);
  }

  #get(proxy: SoakProxy, { key, name }: Caller, route: Route): Promise<Received> {
    const who: Record<string, string> =
      key === null ? { "x-forwarded-for": name } : { authorization: `Bearer ${key}` };
    const headers = { ...who, "accept-encoding": this.answers % 2 === 0 ? "gzip" : "identity" };
    return new Promise((resolve, reject) => {
      const sent = request(proxy.url + route.path, { agent: this.#agent, headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece)).on("error", reject);
        response.on("end", () => {
          const raw = Buffer.concat(pieces);
          const isCoded = response.headers["content-encoding"] === "gzip";
          const body = isCoded ? gunzipSync(raw) : raw;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
        });
      });
      sent.setTimeout(PATIENCE_MS, () => sent.destroy(new Error("no answer came")));
      sent.on("error", reject).end();
    });
  }

  async #work(): Promise<void> {
    const { proxies, callers, draws } = this.#parts;
    while (!this.#isOver) {
      const up = this.#isPaused ? [] : proxies.filter(({ isUp }) => isUp);
      if (up.length > 0) {
        this.#inFlight += 1;
        const route = draws.pick(Object.values(ROUTES));
        await this.#judged(draws.pick(up), draws.pick(callers), route);
        this.#inFlight -= 1;
      }
      await delay(PAUSE_MS);
    }
  }

  async #judged(proxy: SoakProxy, caller: Caller, route: Route): Promise<void> {
    await this.ask(proxy, caller, route).catch((error: unknown) => {
      this.#faults.push(`${proxy.name}, ${caller.name}, ${route.path}: ${String(error)}`);
    });
  }
}

/**
 * The callers of a soak at work: a modest load on all proxies, every answer judged when it comes.
 * What was not as promised is kept until it is asked for.
 */
import { same, type AnswerBook } from "./soak-answers.ts";
import { forgedCaller, type Caller } from "./soak-callers.ts";
import { BrokenConnection, Client, type Received } from "./soak-client.ts";
import type { Draws } from "./soak-draws.ts";
import { codeOf, isKnownBy, judge, standingOf } from "./soak-judge.ts";
import type { SoakProxy } from "./soak-proxy.ts";
import type { Route } from "./soak-routes.ts";
import type { SoakTime } from "./soak-time.ts";

const CALLERS_AT_ONCE = 3;
const PAUSE_MS = 25;
const CONDITIONAL = 0.15;

/** What the load is made of; asked anew for each request. */
export interface LoadParts {
  readonly proxies: readonly SoakProxy[];
  callers(): readonly Caller[];
  routes(): readonly Route[];
  readonly book: AnswerBook;
  readonly time: SoakTime;
  readonly draws: Draws;
}

export class Load {
  /** Answers received, whatever they were. */
  answers = 0;
  /** The state is away: a key that a proxy has not seen may be told so. */
  isStateAway = false;
  readonly #parts: LoadParts;
  readonly #client = new Client();
  readonly #tags = new Map<string, string>();
  #faults: string[] = [];
  #isPaused = true;
  #isOver = false;
  #underWay = 0;
  readonly #workers: Promise<void>[];

  constructor(parts: LoadParts) {
    this.#parts = parts;
    this.#workers = Array.from({ length: CALLERS_AT_ONCE }, () => this.#work());
  }

  resume(): void {
    this.#isPaused = false;
  }

  /** Resolves when no request is under way any more. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    while (this.#underWay > 0) await pause(5);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#workers);
    this.#client.close();
  }

  /** What was not as promised since last asked, and forgets it. */
  takeFaults(): string[] {
    const faults = this.#faults;
    this.#faults = [];
    return faults;
  }

  /**
   * One request, its answer judged and counted. Null where the connection broke because the proxy
   * was being ended. Throws where the answer was not one of those promised.
   */
  async ask(
    proxy: SoakProxy,
    caller: Caller,
    route: Route,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Received | null> {
    const before = standingOf(proxy, caller, this.isStateAway);
    const since = proxy.settled;
    const credentials: Record<string, string> =
      caller.key === null
        ? { "x-forwarded-for": caller.address }
        : { authorization: `Bearer ${caller.key}` };
    let received: Received;
    try {
      received = await this.#client.get(proxy.url + route.path, { ...credentials, ...headers });
    } catch (error) {
      if (!(error instanceof BrokenConnection)) throw error;
      if (error.isUncertain) caller.subject.uncertain += 1;
      if (before.isDisturbed || proxy.isDisturbed) return null;
      throw error;
    }
    this.answers += 1;
    const after = standingOf(proxy, caller, this.isStateAway);
    if (caller.key !== null && isKnownBy(codeOf(received)) && !this.isStateAway) {
      proxy.seen.add(caller.key);
    }
    if (received.status === 200 && route.kind !== "usage") caller.subject.answered += 1;
    const { book, time } = this.#parts;
    const etag = headers["if-none-match"];
    const underWay = this.#underWay;
    const exchange = { proxy, caller, route, etag, since, before, after, underWay };
    await judge(exchange, received, book, time.nowMs());
    return received;
  }

  /** Every caller to every proxy once, so that each proxy has met each key. */
  async greet(): Promise<void> {
    const { proxies, callers, routes } = this.#parts;
    for (const proxy of proxies) {
      for (const caller of callers()) {
        if (proxy.isUp) await this.#judged(proxy, caller, routes()[0] as Route);
      }
    }
  }

  /** While the state is away: known keys go on, an unknown one is told that it cannot be checked. */
  async askWithoutState(proxy: SoakProxy, route: Route): Promise<void> {
    for (const caller of this.#parts.callers()) await this.ask(proxy, caller, route);
    const received = await this.ask(proxy, forgedCaller(), route);
    same(received === null ? null : codeOf(received), "state_unavailable", "code for a new key");
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      if (this.#isPaused) {
        await pause(PAUSE_MS);
        continue;
      }
      const { proxies, callers, routes, draws } = this.#parts;
      const up = proxies.filter(({ isUp }) => isUp);
      if (up.length > 0) {
        const [proxy, caller, route] = [
          draws.pick(up),
          draws.pick(callers()),
          draws.pick(routes()),
        ];
        this.#underWay += 1;
        await this.#judged(proxy, caller, route, this.#headersFor(caller, route));
        this.#underWay -= 1;
      }
      await pause(PAUSE_MS);
    }
  }

  async #judged(
    proxy: SoakProxy,
    caller: Caller,
    route: Route,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    try {
      const received = await this.ask(proxy, caller, route, headers);
      const etag = received?.status === 200 ? received.headers.etag : undefined;
      if (etag !== undefined) this.#tags.set(`${caller.tier} ${route.path}`, etag);
    } catch (error) {
      const who = caller.key === null ? caller.address : caller.subject.name;
      const what = error instanceof Error ? error.message : String(error);
      this.#faults.push(`${proxy.name}, ${who} (${caller.tier}), ${route.path}: ${what}`);
    }
  }

  #headersFor(caller: Caller, route: Route): Record<string, string> {
    const { draws } = this.#parts;
    const headers: Record<string, string> = draws.next() < 0.5 ? { "accept-encoding": "gzip" } : {};
    const tag = this.#tags.get(`${caller.tier} ${route.path}`);
    const isConditional = draws.next() < CONDITIONAL && tag !== undefined;
    return isConditional ? { ...headers, "if-none-match": tag } : headers;
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Hostile callers: anything that can be written to a socket, mixed with plain requests, against a
 * real proxy that logs every request. Each answer must be one that is documented, each well-formed
 * request must be answered, and no key may be logged.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import type { TierName } from "../../src/market/tier.ts";
import { API } from "../../src/public/routes.ts";
import { CONNECTION_LIMITS } from "../../src/lib/limits.ts";
import { residentMb } from "../bench/server-process.ts";
import { serve, type Serving } from "../../test/program/program.ts";
import { conversations, type Conversation } from "./caller-conversations.ts";
import { Judge } from "./caller-judge.ts";
import { tellingPart } from "./caller-keys.ts";
import { leaked } from "./caller-log.ts";
import type { Ingredients } from "./caller-requests.ts";
import { addAccount, publishMarket } from "./caller-service.ts";
import { converse, type Heard } from "./caller-socket.ts";
import { Tally, type FaultOptions, type FaultRow, type Faults } from "./fault.ts";

const REQUESTS = { full: 100_000, short: 2_000 } as const;
const CONTRACTS = 16;
const CLOSES_DAYS = 400;
const STARTER_ACCOUNTS = 8;
const CONNECTIONS_AT_ONCE = 64;
const GENERATED_AT_ONCE = 100;
/** Added to the proxy's own limits, for a busy machine. */
const PATIENCE_MS = 15_000;
const QUIET_MS = 2_000;
/** Printed of a conversation that failed; the seed reproduces all of it. */
const SHOWN_BYTES = 1_000;
/**
 * The proxy's limits of memory, in MB: of JavaScript objects, and resident. V8 would collect old garbage late, up to 300 MB
 * of it, which cannot be told from a leak. With this limit a leak ends the proxy: 42 MB are in use after 200,000 requests.
 */
const OBJECTS_MB_MAX = 128;
const RESIDENT_MB_MAX = 300;

export interface CallerRun extends FaultOptions {
  /** The least number of requests. */
  readonly requests: number;
  /** The port that callers connect to: the proxy's, or the port of a server in front of it. */
  readonly portOf: (proxy: Serving) => Promise<number>;
}

export const callerFaults: Faults = (options) =>
  runCallers({
    ...options,
    requests: REQUESTS[options.scale],
    portOf: async ({ port }) => port,
  });

export async function runCallers(run: CallerRun): Promise<FaultRow[]> {
  const { folder, say } = run;
  const store = await publishMarket(folder, CONTRACTS, CLOSES_DAYS);
  const state = join(folder, "state");
  const accounts = [await addAccount(state, "pro")];
  while (accounts.length <= STARTER_ACCOUNTS) accounts.push(await addAccount(state, "starter"));
  const log = join(folder, "callers.log");
  const logging = ["--log-requests", "all", "--trust-proxy", "1", "--poll", "1h"];
  const proxy = await serve(["--store", store, "--state", state, ...logging], {
    log,
    env: { NODE_OPTIONS: `--max-old-space-size=${OBJECTS_MB_MAX}` },
  });
  try {
    const keys = accounts.map(({ key }) => key);
    const judge = await Judge.of(store, proxy.url, keys);
    const etags = await etagsOf(proxy.url, keys);
    const callers = new HostileCallers(run, judge, await run.portOf(proxy));
    const given = { accounts, contracts: CONTRACTS, etags };
    await callers.converseUntil(run.requests / 2, given);
    await delay(QUIET_MS);
    const before = residentMb(proxy.pid).now;
    await callers.converseUntil(run.requests, given);
    await delay(QUIET_MS);
    const after = residentMb(proxy.pid).now;
    say(`${callers.answers} answers, ${callers.answersWithData} of them with data`);
    say(`${Math.round(before)} MB resident after half of them, ${Math.round(after)} MB after all`);

    const whole = new Tally("a proxy after all these callers", say);
    await whole.inject("is still the same process, and answers", async () => {
      if (!proxy.isAlive) throw new Error("The proxy has ended");
      const { status } = await fetch(`${proxy.url}/readyz`);
      if (status !== 200) throw new Error(`/readyz answers ${status}`);
    });
    await whole.inject("uses less than 300 MB", () => {
      if (Math.max(before, after) > RESIDENT_MB_MAX) throw new Error(`${before} and ${after} MB`);
    });
    const code = await proxy.end();
    if (code !== 0) throw new Error(`The proxy ended with ${code}`);
    const text = readFileSync(log, "utf8");
    await whole.inject("logged every answer with data, and no failure", () => {
      const lines = text.match(/"msg":"request"\}$/gm)?.length ?? 0;
      if (lines < callers.answersWithData) throw new Error(`Only ${lines} requests are logged`);
      const failure = /^\{"level":[56]0.*$/m.exec(text)?.[0];
      if (failure !== undefined) throw new Error(failure);
    });
    return [...callers.rows, whole.row, keysInLog(text, callers.secrets, run)];
  } finally {
    await proxy.end("SIGKILL");
  }
}

/** A row for the keys that were sent and must not be in the log. */
export function keysInLog(
  log: string,
  secrets: Iterable<string>,
  { say }: Pick<FaultOptions, "say">,
): FaultRow {
  const tally = new Tally("valid and mistyped keys and links, searched for in the log", say);
  const parts = new Set([...secrets].map(tellingPart).filter((part) => part !== null));
  const found = leaked(log, parts);
  tally.note(parts.size, found.length, `logged: ${found.slice(0, 5).join(", ")}`);
  return tally.row;
}

class HostileCallers {
  readonly secrets = new Set<string>();
  answers = 0;
  answersWithData = 0;
  readonly #run: CallerRun;
  readonly #judge: Judge;
  readonly #port: number;
  readonly #requests: Tally;
  readonly #connections: Tally;
  #sent = 0;
  #generated = 0;

  constructor(run: CallerRun, judge: Judge, port: number) {
    this.#run = run;
    this.#judge = judge;
    this.#port = port;
    this.#requests = new Tally("requests, hostile and plain", run.say);
    this.#connections = new Tally("connections of such callers", run.say);
  }

  get rows(): FaultRow[] {
    return [this.#requests.row, this.#connections.row];
  }

  async converseUntil(requests: number, given: Ingredients): Promise<void> {
    const caller = async (): Promise<void> => {
      while (this.#sent < requests) {
        const { conversation, name } = this.#next(given);
        const limitMs =
          PATIENCE_MS +
          (conversation.ending === "stop"
            ? CONNECTION_LIMITS.headersMs
            : CONNECTION_LIMITS.requestMs);
        this.#weigh(conversation, await converse(this.#port, conversation, limitMs), name);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS_AT_ONCE }, caller));
  }

  readonly #waiting: Conversation[] = [];

  #next(given: Ingredients): { conversation: Conversation; name: string } {
    if (this.#waiting.length === 0) {
      const seed = this.#run.seed + this.#generated;
      this.#waiting.push(
        ...fc.sample(conversations(given), { numRuns: GENERATED_AT_ONCE, seed }).reverse(),
      );
    }
    const conversation = this.#waiting.pop() as Conversation;
    const name = `conversation ${this.#generated} of seed ${this.#run.seed}`;
    this.#generated += 1;
    this.#sent += conversation.sent;
    for (const secret of conversation.secrets) this.secrets.add(secret);
    return { conversation, name };
  }

  #weigh(conversation: Conversation, heard: Heard, name: string): void {
    const { requests, sent, tiers, pieces } = conversation;
    const faults = heard.answers.flatMap((answer, at) => {
      const request = requests?.[at];
      const fault = this.#judge.faultOf(
        answer,
        request === undefined ? tiers : tiersOf(request.tier),
        request?.isHead === true,
      );
      this.answers += 1;
      if (answer.headers.has("x-snapshot") && answer.status === 200) this.answersWithData += 1;
      return fault === null ? [] : [`answer ${at} (${answer.status}): ${fault}`];
    });
    if (heard.error !== null) faults.push(heard.error);
    const bytes = (): string =>
      JSON.stringify(Buffer.concat(pieces).toString("latin1", 0, SHOWN_BYTES));
    const what = (reason: string): string => `${name}: ${reason}; sent: ${bytes()}`;
    const lost = Math.min(sent, faults.length);
    this.#requests.note(sent, lost, lost === 0 ? "" : what(faults.join("; ")));
    const failure = connectionFault(conversation, heard);
    this.#connections.note(1, failure === null ? 0 : 1, failure === null ? "" : what(failure));
  }
}

const tiersOf = (tier: TierName | null): ReadonlySet<TierName> =>
  new Set(tier === null ? [] : [tier]);

/** Null if every well-formed request was answered and the connection did not hang. */
export function connectionFault(
  { requests }: Pick<Conversation, "requests">,
  { answers, ending }: Heard,
): string | null {
  if (ending === "hanging") return "neither answered nor closed in time";
  if (ending === "refused") return "the connection was refused";
  if (requests === null || answers.length === requests.length) return null;
  return `${answers.length} answers to ${requests.length} requests`;
}

async function etagsOf(url: string, keys: readonly string[]): Promise<string[]> {
  const etags: string[] = [];
  for (const key of keys.slice(0, 2)) {
    for (const path of ["/prices", "/index", "/export.csv", "/prices/item-0"]) {
      for (const coding of ["gzip", "identity"]) {
        const headers = { authorization: `Bearer ${key}`, "accept-encoding": coding };
        etags.push((await fetch(url + API + path, { headers })).headers.get("etag") as string);
      }
    }
  }
  return etags;
}

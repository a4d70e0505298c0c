/** A proxy over a store and a state folder that are then taken from under it. */
import { mkdirSync } from "node:fs";
import { openGatekeeper, withRegistry } from "../../src/state/open.ts";
import type { Clock } from "../../src/clock.ts";
import { createLogger } from "../../src/proxy/ops/log.ts";
import { startProxy } from "../../src/proxy/serve.ts";
import type { ObjectStore } from "../../src/store/object-store.ts";

const API = "/api/public/v1";
export const GRACE_MS = 3_600_000;
/** Calls a month of the account that asks. */
export const LIMIT = 25_000;
const WAIT_MS = 20;
const WAITS = 1_500;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- checked by what is read of it
  readonly json: any;
}

export interface StatedProxy {
  readonly url: string;
  /** A route below the API, with the key of the account; or with another. */
  get(route: string, key?: string): Promise<Answer>;
  ready(): Promise<Answer>;
  /** Throws UnreachableError where the counts could not be written. */
  close(): Promise<void>;
}

/** Makes the state with one account (starter), and returns its key. */
export async function makeState(state: string, clock: Clock): Promise<string> {
  mkdirSync(state, { recursive: true });
  return withRegistry(state, clock, "change", async (registry) => {
    await registry.addAccount("acme", "starter", null);
    return (await registry.createKey("acme", null)).key;
  });
}

/** Another key of the account, made by a command beside the proxy. */
export const addKey = (state: string, clock: Clock): Promise<string> =>
  withRegistry(state, clock, "change", async (registry) => {
    return (await registry.createKey("acme", null)).key;
  });

/** Calls of the month that the clock is in, as a command reads them beside the proxy. */
export const storedCalls = (state: string, clock: Clock): Promise<number> =>
  withRegistry(state, clock, "read", async (registry) => {
    const [usage] = await registry.usage("acme");
    return usage?.used ?? 0;
  });

export async function startStatedProxy(
  store: ObjectStore,
  state: string,
  key: string,
  clock: Clock,
): Promise<StatedProxy> {
  const gatekeeper = await openGatekeeper(state, clock);
  const log = createLogger({ level: "info", requests: "none" }, clock, {
    write: () => true,
    droppedLines: 0,
  });
  const proxy = await startProxy({
    log,
    host: "127.0.0.1",
    port: 0,
    metricsPort: null,
    pollMs: 20,
    graceMs: GRACE_MS,
    trustedHops: 0,
    maxConnections: 10_000,
    tls: null,
    cacheBytes: 64_000_000,
    store,
    gatekeeper,
    clock,
  });
  return {
    url: proxy.url,
    get: (route, with_ = key) =>
      ask(`${proxy.url}${API}${route}`, { authorization: `Bearer ${with_}` }),
    ready: () => ask(`${proxy.url}/readyz`, {}),
    close: async () => {
      await proxy.close();
      await gatekeeper.close();
    },
  };
}

/** Waits until `check` holds. */
export async function until(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < WAITS; waited += 1) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  }
  throw new Error(`It did not come about: ${what}`);
}

async function ask(url: string, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(url, { headers });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  const json: unknown = isJson ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, json };
}

/**
 * chipboard as it is run: 110 contracts with five years of closes published by the command line, an
 * account with a key, and a proxy with its defaults. Log lines go to a file.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { sessionKey } from "../../src/market/session.ts";
import type { Fields } from "./answer.ts";
import { FIRST_SESSION, instantIn, writeMarket } from "./market.ts";
import { BIN, chipboard, chipboardEnv } from "./program.ts";
import { settled, startServer, type Server } from "./server.ts";

export const CONTRACTS = 110;
export const BOARD_PATH = "/api/public/v1/prices";
export const ACCOUNT = "bench";

/** When the proxies' clocks start: nothing is overdue, and nothing changes for hours. */
export const NOW = instantIn(FIRST_SESSION);

export interface Service {
  readonly store: string;
  readonly state: string;
  /** Of a pro account. */
  readonly key: string;
}

/** Publishes `sessions` sessions into `folder`, and creates the account and its key. */
export async function prepareService(folder: string, sessions = 1): Promise<Service> {
  const inputs = join(folder, "inputs");
  const store = join(folder, "store");
  const state = join(folder, "state");
  mkdirSync(inputs);
  const market = writeMarket(inputs, CONTRACTS, sessions);
  for (const { session, file } of market.quotes) {
    const args = ["publish", "--store", store, "--session", sessionKey(session), "--quotes", file];
    const isFirst = session === FIRST_SESSION;
    if (isFirst) args.push("--catalog", market.catalog, "--closes", market.closes);
    await chipboard(args, instantIn(session));
  }
  return { store, state, key: await createProKey(state) };
}

/** Adds the account and returns its new key. */
export async function createProKey(state: string): Promise<string> {
  await chipboard(["accounts", "add", ACCOUNT, "--tier", "pro", "--state", state], NOW);
  const made = await chipboard(["keys", "create", ACCOUNT, "--state", state, "--json"], NOW);
  return (JSON.parse(made) as { key: string }).key;
}

/** What a caller sends: a key, and that gzip is welcome. */
export const fieldsOf = (key: string): Fields => ({
  "accept-encoding": "gzip",
  authorization: `Bearer ${key}`,
});

const FREE_PORTS = ["--port", "0", "--metrics-port", "0"];

/** How a proxy is started where it is not as usual. */
interface ProxyStart {
  /** Of `serve`. */
  readonly options?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The program that runs it instead of this Node. */
  readonly bun?: string;
}

/**
 * Starts `serve` with its defaults, on free ports, and waits until it has prepared all it serves:
 * what is measured is how it goes on, not how it begins.
 */
export async function startProxy(
  { store, state }: Pick<Service, "store" | "state">,
  log: string,
  { options = [], env = {}, bun }: ProxyStart = {},
): Promise<Server> {
  const proxy = await startServer({
    name: "chipboard",
    command: bun ?? process.execPath,
    args: [BIN, "serve", "--store", store, "--state", state, ...FREE_PORTS, ...options],
    env: { ...chipboardEnv(NOW), ...env },
    log,
    // Bun's HTTP server is no net.Server: what closes Node's in order throws there.
    isKilled: bun !== undefined,
  });
  await settled(proxy.pid);
  return proxy;
}

/** Calls that the account of `key` is charged with, as the proxy counts them. */
export async function callsCharged(proxy: Server, key: string): Promise<number> {
  const response = await fetch(`${proxy.url}/api/public/v1/usage`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return ((await response.json()) as { used: number }).used;
}

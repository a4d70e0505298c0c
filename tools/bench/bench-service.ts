/**
 * chipboard as operators run it: 110 contracts with five years of closes, published by the program, an
 * account with a key, and a proxy with its defaults. Log lines go to a file.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { sessionKey } from "../../src/market/session.ts";
import type { Fields } from "./raw-answer.ts";
import { FIRST_SESSION, instantIn, writeMarket } from "./bench-market.ts";
import { BIN, environment, outputOf } from "../../test/program/program.ts";
import { settled, startServer, type Server } from "./server-process.ts";

export const CONTRACTS = 110;
export const BOARD_PATH = "/api/public/v1/prices";
export const ACCOUNT = "bench";

/** The start of the proxies' clocks: nothing is overdue, and nothing changes for hours. */
export const NOW = instantIn(FIRST_SESSION);

export interface Service {
  readonly store: string;
  readonly state: string;
  /** The key of an account of tier pro. */
  readonly key: string;
}

/** Publishes `sessions` sessions into `folder`, and creates the account and its key. */
export async function prepareService(
  folder: string,
  sessions = 1,
  program = BIN,
): Promise<Service> {
  const inputs = join(folder, "inputs");
  const store = join(folder, "store");
  const state = join(folder, "state");
  mkdirSync(inputs, { recursive: true });
  const market = writeMarket(inputs, CONTRACTS, sessions);
  for (const { session, file } of market.quotes) {
    const args = ["publish", "--store", store, "--session", sessionKey(session), "--quotes", file];
    const isFirst = session === FIRST_SESSION;
    if (isFirst) args.push("--catalog", market.catalog, "--closes", ...market.closes);
    const env = environment(instantIn(session));
    // Another version begins a store with its first publication.
    await outputOf(args, { env, script: program, begins: program === BIN });
  }
  return { store, state, key: await createProKey(state, program) };
}

/** Adds the account and returns its new key. */
export async function createProKey(state: string, program = BIN): Promise<string> {
  const run = { env: environment(NOW), script: program };
  await outputOf(["accounts", "add", ACCOUNT, "--tier", "pro", "--state", state], run);
  const made = await outputOf(["keys", "create", ACCOUNT, "--state", state, "--json"], run);
  return (JSON.parse(made) as { key: string }).key;
}

/** The header fields of a caller: a key, and gzip as accepted coding. */
export const fieldsOf = (key: string): Fields => ({
  "accept-encoding": "gzip",
  authorization: `Bearer ${key}`,
});

/** Several loads of one address ask one proxy. */
const SETTINGS = ["--port", "0", "--metrics-port", "0", "--max-connections-per-address", "1000"];

/** Options of a proxy that differ from the usual ones. */
export interface ProxyStart {
  /** More options of `serve`. */
  readonly options?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Options of Node. */
  readonly flags?: readonly string[];
  /** The runtime, instead of this Node. */
  readonly bun?: string;
  /** The program, instead of this checkout's. */
  readonly program?: string;
}

/**
 * Starts `serve` with its defaults, on free ports, and waits until it has prepared all files, because
 * the start is not measured.
 */
export async function startProxy(
  { store, state }: Pick<Service, "store" | "state">,
  log: string,
  { options = [], env = {}, flags = [], bun, program = BIN }: ProxyStart = {},
): Promise<Server> {
  const proxy = await startServer({
    name: "chipboard",
    command: bun ?? process.execPath,
    args: [...flags, program, "serve", "--store", store, "--state", state, ...SETTINGS, ...options],
    env: { ...environment(NOW), ...env },
    log,
    // Bun's HTTP server is not a net.Server, so the proxy cannot close it in the usual way.
    isKilled: bun !== undefined,
  });
  await settled(proxy.pid);
  return proxy;
}

/** The calls that the proxy counts for the account of `key`. */
export async function callsCharged(proxy: Server, key: string): Promise<number> {
  const response = await fetch(`${proxy.url}/api/public/v1/usage`, {
    headers: { authorization: `Bearer ${key}` },
  });
  return ((await response.json()) as { used: number }).used;
}

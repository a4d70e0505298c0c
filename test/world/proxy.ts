/**
 * A proxy of the world: the core over its own reading of the log, its snapshot, its archive and its view of the shared
 * state. It has no socket and no timer: it polls and looks when the world says so.
 */
import { answer, fieldsOf } from "../../src/core/answer.ts";
import type { World } from "../../src/core/world.ts";
import { nodePlatform } from "../../src/hosts/platform.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { Turns } from "../../src/lib/turns.ts";
import type { Answered } from "../../src/ports/observer.ts";
import type { StateDriver } from "../../src/ports/state.ts";
import type { ObjectStore } from "../../src/ports/store.ts";
import { Archive } from "../../src/served/archive.ts";
import { LiveSnapshot } from "../../src/served/live.ts";
import { LogReader } from "../../src/served/log-reader.ts";
import { addressSecret } from "../../src/state/address-secret.ts";
import { StateAccounts } from "../../src/state/state-accounts.ts";
import { InterceptedStore } from "../faults/crash-store.ts";
import { GOLDEN_KEY } from "../golden/golden-key.ts";
import type { Gate } from "./scheduler.ts";

/** An answer with its body, and what the core told its host of it. */
export interface Heard {
  readonly status: number;
  readonly fields: ReadonlyMap<string, string>;
  readonly body: Buffer;
  readonly told: Answered;
}

export interface WorldProxy {
  readonly accounts: StateAccounts;
  readonly live: LiveSnapshot;
  /** Follows the log, as a timer would. */
  poll(): Promise<void>;
  /** Looks at the state, as a timer would. */
  look(): Promise<void>;
  ask(target: string, key: string | null, peer: string): Promise<Heard>;
}

const QUIET = { error: () => {}, warn: () => {}, info: () => {} };
const CACHE_BYTES = 4_000_000;

/** Starts a proxy, which reads store and state through the gate. */
export async function startWorldProxy(
  gate: Gate,
  sharedStore: ObjectStore,
  sharedDriver: StateDriver,
  clock: Clock,
): Promise<WorldProxy> {
  const store = new InterceptedStore(sharedStore, gate);
  const driver = gatedState(sharedDriver, gate);
  const found = { addressSecret: await addressSecret(driver), accounts: 0, refusal: null };
  const accounts = new StateAccounts(driver, clock, found, {}, null);
  const keys = [GOLDEN_KEY.verifyKey];
  const reader = new LogReader(store, accounts, keys);
  const failures: unknown[] = [];
  const loading = {
    graceMs: 3_600_000,
    cacheBytes: CACHE_BYTES,
    onStreamFailure: (error: unknown) => void failures.push(error),
    platform: nodePlatform,
  };
  // A failed load is tried again at the next poll.
  const live = new LiveSnapshot({ ...loading, store, reader, clock, log: QUIET, pollMs: 0 });
  const told = new Map<string, Answered>();
  const world: World = {
    ...loading,
    accounts,
    clock,
    live,
    log: reader,
    archive: new Archive(store, loading),
    turns: new Turns(setImmediate),
    pages: { answers: new Map(), problem: () => null },
    observer: {
      answered: (each) => void told.set(each.requestId, each),
      failed: (error) => void failures.push(error),
    },
    publicUrl: null,
    origin: "http://world.example",
    pollMs: 1_000,
    logKeysPem: null,
    trustedHops: 0,
  };
  return {
    accounts,
    live,
    poll: () => live.poll(),
    look: () => accounts.check(),
    async ask(target, key, peer) {
      const headers = { host: "world.example", ...(key !== null && { "x-api-key": key }) };
      const rawHeaders = Object.entries(headers).flat();
      const request = { method: "GET", target, httpVersion: "1.1", headers, rawHeaders, peer };
      const sent = await answer({ ...request, arrivedMs: 0 }, world);
      const pieces = sent.body ?? [];
      let body = Buffer.alloc(0);
      try {
        const parts = pieces instanceof Uint8Array ? [pieces] : await Array.fromAsync(pieces);
        body = Buffer.concat(parts);
      } finally {
        sent.done();
      }
      const list = fieldsOf(sent);
      const fields = new Map<string, string>();
      for (let at = 0; at < list.length; at += 2)
        fields.set(list[at] as string, list[at + 1] as string);
      const { status } = sent;
      const own = told.get(fields.get("x-request-id") as string) as Answered;
      if (status === 500) throw new Error(`500 for ${target}`, { cause: failures.at(-1) });
      return { status, fields, body, told: own };
    },
  };
}

/** The same state; each use of it waits for its turn. */
export function gatedState(driver: StateDriver, gate: Gate): StateDriver {
  const gated =
    <A extends unknown[], T>(kind: string, run: (...args: A) => Promise<T>) =>
    (...args: A): Promise<T> =>
      gate({ kind: `state.${kind}`, key: "" }, () => run(...args));
  const storage = new Proxy(driver.storage, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== "getItem" && name !== "getKeys" && name !== "hasItem") return value;
      return gated(name, (...args: unknown[]) =>
        Reflect.apply(value as (...all: unknown[]) => Promise<unknown>, target, args),
      );
    },
  });
  return {
    storage,
    created: driver.created,
    version: gated("version", () => driver.version()),
    write: gated("write", (...args: Parameters<StateDriver["write"]>) => driver.write(...args)),
    used: gated("used", (names: Parameters<StateDriver["used"]>[0]) => driver.used(names)),
    count: gated("count", (...args: Parameters<StateDriver["count"]>) => driver.count(...args)),
    look: gated("look", () => driver.look()),
    refusal: (error) => driver.refusal(error),
    evictionPolicy: () => driver.evictionPolicy(),
    forget: gated("forget", (nowMs: number) => driver.forget(nowMs)),
    readAll: gated("readAll", () => driver.readAll()),
    explain: (error) => driver.explain(error),
    close: async () => {},
  };
}

/** The two states that calls are counted in, each by any number of proxies. */
import { DatabaseSync } from "node:sqlite";
import { Redis } from "ioredis";
import { REDIS_KEYS } from "../../src/state/redis/connection.ts";
import { stateFilePath } from "../../src/state/sqlite/file.ts";
import { Proxy, type ProxyOptions } from "./caller-service.ts";
import type { FaultOptions } from "./fault.ts";

export interface QuotaState {
  readonly kind: "folder" | "Redis";
  /** As of `--state`. */
  readonly location: string;
  /** Calls of an account by month, as they lie in the state, past any proxy. */
  counts(account: string): Promise<Map<string, number>>;
}

export interface QuotaRun extends FaultOptions {
  readonly state: QuotaState;
  readonly store: string;
}

/** Starts so many proxies that count together. */
export function serveTogether(
  { state, store }: QuotaRun,
  processes: number,
  options: ProxyOptions,
): Promise<Proxy[]> {
  const args = ["--store", store, "--state", state.location, "--poll", "1h"];
  return Promise.all(Array.from({ length: processes }, () => Proxy.serve(args, options)));
}

export const folderState = (location: string): QuotaState => ({
  kind: "folder",
  location,
  counts: async (account) => {
    const database = new DatabaseSync(stateFilePath(location), { readOnly: true });
    try {
      const read = database.prepare("SELECT month, used FROM calls WHERE subject = ?");
      const rows = read.all(`account:${account}`);
      return new Map(rows.map(({ month, used }) => [String(month), Number(used)]));
    } finally {
      database.close();
    }
  },
});

export const redisState = (location: string): QuotaState => ({
  kind: "Redis",
  location,
  counts: async (account) => {
    const client = new Redis(location);
    try {
      const key = REDIS_KEYS.calls("*", `account:${account}`);
      const counts = new Map<string, number>();
      for (const name of await client.keys(key)) {
        const month = /\d{4}-\d{2}/.exec(name)?.[0] as string;
        counts.set(month, Number(await client.get(name)));
      }
      return counts;
    } finally {
      client.disconnect();
    }
  },
});

/**
 * `kill -9` of a proxy under load, with the state in a folder and in Redis: every call that was
 * answered is counted, and at most the calls that were sent are.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { uniformAt } from "../../src/demo/random.ts";
import { API, DATA_ROUTES } from "../../src/public/routes.ts";
import { createState } from "../../src/state/open.ts";
import { serve, type Serving } from "../../test/program/program.ts";
import { testService } from "../../test/services/services.ts";
import { Callers } from "./caller-load.ts";
import { addAccount, publishMarket } from "./caller-service.ts";
import { Tally, type FaultOptions, type FaultRow, type Faults } from "./fault.ts";

const CONTRACTS = 12;
/** Other tests on the same server use other databases. */
const REDIS_DATABASE = 13;
const KILLS = { full: 20, short: 2 } as const;
const LOAD_MS_MIN = 400;
const LOAD_MS_MAX = 1_200;
const CONNECTIONS = 16;

/** Throws without Redis. */
export const quotaFaults: Faults = async (options) => {
  const inFolder = await folderQuotaFaults(options);
  return [...inFolder, ...(await redisQuotaFaults(options))];
};

export const folderQuotaFaults: Faults = async (options) => [
  await killFaults("a folder", join(options.folder, "state"), options),
];

export const redisQuotaFaults: Faults = async (options) => {
  const redis = testService("redis");
  if (redis === null) throw new Error("There is no Redis; see test/services/install");
  try {
    const url = new URL(redis.env["CHIPBOARD_TEST_REDIS_URL"] as string);
    url.pathname = `/${REDIS_DATABASE}`;
    return [await killFaults("Redis", url.href, options)];
  } finally {
    redis.stop();
  }
};

async function killFaults(
  kind: string,
  state: string,
  { scale, seed, say, folder }: FaultOptions,
): Promise<FaultRow> {
  const tally = new Tally(`kill -9 of a proxy that counts in ${kind}`, say);
  const store = await publishMarket(join(folder, kind), CONTRACTS, 0);
  const start = (): Promise<Serving> => serve(["--store", store, "--state", state, "--poll", "1h"]);
  await createState(state);
  let proxy = await start();
  try {
    for (let round = 0; round < KILLS[scale]; round += 1) {
      const { key } = await addAccount(state, "pro");
      const loadMs = LOAD_MS_MIN + uniformAt(seed, round) * (LOAD_MS_MAX - LOAD_MS_MIN);
      const load = await loadUntilKilled(proxy, key, loadMs);
      proxy = await start();
      const used = await usedBy(proxy.url, key);
      await tally.inject(`round ${round} of seed ${seed}`, () => expectCounted(load, used));
    }
  } finally {
    await proxy.end("SIGKILL");
  }
  return tally.row;
}

/** The calls to a proxy that was killed, counted by the callers. */
export interface KilledLoad {
  readonly sent: number;
  /** Answered with 200. */
  readonly answered: number;
}

/** Throws unless `used` is between the calls answered and the calls sent. */
export function expectCounted({ sent, answered }: KilledLoad, used: number): void {
  if (answered === 0)
    throw new Error("No call was answered before the kill: the test shows nothing");
  if (used < answered) throw new Error(`${used} calls are counted, ${answered} were answered`);
  if (used > sent) throw new Error(`${used} calls are counted, ${sent} were sent`);
}

async function loadUntilKilled(proxy: Serving, key: string, loadMs: number): Promise<KilledLoad> {
  const callers = new Callers(CONNECTIONS);
  let sent = 0;
  let answered = 0;
  let isKilled = false;
  const first = Promise.withResolvers<void>();
  const load = callers.all(async () => {
    sent += 1;
    try {
      const { status } = await callers.get(proxy.url + DATA_ROUTES.board.path, key);
      if (status === 200) answered += 1;
      first.resolve();
      return true;
    } catch (error) {
      if (!isKilled) throw error;
      return false;
    }
  });
  try {
    // A new proxy first reads its files, so the time starts with the first answer.
    await Promise.race([load, first.promise.then(() => delay(loadMs))]);
    isKilled = true;
    await proxy.end("SIGKILL");
    await load;
  } finally {
    callers.close();
  }
  return { sent, answered };
}

/** The calls of this month that the proxy counts for the account of `key`. */
async function usedBy(url: string, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}${API}/usage`, { headers });
  if (response.status !== 200) throw new Error(`/usage answered ${response.status}`);
  return ((await response.json()) as { used: number }).used;
}

/**
 * `kill -9` of a proxy under load. Whatever it answered must be counted, and no call that was never
 * sent.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { uniformAt } from "../../src/demo/random.ts";
import { DATA_ROUTES } from "../../src/proxy/routes.ts";
import { Callers, usageOf } from "./caller-load.ts";
import { addAccount, type Proxy } from "./caller-service.ts";
import { Tally, type FaultRow } from "./fault.ts";
import { serveTogether, type QuotaRun } from "./quota-state.ts";

const KILLS = { full: 20, short: 4 } as const;
const LOAD_MS_MIN = 400;
const LOAD_MS_MAX = 1_200;
const CONNECTIONS = 16;

/** What callers know of the calls of a proxy that was killed. */
export interface KilledLoad {
  readonly sent: number;
  /** Answered with a 200. */
  readonly answered: number;
}

export async function killFaults(run: QuotaRun): Promise<FaultRow> {
  const { scale, seed, say, folder, state } = run;
  const tally = new Tally(`kill -9 of a proxy that counts, state in ${state.kind}`, say);
  const serve = async (): Promise<Proxy> => {
    const [proxy] = await serveTogether(run, 1, { log: join(folder, "killed.log") });
    return proxy as Proxy;
  };
  let proxy = await serve();
  try {
    for (let round = 0; round < KILLS[scale]; round += 1) {
      const { key } = await addAccount(state.location, "pro");
      const loadMs = LOAD_MS_MIN + uniformAt(seed, round) * (LOAD_MS_MAX - LOAD_MS_MIN);
      const load = await loadUntilKilled(proxy, key, loadMs);
      proxy = await serve();
      const { used } = await usageOf(proxy.url, key);
      await tally.throw(`round ${round} of seed ${seed}`, () => expectCounted(load, used));
    }
  } finally {
    await proxy.kill();
  }
  return tally.row;
}

/** Throws where `used` cannot be what a proxy counted that kept its promise. */
export function expectCounted({ sent, answered }: KilledLoad, used: number): void {
  if (answered === 0) throw new Error("No call was answered before the kill: nothing was tried");
  if (used < answered) throw new Error(`${used} calls are counted, ${answered} were answered`);
  if (used > sent) throw new Error(`${used} calls are counted, ${sent} were sent`);
}

async function loadUntilKilled(proxy: Proxy, key: string, loadMs: number): Promise<KilledLoad> {
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
    // The load is timed from its first answer: a proxy that just started is still compressing.
    await Promise.race([load, first.promise.then(() => delay(loadMs))]);
    isKilled = true;
    await proxy.kill();
    await load;
  } finally {
    callers.close();
  }
  return { sent, answered };
}

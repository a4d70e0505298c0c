/**
 * The monthly quota under fire: proxies killed while they count, eight processes at the limit (on Redis), and
 * the turn of a month, on a state in a folder and on one in Redis.
 */
import { join } from "node:path";
import { testService } from "../services/services.ts";
import { publishMarket } from "./caller-service.ts";
import type { FaultOptions, FaultRow, Faults } from "./fault.ts";
import { killFaults } from "./quota-kills.ts";
import { limitFaults } from "./quota-limit.ts";
import { monthFaults } from "./quota-months.ts";
import { folderState, redisState, type QuotaState } from "./quota-state.ts";

const CONTRACTS = 12;
/** Not used by other tests on the same server. */
const REDIS_DATABASE = 13;

export const quotaFaults: Faults = async (options) => {
  const inFolder = await folderQuotaFaults(options);
  return [...inFolder, ...(await redisQuotaFaults(options))];
};

export const folderQuotaFaults: Faults = (options) =>
  faultsOn(folderState(join(options.folder, "state")), options);

/** Throws where there is no Redis. */
export const redisQuotaFaults: Faults = async (options) => {
  const redis = testService("redis");
  if (redis === null) throw new Error("There is no Redis; see test/services/install");
  try {
    const url = new URL(redis.env["CHIPBOARD_TEST_REDIS_URL"] as string);
    url.pathname = `/${REDIS_DATABASE}`;
    return await faultsOn(redisState(url.href), options);
  } finally {
    redis.stop();
  }
};

async function faultsOn(state: QuotaState, options: FaultOptions): Promise<FaultRow[]> {
  const store = await publishMarket(join(options.folder, state.kind), CONTRACTS, 0);
  const run = { ...options, state, store };
  return [await killFaults(run), await limitFaults(run), await monthFaults(run)];
}

/** One account, several processes, and fewer calls left than are asked for at once. */
import { join } from "node:path";
import { uniformAt } from "../../src/demo/random.ts";
import { TIERS } from "../../src/market/tier.ts";
import { DATA_ROUTES } from "../../src/proxy/routes.ts";
import { Callers, usageOf, type Told } from "./caller-load.ts";
import { addAccount } from "./caller-service.ts";
import { Tally, type FaultRow } from "./fault.ts";
import { serveTogether, type QuotaRun } from "./quota-state.ts";

const PROCESSES = { folder: 4, Redis: 8 } as const;
const CONNECTIONS = 64;
const LIMIT = TIERS.starter.callsPerMonth as number;
const ROUNDS = { full: 5, short: 1 } as const;
const LEFT_MIN = { full: 1_000, short: 200 } as const;
/** Asked for beyond what is left. */
const BEYOND = { full: 1_000, short: 200 } as const;

export async function limitFaults(run: QuotaRun): Promise<FaultRow> {
  const { scale, seed, say, folder, state } = run;
  const fault = `calls at the limit of one account, ${PROCESSES[state.kind]} processes, state in ${state.kind}`;
  const tally = new Tally(fault, say);
  for (let round = 0; round < ROUNDS[scale]; round += 1) {
    const left = LEFT_MIN[scale] + Math.floor(uniformAt(seed, round) * LEFT_MIN[scale]);
    const { key } = await addAccount(state.location, "starter", LIMIT - left);
    const log = join(folder, "limit.log");
    const proxies = await serveTogether(run, PROCESSES[state.kind], { log });
    const callers = new Callers(CONNECTIONS);
    try {
      const answers: Told[] = [];
      let calls = 0;
      await callers.all(async (connection) => {
        if (calls >= left + BEYOND[scale]) return false;
        calls += 1;
        const { url } = proxies[connection % proxies.length] as (typeof proxies)[number];
        answers.push(await callers.get(url + DATA_ROUTES.board.path, key));
        return true;
      });
      const { used } = await usageOf((proxies[0] as (typeof proxies)[number]).url, key);
      const wrong = wronglyAnswered(answers, left) + Math.abs(used - LIMIT);
      const what = `round ${round} of seed ${seed}: ${left} calls were left, ${used} are counted`;
      tally.note(calls, Math.min(calls, wrong), what);
    } finally {
      callers.close();
      for (const proxy of proxies) await proxy.end();
    }
  }
  return tally.row;
}

/**
 * How many answers are not as the quota has it: exactly `left` with 200, each with a count of its
 * own, all others with 429.
 */
export function wronglyAnswered(answers: readonly Told[], left: number): number {
  const granted = answers.filter(({ status }) => status === 200);
  const counts = new Set(granted.map(({ headers }) => Number(headers["x-ratelimit-remaining"])));
  const known = [...counts].filter(
    (count) => Number.isInteger(count) && count >= 0 && count < left,
  );
  const refused = answers.filter(
    ({ status, headers }) => status === 429 && headers["x-ratelimit-remaining"] === "0",
  );
  const others = answers.length - granted.length - refused.length;
  return others + Math.abs(granted.length - left) + (granted.length - known.length);
}

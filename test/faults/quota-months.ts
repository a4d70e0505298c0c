/** The turn of a month under load: every answered call is counted once, in one of the two. */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { TIERS } from "../../src/market/tier.ts";
import { DATA_ROUTES } from "../../src/proxy/routes.ts";
import { Callers, usageOf } from "./caller-load.ts";
import { addAccount, type Proxy } from "./caller-service.ts";
import { Tally, type FaultRow } from "./fault.ts";
import { serveTogether, type QuotaRun } from "./quota-state.ts";

/** The first instants of months: of 28, 29 and 31 days before, and of a year. */
const TURNS = ["2026-12", "2027-01", "2027-03", "2028-03", "2027-08", "2027-05"] as const;
const ROUNDS = { full: 6, short: 1 } as const;
const PROCESSES = 2;
const CONNECTIONS = 8;
/** Between the calls of a connection, so that the limit is not met. */
const PAUSE_MS = 2;
/** How long before the turn the clock starts: doubled where the proxy takes that long to start. */
const LEAD_MS = 1_000;
const LEAD_MS_MAX = 32_000;
/** How long the load goes on in the new month. */
const AFTER_MS = 700;
const LIMIT = TIERS.starter.callsPerMonth as number;

export async function monthFaults(run: QuotaRun): Promise<FaultRow> {
  const { scale, say, state } = run;
  const tally = new Tally(`calls across the turn of a month, state in ${state.kind}`, say);
  for (const month of TURNS.slice(0, ROUNDS[scale])) {
    let leadMs = LEAD_MS;
    let turn = await loadAcross(run, month, leadMs);
    while (turn === null && leadMs < LEAD_MS_MAX) {
      leadMs *= 2;
      turn = await loadAcross(run, month, leadMs);
    }
    if (turn === null) throw new Error(`No proxy starts within ${LEAD_MS_MAX} ms`);
    const lost = miscounted(turn.usedTold, turn.counts);
    const counts = JSON.stringify([...turn.counts]);
    tally.note(turn.usedTold.length, lost, `${month}: counted ${counts}`);
  }
  return tally.row;
}

/**
 * Of the calls answered, each of which was told its number (1 for the first of a month), how many
 * were not counted or counted twice; `counts` is what the state holds, by month.
 */
export function miscounted(
  usedTold: readonly number[],
  counts: ReadonlyMap<string, number>,
): number {
  const times = new Map<number, number>();
  for (const used of usedTold) times.set(used, (times.get(used) ?? 0) + 1);
  let counted = 0;
  for (const count of counts.values()) {
    counted += count;
    for (let used = 1; used <= count; used += 1) times.set(used, (times.get(used) ?? 0) - 1);
  }
  const differences = [...times.values()].reduce((sum, left) => sum + Math.abs(left), 0);
  return Math.min(usedTold.length, Math.max(differences, Math.abs(usedTold.length - counted)));
}

interface Turn {
  /** What each answered call was told to be in the count of its month. */
  readonly usedTold: readonly number[];
  readonly counts: ReadonlyMap<string, number>;
}

/** Null where the proxies started so late that no call fell into the old month. */
async function loadAcross(run: QuotaRun, month: string, leadMs: number): Promise<Turn | null> {
  const { folder, state } = run;
  const turnMs = Date.parse(`${month}-01T00:00:00Z`);
  const { name, key } = await addAccount(state.location, "starter");
  const proxies = await serveTogether(run, PROCESSES, {
    log: join(folder, "months.log"),
    now: new Date(turnMs - leadMs).toISOString(),
  });
  const callers = new Callers(CONNECTIONS);
  const usedTold: number[] = [];
  try {
    let isOver = false;
    const load = callers.all(async (connection) => {
      if (isOver) return false;
      const { url } = proxies[connection % proxies.length] as Proxy;
      const { status, headers } = await callers.get(url + DATA_ROUTES.board.path, key);
      if (status !== 200) throw new Error(`A call below the limit was answered with ${status}`);
      usedTold.push(LIMIT - Number(headers["x-ratelimit-remaining"]));
      await delay(PAUSE_MS);
      return true;
    });
    const turned = (async () => {
      // Each has a clock of its own, started when it was.
      for (const { url } of proxies) await passedTurn(url, key, turnMs);
      await delay(AFTER_MS);
      isOver = true;
    })();
    await Promise.all([load, turned]);
  } finally {
    callers.close();
    for (const proxy of proxies) await proxy.end();
  }
  // Two calls were the first of a month, as the callers know it.
  const firsts = usedTold.filter((used) => used === 1).length;
  return firsts < 2 ? null : { usedTold, counts: await state.counts(name) };
}

async function passedTurn(url: string, key: string, turnMs: number): Promise<void> {
  for (;;) {
    const { resetsAt } = await usageOf(url, key);
    if (Date.parse(resetsAt) > turnMs) return;
    await delay(20);
  }
}

/**
 * Slow clients: a thousand send a byte per second, and a thousand read a byte per second. Meanwhile
 * ordinary callers must get correct answers, and at least half of their usual throughput. The slow
 * clients must get their answers, or be disconnected within the proxy's limits.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseSession, type Session } from "../../src/market/session.ts";
import { API } from "../../src/public/routes.ts";
import { CONNECTION_LIMITS, type ConnectionLimits } from "../../src/lib/limits.ts";
import { FILES, snapshotFileKey } from "../../src/store/paths.ts";
import { settled } from "../bench/server-process.ts";
import { serve, Serving } from "../../test/program/program.ts";
import { plainFile } from "../../test/store/stored-file.ts";
import { Callers } from "./caller-load.ts";
import { addAccount, contractId, publishMarket, SESSION } from "./caller-service.ts";
import { Tally, type FaultOptions, type FaultRow, type Faults } from "./fault.ts";
import type { SlowEnd } from "./slow-clients-crowd.ts";
import { CrowdThread } from "./slow-clients-thread.ts";
import { unfinishedHeaders } from "./unfinished-headers.ts";

const CHILD = new URL("./slow-clients-child.ts", import.meta.url).pathname;
/** Each has a level and no history. The board is half a megabyte large. */
const CONTRACTS = 1_200;
/**
 * `settleMs` pass after a crowd has come or left, before throughput is measured: when readers come,
 * the proxy sends them half a gigabyte.
 */
const SCALES = {
  full: { clients: 1_000, windows: 3, windowMs: 3_000, settleMs: 2_500, headers: 1_800 },
  short: { clients: 200, windows: 1, windowMs: 1_000, settleMs: 500, headers: 300 },
} as const;
/** Limits for the short form, which does not wait for minutes. */
const SHORT_LIMITS = { headersMs: 4_000, stalledMs: 2_000, keepAliveMs: 4_000 } as const;
const ORDINARY_CONNECTIONS = 16;
/** Two crowds and the ordinary callers, all at one address, need more connections than the default limits. */
const CONNECTIONS = ["--max-connections", "3000", "--max-connections-per-address", "3000"];
const FULL_ARGS = ["--poll", "1h", ...CONNECTIONS];
/** As a fraction of the throughput without slow clients. */
const KEPT_MIN = 0.5;
/** Added to the proxy's limits, for its timers and a busy machine. */
const PATIENCE_MS = 6_000;
/** Half a gigabyte waits for the readers; on a busy machine they need a while. */
const READ_MS = 60_000;
/** If bytes were written since a socket's timer started, Node lets it run a second time. */
const STALLED_LOOKS = 2;

export const slowClientFaults: Faults = async (options) => {
  const { scale, folder } = options;
  const store = await publishMarket(folder, CONTRACTS, 0);
  const state = join(folder, "state");
  const { key } = await addAccount(state, "pro");
  const log = join(folder, "slow.log");
  const proxy =
    scale === "full"
      ? await serve(["--store", store, "--state", state, ...FULL_ARGS], { log })
      : await Serving.start([store, state, JSON.stringify(SHORT_LIMITS)], { log, script: CHILD });
  const limits = scale === "full" ? CONNECTION_LIMITS : { ...CONNECTION_LIMITS, ...SHORT_LIMITS };
  try {
    return await runSlowClients({ ...options, store, key, limits, proxy });
  } finally {
    await proxy.end("SIGKILL");
  }
};

interface Run extends FaultOptions {
  readonly store: string;
  readonly key: string;
  readonly limits: ConnectionLimits;
  readonly proxy: Serving;
}

async function runSlowClients(run: Run): Promise<FaultRow[]> {
  const { scale, say, store, key, limits, proxy } = run;
  const { clients, windows, windowMs, settleMs, headers } = SCALES[scale];
  const session = { session: parseSession(SESSION) as Session, revision: 1 };
  const fileOf = (path: string): Buffer => plainFile(join(store, snapshotFileKey(session, path)));
  const ordinary = {
    url: `${proxy.url}${API}/prices/${contractId(0)}`,
    expected: fileOf(FILES.contract("pro", contractId(0))),
    key,
  };
  const board = fileOf(FILES.board("pro"));
  const crowd = { port: proxy.port, key, clients, path: `${API}/prices`, body: board };
  // The first answers are slow.
  await settled(proxy.pid);
  const unfinished = await unfinishedHeaders(proxy, headers, limits.headersMs + PATIENCE_MS, say);
  await measure(ordinary, windowMs);

  const without: Window[] = [];
  const beside: Window[] = [];
  const come = async (): Promise<CrowdThread> => {
    const slow = await CrowdThread.open(crowd);
    await delay(settleMs);
    return slow;
  };
  let slow = await come();
  for (let window = 0; window < windows; window += 1) {
    beside.push(await measure(ordinary, windowMs));
    await slow.leave();
    await delay(settleMs);
    without.push(await measure(ordinary, windowMs));
    slow = await come();
  }
  beside.push(await measure(ordinary, windowMs));
  // The last crowd stays until the proxy has reached its limits.
  const ends = await slow.stay({
    sendersMs: limits.headersMs + PATIENCE_MS,
    readersMs: Math.max(STALLED_LOOKS * limits.stalledMs, limits.keepAliveMs) + PATIENCE_MS,
    readMs: READ_MS,
  });

  const rates = { beside: medianRate(beside), without: medianRate(without) };
  say(`${rates.beside} calls per second beside slow clients, ${rates.without} without (medians)`);
  const throughput = new Tally("ordinary callers beside slow clients", say);
  const wrong = [...beside, ...without].reduce((sum, { wrong: count }) => sum + count, 0);
  const injected = 2 * clients * (windows + 1);
  // The short form runs beside other tests, so it checks the answers only.
  const isKept = scale === "short" || keepsThroughput(rates);
  throughput.note(
    injected,
    isKept ? Math.min(injected, wrong) : injected,
    `${JSON.stringify(rates)}, ${wrong} wrong answers`,
  );
  return [
    unfinished,
    throughput.row,
    endsRow("senders of a byte per second", ends.senders, say),
    endsRow("readers of a byte per second", ends.readers, say),
  ];
}

export const keepsThroughput = (rates: { beside: number; without: number }): boolean =>
  rates.beside >= KEPT_MIN * rates.without;

function endsRow(fault: string, ends: readonly SlowEnd[], say: FaultOptions["say"]): FaultRow {
  const tally = new Tally(fault, say);
  const failures = ends.map(({ failure }) => failure).filter((failure) => failure !== null);
  tally.note(ends.length, failures.length, [...new Set(failures)].slice(0, 5).join("; "));
  const counts = new Map<string, number>();
  for (const { how } of ends) counts.set(how, (counts.get(how) ?? 0) + 1);
  say(`${fault}: ${[...counts].map(([how, count]) => `${count} ${how}`).join(", ")}`);
  return tally.row;
}

interface Window {
  /** Correct answers per second. */
  readonly rate: number;
  readonly wrong: number;
}

async function measure(
  { url, key, expected }: { url: string; key: string; expected: Buffer },
  windowMs: number,
): Promise<Window> {
  const callers = new Callers(ORDINARY_CONNECTIONS);
  const startedAt = performance.now();
  let answers = 0;
  let wrong = 0;
  try {
    await callers.all(async () => {
      const { status, body } = await callers.get(url, key);
      if (status === 200 && body.equals(expected)) answers += 1;
      else wrong += 1;
      return performance.now() < startedAt + windowMs;
    });
  } finally {
    callers.close();
  }
  return { rate: (answers / (performance.now() - startedAt)) * 1_000, wrong };
}

const medianRate = (windows: readonly Window[]): number => {
  const rates = windows.map(({ rate }) => rate).sort((a, b) => a - b);
  return Math.round(rates[Math.floor(rates.length / 2)] as number);
};

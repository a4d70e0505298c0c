/**
 * Selections of one contract, compared with the board of the same proxy: of the board, and of a live and
 * an old history.csv, with the bytes that they read from the store.
 */
import { join } from "node:path";
import { dateText, dayOf } from "../../src/market/session.ts";
import { openStore } from "../../src/store/open-store.ts";
import { InterceptedStore } from "../../test/faults/crash-store.ts";
import { startTestProxy, TestClock } from "../../test/http/fixture.ts";
import { rawGet } from "./raw-answer.ts";
import { contractId, FIRST_SESSION, instantIn } from "./bench-market.ts";
import { Race, raceColumns, type Runner } from "./race.ts";
import { atLeast, type BenchOptions, type Section } from "./section.ts";
import { Servers, settled } from "./server-process.ts";
import { BOARD_PATH, callsCharged, fieldsOf, prepareService, startProxy } from "./bench-service.ts";
import { sendLoad } from "./wrk.ts";

const BOARD = "board";
const ONE = "one contract of the board";
const ID = contractId(20);
const HISTORY = `/api/public/v1/history.csv?ids=${ID}`;
const PATHS = new Map([
  [BOARD, BOARD_PATH],
  [ONE, `${BOARD_PATH}?ids=${ID}`],
  ["one contract of history.csv", HISTORY],
  ["one contract of an old history.csv", `${HISTORY}&as_of=${dateText(dayOf(FIRST_SESSION))}`],
]);
/** The last one is of the next day. */
const SESSIONS = 3;
const NOW = new Date(Date.parse(instantIn(FIRST_SESSION + SESSIONS - 1)) + 60_000).toISOString();

export async function benchSelection(options: BenchOptions): Promise<Section> {
  const { folder, say } = options;
  say("selection: publishing, starting the proxy");
  const service = await prepareService(folder, SESSIONS);
  const read = await bytesRead(service.store);
  await using servers = new Servers();
  const env = { CHIPBOARD_NOW: NOW };
  const proxy = await servers.add(startProxy(service, join(folder, "proxy.log"), { env }));
  const fields = fieldsOf(service.key);
  const runners: Runner[] = [];
  for (const [name, path] of PATHS) {
    const url = `${proxy.url}${path}`;
    const { status, sizeBytes } = await rawGet(url, fields);
    if (status !== 200) throw new Error(`${path}: expected a 200, got ${status}`);
    runners.push({ name, server: proxy, load: { url, fields }, answerBytes: sizeBytes });
  }
  const chargedBefore = await callsCharged(proxy, service.key);
  const race = await Race.run("selection", runners.slice(0, 2), options);
  const charged = (await callsCharged(proxy, service.key)) - chargedBefore;
  race.requireCharged([BOARD, ONE], charged);
  // Not in the race: the rest of a slow answer's work would fall into the next one's turn.
  const rates = new Map([[ONE, race.rows(BOARD)[1]?.[1] ?? ""]]);
  for (const { name, load } of runners.slice(2)) {
    say(`selection: ${name}`);
    const few = { ...load, connections: 8 };
    await sendLoad(few, options.seconds);
    await settled(proxy.pid);
    const { requests, seconds } = await sendLoad(few, options.seconds);
    await settled(proxy.pid);
    rates.set(name, (requests / seconds).toFixed(0));
  }
  const ratio = race.ratio(ONE, BOARD);
  return {
    title: "Selections",
    columns: raceColumns(BOARD),
    rows: race.rows(BOARD),
    notes: runners.slice(1).map(({ name, answerBytes }) => {
      const bytes = (read.get(name) as number).toLocaleString("en");
      return `${name}: ${rates.get(name)} a second, ${answerBytes} bytes an answer, ${bytes} bytes read from the store for it.`;
    }),
    targets: [atLeast("one contract of the board is at least 0.5 of the board", ratio, 0.5)],
    figures: { selection: ratio },
  };
}

/** The bytes of snapshots that each answer reads when it is asked for again. */
async function bytesRead(location: string): Promise<Map<string, number>> {
  let bytes = 0;
  const inner = await openStore(location);
  const store = new InterceptedStore(inner, async ({ key }, run) => {
    const result = await run();
    if (Buffer.isBuffer(result) && key.startsWith("sessions/")) bytes += result.length;
    return result;
  });
  const proxy = await startTestProxy({ store, clock: new TestClock(Date.parse(NOW)) });
  const read = new Map<string, number>();
  for (const [name, path] of PATHS) {
    for (let times = 0; times < 2; times += 1) {
      bytes = 0;
      await proxy.get(path, { key: proxy.pro });
    }
    read.set(name, bytes);
  }
  await proxy.close();
  await inner.close();
  return read;
}

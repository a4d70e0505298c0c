/**
 * Baskets of ten contracts with the caller's weights, compared with the board of the same proxy. A basket
 * is computed per request; with ten thousand different ones, few repeat.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { seedOf, uniformAt } from "../../src/demo/random.ts";
import { rawGet } from "./raw-answer.ts";
import { contractId } from "./bench-market.ts";
import { Race, raceColumns, type Runner } from "./race.ts";
import { atLeast, type BenchOptions, type Section } from "./section.ts";
import { Servers } from "./server-process.ts";
import {
  BOARD_PATH,
  callsCharged,
  CONTRACTS,
  fieldsOf,
  prepareService,
  startProxy,
} from "./bench-service.ts";

const BASKETS = 10_000;
const CONTRACTS_EACH = 10;

const BOARD = "board";
const ONE = "one basket";
const MANY = `${BASKETS.toLocaleString("en")} baskets`;

export async function benchBasket(options: BenchOptions): Promise<Section> {
  const { folder, say } = options;
  say("basket: publishing, starting the proxy");
  const service = await prepareService(folder);
  await using servers = new Servers();
  const proxy = await servers.add(startProxy(service, join(folder, "proxy.log")));
  const fields = fieldsOf(service.key);
  const paths = Array.from({ length: BASKETS }, (_, at) => basketPath(at));
  const file = join(folder, "baskets.txt");
  writeFileSync(file, paths.map((path) => `${path}\n`).join(""));

  const runner = async (name: string, path: string): Promise<Runner> => {
    const url = `${proxy.url}${path}`;
    const { status, sizeBytes } = await rawGet(url, fields);
    if (status !== 200) throw new Error(`${path}: expected a 200, got ${status}`);
    return { name, server: proxy, load: { url, fields }, answerBytes: sizeBytes };
  };
  const one = await runner(ONE, paths[0] as string);
  const many: Runner = {
    name: MANY,
    server: proxy,
    load: { ...one.load, lines: { file, kind: "path" } },
    answerBytes: null,
  };
  const runners = [await runner(BOARD, BOARD_PATH), one, many];
  const chargedBefore = await callsCharged(proxy, service.key);
  const race = await Race.run("basket", runners, options);
  const charged = (await callsCharged(proxy, service.key)) - chargedBefore;
  race.requireCharged([BOARD, ONE, MANY], charged);
  const ratio = race.ratio(ONE, BOARD);
  return {
    title: "Baskets",
    columns: raceColumns(BOARD),
    rows: race.rows(BOARD),
    notes: [
      `Ten contracts with weights; one such answer has ${one.answerBytes} bytes. The figure is for ` +
        `a basket asked for again; ${MANY} are priced anew nearly every time.`,
    ],
    targets: [atLeast("a basket of 10 contracts is at least 0.6 of the board", ratio, 0.6)],
    figures: { basket: ratio },
  };
}

/** Ten contracts in any order, each with a weight; another basket at each place. */
export function basketPath(at: number): string {
  const seed = seedOf(`basket ${at}`);
  const ids = new Map<string, string>();
  for (let place = 0; ids.size < CONTRACTS_EACH; place += 2) {
    const id = contractId(Math.floor(uniformAt(seed, place) * CONTRACTS));
    ids.set(id, (1 + uniformAt(seed, place + 1) * 99).toFixed(2));
  }
  return `/api/public/v1/index?ids=${[...ids.keys()].join(",")}&weights=${[...ids.values()].join(",")}`;
}

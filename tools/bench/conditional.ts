/**
 * Compares answers of chipboard with a bare server that repeats them: 304 to a caller that has the
 * board already, and five years of a contract's history.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { rawGet, requireSame, type Answer, type Fields } from "./raw-answer.ts";
import { contractId } from "./bench-market.ts";
import { startPeer } from "./peer.ts";
import { Race, raceColumns, type Runner } from "./race.ts";
import { writeRecipe } from "./recipe.ts";
import { atLeast, type BenchOptions, type Section } from "./section.ts";
import { Servers } from "./server-process.ts";
import { BOARD_PATH, callsCharged, fieldsOf, prepareService, startProxy } from "./bench-service.ts";

export async function benchConditional(options: BenchOptions): Promise<Section> {
  const title = "Not modified";
  const { race, answer, charged } = await raceWithBare(title, options, BOARD_PATH, (first) => ({
    "if-none-match": first.headers.find(([name]) => name.toLowerCase() === "etag")?.[1] ?? "",
  }));
  if (answer.status !== 304) throw new Error(`Expected a 304, got ${answer.status}`);
  if (charged !== 0) throw new Error(`A 304 costs nothing, but ${charged} calls were charged`);
  const ratio = race.ratio("chipboard", "bare");
  return {
    title,
    columns: raceColumns("bare"),
    rows: race.rows("bare"),
    notes: [`The board asked for with its ETag: ${answer.sizeBytes} bytes; nothing was charged.`],
    targets: [atLeast("304 answers are at least 0.80 of bare node:http", ratio, 0.8)],
    figures: { not_modified: ratio },
  };
}

export async function benchHistory(options: BenchOptions): Promise<Section> {
  const title = "History";
  const path = `${BOARD_PATH}/${contractId(20)}`;
  const { race, answer, charged } = await raceWithBare(title, options, path, () => ({}));
  race.requireCharged(["chipboard"], charged);
  const ratio = race.ratio("chipboard", "bare");
  return {
    title,
    columns: raceColumns("bare"),
    rows: race.rows("bare"),
    notes: [`Five years of one contract, gzip: ${answer.sizeBytes} bytes an answer.`],
    targets: [atLeast("a 5-year history is at least 0.80 of bare node:http", ratio, 0.8)],
    figures: { history: ratio },
  };
}

interface Raced {
  readonly race: Race;
  readonly answer: Answer;
  /** Calls counted during the race. */
  readonly charged: number;
}

/** `extra`: the header fields that a caller adds after its first answer. */
async function raceWithBare(
  title: string,
  options: BenchOptions,
  path: string,
  extra: (first: Answer) => Fields,
): Promise<Raced> {
  const { folder, say } = options;
  say(`${title}: publishing, starting the servers`);
  const service = await prepareService(folder);
  await using servers = new Servers();
  const proxy = await servers.add(startProxy(service, join(folder, "proxy.log")));
  const first = await rawGet(`${proxy.url}${path}`, fieldsOf(service.key));
  const fields = { ...fieldsOf(service.key), ...extra(first) };
  const answer = await rawGet(`${proxy.url}${path}`, fields);
  const recipe = join(folder, "recipe");
  mkdirSync(recipe);
  writeRecipe(recipe, path, service.key, answer);
  const bare = await servers.add(startPeer("bare", recipe));
  const runners: Runner[] = [];
  for (const [name, server] of [["bare", bare] as const, ["chipboard", proxy] as const]) {
    const load = { url: `${server.url}${path}`, fields };
    const sent = await rawGet(load.url, fields);
    requireSame(name, sent, answer);
    runners.push({ name, server, load, answerBytes: sent.sizeBytes });
  }
  const chargedBefore = await callsCharged(proxy, service.key);
  const race = await Race.run(title, runners, options);
  return { race, answer, charged: (await callsCharged(proxy, service.key)) - chargedBefore };
}

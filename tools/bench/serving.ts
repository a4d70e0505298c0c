/**
 * The board of 110 contracts for a pro key, with gzip: chipboard and servers that send the same bytes
 * with the same header fields.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { rawGet, requireSame, type Answer } from "./raw-answer.ts";
import { missingNginx, startNginx } from "./nginx.ts";
import { BUN, installPeers, startPeer } from "./peer.ts";
import { Race, raceColumns, type Runner } from "./race.ts";
import { writeRecipe } from "./recipe.ts";
import { atLeast, atMost, type BenchOptions, type Section } from "./section.ts";
import { Servers, type Server } from "./server-process.ts";
import {
  BOARD_PATH,
  callsCharged,
  createProKey,
  fieldsOf,
  prepareService,
  startProxy,
} from "./bench-service.ts";

const LOGGING = "chipboard --log-requests all";
const ON_BUN = "chipboard on Bun";
const BESIDE = "chipboard of --beside";

export async function benchServing(options: BenchOptions): Promise<Section> {
  const { folder, say } = options;
  installPeers(say);
  say("serving: publishing, starting the servers");
  const service = await prepareService(folder);
  await using servers = new Servers();
  const proxy = await servers.add(startProxy(service, join(folder, "proxy.log")));
  const reference = await rawGet(`${proxy.url}${BOARD_PATH}`, fieldsOf(service.key));
  const recipe = join(folder, "recipe");
  mkdirSync(recipe);
  writeRecipe(recipe, BOARD_PATH, service.key, reference);
  const runners: Runner[] = [];
  const enter = async (name: string, server: Server, key = service.key): Promise<void> => {
    const load = { url: `${server.url}${BOARD_PATH}`, fields: fieldsOf(key) };
    const answer = await rawGet(load.url, load.fields);
    if (name === ON_BUN) requireSameBoard(answer, reference);
    else if (name !== BESIDE) requireSame(name, answer, reference);
    const { sizeBytes } = await rawGet(load.url, load.fields);
    runners.push({ name, server, load, answerBytes: sizeBytes });
  };
  await enter("bare", await servers.add(startPeer("bare", recipe)));
  await enter("chipboard", proxy);
  const state = join(folder, "logging-state");
  const logging = { ...service, state, key: await createProKey(state) };
  const loggingProxy = startProxy(logging, join(folder, "all.log"), {
    options: ["--log-requests", "all"],
  });
  await enter(LOGGING, await servers.add(loggingProxy), logging.key);
  const bunState = join(folder, "bun-state");
  const onBun = { ...service, state: bunState, key: await createProKey(bunState) };
  const bunProxy = startProxy(onBun, join(folder, "bun.log"), { bun: BUN });
  await enter(ON_BUN, await servers.add(bunProxy), onBun.key);
  if (options.beside !== null) {
    const program = join(options.beside, "bin/chipboard.ts");
    const other = await prepareService(join(folder, "beside"), 1, program);
    const otherProxy = await servers.add(
      startProxy(other, join(folder, "beside.log"), { program }),
    );
    await enter(BESIDE, otherProxy, other.key);
  }
  await enter("fastify", await servers.add(startPeer("fastify", recipe)));
  await enter("express", await servers.add(startPeer("express", recipe)));
  const missing = missingNginx();
  if (missing === null) await enter("nginx + Lua", await servers.add(startNginx(recipe)));
  else say(`nginx is left out: there is no ${missing}`);

  const chargedBefore = await callsCharged(proxy, service.key);
  const race = await Race.run("serving", runners, options);
  race.requireCharged(["chipboard"], (await callsCharged(proxy, service.key)) - chargedBefore);
  return sectionOf(race, missing, reference.sizeBytes);
}

/** Bun has another zlib, whose output has another length. */
function requireSameBoard(answer: Answer, reference: Answer): void {
  if (gunzipSync(answer.body).equals(gunzipSync(reference.body))) return;
  throw new Error(`${ON_BUN} sends another board`);
}

function sectionOf(race: Race, missingNginxParts: string | null, sizeBytes: number): Section {
  const toBare = (name: string): number => race.ratio(name, "bare");
  const chipboard = toBare("chipboard");
  const toBareTime = race.coreRatio("chipboard", "bare");
  const nginx = missingNginxParts === null ? toBare("nginx + Lua") : null;
  const notes = [
    `${sizeBytes} bytes an answer, the header included; 64 connections; log lines go to a file. By default only problems are logged. ` +
      "Every call was counted, and no other.",
    "On Bun the same program runs on Bun's own node:http, not on Bun.serve.",
  ];
  if (missingNginxParts !== null) notes.push(`nginx is left out: there is no ${missingNginxParts}`);
  return {
    title: "Serving",
    columns: raceColumns("bare"),
    rows: race.rows("bare"),
    notes,
    targets: [
      atMost("the board takes at most 1.33 times the processor time of bare", toBareTime, 1.33),
      atMost(
        "the board takes at most 1.05 times the processor time of fastify with its limiter in memory",
        race.coreRatio("chipboard", "fastify"),
        1.05,
      ),
      atLeast("serving is at least 3.5 times express", race.ratio("chipboard", "express"), 3.5),
    ],
    figures: {
      serving: {
        bare: 1,
        chipboard,
        fastify: toBare("fastify"),
        express: toBare("express"),
        bun: toBare(ON_BUN),
        nginx_lua: nginx,
      },
    },
  };
}

/**
 * What callers wait at half load, behind nginx with TLS: calls at a fixed rate, half of what chipboard answers at
 * most, over one switch of session. fastify and nginx with Lua get the same calls; they have no switch.
 */
import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { certificate } from "../../test/http/certificate.ts";
import { BOARD_PATH, fieldsOf, prepareService, startProxy } from "./bench-service.ts";
import type { LiveLoaded } from "./live-load.ts";
import { runLoad } from "./load-process.ts";
import { missingNginx, startNginx, startTlsFront } from "./nginx.ts";
import { installPeers, startPeer } from "./peer.ts";
import { rawGet } from "./raw-answer.ts";
import { writeRecipe } from "./recipe.ts";
import { median, type BenchOptions, type Section } from "./section.ts";
import { Servers } from "./server-process.ts";
import { sendLoad } from "./wrk.ts";

const RATIO_MAX = 3;

export async function benchBehindTls(options: BenchOptions): Promise<Section> {
  const { folder, say, rounds, seconds } = options;
  const missing = missingNginx();
  if (missing !== null) throw new Error(`The front needs nginx: there is no ${missing}`);
  installPeers(say);
  say(`behind TLS: publishing ${rounds + 1} sessions`);
  const service = await prepareService(folder, rounds + 1);
  const publications = join(service.store, "publications");
  const withheld = join(folder, "withheld");
  mkdirSync(withheld);
  const entries = readdirSync(publications).sort().slice(1);
  for (const entry of entries) renameSync(join(publications, entry), join(withheld, entry));

  await using servers = new Servers();
  const proxy = await servers.add(
    startProxy(service, join(folder, "proxy.log"), { options: ["--trust-proxy", "1"] }),
  );
  const recipe = join(folder, "recipe");
  mkdirSync(recipe);
  const reference = await rawGet(`${proxy.url}${BOARD_PATH}`, fieldsOf(service.key));
  writeRecipe(recipe, BOARD_PATH, service.key, reference);
  const fastify = await servers.add(startPeer("fastify", recipe));
  const lua = await servers.add(startNginx(recipe));
  const upstreams = [proxy, fastify, lua];
  const files = await certificate(folder);
  const { front, urls } = await startTlsFront(folder, upstreams, files);
  await servers.add(Promise.resolve(front));

  say("behind TLS: what chipboard answers at most");
  const load = { url: `${urls[0]}${BOARD_PATH}`, fields: fieldsOf(service.key) };
  const full = await sendLoad(load, seconds);
  const rate = Math.floor(full.requests / full.seconds / 2);

  const measured: LiveLoaded[][] = upstreams.map(() => []);
  for (const [round, entry] of entries.entries()) {
    for (const [at, { name }] of upstreams.entries()) {
      say(`behind TLS: ${name}, ${rate} calls a second, round ${round + 1} of ${rounds}`);
      const running = runLoad<LiveLoaded>("live-load.ts", [
        `${urls[at]}${BOARD_PATH}`,
        service.key,
        rate,
        seconds,
      ]);
      if (at === 0) {
        // The load counts from its fourth second on; the switch comes in the middle of what counts.
        await delay(3_000 + seconds * 500);
        renameSync(join(withheld, entry), join(publications, entry));
      }
      measured[at]?.push(await running);
    }
  }
  await servers.stop();
  return sectionOf(
    upstreams.map(({ name }) => name),
    measured,
    rate,
    full.requests / full.seconds,
  );
}

const FIGURES = ["p50", "p99", "p999", "slowest"] as const;

function sectionOf(
  names: readonly string[],
  measured: readonly (readonly LiveLoaded[])[],
  rate: number,
  fullRate: number,
): Section {
  const middle = (at: number, figure: (typeof FIGURES)[number]): number =>
    median((measured[at] as LiveLoaded[]).map((loaded) => loaded[figure]));
  const ratio = middle(0, "p99") / middle(1, "p99");
  const failed = (measured[0] as LiveLoaded[]).reduce((sum, loaded) => sum + loaded.failed, 0);
  return {
    title: "Half load behind nginx with TLS",
    columns: ["server", "p50 ms", "p99 ms", "p99.9 ms", "slowest ms", "failed"],
    rows: names.map((name, at) => [
      name,
      ...FIGURES.map((figure) => middle(at, figure).toFixed(2)),
      String((measured[at] as LiveLoaded[]).reduce((sum, loaded) => sum + loaded.failed, 0)),
    ]),
    notes: [
      `${rate} calls a second for the board, half of the ${Math.round(fullRate)} that chipboard answers at most behind the ` +
        "same front; each round of chipboard has a switch of session. Medians of the rounds. All servers and the front share a core.",
    ],
    targets: [
      {
        text: "no call fails over a switch at half load",
        met: failed === 0,
        figure: String(failed),
      },
      {
        text: `p99 over a switch is at most ${RATIO_MAX} times fastify's without one`,
        met: ratio <= RATIO_MAX,
        figure: ratio.toFixed(2),
      },
    ],
    figures: { half_load_p99_ms: middle(0, "p99") },
  };
}

/**
 * The memory of a proxy with 110 contracts under load: its peak (VmHWM, proc(5)) after the board
 * alone, and after requests for everything that it serves.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { basketPath } from "./bench-basket.ts";
import { contractId } from "./bench-market.ts";
import type { BenchOptions, Section } from "./section.ts";
import { DEPLOYED, residentMb, Servers } from "./server-process.ts";
import {
  BOARD_PATH,
  CONTRACTS,
  fieldsOf,
  prepareService,
  startProxy,
  type ProxyStart,
} from "./bench-service.ts";
import { sendLoad } from "./wrk.ts";

const MB_MAX = 200;

export async function benchMemory(options: BenchOptions): Promise<Section> {
  const { folder, say, rounds } = options;
  const seconds = rounds * options.seconds;
  say("memory: publishing");
  const service = await prepareService(folder);
  const rows: string[][] = [];
  const file = join(folder, "paths.txt");
  writeFileSync(file, everyPath().join("\n"));

  /** Loads a proxy and returns its peak in megabytes. */
  async function peakOf(name: string, start: ProxyStart): Promise<number> {
    await using servers = new Servers();
    const proxy = await servers.add(startProxy(service, join(folder, "proxy.log"), start));
    const load = { url: `${proxy.url}${BOARD_PATH}`, fields: fieldsOf(service.key) };
    const row = (after: string, requests: number): number => {
      const { peak, now } = residentMb(proxy.pid);
      rows.push([name, after, requests.toLocaleString("en"), peak.toFixed(0), now.toFixed(0)]);
      return peak;
    };
    row("started", 0);
    say(`memory, ${name}: the board, ${seconds} s`);
    row("board", (await sendLoad(load, seconds)).requests);
    say(`memory, ${name}: everything, ${seconds} s`);
    const all = await sendLoad({ ...load, lines: { file, kind: "path" } }, seconds);
    return row("boards, histories, index, baskets, exports", all.requests);
  }

  const peak = await peakOf("as deploy/ starts it", DEPLOYED);
  const plainPeak = await peakOf("without its settings", {});
  return {
    title: "Memory",
    columns: ["proxy", "after", "requests", "peak MB", "MB"],
    rows,
    notes: [
      `${CONTRACTS} contracts; 64 connections; a pro key. deploy/ sets one arena, 16 MB for new objects, and less growth.`,
    ],
    targets: [
      {
        text: `the proxy's memory under load stays under ${MB_MAX} MB, as deploy/ starts it`,
        met: peak < MB_MAX,
        figure: `${peak.toFixed(0)} MB; ${plainPeak.toFixed(0)} MB without its settings`,
      },
    ],
    figures: { rss_mb: peak },
  };
}

function everyPath(): string[] {
  const contracts = Array.from({ length: CONTRACTS }, (_, at) => `${BOARD_PATH}/${contractId(at)}`);
  const baskets = Array.from({ length: CONTRACTS }, (_, at) => basketPath(at));
  const others = ["index", "export.csv", "export.xlsx", "usage"].map(
    (name) => `/api/public/v1/${name}`,
  );
  return [BOARD_PATH, ...contracts, ...baskets, ...others];
}

/**
 * Data as it was published then: 16 callers ask for random files of random publications as fast as they are
 * answered, beside a fixed rate of calls for the live board, whose latency is compared with the latency of
 * the same calls alone. The store is a folder, then S3.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyStore } from "../../src/desk/copy-store.ts";
import { openStore } from "../../src/store/open-store.ts";
import { testService } from "../../test/services/services.ts";
import type { LiveLoaded } from "./live-load.ts";
import type { BenchOptions, Section, Target, VintageFigures } from "./section.ts";
import { runLoad } from "./load-process.ts";
import { residentMb, Servers, type Server } from "./server-process.ts";
import { BOARD_PATH, createProKey, startProxy } from "./bench-service.ts";
import type { VintageLoaded } from "./vintage-load.ts";
import { s3Place } from "./signed-store.ts";
import { buildVintages, ENTRIES, SNAPSHOTS } from "./vintage-store.ts";

const CALLERS = 16;
const LIVE_PER_SECOND = 300;
/** The default of --cache-mb. */
const CACHE_MB = 256;
const P99_RATIO_MAX = 3;
/** The memory that V8 takes for new objects under load (README), beside the files. */
const NEW_OBJECTS_MB = 128;
const SAMPLED_EVERY_MS = 500;
const QUARTERS = 4;

/** Where the snapshots are, as a proxy needs to know it. */
interface Place {
  readonly name: "folder" | "s3";
  readonly store: string;
  readonly options: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface Measured {
  readonly alone: LiveLoaded;
  readonly beside: LiveLoaded;
  readonly vintages: VintageLoaded;
  readonly beforeMb: number;
  readonly peakMb: number;
  /** At the end of each quarter of the load. */
  readonly quartersMb: readonly number[];
}

export async function benchVintages(options: BenchOptions): Promise<Section> {
  const { folder, say } = options;
  say(`vintages: ${SNAPSHOTS} snapshots, ${ENTRIES} entries`);
  const { location, instants } = await buildVintages(folder);
  const instantsFile = join(folder, "instants.json");
  writeFileSync(instantsFile, JSON.stringify(instants));
  // The clock starts a minute after the last entry.
  const now = new Date(Date.parse(instants.at(-1) as string) + 60_000).toISOString();
  const measure = async (place: Place): Promise<[Place["name"], Measured]> => {
    const state = join(folder, `state-${place.name}`);
    const key = await createProKey(state);
    await using servers = new Servers();
    const start = startProxy({ store: place.store, state }, join(folder, `${place.name}.log`), {
      options: ["--cache-mb", String(CACHE_MB), ...place.options],
      env: { ...place.env, CHIPBOARD_NOW: now },
    });
    const proxy = await servers.add(start);
    return [place.name, await load(place.name, proxy, key, instantsFile, options)];
  };
  const measured = [await measure({ name: "folder", store: location, options: [], env: {} })];
  const s3 = testService("s3");
  if (s3 !== null) {
    say("vintages: copying to S3");
    measured.push(await measure(await copyToS3(location, s3.env)));
    s3.stop();
  }
  return sectionOf(measured, options.vintageSeconds);
}

async function copyToS3(from: string, env: Readonly<Record<string, string>>): Promise<Place> {
  const { location: store, options, open } = s3Place(env);
  const [source, target] = await Promise.all([openStore(from), open()]);
  await copyStore(source, target, false, () => {});
  await Promise.all([source.close(), target.close()]);
  return { name: "s3", store, options, env };
}

async function load(
  name: string,
  proxy: Server,
  key: string,
  instantsFile: string,
  { vintageSeconds: seconds, say }: BenchOptions,
): Promise<Measured> {
  const live = (): Promise<LiveLoaded> =>
    runLoad("live-load.ts", [proxy.url + BOARD_PATH, key, LIVE_PER_SECOND, seconds]);
  say(`vintages, ${name}: live calls alone, ${seconds} s`);
  const alone = await live();
  const beforeMb = residentMb(proxy.pid).now;
  say(`vintages, ${name}: ${CALLERS} callers of vintages beside them, ${seconds} s`);
  const samplesMb: number[] = [];
  const timer = setInterval(() => samplesMb.push(residentMb(proxy.pid).now), SAMPLED_EVERY_MS);
  const [beside, vintages] = await Promise.all([
    live(),
    runLoad<VintageLoaded>(
      "vintage-load.ts",
      [proxy.url, key, CALLERS, seconds, instantsFile],
      // The live calls are sent in time even if this load uses the core fully.
      5,
    ),
  ]);
  clearInterval(timer);
  const quarter = Math.floor(samplesMb.length / QUARTERS);
  const quartersMb = Array.from(
    { length: QUARTERS },
    (_, at) => samplesMb[quarter * (at + 1) - 1] as number,
  );
  const peakMb = Math.max(beforeMb, ...samplesMb);
  return { alone, beside, vintages, beforeMb, peakMb, quartersMb };
}

function sectionOf(
  measured: readonly (readonly [Place["name"], Measured])[],
  seconds: number,
): Section {
  const ms = (value: number): string => value.toFixed(1);
  const mb = (value: number): string => value.toFixed(0);
  const notes = measured.map(([name, { vintages, alone, beside, quartersMb }]) => {
    const answers = Object.entries(vintages.answers).map(([status, n]) => `${n} × ${status}`);
    return (
      `${name}: ${answers.join(", ")}; ${(vintages.bytes / vintages.seconds / 1e6).toFixed(0)} MB a second. ` +
      `Live calls: ${alone.calls} and ${beside.calls}, the slowest ${ms(alone.slowest)} and ${ms(beside.slowest)} ms; ` +
      `99 of 100 were sent at most ${ms(alone.sentLateP99)} and ${ms(beside.sentLateP99)} ms late, which counts. ` +
      `Resident memory after each quarter of the load: ${quartersMb.map(mb).join(", ")} MB.` +
      vintages.failures.map((failure) => `\n\nFailed: ${failure}`).join("")
    );
  });
  return {
    title: "Vintages",
    columns: [
      "store",
      "vintages a second",
      "p50 ms",
      "p99 ms",
      "busy",
      "live alone: p50 ms",
      "p99 ms",
      "beside vintages: p50 ms",
      "p99 ms",
      "before MB",
      "peak MB",
      "after MB",
    ],
    rows: measured.map(([name, { alone, beside, vintages, beforeMb, peakMb, quartersMb }]) => [
      name,
      (succeeded(vintages) / vintages.seconds).toFixed(0),
      ...[vintages.p50, vintages.p99].map(ms),
      `${(busyShare(vintages) * 100).toFixed(1)} %`,
      ...[alone.p50, alone.p99, beside.p50, beside.p99].map(ms),
      ...[beforeMb, peakMb, quartersMb.at(-1) as number].map(mb),
    ]),
    notes: [
      `${ENTRIES} entries over ${SNAPSHOTS} snapshots; ${CALLERS} callers, ${seconds} s; ` +
        `${LIVE_PER_SECOND} live calls a second; --cache-mb ${CACHE_MB}. A caller that is told busy ` +
        "waits as long as retry-after says, at most a second, and asks again.",
      ...notes,
    ],
    targets: measured.flatMap(([name, result]) => targetsOf(name, result)),
    figures: {
      vintages: Object.fromEntries(measured.map(([name, result]) => [name, figuresOf(result)])),
    },
  };
}

function targetsOf(name: string, { alone, beside, vintages, ...memory }: Measured): Target[] {
  const failed = vintages.failed + alone.failed + beside.failed;
  const ratio = beside.p99 / alone.p99;
  const mbMax = memory.beforeMb + CACHE_MB + NEW_OBJECTS_MB;
  return [
    {
      text: `${name}: requests for vintages are answered or told busy, live calls are answered`,
      met: failed === 0,
      figure: `${failed} failed`,
    },
    {
      text: `${name}: the slowest 1 % of live calls take at most ${P99_RATIO_MAX} times as long beside vintages`,
      met: ratio <= P99_RATIO_MAX,
      figure: ratio.toFixed(2),
    },
    {
      text: `${name}: vintages take no more memory than --cache-mb and ${NEW_OBJECTS_MB} MB for new objects`,
      met: memory.peakMb <= mbMax,
      figure: `${(memory.peakMb - memory.beforeMb).toFixed(0)} MB`,
    },
  ];
}

const figuresOf = ({ alone, beside, vintages, ...memory }: Measured): VintageFigures => ({
  per_second: succeeded(vintages) / vintages.seconds,
  busy: busyShare(vintages),
  live_p99_alone: alone.p99,
  live_p99: beside.p99,
  rss_mb: {
    before: memory.beforeMb,
    peak: memory.peakMb,
    after: memory.quartersMb.at(-1) as number,
  },
});

const succeeded = ({ answers }: VintageLoaded): number => answers["200"] ?? 0;

function busyShare({ answers }: VintageLoaded): number {
  const all = Object.values(answers).reduce((sum, count) => sum + count, 0);
  return (answers["503 busy"] ?? 0) / all;
}

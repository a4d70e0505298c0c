/**
 * How the time of `snapshots verify`, of the first `check` and of the start of `serve --verify-key` grows
 * with the signed log: whole processes, from a folder and from S3.
 */
import { join } from "node:path";
import { createState } from "../../src/state/open.ts";
import { Serving } from "../../test/program/program.ts";
import { testService } from "../../test/services/services.ts";
import { readHead } from "../../test/store/log-entries.ts";
import { MEASURED_CHILD, printed, runMeasured, type Usage } from "./measured.ts";
import { grown, median, type BenchOptions, type Section } from "./section.ts";
import { cpuSeconds, residentMb } from "./server-process.ts";
import { CONTRACTS } from "./bench-service.ts";
import { folderPlace, growTo, s3Place, signedStore, type Place } from "./signed-store.ts";

const SIZES = [10, 1_000, 5_000] as const;

/** The runs by command, in the order of the rows; one list per size of the log. */
type Runs = Map<string, Usage[][]>;

export async function benchLog({ folder, rounds, say }: BenchOptions): Promise<Section> {
  const s3 = testService("s3");
  say("log: publishing a session");
  const signed = await signedStore(folder, 1);
  const places = [folderPlace(join(folder, "store")), ...(s3 === null ? [] : [s3Place(s3.env)])];
  const runs: Runs = new Map();
  for (const [at, entries] of SIZES.entries()) {
    say(`log: ${entries} entries`);
    await growTo(signed, entries, places);
    const head = await readHead(signed.memory);
    const now = new Date(Date.parse(head?.at as string) + 60_000).toISOString();
    for (const place of places) {
      for (let round = 1; round <= rounds; round += 1) {
        say(`log: ${place.name}, ${entries} entries, round ${round} of ${rounds}`);
        const state = join(folder, `state-${place.name}-${entries}-${round}`);
        const measured = await measure(place, signed.verifyKey, state, now);
        for (const [name, usage] of measured) {
          const bySize = runs.get(name) ?? SIZES.map(() => []);
          runs.set(name, bySize);
          bySize[at]?.push(usage);
        }
      }
    }
  }
  s3?.stop();
  return sectionOf(runs, rounds);
}

async function measure(
  place: Place,
  verifyKey: string,
  state: string,
  now: string,
): Promise<[string, Usage][]> {
  const env = { ...place.env, CHIPBOARD_NOW: now };
  const store = ["--store", place.location, ...place.options];
  const keys = ["--verify-key", verifyKey];
  const verify = (more: readonly string[]): Promise<Usage> =>
    runMeasured(["snapshots", "verify", ...more, ...store, ...keys], env);
  const measured: [string, Usage][] = [
    [`${place.name}: snapshots verify`, await verify([])],
    [`${place.name}: snapshots verify --all`, await verify(["--all"])],
  ];
  await createState(state);
  const startedAt = performance.now();
  const ports = ["--port", "0", "--metrics-port", "off"];
  const serving = await Serving.start(["serve", ...store, "--state", state, ...keys, ...ports], {
    script: MEASURED_CHILD,
    env,
  });
  const start = {
    seconds: (performance.now() - startedAt) / 1_000,
    cpuSeconds: cpuSeconds(serving.pid),
    rssMb: residentMb(serving.pid).peak,
  };
  const remember = join(`${state}.log`);
  const check = (): Promise<Usage> =>
    runMeasured(["check", serving.url, ...keys, "--remember", remember], { CHIPBOARD_NOW: now });
  const checks: [string, Usage][] =
    place.name === "S3"
      ? []
      : [
          ["check, the first", await check()],
          ["check, the next (--remember)", await check()],
        ];
  const code = await serving.end();
  if (code !== 0) throw new Error(`serve ended with ${code}: ${serving.stderr()}`);
  const requests = printed(serving.printed, "requests");
  return [
    ...measured,
    [`${place.name}: serve --verify-key, until it listens`, { ...start, requests }],
    ...checks,
  ];
}

function sectionOf(runs: Runs, rounds: number): Section {
  const rows = [...runs].map(([name, bySize]) => {
    const cell = (of: (usage: Usage) => number, digits: number): string =>
      grown(bySize.map((usages) => median(usages.map(of)).toFixed(digits)));
    return [
      name,
      cell(({ seconds }) => seconds, 2),
      cell(({ cpuSeconds: seconds }) => seconds, 2),
      cell(({ rssMb }) => rssMb, 0),
      cell(({ requests }) => requests, 0),
    ];
  });
  const sizes = SIZES.map((size) => size.toLocaleString("en")).join(" → ");
  return {
    title: "The signed log",
    columns: ["process", "seconds", "processor s", "peak MB", "HTTP requests"],
    rows,
    notes: [
      `Logs of ${sizes} entries, all signed, over one snapshot of ${CONTRACTS} contracts x 5 years; ` +
        `medians of ${rounds}. The processor time is the process's, without the S3 server; the ` +
        "check asks the proxy of the folder.",
    ],
    targets: [],
    figures: {},
  };
}

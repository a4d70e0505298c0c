/**
 * Measures servers in turns of a quarter of a second, A B C A B C …, so that a slow moment of the
 * machine affects all of them. Each round gives ratios; the result is the median of all rounds.
 */
import { median, type BenchOptions } from "./section.ts";
import type { Server } from "./server-process.ts";
import { SlicedLoad, type SlicedLoaded } from "./sliced-load.ts";
import { CONNECTIONS, sendLoad, type Load, type Loaded } from "./wrk.ts";

const WARM_UP_SECONDS = 2;
const SLICES_A_SECOND = 4;

export interface Runner {
  readonly name: string;
  readonly server: Server;
  readonly load: Load;
  /** Size of every answer with its header; null if answers differ. */
  readonly answerBytes: number | null;
  /** Longer than usual if the server has many keys to look up first. */
  readonly warmUpSeconds?: number;
}

/** The columns of `rows`. */
export const raceColumns = (base: string): string[] => [
  "server",
  "requests a second",
  `ratio to ${base}`,
  "in the rounds",
  "p50 ms",
  "core µs a request",
  "core busy",
];

export class Race {
  readonly #laps = new Map<string, SlicedLoaded[]>();
  /** Requests answered and runs of wrk, warm-ups included, by runner. */
  readonly #sent = new Map<string, { requests: number; runs: number }>();

  /**
   * Runs all rounds, in each of which every runner has `seconds` of load in turns, after a warm-up
   * of every runner. Throws if an answer was wrong.
   */
  static async run(
    title: string,
    runners: readonly Runner[],
    { rounds, seconds, say }: Pick<BenchOptions, "rounds" | "seconds" | "say">,
  ): Promise<Race> {
    const race = new Race();
    const names = runners.map(({ name }) => name).join(", ");
    say(`${title}: warming up ${names}`);
    for (const runner of runners) {
      race.#note(runner, await sendLoad(runner.load, runner.warmUpSeconds ?? WARM_UP_SECONDS));
    }
    for (let round = 1; round <= rounds; round += 1) {
      say(`${title}: round ${round} of ${rounds}`);
      await race.#round(runners, seconds);
    }
    return race;
  }

  /** Requests per second of one runner, divided by another runner's in the same round. */
  ratio(name: string, base: string): number {
    return median(this.#ratios(name, base));
  }

  /** Processor time an answer of one runner, divided by another runner's in the same round. */
  coreRatio(name: string, base: string): number {
    const timeOf = ({ serverSeconds, perSecond, seconds }: SlicedLoaded): number =>
      serverSeconds / (perSecond * seconds);
    const bases = this.#lapsOf(base).map(timeOf);
    return median(this.#lapsOf(name).map((lap, round) => timeOf(lap) / (bases[round] as number)));
  }

  /** A line for each runner, in the order of the race. */
  rows(base: string): string[][] {
    return [...this.#laps].map(([name, laps]) => {
      const ratios = this.#ratios(name, base);
      const of = (figure: (lap: SlicedLoaded) => number): number => median(laps.map(figure));
      return [
        name,
        Math.round(of(({ perSecond }) => perSecond)).toLocaleString("en"),
        median(ratios).toFixed(3),
        `${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}`,
        of(({ p50 }) => p50).toFixed(2),
        of((lap) => (lap.serverSeconds * 1e6) / (lap.perSecond * lap.seconds)).toFixed(1),
        `${(of((lap) => lap.serverSeconds / lap.seconds) * 100).toFixed(0)} %`,
      ];
    });
  }

  /**
   * Throws unless `charged` is the number of answers that wrk saw for these runners, plus at most those
   * that it left in flight.
   */
  requireCharged(names: readonly string[], charged: number): void {
    let answered = 0;
    let inFlight = 0;
    for (const name of names) {
      const { requests, runs } = this.#sent.get(name) ?? { requests: 0, runs: 0 };
      answered += requests;
      inFlight += runs * CONNECTIONS;
    }
    if (charged >= answered && charged <= answered + inFlight) return;
    throw new Error(`${names.join(", ")}: ${charged} calls charged, ${answered} answered`);
  }

  async #round(runners: readonly Runner[], seconds: number): Promise<void> {
    const loads: SlicedLoad[] = [];
    for (const { load, server } of runners) loads.push(await SlicedLoad.open(load, server.pid));
    for (let slice = 0; slice < seconds * SLICES_A_SECOND; slice += 1) {
      for (const load of loads) await load.slice(1_000 / SLICES_A_SECOND);
    }
    for (const [at, runner] of runners.entries()) {
      const lap = await (loads[at] as SlicedLoad).end();
      this.#note(runner, lap);
      this.#laps.set(runner.name, [...(this.#laps.get(runner.name) ?? []), lap]);
    }
  }

  #note({ name, answerBytes }: Runner, loaded: Loaded): void {
    if (answerBytes !== null) requireSize(name, loaded, answerBytes);
    const sent = this.#sent.get(name) ?? { requests: 0, runs: 0 };
    this.#sent.set(name, { requests: sent.requests + loaded.requests, runs: sent.runs + 1 });
  }

  #ratios(name: string, base: string): number[] {
    const bases = this.#lapsOf(base);
    return this.#lapsOf(name).map(
      ({ perSecond }, round) => perSecond / (bases[round]?.perSecond ?? 0),
    );
  }

  #lapsOf(name: string): readonly SlicedLoaded[] {
    const laps = this.#laps.get(name);
    if (laps === undefined) throw new Error(`There was no ${JSON.stringify(name)} in the race`);
    return laps;
  }
}

/** wrk does not check bytes, but their sum shows whether every answer was complete. */
function requireSize(name: string, { bytes, requests }: Loaded, answerBytes: number): void {
  const surplus = bytes - requests * answerBytes;
  if (surplus >= 0 && surplus <= CONNECTIONS * answerBytes) return;
  throw new Error(`${name}: ${requests} answers of ${answerBytes} bytes came to ${bytes} bytes`);
}

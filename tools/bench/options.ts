/** The command line of the benches. */
import { parseArgs } from "node:util";

export const PARTS = [
  "serving",
  "conditional",
  "basket",
  "history",
  "selection",
  "keys",
  "start",
  "publish",
  "memory",
  "switch",
  "behind-tls",
  "vintages",
  "signing",
  "log",
  "years",
] as const;
export type Part = (typeof PARTS)[number];

export interface Options {
  readonly only: readonly Part[];
  readonly rounds: number;
  readonly seconds: number;
  readonly vintageSeconds: number;
  readonly contracts: readonly number[];
  readonly years: number;
  readonly singly: number;
  /** The checkout of another version, installed, that serves beside this one; null: none. */
  readonly beside: string | null;
  /** Where to write the figures. */
  readonly json: string | null;
}

const HELP = `Usage: npm run bench -- [options]

  --only <parts>      some of ${PARTS.join(",")} (default: all)
  --rounds <n>        interleaved rounds, of which the medians are printed (default: 3)
  --seconds <n>       of one measurement, after a warm-up (default: 4, of vintages 60)
  --contracts <list>  sizes of the markets to publish (default: 110,1200)
  --years <n>         of sessions to publish (default: 5)
  --singly <n>        sessions of a half-year to publish one by one, at its end (default: 365, all)
  --beside <folder>   the checkout of another version, installed, that serves the board in the same race
  --json <file>       also write the figures there
  --help

The servers are pinned to core 0, the load to core 1. wrk and taskset (Debian: wrk, util-linux) are
needed; nginx with its Lua module (nginx-light, libnginx-mod-http-lua) is compared with if it is
there. The other servers are installed into tools/bench/node_modules if they are missing.`;

/** The options of this run; null for `--help`. Throws if an option is invalid. */
export function readOptions(argv: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: "string", default: PARTS.join(",") },
      rounds: { type: "string", default: "3" },
      seconds: { type: "string" },
      contracts: { type: "string", default: "110,1200" },
      years: { type: "string", default: "5" },
      singly: { type: "string", default: "365" },
      beside: { type: "string" },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return null;
  }
  return {
    only: values.only.split(",").map(readPart),
    rounds: readNumber("--rounds", values.rounds, 99),
    seconds: readNumber("--seconds", values.seconds ?? "4", 600),
    vintageSeconds: readNumber("--seconds", values.seconds ?? "60", 600),
    contracts: values.contracts.split(",").map((n) => readNumber("--contracts", n, 99_999)),
    years: readNumber("--years", values.years, 99),
    singly: readNumber("--singly", values.singly, 365),
    beside: values.beside ?? null,
    json: values.json ?? null,
  };
}

function readPart(name: string): Part {
  const part = PARTS.find((known) => known === name);
  if (part !== undefined) return part;
  throw new Error(`--only ${JSON.stringify(name)}: expected one of ${PARTS.join(", ")}`);
}

function readNumber(option: string, given: string, max: number): number {
  const number = /^[1-9]\d{0,4}$/.test(given) ? Number(given) : Infinity;
  if (number <= max) return number;
  throw new Error(`${option} ${JSON.stringify(given)}: expected a number from 1 to ${max}`);
}

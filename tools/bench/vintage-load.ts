/**
 * Callers, each of which asks for a random file of a random entry of the log as soon as its last request is
 * answered: `publication=N` and `as_of` in turns, the files of tier pro. A caller that is told `busy`
 * waits as long as retry-after says, at most a second, and asks again. Arguments: origin, key,
 * number of callers, seconds, and the file with the entries' instants (a JSON array, beginning with
 * entry 1). Prints what VintageLoaded describes as JSON.
 */
import { readFileSync } from "node:fs";
import { Agent, get, type IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { seedOf, uniformAt } from "../../src/demo/random.ts";
import { basketPath } from "./bench-basket.ts";
import { contractId } from "./bench-market.ts";
import { percentile } from "./section.ts";
import { CONTRACTS, fieldsOf } from "./bench-service.ts";

/** The results. */
export interface VintageLoaded {
  readonly seconds: number;
  /** Answers by status, `503 busy` apart from other 503s. */
  readonly answers: Readonly<Record<string, number>>;
  /** Bytes of the bodies with the status 200. */
  readonly bytes: number;
  /** Of the answers with the status 200, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** How many answers were neither as expected nor `busy`, and the faults of the first ones. */
  readonly failed: number;
  readonly failures: readonly string[];
}

const SHOWN_FAILURES = 5;
const WAIT_SECONDS_MAX = 1;

/** The kinds of files, each asked for equally often. */
const PATHS: readonly ((draw: number) => string)[] = [
  () => "/api/public/v1/prices",
  (draw) => `/api/public/v1/prices/${contractId(Math.floor(draw * CONTRACTS))}`,
  () => "/api/public/v1/index",
  (draw) => basketPath(Math.floor(draw * 1_000)),
  () => "/api/public/v1/export.csv",
  () => "/api/public/v1/export.xlsx",
  () => "/api/public/v1/history.csv",
];

const [origin = "", key = "", callers = "", seconds = "", instantsFile = ""] =
  process.argv.slice(2);
const instants = JSON.parse(readFileSync(instantsFile, "utf8")) as readonly string[];
const agent = new Agent({ keepAlive: true });
const headers = fieldsOf(key);
const answers: Record<string, number> = {};
const latencies: number[] = [];
const failures: string[] = [];
let failed = 0;
let bytes = 0;

const startMs = performance.now();
const endMs = startMs + Number(seconds) * 1_000;
await Promise.all(Array.from({ length: Number(callers) }, (_, caller) => askUntilEnd(caller)));
const loaded: VintageLoaded = {
  seconds: (performance.now() - startMs) / 1_000,
  answers,
  bytes,
  p50: percentile(latencies, 0.5),
  p99: percentile(latencies, 0.99),
  failed,
  failures,
};
console.log(JSON.stringify(loaded));
agent.destroy();

async function askUntilEnd(caller: number): Promise<void> {
  const seed = seedOf(`caller ${caller}`);
  for (let place = 0; performance.now() < endMs; place += 3) {
    const number = 1 + Math.floor(uniformAt(seed, place) * instants.length);
    const kind = Math.floor(uniformAt(seed, place + 1) * PATHS.length);
    const path = (PATHS[kind] as (draw: number) => string)(uniformAt(seed, place + 2));
    const isNumbered = (place / 3) % 2 === 0;
    const vintage = isNumbered ? `publication=${number}` : `as_of=${instants[number - 1]}`;
    const target = `${path}${path.includes("?") ? "&" : "?"}${vintage}`;
    for (let waitSeconds: number | null = 0; waitSeconds !== null && performance.now() < endMs;) {
      await delay(waitSeconds * 1_000);
      waitSeconds = await ask(target, number);
    }
  }
}

/** Asks once. Returns how long to wait before the same is asked again; null: no more. */
async function ask(target: string, number: number): Promise<number | null> {
  const askedMs = performance.now();
  const { response, body } = await receive(target);
  const { statusCode: status = 0, headers: fields } = response;
  const retryAfter = Number(fields["retry-after"]);
  const isBusy = status === 503 && body.includes('"busy"') && retryAfter > 0;
  const name = isBusy ? "503 busy" : String(status);
  answers[name] = (answers[name] ?? 0) + 1;
  if (isBusy) return Math.min(retryAfter, WAIT_SECONDS_MAX);
  if (status === 200 && fields["x-publication"] === String(number)) {
    bytes += body.length;
    latencies.push(performance.now() - askedMs);
    return null;
  }
  failed += 1;
  if (failures.length < SHOWN_FAILURES) {
    const publication = String(fields["x-publication"]);
    failures.push(
      `${target}: ${status}, publication ${publication}: ${body.toString("utf8", 0, 300)}`,
    );
  }
  return null;
}

function receive(target: string): Promise<{ response: IncomingMessage; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const request = get(`${origin}${target}`, { agent, headers }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.once("error", reject);
      response.once("end", () => resolve({ response, body: Buffer.concat(pieces) }));
    });
    request.once("error", reject);
  });
}

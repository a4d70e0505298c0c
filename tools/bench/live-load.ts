/**
 * A load at a fixed rate: each call has its time, whatever became of the calls before, and its latency counts
 * from that time. So calls that wait behind a slow answer also count as slow, and calls that wait because all
 * 64 connections are in use. Arguments: URL, key, calls a second, seconds. Prints what LiveLoaded describes
 * as JSON. The first WARM_UP_MS do not count.
 */
import * as http from "node:http";
import * as https from "node:https";
import { fieldsOf } from "./bench-service.ts";
import { percentile } from "./section.ts";

/** The results; latencies and delays in milliseconds. */
export interface LiveLoaded {
  readonly calls: number;
  /** Calls without the status 200. */
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly slowest: number;
  /** The 99th percentile of how late a call was sent: of the latency the load's own part. */
  readonly sentLateP99: number;
}

const WARM_UP_MS = 3_000;
const CONNECTIONS = 64;

const [url = "", key = "", rate = "", seconds = ""] = process.argv.slice(2);
const { Agent, get } = url.startsWith("https:") ? https : http;
// The certificate of a bench is signed by nobody.
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, rejectUnauthorized: false });
const headers = fieldsOf(key);
const latencies: number[] = [];
const delays: number[] = [];
let failed = 0;

const everyMs = 1_000 / Number(rate);
const startMs = performance.now();
const endMs = startMs + WARM_UP_MS + Number(seconds) * 1_000;
let dueMs = startMs;
sendDue();

function sendDue(): void {
  for (; dueMs <= performance.now(); dueMs += everyMs) {
    if (dueMs < endMs) send(dueMs);
  }
  if (dueMs < endMs) setTimeout(sendDue, Math.max(0, dueMs - performance.now()));
}

function send(atMs: number): void {
  const counts = atMs >= startMs + WARM_UP_MS;
  if (counts) delays.push(performance.now() - atMs);
  const done = (isAnswered: boolean): void => {
    if (!isAnswered) failed += 1;
    if (counts) latencies.push(performance.now() - atMs);
  };
  get(url, { agent, headers }, (response) => {
    response.resume().once("close", () => done(response.complete && response.statusCode === 200));
  }).once("error", () => done(false));
}

process.once("beforeExit", () => {
  const loaded: LiveLoaded = {
    calls: latencies.length,
    failed,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    p999: percentile(latencies, 0.999),
    slowest: percentile(latencies, 1),
    sentLateP99: percentile(delays, 0.99),
  };
  console.log(JSON.stringify(loaded));
});

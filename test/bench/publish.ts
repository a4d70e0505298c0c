/**
 * How long a publish takes, and what memory it needs at its peak: 110 contracts with five years of
 * daily closes and a session's quotes, into an empty folder, then the next session on top of it.
 * Each figure is that of a whole process, start included. Prints Markdown.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dateText, parseSession, type Session } from "../../src/market/session.ts";

const CONTRACTS = 110;
const DAYS = 1826;
const ROUNDS = 3;
const SESSION = parseSession("2026-11-21T00Z") as Session;
const CHILD = new URL("publish-child.ts", import.meta.url).pathname;

const folder = mkdtempSync(join(tmpdir(), "chipboard-bench-"));
try {
  writeFileSync(join(folder, "catalog.csv"), catalog());
  writeFileSync(join(folder, "closes.csv"), closes());
  writeFileSync(join(folder, "quotes.csv"), quotes(0));
  writeFileSync(join(folder, "next.csv"), quotes(1));
  console.log(
    `Publishing ${CONTRACTS} contracts, ${DAYS} daily closes each, median of ${ROUNDS}\n`,
  );
  console.log("| run | seconds | peak MB |\n|---|---|---|");
  const first: Run[] = [];
  const next: Run[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const store = join(folder, `store-${round}`);
    const file = (name: string): string => join(folder, name);
    const session = ["--store", store, "--session"];
    const whole = ["--catalog", file("catalog.csv"), "--closes", file("closes.csv")];
    first.push(run([...session, "2026-11-21T00Z", ...whole, "--quotes", file("quotes.csv")]));
    next.push(run([...session, "2026-11-21T12Z", "--quotes", file("next.csv")]));
  }
  console.log(row("five years, empty store", first));
  console.log(row("next session", next));
} finally {
  rmSync(folder, { recursive: true });
}

interface Run {
  readonly seconds: number;
  readonly peakMb: number;
}

function run(options: readonly string[]): Run {
  const started = performance.now();
  const child = spawnSync(process.execPath, [CHILD, ...options], {
    encoding: "utf8",
    env: { ...process.env, CHIPBOARD_NOW: "2026-11-21T12:05:00Z" },
  });
  const seconds = (performance.now() - started) / 1000;
  if (child.status !== 0) throw new Error(child.stderr);
  return { seconds, peakMb: Number(/peak_kb=(\d+)/.exec(child.stdout)?.[1]) / 1024 };
}

function row(name: string, runs: readonly Run[]): string {
  const median = (values: readonly number[]): number =>
    values.toSorted((a, b) => a - b)[values.length >> 1] as number;
  const seconds = median(runs.map((item) => item.seconds)).toFixed(2);
  return `| ${name} | ${seconds} | ${median(runs.map((item) => item.peakMb)).toFixed(0)} |`;
}

function catalog(): string {
  const header =
    "id,ticker,name,board,segment,unit,ai_exposure_pct,source,source_url,capacity_gb\n";
  return (
    header +
    each(
      (id, at) =>
        `${id},T${at},Contract ${at},${at % 5 === 0 ? "semiconductor" : "memory"},DRAM,USD per chip,10,Bench,https://example.com/,2\n`,
    )
  );
}

function closes(): string {
  const last = (SESSION >> 1) - 1;
  return `id,date,close_usd\n${each((id, at) => {
    let rows = "";
    for (let day = last - DAYS + 1; day <= last; day += 1) {
      rows += `${id},${dateText(day)},${level(at, day)}\n`;
    }
    return rows;
  })}`;
}

function quotes(shift: number): string {
  return `id,spot_usd\n${each((id, at) => `${id},${level(at, (SESSION >> 1) + shift)}\n`)}`;
}

function level(at: number, day: number): string {
  return (10 + at + ((day * 7 + at * 13) % 101) / 100).toFixed(2);
}

function each(text: (id: string, at: number) => string): string {
  let all = "";
  for (let at = 0; at < CONTRACTS; at += 1) all += text(`contract-${at}`, at);
  return all;
}

/**
 * Follows the cases of docs/operate/night.md: each in a folder of its own with the page's files, its store
 * and a proxy that serves it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClock } from "../../src/lib/clock.ts";
import { openRegistry } from "../contract/open-registry.ts";
import { inProcess } from "../cli/run.ts";
import { call, type Received } from "../http/client.ts";
import { eventually } from "../http/fixture.ts";
import { BIN, endWithUs, NOW, serve, type Serving } from "../program/program.ts";
import { blocksOf, fileNameOf } from "./blocks.ts";

/** The session that callers have at first, and the session of the night. */
export const NOON = "2026-11-20T12Z/r1";
export const MIDNIGHT = "2026-11-21T00Z/r1";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/operate/night.md"), "utf8");
const [INTRODUCTION = "", ...CASES] = PAGE.split(/^## /m);
/** The titles of the cases, in order. */
export const TITLES = CASES.map((text) => text.split("\n", 1)[0] ?? "");

const FILES = blocksOf(INTRODUCTION).filter(({ language }) => language === "csv");
/** Settings, and the publish of the session before. */
const START = blocksOf(INTRODUCTION).find(({ language }) => language === "sh")?.text ?? "";

const API = "/api/public/v1";
/** With --wait the page's 25 minutes are as long as this here. */
const WAIT = "3s";

/** A command, the lines that the page shows of its output, and its exit code. */
interface Step {
  readonly command: string;
  readonly shown: string[];
  code: number;
}

function stepsOf(title: string): Step[] {
  const steps: Step[] = [];
  const text = CASES[TITLES.indexOf(title)] ?? "";
  for (const { language, text: lines } of blocksOf(text)) {
    expect(language).toBe("console");
    for (const line of lines.trimEnd().split("\n")) {
      const [, command, code] = /^(?:\$ (.*)|# exit code (\d))$/.exec(line) ?? [];
      const last = steps.at(-1);
      if (command !== undefined) steps.push({ command, shown: [], code: 0 });
      else if (last === undefined) throw new Error(`a line before any command: ${line}`);
      else if (code !== undefined) last.code = Number(code);
      else last.shown.push(line);
    }
  }
  return steps;
}

type Tier = "free" | "starter" | "pro";

/** One case. */
export class Night {
  readonly #folder: string;
  readonly #keys: Readonly<Record<Tier, string>>;
  readonly #steps: Step[];
  #proxy: Serving | null = null;

  constructor(title: string, folder: string, keys: Readonly<Record<Tier, string>>) {
    this.#folder = folder;
    this.#keys = keys;
    this.#steps = stepsOf(title);
  }

  /** How many commands are not run yet. */
  get left(): number {
    return this.#steps.length;
  }

  /** Runs the commands up to the next `publish`, and compares their output and exit codes. */
  async publish(onOutput: (printed: string) => void = () => {}): Promise<void> {
    for (;;) {
      const { command, shown, code } = this.#steps.shift() as Step;
      const ended = await this.#run(command, onOutput);
      const told = ended.printed.split("\n").map(blurred);
      const expected = shown.map(blurred);
      expect(
        { code: ended.code, told: told.filter((line) => expected.includes(line)) },
        `${command}\n${ended.printed}`,
      ).toEqual({ code, told: expected });
      if (command.includes("chipboard publish")) return;
    }
  }

  /** `publish ARGS`, which the page does not show; within this process. */
  async publishBetween(now: string, ...args: string[]): Promise<string> {
    const env = { CHIPBOARD_NOW: now };
    const run = await inProcess(["publish", "--store", "night", ...args], {
      cwd: this.#folder,
      env,
    });
    expect(run.code, run.stderr).toBe(0);
    return run.stdout;
  }

  copy(from: string, to: string): void {
    cpSync(join(this.#folder, from), join(this.#folder, to));
  }

  /** Starts the proxy, or ends it and starts it at another instant. */
  async serveAt(now = NOW): Promise<void> {
    await this.end();
    const places = ["--store", "night", "--state", "state", "--poll", "100ms"];
    this.#proxy = await serve(places, { cwd: this.#folder, env: { CHIPBOARD_NOW: now } });
  }

  /** Returns when callers get the snapshot. */
  async switched(snapshot = MIDNIGHT): Promise<void> {
    await eventually(
      async () => (await this.get("pro", "/prices")).headers["x-snapshot"] === snapshot,
    );
  }

  /** What a caller gets. */
  get(tier: Tier, path: string): Promise<Received> {
    const key = this.#keys[tier];
    return call(`${this.#url}${API}${path}`, key === "" ? {} : { key });
  }

  async board(tier: Tier): Promise<readonly Record<string, unknown>[]> {
    const { json } = await this.get(tier, "/prices");
    return [...json.memory, ...json.semiconductor];
  }

  /** `[level, basis]` of every contract on the tier's boards. */
  async levels(tier: Tier): Promise<Record<string, unknown>> {
    const rows = await this.board(tier);
    return Object.fromEntries(rows.map((row) => [row["id"], [row["spot_usd"], row["basis"]]]));
  }

  readyz = async (): Promise<unknown> => (await call(`${this.#url}/readyz`)).json;

  async end(): Promise<void> {
    await this.#proxy?.end();
    this.#proxy = null;
  }

  get #url(): string {
    return (this.#proxy as Serving).url;
  }

  async #run(
    command: string,
    onOutput: (printed: string) => void,
  ): Promise<{ code: number; printed: string }> {
    const [settings = ""] = START.split(/^chipboard publish/m);
    return inBash(`${settings}\n${command.replace("25m", WAIT)}`, this.#folder, onOutput);
  }
}

/** Runs the commands with the program of this checkout. Standard output and error are one. */
async function inBash(
  commands: string,
  cwd: string,
  onOutput: (printed: string) => void = () => {},
): Promise<{ code: number; printed: string }> {
  const script = `exec 2>&1\n${commands.replace("npx --no-install chipboard", '"$NODE" "$BIN"')}`;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, NODE: process.execPath, BIN };
  const child = spawn("bash", ["-c", script], { cwd, env, stdio: ["ignore", "pipe", "inherit"] });
  endWithUs(child);
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
    onOutput(printed);
  });
  const [code] = await once(child, "close");
  return { code, printed };
}

let original: string;
let keys: Record<Tier, string>;

/** Makes the page's files, its store, and a state with a key of each tier. */
export function prepareNights(): void {
  beforeAll(async () => {
    original = mkdtempSync(join(tmpdir(), "chipboard-night-"));
    for (const block of FILES) {
      writeFileSync(join(original, fileNameOf(block)), block.text);
    }
    const made = await inBash(START, original);
    expect(made.code, made.printed).toBe(0);
    const registry = await openRegistry(join(original, "state"), createClock(NOW), "create");
    const keyOf = async (tier: "starter" | "pro"): Promise<string> => {
      await registry.addAccount(tier, tier, null);
      return (await registry.createKey(tier, null)).key;
    };
    keys = { free: "", starter: await keyOf("starter"), pro: await keyOf("pro") };
    await registry.close();
  });
  afterAll(() => rmSync(original, { recursive: true, force: true }));
}

/** A test of the case with that title. All commands of the case must have run at its end. */
export function night(title: string, follow: (night: Night) => Promise<void>): void {
  test(title, async () => {
    const folder = mkdtempSync(join(tmpdir(), "chipboard-night-"));
    cpSync(original, folder, { recursive: true });
    const one = new Night(title, folder, keys);
    try {
      await one.serveAt();
      await follow(one);
      expect(one.left).toBe(0);
    } finally {
      await one.end();
      rmSync(folder, { recursive: true });
    }
  });
}

/** Instants depend on when the run began. */
const blurred = (line: string): string => line.replaceAll(/T[\d:]+\.\d{3}Z/g, "T…Z");

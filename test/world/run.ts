/** `npm run world`: runs worlds by their seeds, or looks for planted faults. See its --help. */
import { spawn } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { BrokenPromise, planOf, Worlds, type Plan } from "./world.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const PLANTED = join(import.meta.dirname, "planted");
/** How many worlds run, and how many may look for a planted fault, unless an option says otherwise. */
const SEEDS = 200;
const SEEDS_FOR_FAULT = 1_000;
const TOLD_EVERY = 500;

const whole = (text: string): number => {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a number from 1 to 999999999");
};

const program = new Command("world")
  .description(
    "Publishers, prunes, copies, proxies and callers in one process, in an order that a seed decides.",
  )
  .option("--seed <n>", "run this world; if it is red, also the smallest one that is", whole)
  .option("--trace", "with --seed: print each step")
  .option(
    "--seeds <n>",
    `how many worlds (${SEEDS}; to find a planted fault ${SEEDS_FOR_FAULT})`,
    whole,
  )
  .option("--from <n>", "the first seed", whole, 1)
  .option("--stop", "end with the first red world")
  .option(
    "--planted [name]",
    "for this fault in test/world/planted, or each: the first seed that finds it",
  )
  .addHelpText(
    "after",
    `
Ends with 1 if a world is red. Examples:
  npm run world -- --seeds 10000
  npm run world -- --seed 4711 --trace
  npm run world -- --planted prune-before-naming`,
  )
  .parse();

interface Options {
  readonly seed?: number;
  readonly trace?: true;
  readonly seeds?: number;
  readonly from: number;
  readonly stop?: true;
  readonly planted?: string | true;
}
async function runMany(from: number, seeds: number, stops: boolean): Promise<void> {
  const worlds = new Worlds();
  let red = 0;
  let done = 0;
  for (; done < seeds && !(stops && red > 0); done += 1) {
    if (done > 0 && done % TOLD_EVERY === 0)
      console.error(`${done} of ${seeds} worlds, ${red} red`);
    const broken = await brokenIn(worlds, planOf(from + done));
    if (broken === null) continue;
    red += 1;
    console.log(firstLine(broken));
  }
  console.log(`${done} worlds, ${red} red`);
  process.exitCode = red > 0 ? 1 : 0;
}

async function runOne(seed: number, hasTrace: boolean): Promise<void> {
  const worlds = new Worlds();
  const plan = planOf(seed);
  const broken = await brokenIn(worlds, plan);
  if (broken === null) {
    if (hasTrace) console.log((await worlds.run(plan)).join("\n"));
    console.log(`seed ${seed}: every promise is kept`);
    return;
  }
  console.log(firstLine(broken));
  const smallest = await shrunk(worlds, broken);
  const without = [...smallest.plan.without].join(", ");
  console.log(`Also without ${without === "" ? "nothing less" : without}:\n${smallest.message}`);
  process.exitCode = 1;
}

/** The same fault with as few actors as possible, and without failures if it needs none. */
async function shrunk(worlds: Worlds, broken: BrokenPromise): Promise<BrokenPromise> {
  let smallest = broken;
  for (const name of ["failures", ...smallest.actors]) {
    const without = new Set([...smallest.plan.without, name]);
    smallest = (await brokenIn(worlds, { ...smallest.plan, without })) ?? smallest;
  }
  return smallest;
}

async function brokenIn(worlds: Worlds, plan: Plan): Promise<BrokenPromise | null> {
  try {
    await worlds.run(plan);
    return null;
  } catch (error) {
    if (error instanceof BrokenPromise) return error;
    throw error;
  }
}

function firstLine({ message }: Error): string {
  return message.split("\n", 1)[0] as string;
}

/** Plants each fault in a copy of the sources, and runs worlds there. */
async function runPlanted(name: string | null, seeds: number): Promise<void> {
  const all = (await readdir(PLANTED)).map((file) => file.replace(/\.patch$/, "")).sort();
  const names = name === null ? all : all.filter((each) => each === name);
  if (names.length === 0)
    throw new Error(`There is no planted fault ${name}; there are ${all.join(", ")}`);
  const queue = names.values();
  let found = 0;
  await Promise.all(
    Array.from({ length: availableParallelism() }, async () => {
      for (const each of queue) {
        const line = await plantedIn(each, seeds);
        if (line !== null) found += 1;
        console.log(`${each}: ${line ?? `not found in ${seeds} seeds`}`);
      }
    }),
  );
  console.log(`${found} of ${names.length} found`);
  process.exitCode = found < names.length ? 1 : 0;
}

/** What the first red world says; null: none is red. */
async function plantedIn(name: string, seeds: number): Promise<string | null> {
  const folder = await mkdtemp(join(tmpdir(), "chipboard-planted-"));
  try {
    for (const part of ["src", "test", "tools", "clients", "package.json"])
      await cp(join(ROOT, part), join(folder, part), {
        recursive: true,
        filter: (path) => !/\/(?:node_modules|released|golden\/expected)(?:\/|$)/.test(path),
      });
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const patch = await readFile(join(PLANTED, `${name}.patch`));
    const applied = await output("git", ["apply", "-"], folder, patch);
    if (applied.code !== 0) throw new Error(`${name} does not fit the sources: ${applied.text}`);
    const run = join(folder, "test", "world", "run.ts");
    const { text } = await output(
      process.execPath,
      [run, "--seeds", String(seeds), "--stop"],
      folder,
    );
    const lines = text.split("\n");
    const red = lines.find((line) => line.startsWith("seed "));
    if (red === undefined && !lines.includes(`${seeds} worlds, 0 red`)) throw new Error(text);
    return red ?? null;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function output(
  command: string,
  args: readonly string[],
  cwd: string,
  input: Buffer = Buffer.alloc(0),
): Promise<{ code: number | null; text: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "pipe"] });
    const pieces: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (piece: Buffer) => pieces.push(piece));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, text: String(Buffer.concat(pieces)) }));
    child.stdin.end(input);
  });
}

const options = program.opts<Options>();
if (options.planted !== undefined)
  await runPlanted(
    options.planted === true ? null : options.planted,
    options.seeds ?? SEEDS_FOR_FAULT,
  );
else if (options.seed !== undefined) await runOne(options.seed, options.trace ?? false);
else await runMany(options.from, options.seeds ?? SEEDS, options.stop ?? false);

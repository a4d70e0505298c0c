import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const FILES = globSync("test/**/*.test.ts", { cwd: import.meta.dirname });

/** A file that imports from test/services needs a service for one of its tests at least. */
const needsService = (text: string): boolean => / from "(?:\.\.\/)+services\//.test(text);

/** A file that starts programs. */
const startsPrograms = (text: string): boolean =>
  / from "(?:(?:\.\.\/)+program\/|node:child_process")/.test(text);

/** Tests within one process. Files share it one after another, with its modules and its published market. */
const QUICK = ["unit", "property", "golden", "desk", "cli", "site", "core"];
/** The same for simulated worlds, which replace parts of Node: they have a process of their own. */
const WORLD = ["world"];
/** Tests of a proxy within their own process, and of its answers. */
const SERVED = ["http", "pages", "report"];
/** Needs series of prices beside the repository. */
const REPLAY = ["replay"];

/**
 * The project of each file: exactly one. `npm test` runs `quick` and `world`, and `npm run test:services` all others but
 * `replay`.
 */
function projectOf(file: string): string {
  const folder = file.split("/")[1] ?? "";
  if (REPLAY.includes(folder)) return "replay";
  const text = readFileSync(join(import.meta.dirname, file), "utf8");
  const isServed = SERVED.includes(folder);
  if (needsService(text)) return isServed ? "browsers" : "services";
  if (startsPrograms(text)) return "whole";
  if (isServed) return "served";
  if (WORLD.includes(folder)) return "world";
  return QUICK.includes(folder) ? "quick" : "whole";
}

/** Begins with the longest files, so that none of them runs alone at the end; keeps projects together. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      /\/test\/(?:checks|deploy|docs|faults|process)\//.test(moduleId);
    const order = ["services", "browsers", "whole", "world", "served", "quick"];
    const rankOf = (file: TestSpecification): number =>
      isLong(file) ? -1 : order.indexOf(file.project.name);
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

const project = (name: string, isShared: boolean) => ({
  extends: true as const,
  test: {
    name,
    include: FILES.filter((file) => projectOf(file) === name),
    isolate: !isShared,
    setupFiles: isShared ? ["test/property/runs.ts"] : [],
  },
});

export default defineConfig({
  test: {
    // For a machine ten times slower than ours: they end tests that hang, and measure nothing.
    testTimeout: 3_600_000,
    expect: { poll: { timeout: 600_000 } },
    hookTimeout: 3_600_000,
    globalSetup: "test/temporary-folder.ts",
    pool: "forks",
    // One more than there are cores: many tests wait for timers, processes and services.
    maxWorkers: availableParallelism() + 1,
    // Programs that tests start share what Node made of their modules: each start is twice as fast.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/node") },
    sequence: { sequencer: LongestFirst },
    projects: [
      project("quick", true),
      project("world", false),
      project("served", true),
      project("browsers", true),
      // What only processes and services show. Each file has a process of its own.
      project("whole", false),
      project("services", false),
      project("replay", false),
    ],
  },
});

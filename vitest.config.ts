import { availableParallelism } from "node:os";
import { join } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const testsIn = (...folders: readonly string[]): string[] =>
  folders.map((folder) => `test/${folder}/**/*.test.ts`);

/** Tests within one process, without a service. */
const QUICK = testsIn("unit", "property", "golden", "desk", "cli", "site");
/** Tests of a proxy within their own process, and of what it serves. */
const SERVED = testsIn("http", "pages", "report", "guide", "released");
/** Needs series of prices beside the repository. */
const REPLAY = testsIn("replay");
/** What only processes and services show. Each file has a process of its own. */
const WHOLE = {
  include: testsIn("**"),
  exclude: [...configDefaults.exclude, ...QUICK, ...SERVED, ...REPLAY],
};

/** Begins with the longest files, so that none of them runs alone at the end; keeps projects together. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      /\/test\/(?:checks|deploy|docs|faults|process)\//.test(moduleId);
    const order = ["whole", "served", "quick"];
    const rankOf = (file: TestSpecification): number =>
      isLong(file) ? -1 : order.indexOf(file.project.name);
    return (await super.sort(files)).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

export default defineConfig({
  test: {
    // For a machine ten times slower than ours: they end tests that hang, and measure nothing.
    testTimeout: 600_000,
    expect: { poll: { timeout: 300_000 } },
    hookTimeout: 600_000,
    pool: "forks",
    // One more than there are cores: many tests wait for timers, processes and services.
    maxWorkers: availableParallelism() + 1,
    // Programs that tests start share what Node made of their modules: each start is twice as fast.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/node") },
    sequence: { sequencer: LongestFirst },
    projects: [
      // Files of these share a process one after another, with its modules and its published market.
      { extends: true, test: { name: "quick", include: QUICK, isolate: false } },
      { extends: true, test: { name: "served", include: SERVED, isolate: false } },
      { extends: true, test: { name: "whole", ...WHOLE } },
      { extends: true, test: { name: "replay", include: REPLAY } },
    ],
  },
});

import { availableParallelism } from "node:os";
import { join } from "node:path";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Tests within one process, without a service. */
const QUICK = ["unit", "property", "golden", "desk", "cli", "site"].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);
/** Needs series of prices beside the repository. */
const REPLAY = ["test/replay/**/*.test.ts"];

const exclude = configDefaults.exclude;

/** Begins with the folders of the longest files, so that none of them runs alone at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      /\/test\/(?:deploy|faults|process|docs)\//.test(moduleId);
    return (await super.sort(files)).toSorted((a, b) => Number(isLong(b)) - Number(isLong(a)));
  }
}

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    // One more than there are cores: many tests wait for timers, processes and services.
    maxWorkers: availableParallelism() + 1,
    // Programs that tests start share what Node made of their modules: each start is twice as fast.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/node") },
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: "quick", include: QUICK, exclude } },
      {
        extends: true,
        test: {
          name: "whole",
          include: ["test/**/*.test.ts"],
          exclude: [...exclude, ...QUICK, ...REPLAY],
        },
      },
      { extends: true, test: { name: "replay", include: REPLAY, exclude } },
    ],
  },
});

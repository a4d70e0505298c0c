import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";

/** Tests within one process, without a service. */
const QUICK = ["unit", "property", "golden", "desk", "cli", "site"].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);
/** Needs series of prices beside the repository. */
const REPLAY = ["test/replay/**/*.test.ts"];

const exclude = configDefaults.exclude;

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    // One more than there are cores: many tests wait for timers, processes and services.
    maxWorkers: availableParallelism() + 1,
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

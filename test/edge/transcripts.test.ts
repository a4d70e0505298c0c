/** The transcripts by the Worker, in workerd. Those that a difference of the platform makes fail must fail. */
import { expect, test } from "vitest";
import { runTranscripts } from "../http/transcript-runs.ts";
import { DIFFERENCES } from "./differences.ts";
import { startTestEdge } from "./edge-service.ts";

const failing = new Set(DIFFERENCES.flatMap(({ tests }) => tests));
const ran = runTranscripts(startTestEdge, failing);

test("every test of the table of differences is there", () => {
  expect([...failing].filter((name) => !ran.has(name))).toEqual([]);
});

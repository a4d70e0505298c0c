/** Faults on a real S3 server in their short form: crashes, races, and copies that are killed. */
import { afterAll, test, vi } from "vitest";
import { copyFaults } from "../../tools/faults/copies.ts";
import { s3Crashes } from "../../tools/faults/crashes.ts";
import { s3Races } from "../../tools/faults/races.ts";
import { testService } from "../services/services.ts";
import { expectNothingLost } from "./short.ts";

const s3 = testService("s3");
for (const [name, value] of Object.entries(s3?.env ?? {})) vi.stubEnv(name, value);
afterAll(() => s3?.stop());

test.skipIf(s3 === null).each([
  ["a run that fails, hangs or is killed at a write leaves the old head or the new one", s3Crashes],
  ["nothing is lost when publishers, rollbacks and prunes run at once", s3Races],
  ["a copy that is killed is completed by the next one", copyFaults],
])("%s", (_, faults) => expectNothingLost(faults));

/** Copies that are killed, in their short form. */
import { afterAll, test, vi } from "vitest";
import { testService } from "../services/services.ts";
import { copyFaults } from "../../tools/faults/copies.ts";
import { expectNothingLost } from "./short.ts";

const s3 = testService("s3");
for (const [name, value] of Object.entries(s3?.env ?? {})) vi.stubEnv(name, value);
afterAll(() => s3?.stop());

test.skipIf(s3 === null)(
  "a copy that is killed is completed by the next one",
  () => expectNothingLost(copyFaults),
  300_000,
);

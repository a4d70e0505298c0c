/** Imports of accounts that are killed, in their short form. */
import { afterAll, test } from "vitest";
import { testService } from "../services/services.ts";
import { folderImportFaults, redisImportFaults } from "../../tools/faults/imports.ts";
import { expectNothingLost } from "./short.ts";

const TIMEOUT_MS = 300_000;

const redis = testService("redis");
afterAll(() => redis?.stop());

test(
  "an import into a folder that is killed at a write adds all accounts or none",
  () => expectNothingLost(folderImportFaults),
  TIMEOUT_MS,
);

test.skipIf(redis === null)(
  "an import into Redis that is killed at a write adds all accounts or none",
  () => expectNothingLost(redisImportFaults),
  TIMEOUT_MS,
);

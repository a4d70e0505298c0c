/** Imports of accounts that are killed, in their short form. */
import { afterAll, test } from "vitest";
import { testService } from "../services/services.ts";
import { folderImportFaults, redisImportFaults } from "../../tools/faults/imports.ts";
import { expectNothingLost } from "./short.ts";

const redis = testService("redis");
afterAll(() => redis?.stop());

test("an import into a folder that is killed at a write adds all accounts or none", () =>
  expectNothingLost(folderImportFaults));

test.skipIf(redis === null)(
  "an import into Redis that is killed at a write adds all accounts or none",
  () => expectNothingLost(redisImportFaults),
);

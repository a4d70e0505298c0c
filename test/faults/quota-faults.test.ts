/** A proxy that is killed loses no call it granted; and a loss is found. */
import { afterAll, expect, test } from "vitest";
import { testService } from "../services/services.ts";
import { expectCounted, folderQuotaFaults, redisQuotaFaults } from "../../tools/faults/quota.ts";
import { expectNothingLost } from "./short.ts";

const redis = testService("redis");
afterAll(() => redis?.stop());

test("nothing is lost with a state in a folder", () => expectNothingLost(folderQuotaFaults));

test.skipIf(redis === null)("nothing is lost with a state in Redis", () =>
  expectNothingLost(redisQuotaFaults),
);

test("a call that is not counted and a counted call that nobody sent are found", () => {
  const load = { sent: 120, answered: 100 };
  expect(() => expectCounted(load, 100)).not.toThrow();
  expect(() => expectCounted(load, 120)).not.toThrow();
  expect(() => expectCounted(load, 99)).toThrow(/99 calls are counted, 100 were answered/);
  expect(() => expectCounted(load, 121)).toThrow(/121 calls are counted, 120 were sent/);
  expect(() => expectCounted({ sent: 16, answered: 0 }, 0)).toThrow(/No call was answered/);
});

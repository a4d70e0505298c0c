/** The promises of every state driver; the tests run on SQLite and on Redis. */
import { stateAccountLogContract } from "./state-account-log.contract.ts";
import { stateCountsContract } from "./state-counts.contract.ts";
import { stateDaysContract } from "./state-days.contract.ts";
import { stateGivenBackContract } from "./state-given-back.contract.ts";
import { stateKeysContract } from "./state-keys.contract.ts";
import { stateLogContract } from "./state-log.contract.ts";
import type { StateUnderTest } from "./state-under-test.ts";

/** Tests the states that `create` makes: a new, empty one for every test. */
export function stateContract(name: string, create: () => Promise<StateUnderTest>): void {
  stateKeysContract(name, create);
  stateCountsContract(name, create);
  stateDaysContract(name, create);
  stateGivenBackContract(name, create);
  stateLogContract(name, create);
  stateAccountLogContract(name, create);
}

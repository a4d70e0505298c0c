/** Opens the state that `--state` names, for commands or for a serving proxy. */
import type { Clock } from "../lib/clock.ts";
import { InputError, UnreachableError } from "../lib/errors.ts";
import { isAddress, shownLocation } from "../lib/secrets.ts";
import type { StateDriver, StatePurpose } from "../ports/state.ts";
import { countAccounts, hadAccounts } from "./accounts.ts";
import type { SeenLog } from "../snapshot/log/lost.ts";
import { addressSecret } from "./address-secret.ts";
import { seenIn } from "./seen-logs.ts";
import { StateAccounts, type Listeners } from "./state-accounts.ts";
import { Registry } from "./registry.ts";

/**
 * Runs `work` on the registry of `location` (a folder, redis://… or https://…), then closes it. `by` makes the changes,
 * for their log; without it, the system's user does. Throws the errors of `work`, InputError for any other location,
 * and UnreachableError if the state does not answer, or if there is none and `purpose` needs one.
 */
export async function withRegistry<T>(
  location: string,
  clock: Clock,
  purpose: StatePurpose,
  work: (registry: Registry) => Promise<T>,
  by?: string,
): Promise<T> {
  return withDriver(location, purpose, (driver) => work(new Registry(driver, clock, by)));
}

/**
 * Creates an empty state at `location` if there is none, and returns whether it did. Throws as `withRegistry`
 * does.
 */
export const createState = (location: string): Promise<boolean> =>
  withDriver(location, "create", async ({ created }) => created !== null);

/** Runs `work` on the state of `location`, then closes it. Throws as `withRegistry` does. */
export async function withDriver<T>(
  location: string,
  purpose: StatePurpose,
  work: (driver: StateDriver) => Promise<T>,
): Promise<T> {
  const driver = await openDriver(location, purpose);
  try {
    return await work(driver);
  } catch (error) {
    throw driver.explain(error);
  } finally {
    await driver.close();
  }
}

/** What a proxy needs to know of a state before it uses it. */
interface StateSurvey {
  /** How many accounts there are. */
  readonly accounts: number;
  /** See Look. */
  readonly refusal: string | null;
  /** The error for a database that may drop keys; `serve` does not start with it. Null: it drops none. */
  readonly eviction: UnreachableError | null;
}

async function survey(location: string, driver: StateDriver): Promise<StateSurvey> {
  const accounts = await countAccounts(driver.storage);
  const { refusal } = await driver.look();
  const policy = await driver.evictionPolicy();
  return { accounts, refusal, eviction: policy === null ? null : evictionError(location, policy) };
}

/**
 * Looks at the state of `location` as a proxy does at its start, and at the logs that proxies have
 * seen. Writes nothing. Throws as `withRegistry` does.
 */
export const surveyState = (
  location: string,
): Promise<StateSurvey & { readonly hadAccounts: boolean; readonly seen: readonly SeenLog[] }> =>
  withDriver(location, "use", async (driver) => ({
    ...(await survey(location, driver)),
    hadAccounts: await hadAccounts(driver.storage),
    seen: await seenIn(driver.storage),
  }));

/** How many accounts a state has, also one in a backup file. Throws as `withRegistry` does. */
export const accountsIn = (location: string): Promise<number> =>
  withDriver(location, "use", ({ storage }) => countAccounts(storage));

/**
 * The state of `location` for one of any number of proxies. Throws InputError, NoStateError, or
 * UnreachableError if the state does not answer, cannot be used, or may drop its keys.
 */
export async function openAccounts(
  location: string,
  clock: Clock,
  listeners: Listeners = {},
): Promise<StateAccounts> {
  const driver = await openDriver(location, "serve");
  try {
    const { accounts, refusal, eviction } = await survey(location, driver);
    if (eviction !== null) throw eviction;
    const found = { addressSecret: await addressSecret(driver), accounts, refusal };
    return new StateAccounts(driver, clock, found, listeners);
  } catch (error) {
    await driver.close();
    throw driver.explain(error);
  }
}

const evictionError = (location: string, policy: string): UnreachableError =>
  new UnreachableError(
    `State ${shownLocation(location)} (--state) cannot be used: its Redis has the maxmemory-policy ${JSON.stringify(policy)}, ` +
      "and drops accounts, keys or counts when its memory is full. Set maxmemory-policy to noeviction",
  );

/** The state of `location`. The caller closes it. Throws as `withRegistry` does. */
export async function openDriver(location: string, purpose: StatePurpose): Promise<StateDriver> {
  if (/^rediss?:\/\//i.test(location)) {
    const { openRedis } = await import("./redis/redis-state.ts");
    return openRedis(location, purpose);
  }
  if (/^https?:\/\//i.test(location)) {
    const { openDoor } = await import("./objects/door-state.ts");
    return openDoor(location, purpose);
  }
  if (location === "" || isAddress(location)) {
    throw new InputError(
      `--state ${JSON.stringify(shownLocation(location))}: expected a folder, redis://host:port/db or https://:SECRET@host`,
    );
  }
  const { openSqlite } = await import("./sqlite/sqlite-state.ts");
  return openSqlite(location, purpose);
}

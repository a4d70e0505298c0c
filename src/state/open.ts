/** Opens the state that `--state` names, for commands or for a serving proxy. */
import type { Clock } from "../lib/clock.ts";
import { InputError } from "../lib/errors.ts";
import { redactedUrl } from "../lib/text.ts";
import type { StateDriver, StatePurpose } from "./driver.ts";
import { addressSecret } from "./facts.ts";
import { Gatekeeper, type OnTrouble } from "./gatekeeper.ts";
import { Registry } from "./registry.ts";

/**
 * Runs `work` on the registry of `location` (a folder, or redis://…), then closes it. Throws what
 * `work` throws, InputError for any other location, UnreachableError if the state does not answer,
 * or if there is none and `purpose` needs one.
 */
export async function withRegistry<T>(
  location: string,
  clock: Clock,
  purpose: StatePurpose,
  work: (registry: Registry) => Promise<T>,
): Promise<T> {
  return withDriver(location, purpose, (driver) => work(new Registry(driver, clock)));
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

/**
 * The state of `location` for one of any number of proxies. Throws InputError, NoStateError, or
 * UnreachableError if the state does not answer or cannot be used.
 */
export async function openGatekeeper(
  location: string,
  clock: Clock,
  onTrouble: OnTrouble = () => undefined,
): Promise<Gatekeeper> {
  const driver = await openDriver(location, "serve");
  try {
    const secret = await addressSecret(driver);
    await driver.look();
    return new Gatekeeper(driver, clock, secret, onTrouble);
  } catch (error) {
    await driver.close();
    throw driver.explain(error);
  }
}

/** The state of `location`. The caller closes it. Throws as `withRegistry` does. */
export async function openDriver(location: string, purpose: StatePurpose): Promise<StateDriver> {
  if (/^rediss?:\/\//i.test(location)) {
    const { openRedis } = await import("./redis/state.ts");
    return openRedis(location, purpose);
  }
  if (location === "" || /^[a-z][a-z0-9+.-]+:\/\//i.test(location)) {
    throw new InputError(
      `--state ${JSON.stringify(redactedUrl(location))}: expected a folder or redis://host:port/db`,
    );
  }
  const { openSqlite } = await import("./sqlite/state.ts");
  return openSqlite(location, purpose);
}

/** Opens the state that `--state` names, for commands or for a serving proxy. */
import type { Clock } from "../clock.ts";
import { InputError } from "../errors.ts";
import { redactedUrl } from "../redact.ts";
import type { StateDriver, StatePurpose } from "./driver.ts";
import type { Gatekeeper } from "./gatekeeper.ts";
import { Registry } from "./registry.ts";
import { createGatekeeper, type OnTrouble } from "./state-gatekeeper.ts";

/**
 * Runs `work` on the registry of `location` (a folder, or redis://…) and lets go of it. A folder
 * without a state is created for "change", and seen as empty for "read". Throws what `work` throws,
 * InputError for a location that is neither, UnreachableError where the state does not answer.
 */
export async function withRegistry<T>(
  location: string,
  clock: Clock,
  purpose: StatePurpose,
  work: (registry: Registry) => Promise<T>,
): Promise<T> {
  const driver = await openDriver(location, purpose);
  try {
    return await work(new Registry(driver, clock));
  } catch (error) {
    throw driver.explain(error);
  } finally {
    await driver.close();
  }
}

/** The registry of `location`, to be closed by the caller; errors as of `withRegistry`. */
export async function openRegistry(
  location: string,
  clock: Clock,
  purpose: StatePurpose,
): Promise<Registry> {
  return new Registry(await openDriver(location, purpose), clock);
}

/**
 * The state of `location` for a `serve`, beside any number of others; a folder is created where it
 * is absent. Throws InputError, or UnreachableError where the state does not answer or is unfit.
 */
export async function openGatekeeper(
  location: string,
  clock: Clock,
  onTrouble: OnTrouble = () => undefined,
): Promise<Gatekeeper> {
  return createGatekeeper(await openDriver(location, "serve"), clock, onTrouble);
}

async function openDriver(location: string, purpose: StatePurpose): Promise<StateDriver> {
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

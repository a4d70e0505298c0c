/** Opens the state that `--state` names, for commands or for a serving proxy. */
import type { Clock } from "../clock.ts";
import { InputError } from "../errors.ts";
import { redactedUrl } from "../redact.ts";
import type { Gatekeeper } from "./gatekeeper.ts";
import { Registry } from "./registry.ts";
import type { RegistryState, StatePurpose } from "./driver.ts";

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
  const state = await openRegistryState(location, purpose);
  try {
    return await work(new Registry(state, clock));
  } catch (error) {
    throw state.explain(error);
  } finally {
    await state.close();
  }
}

/** The registry of `location`, to be closed by the caller; errors as of `withRegistry`. */
export async function openRegistry(
  location: string,
  clock: Clock,
  purpose: StatePurpose,
): Promise<Registry> {
  return new Registry(await openRegistryState(location, purpose), clock);
}

/**
 * The state of `location` for a `serve`; a folder is created where it is absent, and locked. Throws
 * InputError, or UnreachableError where it does not answer, is unfit, or another serve holds it.
 */
export async function openGatekeeper(location: string, clock: Clock): Promise<Gatekeeper> {
  if (isRedis(location)) {
    const { openRedisGatekeeper } = await import("./redis/gatekeeper.ts");
    return openRedisGatekeeper(location, clock);
  }
  const { openSqliteGatekeeper } = await import("./sqlite/gatekeeper.ts");
  return openSqliteGatekeeper(folderOf(location), clock);
}

async function openRegistryState(location: string, purpose: StatePurpose): Promise<RegistryState> {
  if (isRedis(location)) {
    const { openRedisRegistry } = await import("./redis/registry.ts");
    return openRedisRegistry(location, purpose);
  }
  const { openSqliteRegistry } = await import("./sqlite/registry.ts");
  return openSqliteRegistry(folderOf(location), purpose);
}

const isRedis = (location: string): boolean => /^rediss?:\/\//i.test(location);

function folderOf(location: string): string {
  if (location !== "" && !/^[a-z][a-z0-9+.-]+:\/\//i.test(location)) return location;
  throw new InputError(
    `--state ${JSON.stringify(redactedUrl(location))}: expected a folder or redis://host:port/db`,
  );
}

import type { Clock } from "../../src/lib/clock.ts";
import type { StatePurpose } from "../../src/ports/state.ts";
import { openDriver } from "../../src/state/open.ts";
import { Registry } from "../../src/state/registry.ts";

/** A registry that stays open until `close`. */
export type OpenRegistry = Registry & { close(): Promise<void> };

/** The registry of the state at `location`. The caller closes it. */
export async function openRegistry(
  location: string,
  clock: Clock,
  purpose: StatePurpose,
  by?: string,
): Promise<OpenRegistry> {
  const driver = await openDriver(location, purpose);
  return Object.assign(new Registry(driver, clock, by), { close: () => driver.close() });
}

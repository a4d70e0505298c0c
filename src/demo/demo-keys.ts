/** Creates the keys of the demonstration. */
import { withRegistry } from "../state/open.ts";
import { DAY_MS, type Clock } from "../lib/clock.ts";
import { KEY_TIER_NAMES, type KeyTierName } from "../market/tier.ts";

const OVERLAP_MS = DAY_MS;
const LABEL = "demonstration";

/**
 * Creates a key for each tier with keys, in the accounts `demo-starter` and `demo-pro`. A key cannot be
 * shown twice, so every start creates new ones; the keys of the start before stay valid for a day. Throws
 * the errors of `withRegistry`.
 */
export function demoKeys(state: string, clock: Clock): Promise<Record<KeyTierName, string>> {
  return withRegistry(state, clock, "create", async (registry) => {
    const keys: Partial<Record<KeyTierName, string>> = {};
    const accounts = new Set((await registry.accounts()).map(({ name }) => name));
    for (const tier of KEY_TIER_NAMES) {
      const account = `demo-${tier}`;
      if (!accounts.has(account)) await registry.addAccount(account, tier, null);
      const current = (await registry.keys(account)).find(
        (record) =>
          record.label === LABEL && record.revoked_at === null && record.replaced_by === null,
      );
      const { key } =
        current === undefined
          ? await registry.createKey(account, LABEL)
          : await registry.rotateKey(current.key_id, OVERLAP_MS);
      keys[tier] = key;
    }
    return keys as Record<KeyTierName, string>;
  });
}

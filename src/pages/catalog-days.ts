/** Days of contracts that pages are sent with: of most contracts, and of others by id. The browser reads them (site/page-days.js). */
import { carryLimitDays, type Contract } from "../market/contract.ts";
import { escaped } from "../site/text.js";

/** How many days a level is in force. `maxCarryDays` is the limit of the publication. */
export const carryDays = (catalog: readonly Contract[], maxCarryDays: number): string =>
  daysText(catalog, maxCarryDays, (contract) => carryLimitDays(contract, maxCarryDays));

/** How many days lie between two prices of a contract. */
export const cadenceDays = (catalog: readonly Contract[]): string =>
  daysText(catalog, 1, (contract) => Number(contract.cadenceDays));

/** For an attribute of the page. */
function daysText(
  catalog: readonly Contract[],
  days: number,
  daysOf: (contract: Contract) => number,
): string {
  const others = catalog.flatMap((contract) => {
    const own = daysOf(contract);
    return own === days ? [] : [[contract.id, own] as const];
  });
  return escaped(JSON.stringify({ days, others: Object.fromEntries(others) }));
}

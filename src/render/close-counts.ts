/**
 * `closes.json`: how many closes the history of each contract has in each tier with a history, and since when. Everybody
 * may know it, so it is as of the session of the tier without a key. The publisher writes the file and the proxy reads
 * it, both through this module.
 */
import { z } from "zod";
import { jsonText } from "../lib/json.ts";
import { closeCounts, type CloseCounts } from "../public/payload-schemas.ts";
import type { Market } from "../market/view.ts";
import { monthOf, type Session } from "../market/session.ts";
import { historyFloor, KEY_TIER_NAMES, TIERS } from "../market/tier.ts";

const file = z.array(z.object({ id: z.string(), closes: closeCounts }));

/** The text of the file, in the order of the catalog. */
export const renderCloseCounts = (market: Market, session: Session): string =>
  jsonText(market.catalog.map(({ id }) => ({ id, closes: countsOf(market, id, session) })));

function countsOf(market: Market, id: string, session: Session): CloseCounts {
  const found = KEY_TIER_NAMES.flatMap((name) => {
    const floor = historyFloor(TIERS[name], session);
    if (floor === null) return [];
    const closes = market.seriesOf(id)?.closes(session, floor) ?? [];
    const [first] = closes;
    const month = first === undefined ? null : monthOf(first.date);
    return [[name, { count: closes.length, first_month: month }]];
  });
  return Object.fromEntries(found);
}

/** The counts by contract. Throws if the text is no such file. */
export const parseCloseCounts = (text: string): ReadonlyMap<string, CloseCounts> =>
  new Map(file.parse(JSON.parse(text)).map(({ id, closes }) => [id, closes]));

/** The fields that the bodies of indices and baskets share. */
import { exactly } from "../lib/json.ts";
import {
  INDEX_BASE_LEVEL,
  type Composite,
  type Contribution,
  type Costs,
  type WithoutBase,
  type Weighting,
} from "../market/composite.ts";
import { unitsOf } from "../market/decimal.ts";
import { dateText, dayOf, sessionUtc, sessionYearBefore } from "../market/session.ts";
import { envelopeFields, type Envelope } from "./envelope.ts";
import type { Body, index } from "../public/payload-schemas.ts";

/** All fields of a body but its series. */
export function indexFields<N extends string>(
  envelope: Envelope,
  name: N,
  weighting: Weighting,
  { level, chg24hPct, chg30dPct, costs, contributions }: Composite,
  excluded: readonly WithoutBase[],
): Omit<Body<typeof index>, "name"> & { name: N } {
  const base = sessionYearBefore(envelope.session);
  return {
    ...envelopeFields(envelope),
    name,
    weighting,
    base: {
      date: dateText(dayOf(base)),
      session_utc: sessionUtc(base),
      level: INDEX_BASE_LEVEL,
    },
    level: exactly(level),
    chg_24h_pct: exactly(chg24hPct),
    chg_30d_pct: exactly(chg30dPct),
    ...(costs && {
      ...costFields(costs),
      without_base: [...costs.withoutBase],
      like_for_like: costs.likeForLike && {
        parts: costs.likeForLike.parts,
        cost_usd: exactly(costs.likeForLike.now),
        cost_base_usd: exactly(costs.likeForLike.base),
        level: exactly(costs.likeForLike.level),
      },
    }),
    constituents: contributions.length,
    carried: contributions.filter(({ item }) => item.basis === "carried").length,
    contributions: contributions.map(contributionOf),
    excluded: [...excluded],
  };
}

const costFields = ({ now, base, then24h, then30d }: Costs) => ({
  cost_usd: exactly(now),
  cost_base_usd: exactly(base),
  cost_24h_usd: exactly(then24h),
  cost_30d_usd: exactly(then30d),
});

function contributionOf(contribution: Contribution): Body<typeof index>["contributions"][number] {
  const { item, bought } = contribution;
  const { id, ticker, segment, base, now, basis, asOf, baseAsOf } = item;
  return {
    id,
    ticker,
    segment,
    ...(bought && { quantity: exactly(bought.quantity), ...costFields(bought) }),
    weight_pct: exactly(contribution.weightPct),
    base_usd: base && unitsOf(base),
    spot_usd: unitsOf(now),
    relative: exactly(contribution.relative),
    contribution: exactly(contribution.contribution),
    contribution_24h_pct: exactly(contribution.contribution24hPct),
    basis,
    as_of: dateText(asOf),
    base_as_of: baseAsOf === null ? null : dateText(baseAsOf),
  };
}

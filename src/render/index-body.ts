/** The body of an index or basket response, as JSON text. */
import type { ExclusionReason } from "../market/change.ts";
import { INDEX_BASE_LEVEL, type Composite, type Contribution } from "../market/composite.ts";
import { formatMicros } from "../market/decimal.ts";
import { dateText, dayOf, sessionYearBefore } from "../market/session.ts";
import { envelopeHead, type Envelope } from "./envelope.ts";
import { jsonArray } from "../lib/text.ts";

/** The composite index, or a basket. */
export const INDEX_NAMES = ["composite", "basket"] as const;
/** The weights of the constituents: all equal, or the caller's. */
export const WEIGHTINGS = ["equal", "custom"] as const;
/** One of WEIGHTINGS. */
export type Weighting = (typeof WEIGHTINGS)[number];

/** The index that a body describes. */
interface IndexKind {
  readonly name: (typeof INDEX_NAMES)[number];
  readonly weighting: Weighting;
}

/** The parts of a contribution that do not depend on the basket. */
export interface ConstituentText {
  /** Id, ticker and segment, from the opening brace on. */
  readonly identity: string;
  /** The level of the base and the level in force. */
  readonly levels: string;
}

/** Makes the parts of a constituent, which are the same in every basket. */
export const constituentText = (
  item: Pick<Contribution, "id" | "ticker" | "segment" | "base" | "now">,
): ConstituentText => ({
  identity:
    `{"id":${JSON.stringify(item.id)},"ticker":${JSON.stringify(item.ticker)},` +
    `"segment":${JSON.stringify(item.segment)}`,
  levels: `"base_usd":${formatMicros(item.base)},"spot_usd":${formatMicros(item.now)}`,
});

/** The part of the body before the figures. */
export function indexHead(envelope: Envelope, { name, weighting }: IndexKind): string {
  const base = {
    date: dateText(dayOf(sessionYearBefore(envelope.session))),
    level: INDEX_BASE_LEVEL,
  };
  return (
    `${envelopeHead(envelope)},"name":"${name}","weighting":"${weighting}",` +
    `"base":${JSON.stringify(base)}`
  );
}

/**
 * The whole body after its `indexHead`. Decimals are copied digit by digit, because floating point
 * could change them.
 */
export function indexBody(
  head: string,
  result: Composite,
  excluded: readonly { readonly id: string; readonly reason: ExclusionReason }[],
  textOf: (item: Contribution) => ConstituentText = constituentText,
): string {
  const contributions = result.contributions.map((item) => {
    const { identity, levels } = textOf(item);
    return (
      `${identity},"weight_pct":${item.weightPct},${levels},"relative":${item.relative},` +
      `"contribution":${item.contribution},"contribution_24h_pct":${item.contribution24hPct}}`
    );
  });
  return (
    `${head},"level":${result.level},"chg_24h_pct":${result.chg24hPct},` +
    `"chg_30d_pct":${result.chg30dPct},"constituents":${contributions.length},` +
    `"contributions":${jsonArray(contributions)},` +
    `"excluded":${jsonArray(excluded.map(({ id, reason }) => JSON.stringify({ id, reason })))}}\n`
  );
}

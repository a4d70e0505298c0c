/** Small markets for tests, made like the program makes them. */
import type { Contract } from "../../src/market/contract.ts";
import { publishedSeries, type SeriesByIndex } from "../../src/market/published-series.ts";
import { Levels, Series, type Level } from "../../src/market/series.ts";
import { dayOf, parseSession, type Session } from "../../src/market/session.ts";
import { TIERS, type Tier } from "../../src/market/tier.ts";
import { tierView, type Market, type TierView } from "../../src/market/view.ts";

/** The session of the fixtures. */
export const HEAD = parseSession("2026-11-21T00Z") as Session;

/** A contract with its levels in ascending order. Missing fields get plain values. */
export interface Listing {
  readonly contract?: Partial<Contract>;
  readonly levels: readonly (Partial<Level> & Pick<Level, "session" | "usd">)[];
}

/** A contract with one level at HEAD. `usd` is in micro-dollars. */
export const listing = (contract: Partial<Contract> = {}, usd = 12_500_000): Listing => ({
  contract,
  levels: [{ session: HEAD, usd }],
});

const PLAIN: Contract = {
  id: "contract",
  ticker: "T",
  name: "Contract",
  board: "memory",
  segment: "DRAM",
  unit: "USD per piece",
  aiExposurePct: "50",
  source: "Source",
  sourceUrl: "https://example.com/prices",
  capacityGb: null,
  maxCarryDays: null,
  free: false,
  priceType: null,
  delistedOn: null,
  formerly: [],
  cadenceDays: "1",
  maxMovePct: null,
};

export function marketOf(listings: readonly Listing[]): Market {
  const catalog = listings.map(({ contract }, at): Contract => ({
    ...PLAIN,
    id: `contract-${at}`,
    ticker: `T${at}`,
    name: `Contract ${at}`,
    free: at < 10,
    ...contract,
  }));
  const series = new Map(
    listings.map(({ levels }, at) => [
      (catalog[at] as Contract).id,
      new Series(
        new Levels(
          levels.map((level) => ({ basis: "reported", asOf: dayOf(level.session), ...level })),
        ),
      ),
    ]),
  );
  return { catalog, maxCarryDays: 45, seriesOf: (id) => series.get(id) };
}

/** The series of the market's indices, published for the first time at `head`. */
export const freshSeries = (market: Market, head: Session = HEAD): SeriesByIndex =>
  publishedSeries(market, head, {
    head: new Map(),
    kind: "session",
    publication: 1,
    restatement: null,
  });

export const viewOf = (
  listings: readonly Listing[],
  tier: Tier = TIERS.pro,
  head: Session = HEAD,
): TierView => tierView(marketOf(listings), tier, head);

/** Both boards, with nulls and numbers, carried levels, and contracts with and without a break. */
export const VARIED: readonly Listing[] = [
  {
    contract: { capacityGb: "2", aiExposurePct: "37.5", priceType: "spot" },
    levels: [
      { session: HEAD - 730, usd: 8_000_000 },
      { session: HEAD - 60, usd: 15_000_000 },
      { session: HEAD - 2, usd: 12_345_678 },
      {
        session: HEAD,
        usd: 12_500_000,
        lowUsd: 12_000_000,
        highUsd: 13_250_000,
        inputs: 17,
        rationale: "Firm bids",
      },
    ],
  },
  { contract: { capacityGb: "0.001" }, levels: [{ session: HEAD, usd: 1_000_000_000_000_000 }] },
  {
    contract: { name: "Broken last week" },
    levels: [
      { session: HEAD - 60, usd: 3_000_000 },
      { session: HEAD - 13, usd: 2_000_001, breakReason: 'New unit, "per tray"\nof ten' },
      { session: HEAD - 2, usd: 2_000_000 },
      {
        session: HEAD,
        usd: 1_000_000,
        basis: "estimated",
        source: "Other, Ltd",
        sourceUrl: "https://example.org/a?b=1&c=2",
      },
    ],
  },
  {
    contract: { name: "Broken twice, lately" },
    levels: [
      { session: HEAD - 9, usd: 1, breakReason: "First" },
      { session: HEAD - 4, usd: 2, basis: "assessed", breakReason: "Second" },
    ],
  },
  {
    contract: { name: "No longer on the board" },
    levels: [{ session: HEAD - 400, usd: 1_000_000 }],
  },
  {
    contract: { board: "semiconductor", segment: "Analog", id: "chip-1" },
    levels: [
      { session: HEAD - 2, usd: 1_000_000 },
      { session: HEAD, usd: 999_999 },
    ],
  },
];

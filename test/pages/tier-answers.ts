/** Every JSON answer that a tier gets on the market of market.ts, and the figures in texts. */
import { expect } from "vitest";
import type { TierName } from "../../src/market/tier.ts";
import type { TestProxy } from "../http/fixture.ts";
import { LISTED, SEGMENTS } from "./page-market.ts";

const API = "/api/public/v1";

const contractsOf = (tier: TierName): string[] =>
  LISTED.filter(({ isFree }) => isFree || tier !== "free").map(({ id }) => `/prices/${id}`);

const INDICES = ["composite", ...SEGMENTS.map((name) => name.toLowerCase().replaceAll(" ", "-"))];

/** As text, by the path below /api/public/v1. */
export async function answersOf(
  proxy: TestProxy,
  tier: TierName,
): Promise<ReadonlyMap<string, string>> {
  const keyed = ["/index", "/indices", "/corrections", ...INDICES.map((id) => `/indices/${id}`)];
  const paths = [
    "/prices",
    "/publications",
    ...contractsOf(tier),
    ...(tier === "free" ? [] : keyed),
  ];
  const options = tier === "free" ? {} : { key: proxy[tier] };
  const answers = paths.map(async (path) => {
    const { status, text } = await proxy.get(API + path, options);
    expect([path, status]).toEqual([path, 200]);
    return [path, text] as const;
  });
  return new Map(await Promise.all(answers));
}

/**
 * The decimals in a text as the API writes them: without thousands apart, a sign for plus, and zeros at
 * the end.
 */
export const figuresIn = (text: string): string[] =>
  (text.match(/(?<![\d.])[-+\u{2212}]?\d[\d,]*(?:\.\d+)?(?![\d.]*\d)/gu) ?? []).map(asWritten);

const asWritten = (figure: string): string => {
  const plain = figure.replaceAll(",", "").replace("\u{2212}", "-").replace("+", "");
  const short = plain.includes(".") ? plain.replace(/\.?0+$/, "") : plain;
  return short === "-0" ? "0" : short;
};

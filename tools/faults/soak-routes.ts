/** The addresses that a soak requests, and the stored file that each tier must get. */
import type { TierName } from "../../src/market/tier.ts";
import { API, type DATA_ROUTES } from "../../src/public/routes.ts";
import { FILES } from "../../src/store/paths.ts";

export interface Route {
  readonly path: string;
  /** Baskets, and what costs no call, are no stored files. */
  readonly kind: "file" | "basket" | "uncounted";
  /** The file's path in the snapshot. */
  file(tier: TierName): string;
  /** The code of the refusal, or null if the tier may have the file. */
  refusal(tier: TierName): string | null;
}

/**
 * What the load requests: each route with data, a basket, and the list of contracts. The contract is always on the
 * free board.
 */
export const ROUTES = {
  board: fileRoute("/prices", FILES.board, null),
  contract: contractRoute("dram-1", true),
  index: fileRoute("/index", FILES.index, "starter"),
  indices: fileRoute("/indices", FILES.indices, "starter"),
  indexOf: fileRoute("/indices/dram", (tier) => FILES.indexOf(tier, "dram"), "starter"),
  csv: fileRoute("/export.csv", FILES.csv, "starter"),
  xlsx: fileRoute("/export.xlsx", FILES.xlsx, "pro"),
  historyCsv: fileRoute("/history.csv", FILES.historyCsv, "starter"),
  historyParquet: fileRoute("/history.parquet", FILES.historyParquet, "pro"),
  levelsCsv: fileRoute("/levels.csv", FILES.levelsCsv, "starter"),
  supersededCsv: fileRoute("/superseded.csv", FILES.supersededCsv, "pro"),
  indicesCsv: fileRoute("/indices.csv", FILES.indicesCsv, "starter"),
  membersCsv: fileRoute("/members.csv", FILES.membersCsv, "pro"),
  settlementsCsv: fileRoute("/settlements.csv", FILES.settlementsCsv, "starter"),
  settlementsOfContract: fileRoute(
    "/settlements/contracts/dram-1",
    (tier) => FILES.settlementsOfContract(tier, "dram-1"),
    "pro",
  ),
  settlementsOfIndex: fileRoute(
    "/settlements/indices/dram",
    (tier) => FILES.settlementsOfIndex(tier, "dram"),
    "pro",
  ),
  sparklines: fileRoute("/sparklines", FILES.sparklines, "starter"),
  corrections: fileRoute("/corrections", FILES.tierCorrections, "starter"),
  basket: basketRoute(["dram-1", "dram-12"], ["60", "40"]),
  contracts: uncountedRoute("/contracts"),
} as const satisfies Readonly<Record<keyof typeof DATA_ROUTES | "basket" | "contracts", Route>>;

export const USAGE = uncountedRoute("/usage");

function uncountedRoute(path: string): Route {
  return { ...fileRoute(path, () => "", null), kind: "uncounted" };
}

export function contractRoute(id: string, isFree: boolean): Route {
  const file = (tier: TierName): string => FILES.contract(tier, id);
  return fileRoute(`/prices/${id}`, file, isFree ? null : "starter");
}

/** A basket of these contracts, with these weights. */
export function basketRoute(ids: readonly string[], weights: readonly string[]): Route {
  const query = `ids=${ids.join(",")}&weights=${weights.join(",")}`;
  return { ...fileRoute(`/index?${query}`, FILES.index, "pro"), kind: "basket" };
}

function fileRoute(
  path: string,
  file: (tier: TierName) => string,
  least: "starter" | "pro" | null,
): Route {
  const refusal = (tier: TierName): string | null => {
    if (least === null || tier === "pro") return null;
    if (tier === "free") return "key_required";
    return least === "pro" ? "tier_required" : null;
  };
  return { path: `${API}${path}`, kind: "file", file, refusal };
}

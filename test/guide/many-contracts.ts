/** Inputs of a market of many contracts: levels that depend on the contract and the session alone. */
import { dateText } from "../../src/market/session.ts";
import { at, catalogOf, lines, type CatalogRow } from "../cli/small-market.ts";

const CONTRACTS = 30;
/** The first session. */
export const FIRST = at("2026-11-21T00Z");
export const idOf = (contract: number): string => `part-${String(contract).padStart(2, "0")}`;
/** The contract 5 under its second id. */
export const RENAMED = "part-05-stack";

/** All contracts, `rows` with what differs by contract, and more of them. */
export const catalog = (
  rows: Readonly<Record<number, Partial<CatalogRow>>>,
  more: CatalogRow[] = [],
) =>
  catalogOf([
    ...Array.from({ length: CONTRACTS }, (_, contract) => ({
      id: idOf(contract),
      name: `Contract ${contract}`,
      board: contract % 4 === 0 ? "semiconductor" : "memory",
      ...rows[contract],
    })),
    ...more,
  ]);

/** A price that depends on the contract and the day or session alone, with up to six decimals. */
const usdOf = (contract: number, moment: number): number =>
  (contract + 1) * (1 + ((moment * (contract + 3)) % 97) / 1_000) * (contract % 7 === 0 ? 1e-4 : 1);
const priceText = (usd: number): string => String(Number(usd.toFixed(6)));

/** Closes of the days before the first session, of contracts by id. */
export const closes = (ids: readonly (readonly [string, number])[], days: number): string =>
  lines(
    "id,date,close_usd,low_usd,high_usd,break",
    ...ids.flatMap(([id, contract]) =>
      Array.from({ length: days }, (_, ago) => {
        // Some contracts are given each third day, and one long ago only.
        const day = Math.floor(FIRST / 2) - 1 - ago;
        if ((contract % 5 === 2 && ago % 3 > 0) || (contract === 9 && ago < 200)) return [];
        const usd = priceText(usdOf(contract, day));
        const reason = ago === 50 && contract % 6 === 0 ? '"Sold by the tray, ""as is"""' : "";
        return `${id},${dateText(day)},${usd},${contract % 2 === 0 ? "," : `${usd},${usd}`},${reason}`;
      }).flat(),
    ),
  );

/** The levels of a session; `leaving` has ids by contract, null for those without a level. */
export const quotes = (
  ahead: number,
  leaving: Readonly<Record<number, string | null>> = {},
): string =>
  lines(
    "id,spot_usd,inputs",
    ...Array.from({ length: CONTRACTS }, (_, contract) => {
      const id = leaving[contract] === undefined ? idOf(contract) : leaving[contract];
      if (id === null || contract === 9 || (contract % 11 === 3 && ahead % 3 === 1)) return [];
      const usd = usdOf(contract, ahead + (ahead % 13 === 5 ? 0.4 : 0));
      return `${id},${priceText(usd)},${contract % 3 === 0 ? ahead + 1 : ""}`;
    }).flat(),
  );

/** Levels of any sessions. */
export const restated = (...rows: string[]): string => lines("id,session_utc,spot_usd", ...rows);

/** Each contract by its id. */
export const ALL = Array.from(
  { length: CONTRACTS },
  (_, contract) => [idOf(contract), contract] as const,
);

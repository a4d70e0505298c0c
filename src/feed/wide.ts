/** Wide tables: a column for each date or contract, where a table has a row for each level. */
import { cut } from "../lib/text.ts";
import { quoted } from "./complaints.ts";
import { isTime } from "./slips.ts";

/** Columns that say when, in tables whose other columns are contracts. */
const TIME_COLUMN =
  /^(?:date|day|month|quarter|week|year|time|timestamp|period|session(?:[ _]utc)?)$/i;
/** Columns of tables that have one level in each row. */
const USUAL_COLUMN =
  /^(?:adj|amount|ask|average|avg|bid|category|change|chg|close|code|comments?|contract|country|currency|description|high|id|index|item|last|low|market|max|mean|mid|min|name|notes?|open|pct|percent|price|product|qty|quantity|region|series|settlement|sku|source|spot|symbol|ticker|turnover|type|unit|url|usd|val|value|volume|[ _.%()-])+$/i;

/**
 * The wide columns of a table that lacks the column of the level; null: none. `isKnown`: whether the table
 * can have a column. Columns of a text that `isSecret` are not shown.
 */
export function wideness(
  names: readonly string[],
  isKnown: (name: string) => boolean,
  isSecret: boolean,
): string | null {
  const others = names.filter((name) => name.trim() !== "" && !isKnown(name));
  const times = others.filter(isTime);
  const hasKnown = names.some(isKnown);
  const finding = (what: string, columns: readonly string[]): string => {
    const columnNames =
      isSecret && !hasKnown ? "" : ` (${cut(columns.map(quoted).join(", "), 100)})`;
    return `a wide table, with ${what} as columns${columnNames}`;
  };
  if (times.length > (hasKnown ? 0 : 1)) return finding("dates", times);
  const contracts = others.filter((name) => !TIME_COLUMN.test(name));
  const hasTime = names.some((name) => TIME_COLUMN.test(name.trim()));
  const isWide =
    hasTime && contracts.length > 1 && !contracts.some((name) => USUAL_COLUMN.test(name));
  return isWide ? finding("contracts", contracts) : null;
}

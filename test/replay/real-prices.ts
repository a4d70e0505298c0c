/** Real daily series of other markets, from a folder beside the repository. */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const SERIES = fileURLToPath(new URL("../../../shared/data/series-open.csv", import.meta.url));

export interface PriceRow {
  /** In the file; the header is line 1. */
  readonly line: number;
  readonly id: string;
  readonly date: string;
  /** As text; it may be zero or below. */
  readonly close: string;
}

/** Whether the series are there. If not, says that `test`, a file name, shows nothing. */
export function hasSeries(test: string): boolean {
  const isThere = existsSync(SERIES);
  if (!isThere) console.warn(`${test} SHOWS NOTHING: ${SERIES} does not exist`);
  return isThere;
}

/** All rows, series by series, each in the order of its dates. */
export function readSeries(): PriceRow[] {
  const [, ...lines] = readFileSync(SERIES, "utf8").trimEnd().split(/\r?\n/);
  return lines.map((text, at) => {
    const [id = "", date = "", close = ""] = text.split(",");
    return { line: at + 2, id, date, close };
  });
}

export const isPriced = ({ close }: PriceRow): boolean => Number(close) > 0;

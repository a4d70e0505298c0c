/** The words for published closes that differ from the values as known now. */
import type { Manifest } from "./manifest.ts";

/** What becomes of them. */
export const DIFFERING_NOTE =
  "the next close brings these corrections; earlier closes stay unless you publish with --restate-series";

/** One index: `composite: closes from 2026-11-17 on differ by up to -99 percent; …`. */
export const differingText = ({
  index,
  from,
  largest_pct: pct,
  last,
  close,
  value,
}: NonNullable<Manifest["differing_closes"]>[number]): string =>
  `${index}: closes from ${from} on differ by up to ${pct} percent from the values as known now; ` +
  `the close of ${last} is ${close}, its value ${value}`;

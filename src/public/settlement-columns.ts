/** The columns of settlements, declared once for JSON, CSV, workbook and OpenAPI. */
import type { Figures, MonthFigures, Settlement } from "../market/settlements.ts";

/** A column of the files. */
export interface SettlementColumn {
  readonly name: string;
  readonly kind: "text" | "decimal";
  /** Digits after the point shown in the workbook; 0: the numbers are whole. */
  readonly shownDecimals?: number;
  readonly meaning: string;
  readonly nullable?: true;
  readonly value: (settlement: Settlement) => string | null;
}

const figure =
  (of: "settled" | "now", name: keyof Figures) =>
  (settlement: Settlement): string | null =>
    settlement[of].figures?.[name] ?? null;

const FIGURES = {
  average: "Mean of the closes of all days with one",
  last: "Last close",
  high: "Highest close",
  low: "Lowest close",
} as const satisfies Record<keyof Figures, string>;

const figureColumns = (of: "settled" | "now"): SettlementColumn[] => {
  const isNow = of === "now";
  const names = Object.keys(FIGURES) as (keyof Figures)[];
  return [
    ...names.map((name): SettlementColumn => ({
      name: isNow ? `${name}_now` : name,
      kind: "decimal",
      shownDecimals: 6,
      meaning: isNow
        ? `${FIGURES[name]}, as known now: with every correction. Null: no day is left, or a break stands between the days.`
        : `${FIGURES[name]}, as settled. Null: see reason.`,
      nullable: true,
      value: figure(of, name),
    })),
    {
      name: isNow ? "days_now" : "days",
      kind: "decimal",
      shownDecimals: 0,
      meaning: isNow
        ? "Calendar days with a close, as known now."
        : "Calendar days with a close at 12:00 UTC, carried levels included.",
      value: (settlement) => String(settlement[of].days),
    },
  ];
};

/** The columns after kind and id, in their order. */
export const SETTLEMENT_COLUMNS: readonly SettlementColumn[] = [
  {
    name: "month",
    kind: "text",
    meaning: "The calendar month, UTC, such as 2026-10.",
    value: ({ month }) => month,
  },
  {
    name: "unit",
    kind: "text",
    meaning: "The contract's unit on the last of the days. Null for an index.",
    nullable: true,
    value: ({ unit }) => unit,
  },
  {
    name: "capacity_gb",
    kind: "decimal",
    shownDecimals: 6,
    meaning: "Its capacity then, gigabytes. Null: none.",
    nullable: true,
    value: ({ capacityGb }) => capacityGb,
  },
  ...figureColumns("settled"),
  ...figureColumns("now"),
  {
    name: "settled_by",
    kind: "decimal",
    shownDecimals: 0,
    meaning: "The publication that settled the month.",
    value: ({ settledBy }) => String(settledBy),
  },
  {
    name: "reason",
    kind: "text",
    meaning: "Why the month has no settled figures: break. Null: it has some.",
    nullable: true,
    value: ({ settled }) => reasonOf(settled),
  },
];

const reasonOf = ({ figures }: MonthFigures): "break" | null => (figures === null ? "break" : null);

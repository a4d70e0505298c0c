/** The settlements that a tier sees: as CSV all of them, as JSON the months of a contract or an index. */
import { csvCell, harmless } from "../lib/csv.ts";
import { exactly, jsonText } from "../lib/json.ts";
import { inBoardOrder, type Contract } from "../market/contract.ts";
import { indicesOf } from "../market/indices.ts";
import { lastDayOf } from "../market/session.ts";
import {
  SETTLED_KINDS,
  type SettledKind,
  type Settlement,
  type Settlements,
} from "../market/settlements.ts";
import { historyFloor } from "../market/tier.ts";
import type { TierView } from "../market/view.ts";
import { envelopeFields, type Envelope } from "./envelope.ts";
import type * as schemas from "../public/payload-schemas.ts";
import { SETTLEMENT_COLUMNS } from "../public/settlement-columns.ts";

/** A contract or an index, with the settled months that a tier sees. */
export interface SettledItem {
  readonly kind: SettledKind;
  readonly id: string;
  readonly months: readonly Settlement[];
}

/** The months that the tier sees, ascending: those that end within its history. */
function monthsSeen(
  { tier, session }: TierView,
  settlements: readonly Settlement[] = [],
): readonly Settlement[] {
  const floor = historyFloor(tier, session) ?? Infinity;
  return settlements.filter(({ month }) => lastDayOf(month) > floor);
}

/** All that the tier sees: indices, contracts in the order of the boards, then those that left the catalog, by id. */
export function settledItems(
  view: TierView,
  catalog: readonly Contract[],
  settlements: Settlements,
): SettledItem[] {
  const listed = {
    index: indicesOf(catalog).map(({ id }) => id),
    contract: inBoardOrder(catalog).map(({ id }) => id),
  };
  const left = SETTLED_KINDS.flatMap((kind) => {
    const ids = new Set(listed[kind]);
    return [...settlements[kind].keys()].filter((id) => !ids.has(id)).map((id) => ({ kind, id }));
  });
  return [
    ...SETTLED_KINDS.flatMap((kind) => listed[kind].map((id) => ({ kind, id }))),
    ...left.sort((a, b) => (a.id < b.id ? -1 : 1)),
  ].map(({ kind, id }) => ({ kind, id, months: monthsSeen(view, settlements[kind].get(id)) }));
}

/** `/settlements.csv`. */
export function settlementsCsv(
  view: TierView,
  catalog: readonly Contract[],
  settlements: Settlements,
): string {
  const written = new Map<string, string>();
  // Few texts are different, and the CSV library takes most of the time.
  const cell = (text: string): string => {
    const known = written.get(text) ?? csvCell(text);
    written.set(text, known);
    return known;
  };
  const rows = settledItems(view, catalog, settlements).flatMap(({ kind, id, months }) =>
    months.map((settlement) => {
      const cells = SETTLEMENT_COLUMNS.map((column) => {
        const value = column.value(settlement) ?? "";
        return column.kind === "text" && value !== "" ? cell(value) : value;
      });
      return `${kind},${harmless(id)},${cells.join(",")}\r\n`;
    }),
  );
  return `kind,id,${SETTLEMENT_COLUMNS.map(({ name }) => name).join(",")}\r\n${rows.join("")}`;
}

/** `/settlements/contracts/{id}` and `/settlements/indices/{id}`. */
export function settlementsBody(
  envelope: Envelope,
  view: TierView,
  kind: SettledKind,
  id: string,
  settlements: Settlements,
): string {
  const body: schemas.Body<typeof schemas.settlements> = {
    ...envelopeFields(envelope),
    kind,
    id,
    settlements: monthsSeen(view, settlements[kind].get(id)).map(settlementFields),
  };
  return jsonText(body);
}

const settlementFields = (settlement: Settlement): schemas.Body<typeof schemas.settlement> => ({
  month: settlement.month,
  ...Object.fromEntries(
    SETTLEMENT_COLUMNS.map(({ name, kind, value }) => {
      const text = value(settlement);
      return [name, kind === "text" ? text : exactly(text)];
    }),
  ),
});

/** Boards, contracts and corrections as JSON. */
import { exactly, jsonText } from "../lib/json.ts";
import { correctionFields, type Correction } from "../ledger/corrections.ts";
import { chainedCloses } from "../market/chained.ts";
import { RANGES } from "../market/change.ts";
import { carryLimitDays } from "../market/contract.ts";
import { unitsOf } from "../market/decimal.ts";
import { COMPOSITE } from "../market/indices.ts";
import type { Break } from "../market/series.ts";
import { closeSessionOf, dateText, dayOf, sessionUtc, type Session } from "../market/session.ts";
import {
  historyOf,
  isWithinHistory,
  recordsOf,
  type BoardRecord,
  type TierView,
} from "../market/view.ts";
import { historyFrom } from "../market/tier.ts";
import { fieldOf, RECORD_COLUMNS, type BoardColumn } from "../public/columns.ts";
import { envelopeFields, type Envelope } from "./envelope.ts";
import type { IndexWithSeries } from "./index-files.ts";
import * as schemas from "../public/payload-schemas.ts";

/** A board's file. In every tier, `nextSession` is the session after the head's. */
export function boardBody(envelope: Envelope, view: TierView, nextSession: Session): string {
  const { memory, semiconductor } = view.boards;
  const body: schemas.Body<typeof schemas.board> = {
    ...envelopeFields(envelope),
    counts: { memory: memory.length, semiconductor: semiconductor.length },
    memory: memory.map(recordOf),
    semiconductor: semiconductor.map(recordOf),
    next_session_utc: sessionUtc(nextSession),
  };
  return jsonText(body);
}

/**
 * A contract's file. `corrections` are this contract's. It leaves out those that the tier does not see.
 * `maxCarryDays` is the limit of contracts without their own.
 */
export function contractBody(
  envelope: Envelope,
  view: TierView,
  record: BoardRecord,
  maxCarryDays: number,
  corrections: readonly Correction[],
): string {
  const { contract } = record;
  const isVisible = (item: { readonly session: Session }): boolean =>
    isWithinHistory(view, item.session);
  const body: schemas.Body<typeof schemas.contract> = {
    ...envelopeFields(envelope),
    ...recordOf(record),
    references: referencesOf(view, record),
    history_from: historyFrom(view.tier, view.session),
    history: historyOf(view, record).map(({ date, level }) => ({
      date: dateText(date),
      close_usd: unitsOf(level.usd),
      ...(level.session !== closeSessionOf(date) && { session_utc: sessionUtc(level.session) }),
    })),
    breaks: record.series.breaks.filter(isVisible).map((item) => {
      const before = { ...contract, ...record.series.termsAt(item.session - 1) };
      return {
        ...breakOf(item),
        unit: before.unit,
        capacity_gb: before.capacityGb === null ? null : exactly(before.capacityGb),
      };
    }),
    rationale: record.level.rationale ?? null,
    max_carry_days: carryLimitDays(contract, maxCarryDays),
    delisted_on: contract.delistedOn === null ? null : dateText(contract.delistedOn),
    corrections: corrections.filter(isVisible).map(correctionFields),
  };
  return jsonText(body);
}

/**
 * The level that each change compares with. Beyond the depth of the tier's history the change stands alone; a
 * tier without history has none.
 */
function referencesOf(
  view: TierView,
  { reference, changePct }: BoardRecord,
): schemas.Body<typeof schemas.contract>["references"] {
  if (view.tier.history === null) return [];
  return RANGES.map((range) => {
    const then = reference[range];
    const change = changePct[range];
    const shown = then !== null && isWithinHistory(view, then.session) ? then : null;
    return {
      range,
      session_utc: shown && sessionUtc(shown.session),
      usd: shown && unitsOf(shown.usd),
      change_pct: change === null ? null : exactly(change),
    };
  });
}

/**
 * `/sparklines`: the last closes of each contract on the boards and of each of the `indices`, ascending, as
 * deep as the tier.
 */
export function sparklinesBody(
  envelope: Envelope,
  view: TierView,
  indices: readonly IndexWithSeries[],
): string {
  const today = dayOf(view.session);
  const lines = recordsOf(view).map((record) => ({
    id: record.contract.id,
    closes: historyOf(view, record).slice(-schemas.SPARKLINE_CLOSES),
  }));
  const body: schemas.Body<typeof schemas.sparklines> = {
    ...envelopeFields(envelope),
    sparklines: lines.map(({ id, closes }) => ({
      id,
      closes: closes.map(({ level }) => unitsOf(level.usd)),
    })),
    days: lines.flatMap(({ id, closes }) => {
      const days_ago = closes.map(({ date }) => today - date);
      const breaks = closes.flatMap(({ breakReason }, at) => (breakReason === null ? [] : [at]));
      const isDaily = days_ago.every((days, at) => days === closes.length - 1 - at);
      return isDaily && breaks.length === 0 ? [] : [{ id, days_ago, breaks }];
    }),
    indices: indices.map(({ id, series }) => ({
      id,
      closes: chainedCloses(view, series)
        .slice(id === COMPOSITE ? -schemas.COMPOSITE_CLOSES : -schemas.SPARKLINE_CLOSES)
        .map(({ close }) => exactly(close)),
    })),
  };
  return jsonText(body);
}

/** The corrections of contracts of the catalog that the tier sees, in the order given. */
export function correctionsBody(
  envelope: Envelope,
  view: TierView,
  corrections: readonly Correction[],
  ids: ReadonlySet<string>,
): string {
  const body: schemas.Body<typeof schemas.corrections> = {
    ...envelopeFields(envelope),
    corrections: corrections
      .filter(({ contract, session }) => ids.has(contract) && isWithinHistory(view, session))
      .map((item) => ({ contract_id: item.contract, ...correctionFields(item) })),
  };
  return jsonText(body);
}

/** The fields of a record, in the order of the contract. */
const recordOf = (record: BoardRecord): schemas.Body<typeof schemas.contractRecord> => ({
  ...Object.fromEntries(RECORD_COLUMNS.map((column) => [fieldOf(column), valueOf(column, record)])),
  break: record.break && breakOf(record.break),
});

function valueOf({ kind, value }: BoardColumn, record: BoardRecord) {
  const text = value(record);
  return kind === "decimal" ? exactly(text) : text;
}

const breakOf = ({ session, reason }: Break) => ({ session_utc: sessionUtc(session), reason });

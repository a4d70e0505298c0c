/** Boards and contracts as JSON text. Decimals are copied digit by digit. */
import { correctionFields, type Correction } from "../ledger/corrections.ts";
import { formatMicros } from "../market/decimal.ts";
import type { Break } from "../market/series.ts";
import { dateText, sessionUtc, type Session } from "../market/session.ts";
import { historyOf, isWithinHistory, type BoardRecord, type TierView } from "../market/view.ts";
import { fieldOf, RECORD_COLUMNS } from "./columns.ts";
import { envelopeHead, type Envelope } from "./envelope.ts";
import { jsonArray } from "../lib/text.ts";

/** A board's file. In every tier, `nextSession` is the session after the head's. */
export function boardBody(envelope: Envelope, view: TierView, nextSession: Session): string {
  const { memory, semiconductor } = view.boards;
  const records = (board: readonly BoardRecord[]): string =>
    jsonArray(board.map((record) => `{${recordFields(record)}}`));
  return (
    `${envelopeHead(envelope)},` +
    `"counts":{"memory":${memory.length},"semiconductor":${semiconductor.length}},` +
    `"memory":${records(memory)},"semiconductor":${records(semiconductor)},` +
    `"next_session_utc":"${sessionUtc(nextSession)}"}\n`
  );
}

/**
 * A contract's file. `corrections` are this contract's. It leaves out those that the tier does not see.
 */
export function contractBody(
  envelope: Envelope,
  view: TierView,
  record: BoardRecord,
  corrections: readonly Correction[],
): string {
  const isVisible = (item: { readonly session: Session }): boolean =>
    isWithinHistory(view, item.session);
  const history = historyOf(view, record).map(
    ({ date, level }) => `{"date":"${dateText(date)}","close_usd":${formatMicros(level.usd)}}`,
  );
  const breaks = record.series.breaks.filter(isVisible).map(breakObject);
  const corrected = corrections.filter(isVisible).map((item) => `{${correctionFields(item)}}`);
  return (
    `${envelopeHead(envelope)},${recordFields(record)},"history":${jsonArray(history)},` +
    `"breaks":${jsonArray(breaks)},"rationale":${JSON.stringify(record.level.rationale ?? null)},` +
    `"corrections":${jsonArray(corrected)}}\n`
  );
}

/** The corrections of contracts of the catalog that the tier sees, in the order given. */
export function correctionsBody(
  envelope: Envelope,
  view: TierView,
  corrections: readonly Correction[],
  ids: ReadonlySet<string>,
): string {
  const items = corrections
    .filter(({ contract, session }) => ids.has(contract) && isWithinHistory(view, session))
    .map((item) => `{"contract_id":${JSON.stringify(item.contract)},${correctionFields(item)}}`);
  return `${envelopeHead(envelope)},"corrections":${jsonArray(items)}}\n`;
}

/** The fields of a record, in the order of the contract, without braces. */
function recordFields(record: BoardRecord): string {
  const fields = RECORD_COLUMNS.map((column) => {
    const value = column.value(record);
    const json = value === null || column.kind === "decimal" ? value : JSON.stringify(value);
    return `"${fieldOf(column)}":${json}`;
  });
  return `${fields.join(",")},"break":${record.break === null ? null : breakObject(record.break)}`;
}

const breakObject = ({ session, reason }: Break): string =>
  JSON.stringify({ session_utc: sessionUtc(session), reason });

/** Boards and contracts as JSON text. Decimals are copied digit by digit. */
import { correctionFields, type Correction } from "../ledger/corrections.ts";
import { formatMicros } from "../market/decimal.ts";
import type { Break } from "../market/series.ts";
import { dateText, dayOf, sessionUtc, type Session } from "../market/session.ts";
import { historyFloor } from "../market/tier.ts";
import type { BoardRecord, TierView } from "../market/view.ts";
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
  { tier, session }: TierView,
  record: BoardRecord,
  corrections: readonly Correction[],
): string {
  const floor = historyFloor(tier, session);
  const isVisible = (item: { readonly session: Session }): boolean =>
    floor !== null && item.session <= session && dayOf(item.session) > floor;
  const closes = floor === null ? [] : record.series.closes(session, floor);
  const history = closes.map(
    ({ date, usd }) => `{"date":"${dateText(date)}","close_usd":${formatMicros(usd)}}`,
  );
  const breaks = record.series.breaks.filter(isVisible).map(breakObject);
  const corrected = corrections.filter(isVisible).map((item) => `{${correctionFields(item)}}`);
  return (
    `${envelopeHead(envelope)},${recordFields(record)},"history":${jsonArray(history)},` +
    `"breaks":${jsonArray(breaks)},"corrections":${jsonArray(corrected)}}\n`
  );
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

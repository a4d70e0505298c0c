/** Boards and contracts as JSON text. Decimals are written as they are, digit by digit. */
import { correctionFields, type Correction } from "../ledger/corrections.ts";
import { eachClose } from "../market/history.ts";
import type { Break } from "../market/level-series.ts";
import { dateText, dayOf, sessionUtc, type Day, type Session } from "../market/session.ts";
import { historyFloor } from "../market/tier.ts";
import type { BoardRecord, TierView } from "../market/view.ts";
import { fieldOf, RECORD_COLUMNS } from "../payload/columns.ts";
import { ByteText } from "../payload/byte-text.ts";
import { envelopeHead, type Envelope } from "../payload/envelope.ts";
import { jsonArray } from "../payload/json-array.ts";

/** A board's file. `nextSession` is the one after the head's, in every tier. */
export function boardBody(envelope: Envelope, view: TierView, nextSession: Session): string {
  const { memory, semiconductor } = view.boards;
  const records = (board: readonly BoardRecord[]): string =>
    jsonArray(board.map((record) => `{${recordFields(record, view.session)}}`));
  return (
    `${envelopeHead(envelope)},` +
    `"counts":{"memory":${memory.length},"semiconductor":${semiconductor.length}},` +
    `"memory":${records(memory)},"semiconductor":${records(semiconductor)},` +
    `"next_session_utc":"${sessionUtc(nextSession)}"}\n`
  );
}

/**
 * A contract's file. `corrections` are those of this contract; what lies outside the tier's view is
 * left out.
 */
export function contractFile(
  envelope: Envelope,
  view: TierView,
  record: BoardRecord,
  corrections: readonly Correction[],
): Buffer {
  const floor = historyFloor(view.tier, view.session);
  const isVisible = (session: Session): boolean =>
    floor !== null && session <= view.session && dayOf(session) > floor;
  const breaks = record.series.breaks.filter(({ session }) => isVisible(session));
  const visible = corrections.filter(({ session }) => isVisible(session));
  file.text(`${envelopeHead(envelope)},${recordFields(record, view.session)},"history":`);
  if (floor === null) file.text("[]");
  else addHistory(record, view.session, floor);
  return file
    .text(
      `,"breaks":${jsonArray(breaks.map(breakObject))},` +
        `"corrections":${jsonArray(visible.map((item) => `{${correctionFields(item)}}`))}}\n`,
    )
    .take();
}

/** The fields of a record, in the order of the contract, without braces. */
function recordFields(record: BoardRecord, session: Session): string {
  const fields = RECORD_COLUMNS.map((column) => {
    const value = column.value(record, session);
    const json = value === null || column.kind === "decimal" ? value : JSON.stringify(value);
    return `"${fieldOf(column)}":${json}`;
  });
  return `${fields.join(",")},"break":${record.break === null ? null : breakObject(record.break)}`;
}

const breakObject = ({ session, reason }: Break): string =>
  JSON.stringify({ session_utc: sessionUtc(session), reason });

/** What is being put together; nothing waits in between, so one is enough. */
const file = new ByteText();

/** As `jsonArray` would have it. */
function addHistory({ series }: BoardRecord, session: Session, floor: Day): void {
  let opening = "[";
  eachClose(series, session, floor, (date, usd) => {
    file.text(opening).piece(closeHead(date)).micros(usd).piece(CLOSE_END);
    opening = ",";
  });
  file.text("\n]");
}

const CLOSE_END = Buffer.from("}");

const closeHeads = new Map<Day, Uint8Array>();

/** What stands before the level. Kept once made: all contracts have the same days. */
function closeHead(date: Day): Uint8Array {
  let head = closeHeads.get(date);
  if (head === undefined) {
    head = Buffer.from(`\n{"date":"${dateText(date)}","close_usd":`);
    closeHeads.set(date, head);
  }
  return head;
}

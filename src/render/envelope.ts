/**
 * What every payload starts with. The order and the spacing are part of the format: the proxy
 * raises `delayed_sessions` in stored bytes without reading the rest (see raiseDelay).
 */
import { sessionUtc, type Session } from "../market/session.ts";

/** What a payload says of itself. */
export interface Envelope {
  /** The tier's, not the head's. */
  readonly session: Session;
  /** Sessions behind the clock: the tier's delay when rendered, and overdue ones on top. */
  readonly delayedSessions: number;
  /** What the data may be used for. */
  readonly license: string;
  /** Credit line to display with it. */
  readonly attribution: string;
}

/** `{"session_utc":…,"delayed_sessions":…,"license":…,"attribution":…` without a closing brace. */
export const envelopeHead = (envelope: Envelope): string =>
  JSON.stringify({
    session_utc: sessionUtc(envelope.session),
    delayed_sessions: envelope.delayedSessions,
    license: envelope.license,
    attribution: envelope.attribution,
  }).slice(0, -1);

const HEAD = /^\{"session_utc":"[^"]{24}","delayed_sessions":(\d{1,9}),/;
const HEAD_MAX_BYTES = 96;

/**
 * The same payload with `delayed_sessions` raised by `sessions`. Throws where the bytes do not
 * start as a payload does.
 */
export function raiseDelay(payload: Buffer, sessions: number): Buffer {
  const head = HEAD.exec(payload.toString("latin1", 0, HEAD_MAX_BYTES));
  if (head === null) throw new Error("Not a payload: it does not start with the envelope");
  const digits = head[1] as string;
  const end = head[0].length - 1;
  return Buffer.concat([
    payload.subarray(0, end - digits.length),
    Buffer.from(String(Number(digits) + sessions)),
    payload.subarray(end),
  ]);
}

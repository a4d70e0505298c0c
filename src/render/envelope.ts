/**
 * The start of every payload. The order and the spacing are part of the format: the proxy raises
 * `delayed_sessions` in stored bytes without reading the rest (see raiseDelay), and a check puts the number
 * back before it proves an answer.
 */
import { joined, textOf, utf8 } from "../lib/bytes.ts";
import { sessionUtc, type Session } from "../market/session.ts";

/** The fields at the start of a payload. */
export interface Envelope {
  /** The tier's session, not the head's. */
  readonly session: Session;
  /** How many sessions the data is behind: the tier's delay plus the sessions overdue. */
  readonly delayedSessions: number;
  /** The permitted use of the data. */
  readonly license: string;
  /** The credit line to show with the data. */
  readonly attribution: string;
}

/** The first fields of every payload. */
export const envelopeFields = (envelope: Envelope) => ({
  session_utc: sessionUtc(envelope.session),
  delayed_sessions: envelope.delayedSessions,
  license: envelope.license,
  attribution: envelope.attribution,
});

/** An id that was asked for, and the id that the answer's publication has for its contract. */
export interface AskedId {
  readonly asked: string;
  readonly id: string;
}

const TEXT = String.raw`"(?:[^"\\]|\\.)*"`;
const ENVELOPE = new RegExp(
  String.raw`^\{"session_utc":${TEXT},"delayed_sessions":\d+,"license":${TEXT},"attribution":${TEXT}`,
);

/** The payload with these ids as the last member of its envelope; without any, as it is. */
export function withAsked(payload: string, asked: readonly AskedId[]): string {
  if (asked.length === 0) return payload;
  const end = ENVELOPE.exec(payload)?.[0].length;
  if (end === undefined) throw new Error(NO_PAYLOAD);
  return `${payload.slice(0, end)},"asked":${JSON.stringify(asked)}${payload.slice(end)}`;
}

const NO_PAYLOAD = "Not a payload: it does not start with the envelope";
const HEAD = /^\{"session_utc":"[^"]{24}","delayed_sessions":(0|[1-9]\d{0,8}),/;
const HEAD_MAX_BYTES = 96;
const headOf = (payload: Uint8Array): string => textOf(payload.subarray(0, HEAD_MAX_BYTES));

/**
 * The same payload with `delayed_sessions` raised by `sessions`. Throws if the bytes do not start like
 * a payload.
 */
export function raiseDelay(payload: Uint8Array, sessions: number): Uint8Array {
  const delay = delayOf(payload);
  if (delay === null) throw new Error(NO_PAYLOAD);
  return withDelay(payload, delay + sessions);
}

/** The `delayed_sessions` of a payload; null: the bytes do not start like a payload. */
export function delayOf(payload: Uint8Array): number | null {
  const head = HEAD.exec(headOf(payload));
  return head === null ? null : Number(head[1]);
}

/** The payload with these `delayed_sessions`. Other bytes stay as they are. */
export function withDelay(payload: Uint8Array, sessions: number): Uint8Array {
  const head = HEAD.exec(headOf(payload));
  if (head === null) return payload;
  const end = head[0].length - 1;
  return joined([
    payload.subarray(0, end - (head[1] as string).length),
    utf8(String(sessions)),
    payload.subarray(end),
  ]);
}

/** The zod schemas of fields that several stored files share. */
import { z } from "zod";
import {
  dateText,
  parseDate,
  parseSession,
  sessionKey,
  type Day,
  type Session,
} from "../market/session.ts";

/** A SHA-256 in lower-case hex. */
export const sha256Field = z.string().regex(/^[0-9a-f]{64}$/);

/** A day, written as `2026-11-21`. */
export const dayField = z.codec(z.iso.date(), z.int(), {
  decode: (text) => parseDate(text) as Day,
  encode: dateText,
});

/** A session: read in any form that `parseSession` reads, written as `2026-11-21T00Z`. */
export const sessionField = z.codec(
  z.string().refine((text) => parseSession(text) !== null, {
    error: "expected a session such as 2026-11-21T00Z",
  }),
  z.int(),
  { decode: (text) => parseSession(text) as Session, encode: sessionKey },
);

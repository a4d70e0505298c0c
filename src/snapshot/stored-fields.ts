/** The zod schemas of fields that several stored files share. */
import { z } from "zod";
import { parseSession, sessionKey, type Session } from "../market/session.ts";

/** A SHA-256 in lower-case hex. */
export const sha256Field = z.string().regex(/^[0-9a-f]{64}$/);

/** A session: read in any form that `parseSession` reads, written as `2026-11-21T00Z`. */
export const sessionField = z.codec(
  z.string().refine((text) => parseSession(text) !== null, {
    error: "expected a session such as 2026-11-21T00Z",
  }),
  z.int(),
  { decode: (text) => parseSession(text) as Session, encode: sessionKey },
);

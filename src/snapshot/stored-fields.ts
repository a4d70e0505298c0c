/** The zod schemas of fields that several stored files share. */
import { z } from "zod";
import { parseSession, type Session } from "../market/session.ts";

/** A SHA-256 in lower-case hex. */
export const sha256Field = z.string().regex(/^[0-9a-f]{64}$/);

/** A session in any form that `parseSession` reads. */
export const sessionField = z.string().transform((text, context): Session => {
  const session = parseSession(text);
  if (session !== null) return session;
  context.addIssue({ code: "custom", message: "expected a session such as 2026-11-21T00Z" });
  return z.NEVER;
});

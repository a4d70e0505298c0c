/** Lengths of time on the command line: `500ms`, `2s`, `90m`, `12h`. */
import { z } from "zod";

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
type Unit = keyof typeof UNIT_MS;

const DURATION = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)?$/;

/**
 * Parses a duration of `minMs` to `maxMs` into milliseconds. A bare number is in `bareUnit`, the
 * one the option is usually given in.
 */
export const durationMs = (bareUnit: Unit, minMs: number, maxMs: number): z.ZodType<number> =>
  z.string().transform((text, context) => {
    const parts = DURATION.exec(text);
    const unit = (parts?.[2] ?? bareUnit) as Unit;
    const ms = parts === null ? Number.NaN : Math.round(Number(parts[1]) * UNIT_MS[unit]);
    if (ms >= minMs && ms <= maxMs) return ms;
    const message = `expected a duration such as 500ms, 2s, 60m or 12h (a bare number: ${bareUnit}), from ${minMs}ms to ${maxMs}ms`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });

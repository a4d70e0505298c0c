/** A publish in this process that signs. */
import { USUAL_REQUEST, type PublishRequest } from "../../src/publish/request.ts";
import { newKeyPair, parseSigningKey } from "../../src/snapshot/signing-key.ts";
import { at, type Run } from "./small-market.ts";

export const KEY = parseSigningKey(newKeyPair().privatePem, "the test's key");
export const CLOCK = { now: () => Date.parse("2026-11-22T12:05:00Z") };

/** A request for a store that has a catalog, with a signing key. */
export const requestOf = ({ session = "2026-11-21T00Z", ...run }: Run): PublishRequest => ({
  ...USUAL_REQUEST,
  quotes: [sourceOf("quotes.csv", run.quotes as string)],
  session: at(session),
  revise: run.revise ?? null,
  gates: {
    maxMoveMicros: 50_000_000,
    maxIndexMoveMicros: 25_000_000,
    maxBoardMoveMicros: 15_000_000,
    minCoverageMicros: 0,
    maxUnchangedSessions: 8,
    maxGapSessions: 14,
    maxCarryDays: run.maxCarryDays ?? 45,
    acceptMoves: true,
    allowSparse: true,
  },
  keys: { signingKey: KEY, verifyKeys: null },
});

export const sourceOf = (name: string, text: string) => ({
  name,
  format: "csv" as const,
  open: async function* () {
    yield Buffer.from(text);
  },
});

/**
 * The gates: they refuse data that is well-formed but may be wrong. Each refusal names the contracts
 * and how to let exactly these through.
 */
import { InputError } from "../lib/errors.ts";
import { TIME_GATES, type TimeGateName, type TimeGates } from "../snapshot/log/time-gates.ts";
import { quoted } from "./complaints.ts";
import type { GateFinding, GateInput, GateLimits } from "./finding.ts";
import { changedFreeSlice, termsWithoutBreak, missingContracts } from "./gate-catalog.ts";
import {
  boardMoveAbove,
  movesAbove,
  repeatOfHead,
  tooFarAhead,
  tooFew,
  unmovedTooLong,
} from "./gate-levels.ts";
import { seriesMovesAbove } from "./gate-series.ts";

interface Gate {
  /** The refusals of a run; empty: it passes. */
  find(input: GateInput, limits: GateLimits): GateFinding[];
  /** Whether it refuses nothing on a closed day. */
  readonly restsOnClosedDays?: true;
  /** Whether it refuses the run as a whole, so that `--accept` names no contracts. */
  readonly isWhole?: true;
  /** When to let it through, before "publish with --accept …". */
  readonly ifRight: string;
  /** Another way on. */
  readonly instead?: string;
}

const BREAK = "give the contract's level with a break in the same run";

/** Every gate, in the order of the refusals. */
const GATES = {
  moves: {
    find: movesAbove,
    ifRight: "If the moves are right",
    instead: `If something else is priced from now on, ${BREAK}.`,
  },
  sparse: {
    find: tooFew,
    isWhole: true,
    restsOnClosedDays: true,
    ifRight: "If the feed is complete",
  },
  units: {
    find: termsWithoutBreak,
    ifRight: "If only the wording of the unit changes",
    instead: `Levels across a change of unit, capacity or price type do not compare: ${BREAK}.`,
  },
  unchanged: {
    find: unmovedTooLong,
    isWhole: true,
    restsOnClosedDays: true,
    ifRight: "If the levels are new",
  },
  series: {
    find: seriesMovesAbove,
    ifRight: "If the indices should move so",
    instead: "If a level is wrong, leave it out with --hold, or correct it in the same run.",
  },
  board: {
    find: boardMoveAbove,
    isWhole: true,
    ifRight: "If the whole market moved so",
    instead: "If currency, tax or market of the feed is another one, correct the feed.",
  },
  delisting: {
    find: missingContracts,
    ifRight: "If these contracts should leave without a trace",
    instead:
      "If the catalog is cut short, give the whole one. If a contract has another id, name the former one in formerly. To delist one, keep its row and fill in delisted_on.",
  },
  free: { find: changedFreeSlice, ifRight: "If callers without a key should see this" },
  gap: { find: tooFarAhead, isWhole: true, ifRight: TIME_GATES.gap },
  clock: {
    find: ({ time }) => time.filter(({ gate }) => gate === "clock"),
    isWhole: true,
    ifRight: TIME_GATES.clock,
  },
} as const satisfies Record<string, Gate>;

export type GateName = keyof typeof GATES;

/** The gates in the order of the refusals. */
export const GATE_NAMES = Object.keys(GATES) as GateName[];

/** One `--accept`. */
export interface Acceptance {
  readonly gate: GateName;
  /** Null: all that the gate refuses. */
  readonly ids: readonly string[] | null;
}

/** Reads the text of an `--accept`: `moves` or `moves:ID,ID`. Throws InputError for any other text. */
export function acceptanceOf(text: string): Acceptance {
  const [name = "", list = null] = text.split(/:(.*)/s);
  const gate = GATE_NAMES.find((known) => known === name);
  const fail = (expected: string): never => {
    throw new InputError(`--accept ${quoted(text)}: expected ${expected}`);
  };
  if (gate === undefined) return fail(`${GATE_NAMES.join(", ")}, or one with ids (moves:ID,ID)`);
  if (list === null) return { gate, ids: null };
  if ("isWhole" in GATES[gate]) return fail(`${gate} without ids: it concerns the whole run`);
  const ids = list.split(",");
  return ids.includes("") ? fail(`${gate}:ID or ${gate}:ID,ID`) : { gate, ids };
}

/** The limits of a run, and the gates that it accepts. */
export interface GateOptions extends GateLimits {
  /** `--accept-moves`: accepts every move above the limit. */
  readonly acceptMoves: boolean;
  /** `--allow-sparse`: accepts a coverage below the limit. */
  readonly allowSparse: boolean;
  readonly accept?: readonly Acceptance[];
  /** Whether the sources do not price on the session's day. */
  readonly isClosedDay?: boolean;
}

/** The options on the time of the entry. */
export const timeGatesOf = ({ maxGapSessions, accept = [] }: GateOptions): TimeGates => ({
  maxGapSessions,
  accept: accept.map(({ gate }) => gate).filter(isTimeGate),
});

const isTimeGate = (gate: GateName): gate is TimeGateName => gate in TIME_GATES;

/** A finding that is let through, as the manifest keeps it. */
export type Accepted = Pick<GateFinding, "contract" | "index" | "measured" | "limit"> & {
  readonly gate: GateName;
};

/** The judgement of all gates on a run. */
export interface Verdict {
  /** One line per refusal; empty: all gates pass. */
  readonly refusals: readonly string[];
  /** The ways on, for each gate that refuses. */
  readonly remedies: readonly string[];
  readonly refusing: readonly GateName[];
  /** The parts of `--accept` that no gate refuses, one line each. */
  readonly unneeded: readonly string[];
  /** Why the feed may be the head's feed again, although no gate refuses that; null: it is not. */
  readonly repeat: string | null;
  /** Refused findings that the run accepts. */
  readonly accepted: readonly Accepted[];
}

/** Judges the ledger that the run would publish. Never throws. */
export function judge(input: GateInput, options: GateOptions): Verdict {
  const refusedBy = new Map<GateName, readonly GateFinding[]>();
  const unneeded: string[] = [];
  const accepted: Accepted[] = [];
  for (const gate of GATE_NAMES) {
    const findings: readonly GateFinding[] = isResting(gate, options)
      ? []
      : GATES[gate].find(input, options);
    const accepts = acceptsOf(gate, options);
    const isAccepted = (finding: GateFinding): boolean =>
      !finding.needsBreak &&
      accepts.some(({ ids }) => ids === null || ids.includes(concernedBy(finding) ?? ""));
    const refused = findings.filter((finding) => !isAccepted(finding));
    if (refused.length > 0) refusedBy.set(gate, refused);
    unneeded.push(...unneededOf(gate, findings, options.accept ?? []));
    for (const finding of findings.filter(isAccepted)) {
      const { contract, index, measured, limit } = finding;
      accepted.push({ gate, contract, ...(index !== undefined && { index }), measured, limit });
    }
  }
  const verb = accepted.length > 0 ? "also publish" : "publish";
  return {
    refusals: [...refusedBy.values()].flat().map(({ text }) => text),
    remedies: [...refusedBy].flatMap(([gate, refused]) => remediesFor(gate, refused, verb)),
    refusing: [...refusedBy.keys()],
    unneeded,
    repeat: options.isClosedDay === true ? null : repeatOfHead(input),
    accepted,
  };
}

/** The id of the contract or index that a finding concerns; null: the whole run. */
const concernedBy = ({ contract, index }: GateFinding): string | null => contract ?? index ?? null;

const isResting = (gate: GateName, { isClosedDay = false }: GateOptions): boolean =>
  isClosedDay && "restsOnClosedDays" in GATES[gate];

function acceptsOf(gate: GateName, options: GateOptions): readonly Acceptance[] {
  const isOpen =
    (gate === "moves" && options.acceptMoves) || (gate === "sparse" && options.allowSparse);
  if (isOpen) return [{ gate, ids: null }];
  return (options.accept ?? []).filter((item) => item.gate === gate);
}

/** The ways on for findings of one gate. The `--accept` lets exactly these through. */
function remediesFor(gate: GateName, refused: readonly GateFinding[], verb: string): string[] {
  const { ifRight, ...more }: Gate = GATES[gate];
  const acceptable = refused.filter(({ needsBreak }) => !needsBreak);
  const ids = [...new Set(acceptable.flatMap((finding) => concernedBy(finding) ?? []))];
  const words = ids.length === 0 ? gate : `${gate}:${ids.join(",")}`;
  const own = refused.flatMap(({ remedy }) => remedy ?? []);
  if (own.length > 0) return own;
  return [
    ...(more.instead === undefined ? [] : [more.instead]),
    ...(acceptable.length === 0
      ? [`--accept ${gate} does not let a changed capacity or price type through.`]
      : [`${ifRight}, ${verb} with --accept ${words}`]),
  ];
}

function unneededOf(
  gate: GateName,
  findings: readonly GateFinding[],
  accept: readonly Acceptance[],
): string[] {
  const asked = accept.filter((item) => item.gate === gate);
  if (asked.length === 0) return [];
  if (findings.length === 0) return [`--accept ${gate}: the gate ${gate} refuses nothing`];
  const concerned = [...new Set(findings.map(concernedBy))];
  return asked
    .flatMap(({ ids }) => ids ?? [])
    .filter((id) => !concerned.includes(id))
    .map(
      (id) => `--accept ${gate}:${id}: the gate ${gate} refuses ${concerned.join(", ")}, not ${id}`,
    );
}

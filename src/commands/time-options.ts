/** The options of the gates on the time, for commands that append to the log without any input. */
import type { Option } from "commander";
import { createOption } from "../lib/config.ts";
import { InputError } from "../lib/errors.ts";
import {
  TIME_GATES,
  USUAL_TIME_GATES,
  type TimeGateName,
  type TimeGates,
} from "../snapshot/log/time-gates.ts";
import { wholeNumber } from "./option-values.ts";

export interface TimeOptions {
  readonly accept?: readonly string[];
  readonly maxGap: number;
}

export const timeOptions = (): Option[] => [
  createOption(
    "--accept <gates...>",
    `accept the findings of a gate on the time (${Object.keys(TIME_GATES).join(", ")})`,
  ),
  maxGapOption(),
];

export const maxGapOption = (): Option =>
  createOption(
    "--max-gap <sessions>",
    "gap: refuse a session more than this many sessions after the head, and a clock more than this many sessions away from the newest entry of the log",
    wholeNumber("expected a whole number of sessions, 1 to 99999", 1, 99_999),
  ).default(USUAL_TIME_GATES.maxGapSessions);

/** The limit, and what the run lets through. Throws InputError for a wrong `--accept`. */
export function timeGatesFrom({ accept = [], maxGap }: TimeOptions): TimeGates {
  return { maxGapSessions: maxGap, accept: wordsOf(accept).map(timeGateOf) };
}

/** The words of `--accept`; one text can have several. */
export const wordsOf = (accept: readonly string[]): string[] =>
  accept.flatMap((text) => text.split(/\s+/)).filter((text) => text !== "");

function timeGateOf(text: string): TimeGateName {
  const known = Object.keys(TIME_GATES) as TimeGateName[];
  const gate = known.find((name) => name === text);
  if (gate !== undefined) return gate;
  throw new InputError(`--accept ${JSON.stringify(text)}: expected ${known.join(" or ")}`);
}

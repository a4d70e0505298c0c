/** The judgements of a run in its manifest: each thing that it let through, held back or changed. */
import { z } from "zod";
import { counted } from "../lib/text.ts";

const quantity = z.union([z.number(), z.string()]).nullable();

/** A gate's finding that was let through, or rows that were held, ignored or rounded. */
export const judgementSchema = z.object({
  /** A gate, or `held`, `later`, `unknown`, `rounded`. */
  gate: z.string(),
  /** The id as given; null: it concerns an index, or the whole run. */
  contract: z.string().nullable(),
  /** Of the gate `series`: the id of the index. */
  index: z.string().optional(),
  measured: quantity,
  limit: quantity,
  /** Who judged, and why: `--by` and `--why` of the run. */
  by: z.string().nullable(),
  why: z.string().nullable(),
});
export type Judgement = z.infer<typeof judgementSchema>;

type Words = (measured: Judgement["measured"], limit: Judgement["limit"]) => string;

/** `1 row`, `2 rows`. */
const quantityOf = (measured: Judgement["measured"], noun: string): string =>
  counted(Number(measured), noun);

const WORDS: Readonly<Record<string, Words>> = {
  moves: (measured, limit) => `${measured} percent, limit ${limit}`,
  series: (measured, limit) => `${measured} percent, limit ${limit}`,
  board: (measured, limit) => `a median move of ${measured} percent, limit ${limit}`,
  sparse: (measured, limit) => `${measured} percent covered, limit ${limit}`,
  units: (measured, limit) => `${measured}, before ${limit}`,
  unchanged: (measured, limit) => `${quantityOf(measured, "session")}, limit ${limit}`,
  gap: (measured, limit) => `${quantityOf(measured, "session")}, limit ${limit}`,
  clock: (measured, limit) => `${quantityOf(measured, "minute")} apart, limit ${limit}`,
  held: (measured) => `${quantityOf(measured, "row")} left out`,
  later: (measured) => `${quantityOf(measured, "row")} for later sessions left out`,
  unknown: (measured, near) =>
    `${quantityOf(measured, "row")} left out${near === null ? "" : `; almost ${JSON.stringify(near)}`}`,
  rounded: (measured, limit) => `${quantityOf(measured, "level")} to ${limit} decimals`,
};

const plain: Words = (measured, limit) =>
  [measured, limit].filter((value) => value !== null).join(", limit ");

/** Judgements as rows of a table. It has the column `index` only if one of them concerns an index. */
export function judgementRows(judgements: readonly Judgement[]) {
  const hasIndex = judgements.some(({ index }) => index !== undefined);
  return judgements.map(({ gate, contract, index = null, ...others }) => ({
    gate,
    contract,
    ...(hasIndex && { index }),
    ...others,
  }));
}

/** A judgement for people: `moves ddr5-16gb: 60 percent, limit 50`. */
export function judgementText({ gate, contract, index, measured, limit }: Judgement): string {
  const words = (WORDS[gate] ?? plain)(measured, limit);
  const concerned = contract ?? index ?? null;
  return `${gate}${concerned === null ? "" : ` ${concerned}`}${words === "" ? "" : `: ${words}`}`;
}

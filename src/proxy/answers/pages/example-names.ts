/**
 * Names in the examples. The recorded answers (examples.json) are those of a made-up market. Its contracts
 * get the names of contracts that are served, so that requests run as they stand there.
 */
import type { Contract } from "../../../market/contract.ts";
import { indexIdOf } from "../../../market/indices.ts";
import type { Board } from "../../../site/board.js";
import { exampleOf } from "./answers.ts";

/** A name that CSV, JSON, HTML and Markdown take as it is. */
const PLAIN = /^[\p{L}\p{N} .()/+-]+$/u;
/** Names stand in values and addresses. In prose a space comes before them. */
const BEFORE = String.raw`(?<=["=;,/>\n]|\\n)`;

const { memory, semiconductor } = JSON.parse(exampleOf("GET /api/public/v1/prices").body) as Board;

/**
 * A document whose examples name contracts of the free slice, of several segments if it has them. Those for
 * which the slice has none keep their made-up names.
 */
export function withNames(document: Buffer, free: readonly Contract[]): Buffer {
  const names = new Map<string, string>();
  const isOther = ({ segment }: Contract): boolean => ![...names.values()].includes(segment);
  const left = new Set(free.filter(({ delistedOn }) => delistedOn === null));
  for (const row of [...memory, ...semiconductor]) {
    const board = memory.includes(row) ? "memory" : "semiconductor";
    const fitting = [...left].filter((contract) => contract.board === board);
    const found = fitting.find(isOther) ?? fitting[0] ?? [...left][0];
    if (found === undefined) break;
    left.delete(found);
    if (isOther(found)) {
      names.set(row.segment, found.segment).set(indexIdOf(row.segment), indexIdOf(found.segment));
    }
    names.set(row.id, found.id).set(row.ticker, found.ticker);
    names.set(row.name, found.name).set(row.unit, found.unit);
  }
  if (names.size === 0) return document;
  const words = new RegExp(`${BEFORE}(?:${[...names.keys()].join("|")})(?![\\w-])`, "g");
  const nameOf = (word: string): string => names.get(word) ?? word;
  const named = (word: string): string => (PLAIN.test(nameOf(word)) ? nameOf(word) : word);
  return Buffer.from(document.toString().replace(words, named));
}
